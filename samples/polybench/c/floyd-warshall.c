/* floyd-warshall: All shortest paths of a directed graph with n nodes, from its matrix of edge lengths.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 60     180     500    2800
 *
 * Another size: cc -O2 -DN=2800 floyd-warshall.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 60
#endif

#define NO_EDGE 9999

static void kernel_floyd_warshall(int path[N][N])
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}

static void init(int path[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            path[i][j] = (5 * i + 11 * j) % 17 + 1;
            if ((i + 2 * j) % 3 == 0)
                path[i][j] = NO_EDGE;
            if (i == j)
                path[i][j] = 0;
        }
}

static double checksum(int path[N][N])
{
    double sum = 0.0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += (double)path[i][j] * ((i * N + j) % 7 + 1);
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
    int (*path)[N] = allocate(sizeof(int[N][N]));

    init(path);
    kernel_floyd_warshall(path);
    printf("floyd-warshall %.12e\n", checksum(path));

    free(path);
    return 0;
}
