#pragma once
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Group;
typedef int MPI_Request;
typedef int MPI_Win;
typedef int MPI_Info;
typedef int MPI_File;
typedef long MPI_Aint;
typedef long long MPI_Offset;
typedef struct { int count_lo; int count_hi_and_cancelled; int MPI_SOURCE; int MPI_TAG; int MPI_ERROR; } MPI_Status;
#define MPI_COMM_NULL 0x04000000
#define MPI_COMM_WORLD 0x44000000
#define MPI_COMM_SELF 0x44000001
#define MPI_REQUEST_NULL 0x2c000000
#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_STATUSES_IGNORE ((MPI_Status *)1)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_SUCCESS 0
#define MPI_PROC_NULL (-1)
#define MPI_ANY_SOURCE (-2)
#define MPI_ANY_TAG (-1)
#define MPI_UNDEFINED (-32766)
#define MPI_MAX_PROCESSOR_NAME 128
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3
#define MPI_CHAR 0x4c000100
#define MPI_SIGNED_CHAR 0x4c000101
#define MPI_UNSIGNED_CHAR 0x4c000102
#define MPI_BYTE 0x4c000103
#define MPI_SHORT 0x4c000104
#define MPI_UNSIGNED_SHORT 0x4c000105
#define MPI_INT 0x4c000106
#define MPI_UNSIGNED 0x4c000107
#define MPI_LONG 0x4c000108
#define MPI_UNSIGNED_LONG 0x4c000109
#define MPI_LONG_LONG 0x4c00010a
#define MPI_FLOAT 0x4c00010b
#define MPI_DOUBLE 0x4c00010c
#define MPI_LONG_DOUBLE 0x4c00010d
#define MPI_DOUBLE_INT 0x4c00010e
#define MPI_INT64_T 0x4c00010f
#define MPI_UINT64_T 0x4c000110
#define MPI_MAX 0x58000001
#define MPI_MIN 0x58000002
#define MPI_SUM 0x58000003
#define MPI_PROD 0x58000004
#define MPI_LAND 0x58000005
#define MPI_BAND 0x58000006
#define MPI_LOR 0x58000007
#define MPI_BOR 0x58000008
#define MPI_LXOR 0x58000009
#define MPI_BXOR 0x5800000a
#define MPI_MINLOC 0x5800000b
#define MPI_MAXLOC 0x5800000c
int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Initialized(int *flag);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *result);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *result);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Get_processor_name(char *name, int *length);
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Sendrecv(const void *send, int sends, MPI_Datatype send_type, int to, int send_tag, void *recv, int recvs, MPI_Datatype recv_type, int from, int recv_tag, MPI_Comm comm, MPI_Status *status);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Gather(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs, MPI_Datatype recv_type, int root, MPI_Comm comm);
int MPI_Gatherv(const void *send, int sends, MPI_Datatype send_type, void *recv, const int counts[], const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs, MPI_Datatype recv_type, MPI_Comm comm);
int MPI_Scatter(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs, MPI_Datatype recv_type, int root, MPI_Comm comm);
int MPI_Scatterv(const void *send, const int counts[], const int displs[], MPI_Datatype send_type, void *recv, int recvs, MPI_Datatype recv_type, int root, MPI_Comm comm);
int MPI_Alltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs, MPI_Datatype recv_type, MPI_Comm comm);
int MPI_Scan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *result);
int MPI_Cart_shift(MPI_Comm comm, int direction, int displacement, int *source, int *dest);
int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]);
int MPI_Dims_create(int nodes, int ndims, int dims[]);
int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *result);
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *result);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
