/* gemm: C = alpha A B + beta C, a matrix product that accumulates.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * NI                20      60     200    1000
 * NJ                25      70     220    1100
 * NK                30      80     240    1200
 *
 * Another size: cc -O2 -DNI=1000 -DNJ=1100 -DNK=1200 gemm.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef NI
#define NI 20
#endif
#ifndef NJ
#define NJ 25
#endif
#ifndef NK
#define NK 30
#endif

static void kernel_gemm(int ni, int nj, int nk, double alpha, double beta,
                        double C[restrict ni][nj], double A[restrict ni][nk], double B[restrict nk][nj])
{
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++)
            C[i][j] *= beta;
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}

static void init(int ni, int nj, int nk, double C[ni][nj], double A[ni][nk], double B[nk][nj])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            C[i][j] = (3 * i + 5 * j + 1) % 11 / 11.0;
    for (int i = 0; i < ni; i++)
        for (int k = 0; k < nk; k++)
            A[i][k] = (7 * i + 2 * k + 2) % 13 / 13.0;
    for (int k = 0; k < nk; k++)
        for (int j = 0; j < nj; j++)
            B[k][j] = (2 * k + 9 * j + 3) % 17 / 17.0;
}

static double checksum(int rows, int cols, double A[rows][cols])
{
    double sum = 0.0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            sum += A[i][j] * ((i * cols + j) % 7 + 1);
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
    double (*C)[NJ] = allocate(sizeof(double[NI][NJ]));
    double (*A)[NK] = allocate(sizeof(double[NI][NK]));
    double (*B)[NJ] = allocate(sizeof(double[NK][NJ]));

    init(NI, NJ, NK, C, A, B);
    kernel_gemm(NI, NJ, NK, 1.5, 1.2, C, A, B);
    printf("gemm %.12e\n", checksum(NI, NJ, C));

    free(C);
    free(A);
    free(B);
    return 0;
}
