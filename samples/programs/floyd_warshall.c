/*
 * floyd_warshall: all shortest paths, their first hops, and what one asks of
 * them next (diameter, closeness, reachability).
 *
 * The distances are one `int *`, row after row; INF marks "no path yet" and
 * must never be added to anything.
 *
 * Sizes: VERTICES = 50 (override with -DVERTICES=...)
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef VERTICES
#define VERTICES 50
#endif

#define INF INT_MAX
#define NO_HOP (-1)

/* The k loop is a chain. The two inner ones are independent only because row
 * and column k do not change in round k, which the subscripts do not show. */
static void shortest_paths(int *dist, int *next, int n)
{
    int i, j, k;

    for (k = 0; k < n; k++)
        for (i = 0; i < n; i++) {
            if (dist[i * n + k] == INF)
                continue;
            for (j = 0; j < n; j++) {
                if (dist[k * n + j] == INF)
                    continue;
                if (dist[i * n + k] + dist[k * n + j] < dist[i * n + j]) {
                    dist[i * n + j] = dist[i * n + k] + dist[k * n + j];
                    next[i * n + j] = next[i * n + k];
                }
            }
        }
}

/* Leaves by break once the target is reached, or when there is no way. */
static int hops(const int *next, int n, int from, int to)
{
    int count = 0;

    while (from != to) {
        from = next[from * n + to];
        if (from == NO_HOP)
            return -1;
        if (++count > n)
            break;
    }
    return count;
}

static int diameter(const int *dist, int n)
{
    int longest = 0;

    for (int ij = 0; ij < n * n; ij++)
        if (dist[ij] != INF && dist[ij] > longest)
            longest = dist[ij];
    return longest;
}

/* Who is nearest to everybody he can reach? */
static int most_central(const int *dist, int n)
{
    int best = -1;
    double best_mean = 0.0;

    for (int i = 0; i < n; i++) {
        const int *row = dist + i * n;
        int reached = 0;
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            if (j != i && row[j] != INF) {
                sum += row[j];
                reached++;
            }
        if (reached > 0 && (best < 0 || sum / reached < best_mean)) {
            best = i;
            best_mean = sum / reached;
        }
    }
    return best;
}

static void transitive_closure(unsigned char *reach, const int *dist, int n)
{
    for (int ij = 0; ij < n * n; ij++)
        reach[ij] = dist[ij] != INF;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                reach[i * n + j] |= reach[i * n + k] & reach[k * n + j];
}

static void edges(int *dist, int *next, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int length = (i * 17 + j * 31) % 23;
            int linked = length > 0 && length < 4 && (i % 10 != 9 || j % 10 == 9);
            dist[i * n + j] = i == j ? 0 : linked ? length : INF;
            next[i * n + j] = linked || i == j ? j : NO_HOP;
        }
}

int main(void)
{
    const int n = VERTICES;
    int *dist = malloc((size_t)n * (size_t)n * sizeof *dist);
    int *next = malloc((size_t)n * (size_t)n * sizeof *next);
    unsigned char *reach = malloc((size_t)n * (size_t)n);
    long sum = 0;
    int reachable = 0, differ = 0, longest_walk = 0;

    if (dist == NULL || next == NULL || reach == NULL)
        return EXIT_FAILURE;
    edges(dist, next, n);
    transitive_closure(reach, dist, n);
    shortest_paths(dist, next, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int walk = hops(next, n, i, j);
            if (walk > longest_walk)
                longest_walk = walk;
            reachable += dist[i * n + j] != INF;
            differ += (dist[i * n + j] != INF) != reach[i * n + j];
            if (dist[i * n + j] != INF)
                sum += (long)dist[i * n + j] * ((i * n + j) % 7 + 1);
        }
    printf("diameter %d\n", diameter(dist, n));
    printf("central %d\n", most_central(dist, n));
    printf("hops %d\n", longest_walk);
    printf("reachable %d\n", reachable);
    printf("differ %d\n", differ);
    printf("checksum %ld\n", sum);
    free(dist);
    free(next);
    free(reach);
    return 0;
}
