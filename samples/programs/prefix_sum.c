/*
 * prefix_sum: scans in several guises, a moving average and a compaction.
 *
 * Sizes: N = 1000 (override with -DN=...), BLOCK = 64, windows of 9
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 1000
#endif
#define BLOCK 64
#define WINDOW 9

/* The textbook one: each element needs the one before. */
static void inclusive_scan(const long *in, long *out, size_t n)
{
    out[0] = in[0];
    for (size_t i = 1; i < n; i++)
        out[i] = out[i - 1] + in[i];
}

/* With a running total instead; returns the grand total. */
static long exclusive_scan(const long *in, long *out, size_t n)
{
    long total = 0;
    while (n--) {
        *out++ = total;
        total += *in++;
    }
    return total;
}

/* In blocks: sums of the blocks, a short scan of those, then every block by itself. */
static void blocked_scan(const long *restrict in, long *restrict out, size_t n, long *restrict block_sum)
{
    size_t blocks = (n + BLOCK - 1) / BLOCK;
    size_t b, i, last;
    long total, held;

    for (b = 0; b < blocks; b++) {
        last = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
        total = 0;
        for (i = b * BLOCK; i < last; i++)
            total += in[i];
        block_sum[b] = total;
    }
    total = 0;
    for (b = 0; b < blocks; b++) {
        held = block_sum[b];
        block_sum[b] = total;
        total += held;
    }
    for (b = 0; b < blocks; b++) {
        last = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
        total = block_sum[b];
        for (i = b * BLOCK; i < last; i++) {
            total += in[i];
            out[i] = total;
        }
    }
}

/* Hillis and Steele: log n rounds, each of them parallel; the stride doubles. */
static void doubling_scan(long *from, long *to, size_t n, long *result)
{
    long *held;

    for (size_t stride = 1; stride < n; stride *= 2) {
        for (size_t i = 0; i < n; i++)
            to[i] = i >= stride ? from[i] + from[i - stride] : from[i];
        held = from;
        from = to;
        to = held;
    }
    for (size_t i = 0; i < n; i++)
        result[i] = from[i];
}

/* Every mean on its own: more additions, no order. */
static void moving_average(const long in[N], double out[N])
{
    for (int i = 0; i <= N - WINDOW; i++) {
        double sum = 0.0;
        for (int k = 0; k < WINDOW; k++)
            sum += in[i + k];
        out[i] = sum / WINDOW;
    }
}

/* The same by a sliding sum: fewer additions, one after the other. */
static void sliding_average(const long in[N], double out[N])
{
    long sum = 0;
    int i;

    for (i = 0; i < WINDOW; i++)
        sum += in[i];
    out[0] = (double)sum / WINDOW;
    for (i = 1; i <= N - WINDOW; i++) {
        sum += in[i + WINDOW - 1] - in[i - 1];
        out[i] = (double)sum / WINDOW;
    }
}

/* Keeps the positive elements: where one goes depends on all before it. */
static size_t compact(const long *in, size_t n, long *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (in[i] > 0)
            out[kept++] = in[i];
    return kept;
}

/* The same in two parallel passes around a scan: positions[] never repeats. */
static size_t compact_by_scan(const long *in, size_t n, long *flags, long *positions, long *out)
{
    size_t i, kept;

    for (i = 0; i < n; i++)
        flags[i] = in[i] > 0;
    kept = (size_t)exclusive_scan(flags, positions, n);
    for (i = 0; i < n; i++)
        if (flags[i])
            out[positions[i]] = in[i];
    return kept;
}

int main(void)
{
    static long in[N], inclusive[N], exclusive[N], blocked[N], doubled[N], a[N], b[N];
    static long block_sum[N / BLOCK + 1];
    static double mean[N], slid[N];
    long total, differ = 0, sum = 0;
    size_t kept;

    for (int i = 0; i < N; i++)
        in[i] = (i * 37 + i * i % 11) % 41 - 15;
    inclusive_scan(in, inclusive, N);
    total = exclusive_scan(in, exclusive, N);
    blocked_scan(in, blocked, N, block_sum);
    for (int i = 0; i < N; i++)
        a[i] = in[i];
    doubling_scan(a, b, N, doubled);
    moving_average(in, mean);
    sliding_average(in, slid);
    for (int i = 0; i < N; i++) {
        differ += inclusive[i] != exclusive[i] + in[i];
        differ += inclusive[i] != blocked[i];
        differ += inclusive[i] != doubled[i];
        differ += mean[i] != slid[i];
        sum += inclusive[i] * (i % 7 + 1);
    }
    kept = compact(in, N, a);
    if (kept != compact_by_scan(in, N, exclusive, b, doubled))
        return EXIT_FAILURE;
    for (size_t i = 0; i < kept; i++) {
        differ += a[i] != doubled[i];
        sum += a[i] * (long)(i % 7 + 1);
    }
    printf("total %ld\n", total);
    printf("differ %ld\n", differ);
    printf("kept %lu\n", (unsigned long)kept);
    printf("checksum %ld\n", sum);
    return 0;
}
