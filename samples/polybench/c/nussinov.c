/* nussinov: The largest number of base pairs in a folding of an RNA sequence, by dynamic programming
 * over its intervals (Nussinov). Bases are 0 to 3; two that add up to 3 pair; neighbours never
 * do.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 60     180     500    2500
 *
 * Another size: cc -O2 -DN=2500 nussinov.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 60
#endif

#define MAX(a, b) ((a) >= (b) ? (a) : (b))
#define PAIRS(a, b) ((a) + (b) == 3 ? 1 : 0)

static void kernel_nussinov(int n, unsigned char seq[restrict n], int table[restrict n][n])
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            table[i][j] = MAX(table[i][j], table[i][j - 1]);
            table[i][j] = MAX(table[i][j], table[i + 1][j]);
            if (i < j - 1)
                table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + PAIRS(seq[i], seq[j]));
            for (int k = i + 1; k < j; k++)
                table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
        }
}

static void init(int n, unsigned char seq[n], int table[n][n])
{
    for (int i = 0; i < n; i++) {
        seq[i] = (unsigned char)((7 * i * i + 3 * i + i / 5) % 4);
        for (int j = 0; j < n; j++)
            table[i][j] = 0;
    }
}

static double checksum(int n, int table[n][n])
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += (double)table[i][j] * ((i * n + j) % 7 + 1);
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
    unsigned char *seq = allocate(sizeof(unsigned char[N]));
    int (*table)[N] = allocate(sizeof(int[N][N]));

    init(N, seq, table);
    kernel_nussinov(N, seq, table);
    printf("nussinov %.12e\n", checksum(N, table));

    free(seq);
    free(table);
    return 0;
}
