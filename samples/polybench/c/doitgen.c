/* doitgen: A[r][q][p] = sum over s of A[r][q][s] C[s][p], in place: one matrix product per (r, q),
 * through a row buffer.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * NR                10      25      50     150
 * NQ                 8      20      40     140
 * NP                12      30      60     160
 *
 * Another size: cc -O2 -DNR=150 -DNQ=140 -DNP=160 doitgen.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef NR
#define NR 10
#endif
#ifndef NQ
#define NQ 8
#endif
#ifndef NP
#define NP 12
#endif

/* sum is one row for all of (r, q): the two outer loops need a copy of it per iteration. */
static void kernel_doitgen(int nr, int nq, int np, double A[restrict nr][nq][np],
                           double C[restrict np][np], double sum[restrict np])
{
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[p] = 0.0;
                for (int s = 0; s < np; s++)
                    sum[p] += A[r][q][s] * C[s][p];
            }
            for (int p = 0; p < np; p++)
                A[r][q][p] = sum[p];
        }
}

static void init(int nr, int nq, int np, double A[nr][nq][np], double C[np][np])
{
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++)
            for (int p = 0; p < np; p++)
                A[r][q][p] = (5 * r + 3 * q + 2 * p + 1) % 11 / 11.0;
    for (int s = 0; s < np; s++)
        for (int p = 0; p < np; p++)
            C[s][p] = (3 * s + 7 * p + 2) % 13 / 13.0;
}

static double checksum(int nr, int nq, int np, double A[nr][nq][np])
{
    double sum = 0.0;
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++)
            for (int p = 0; p < np; p++)
                sum += A[r][q][p] * (((r * nq + q) * np + p) % 7 + 1);
    return sum;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

int main(void)
{
    double (*A)[NQ][NP] = allocate(sizeof(double[NR][NQ][NP]));
    double (*C)[NP] = allocate(sizeof(double[NP][NP]));
    double *sum = allocate(sizeof(double[NP]));

    init(NR, NQ, NP, A, C);
    kernel_doitgen(NR, NQ, NP, A, C, sum);
    printf("doitgen %.12e\n", checksum(NR, NQ, NP, A));

    free(A);
    free(C);
    free(sum);
    return 0;
}
