/* fdtd-2d: Maxwell's equations in two dimensions by finite differences in the time domain: two electric
 * fields and one magnetic field on staggered grids.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * TMAX              20      40     100     500
 * NX                20      60     200    1000
 * NY                30      80     240    1200
 *
 * Another size: cc -O2 -DTMAX=500 -DNX=1000 -DNY=1200 fdtd-2d.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TMAX
#define TMAX 20
#endif
#ifndef NX
#define NX 20
#endif
#ifndef NY
#define NY 30
#endif

static void kernel_fdtd_2d(int tmax, int nx, int ny, double ex[restrict nx][ny],
                           double ey[restrict nx][ny], double hz[restrict nx][ny], double source[restrict tmax])
{
    for (int t = 0; t < tmax; t++) {
        for (int j = 0; j < ny; j++)
            ey[0][j] = source[t];
        for (int i = 1; i < nx; i++)
            for (int j = 0; j < ny; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < nx; i++)
            for (int j = 1; j < ny; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < nx - 1; i++)
            for (int j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

static void init(int tmax, int nx, int ny, double ex[nx][ny], double ey[nx][ny], double hz[nx][ny],
                 double source[tmax])
{
    for (int t = 0; t < tmax; t++)
        source[t] = t % 10;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++) {
            ex[i][j] = (double)i * (j + 1) / nx;
            ey[i][j] = (double)i * (j + 2) / ny;
            hz[i][j] = (double)i * (j + 3) / nx;
        }
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
    double (*ex)[NY] = allocate(sizeof(double[NX][NY]));
    double (*ey)[NY] = allocate(sizeof(double[NX][NY]));
    double (*hz)[NY] = allocate(sizeof(double[NX][NY]));
    double *source = allocate(sizeof(double[TMAX]));

    init(TMAX, NX, NY, ex, ey, hz, source);
    kernel_fdtd_2d(TMAX, NX, NY, ex, ey, hz, source);
    printf("fdtd-2d %.12e\n", checksum(NX, NY, ex) + checksum(NX, NY, ey) + checksum(NX, NY, hz));

    free(ex);
    free(ey);
    free(hz);
    free(source);
    return 0;
}
