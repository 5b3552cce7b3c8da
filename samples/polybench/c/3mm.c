/* 3mm: G = (A B) (C D) through E = A B and F = C D: three matrix products.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * NI                16      40     180     800
 * NJ                18      50     190     900
 * NK                20      60     200    1000
 * NL                22      70     210    1100
 * NM                24      80     220    1200
 *
 * Another size: cc -O2 -DNI=800 -DNJ=900 -DNK=1000 -DNL=1100 -DNM=1200 3mm.c
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
#define NK 20
#endif
#ifndef NL
#define NL 22
#endif
#ifndef NM
#define NM 24
#endif

static void kernel_3mm(int ni, int nj, int nk, int nl, int nm,
                       double E[restrict ni][nj], double A[restrict ni][nk], double B[restrict nk][nj],
                       double F[restrict nj][nl], double C[restrict nj][nm], double D[restrict nm][nl],
                       double G[restrict ni][nl])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            E[i][j] = 0.0;
            for (int k = 0; k < nk; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int j = 0; j < nj; j++)
        for (int l = 0; l < nl; l++) {
            F[j][l] = 0.0;
            for (int m = 0; m < nm; m++)
                F[j][l] += C[j][m] * D[m][l];
        }
    for (int i = 0; i < ni; i++)
        for (int l = 0; l < nl; l++) {
            G[i][l] = 0.0;
            for (int j = 0; j < nj; j++)
                G[i][l] += E[i][j] * F[j][l];
        }
}

static void init(int ni, int nj, int nk, int nl, int nm,
                 double A[ni][nk], double B[nk][nj], double C[nj][nm], double D[nm][nl])
{
    for (int i = 0; i < ni; i++)
        for (int k = 0; k < nk; k++)
            A[i][k] = (7 * i + 2 * k + 1) % 11 / 11.0;
    for (int k = 0; k < nk; k++)
        for (int j = 0; j < nj; j++)
            B[k][j] = (2 * k + 9 * j + 2) % 13 / 13.0;
    for (int j = 0; j < nj; j++)
        for (int m = 0; m < nm; m++)
            C[j][m] = (5 * j + 3 * m + 3) % 17 / 17.0;
    for (int m = 0; m < nm; m++)
        for (int l = 0; l < nl; l++)
            D[m][l] = (4 * m + 7 * l + 4) % 19 / 19.0;
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
    double (*E)[NJ] = allocate(sizeof(double[NI][NJ]));
    double (*A)[NK] = allocate(sizeof(double[NI][NK]));
    double (*B)[NJ] = allocate(sizeof(double[NK][NJ]));
    double (*F)[NL] = allocate(sizeof(double[NJ][NL]));
    double (*C)[NM] = allocate(sizeof(double[NJ][NM]));
    double (*D)[NL] = allocate(sizeof(double[NM][NL]));
    double (*G)[NL] = allocate(sizeof(double[NI][NL]));

    init(NI, NJ, NK, NL, NM, A, B, C, D);
    kernel_3mm(NI, NJ, NK, NL, NM, E, A, B, F, C, D, G);
    printf("3mm %.12e\n", checksum(NI, NL, G));

    free(E);
    free(A);
    free(B);
    free(F);
    free(C);
    free(D);
    free(G);
    return 0;
}
