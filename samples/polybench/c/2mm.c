/* 2mm: D = alpha A B C + beta D through tmp = alpha A B: two matrix products, one after the other.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * NI                16      40     180     800
 * NJ                18      50     190     900
 * NK                22      70     210    1100
 * NL                24      80     220    1200
 *
 * Another size: cc -O2 -DNI=800 -DNJ=900 -DNK=1100 -DNL=1200 2mm.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef NI
#define NI 16
#endif
#ifndef NJ
#define NJ 18
#endif
#ifndef NK
#define NK 22
#endif
#ifndef NL
#define NL 24
#endif

static void kernel_2mm(int ni, int nj, int nk, int nl, double alpha, double beta,
                       double tmp[restrict ni][nj], double A[restrict ni][nk], double B[restrict nk][nj],
                       double C[restrict nj][nl], double D[restrict ni][nl])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            tmp[i][j] = 0.0;
            for (int k = 0; k < nk; k++)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (int i = 0; i < ni; i++)
        for (int l = 0; l < nl; l++) {
            D[i][l] *= beta;
            for (int j = 0; j < nj; j++)
                D[i][l] += tmp[i][j] * C[j][l];
        }
}

static void init(int ni, int nj, int nk, int nl,
                 double A[ni][nk], double B[nk][nj], double C[nj][nl], double D[ni][nl])
{
    for (int i = 0; i < ni; i++)
        for (int k = 0; k < nk; k++)
            A[i][k] = (7 * i + 2 * k + 1) % 11 / 11.0;
    for (int k = 0; k < nk; k++)
        for (int j = 0; j < nj; j++)
            B[k][j] = (2 * k + 9 * j + 2) % 13 / 13.0;
    for (int j = 0; j < nj; j++)
        for (int l = 0; l < nl; l++)
            C[j][l] = (5 * j + 3 * l + 3) % 17 / 17.0;
    for (int i = 0; i < ni; i++)
        for (int l = 0; l < nl; l++)
            D[i][l] = (4 * i + 7 * l + 4) % 19 / 19.0;
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
    double (*tmp)[NJ] = allocate(sizeof(double[NI][NJ]));
    double (*A)[NK] = allocate(sizeof(double[NI][NK]));
    double (*B)[NJ] = allocate(sizeof(double[NK][NJ]));
    double (*C)[NL] = allocate(sizeof(double[NJ][NL]));
    double (*D)[NL] = allocate(sizeof(double[NI][NL]));

    init(NI, NJ, NK, NL, A, B, C, D);
    kernel_2mm(NI, NJ, NK, NL, 1.5, 1.2, tmp, A, B, C, D);
    printf("2mm %.12e\n", checksum(NI, NL, D));

    free(tmp);
    free(A);
    free(B);
    free(C);
    free(D);
    return 0;
}
