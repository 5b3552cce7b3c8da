/*
 * histogram: count, normalise, accumulate, equalise; and a counting sort.
 *
 * Sizes: SAMPLES = 10000 (override with -DSAMPLES=...), 64 bins
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef SAMPLES
#define SAMPLES 10000
#endif
#define BINS 64

/* The bin is data: two iterations may add to the same one. */
static void count(const unsigned char *sample, size_t n, unsigned bins[BINS])
{
    for (size_t b = 0; b < BINS; b++)
        bins[b] = 0;
    for (size_t i = 0; i < n; i++)
        bins[sample[i]]++;
}

/* The same with one histogram per chunk: the outer loop writes rows of its own. */
static void count_by_chunks(const unsigned char *restrict sample, size_t n, unsigned partial[8][BINS],
                            unsigned *restrict bins)
{
    size_t chunk, i, b;
    size_t length = (n + 7) / 8;

    for (chunk = 0; chunk < 8; chunk++) {
        size_t first = chunk * length;
        size_t last = first + length < n ? first + length : n;
        for (b = 0; b < BINS; b++)
            partial[chunk][b] = 0;
        for (i = first; i < last; i++)
            partial[chunk][sample[i]]++;
    }
    for (b = 0; b < BINS; b++) {
        bins[b] = 0;
        for (chunk = 0; chunk < 8; chunk++)
            bins[b] += partial[chunk][b];
    }
}

static void normalise(const unsigned bins[BINS], size_t n, double density[BINS])
{
    int b;
    for (b = 0; b < BINS; b++)
        density[b] = (double)bins[b] / (double)n;
}

static void accumulate(const double *density, double *cumulative)
{
    double so_far = 0.0;
    for (int b = 0; b < BINS; b++) {
        so_far += density[b];
        cumulative[b] = so_far;
    }
}

/* Indirect read, regular write: no obstacle. */
static void equalise(const unsigned char *sample, unsigned char *out, size_t n, const double *cumulative)
{
    size_t i = 0;
    while (i < n) {
        out[i] = (unsigned char)(cumulative[sample[i]] * (BINS - 1) + 0.5);
        i++;
    }
}

static int fullest(const unsigned bins[BINS])
{
    int best = 0;
    for (int b = 1; b < BINS; b++)
        if (bins[b] > bins[best])
            best = b;
    return best;
}

/* offset[] moves on with every sample it places: order matters. */
static void counting_sort(const unsigned char *sample, size_t n, const unsigned bins[BINS],
                          unsigned char *sorted)
{
    size_t offset[BINS];

    offset[0] = 0;
    for (int b = 1; b < BINS; b++)
        offset[b] = offset[b - 1] + bins[b - 1];
    for (size_t i = 0; i < n; i++)
        sorted[offset[sample[i]]++] = sample[i];
}

int main(void)
{
    unsigned char *sample = malloc(SAMPLES), *out = malloc(SAMPLES), *sorted = malloc(SAMPLES);
    unsigned bins[BINS], again[BINS], partial[8][BINS], total = 0, differ = 0, disorder = 0;
    double density[BINS], cumulative[BINS], sum = 0.0;
    unsigned state = 7u;

    if (sample == NULL || out == NULL || sorted == NULL)
        return EXIT_FAILURE;
    for (size_t i = 0; i < SAMPLES; i++) {
        state = state * 1664525u + 1013904223u;
        /* The mean of two draws: the middle bins fill more than the ends. */
        sample[i] = (unsigned char)(((state >> 26) + (state >> 16 & 63u)) / 2);
    }
    count(sample, SAMPLES, bins);
    count_by_chunks(sample, SAMPLES, partial, again);
    normalise(bins, SAMPLES, density);
    accumulate(density, cumulative);
    equalise(sample, out, SAMPLES, cumulative);
    counting_sort(sample, SAMPLES, bins, sorted);
    for (int b = 0; b < BINS; b++) {
        total += bins[b];
        differ += bins[b] != again[b];
    }
    for (size_t i = 1; i < SAMPLES; i++)
        disorder += sorted[i - 1] > sorted[i];
    for (size_t i = 0; i < SAMPLES; i++)
        sum += (out[i] + 2.0 * sorted[i]) * (double)(i % 7 + 1);
    printf("total %u\n", total);
    printf("differ %u\n", differ);
    printf("disorder %u\n", disorder);
    printf("fullest %d\n", fullest(bins));
    printf("cumulative %.12e\n", cumulative[BINS - 1]);
    printf("checksum %.12e\n", sum);
    free(sample);
    free(out);
    free(sorted);
    return 0;
}
