/* Searches of extrema with their positions, on data with equal values, zeros of both signs and NaN. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
    double weight;
    int number;
};

static int largest(int n, const double *x)
{
    double best = -INFINITY;
    int at = -1;
    for (int i = 0; i < n; i++)
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    return at;
}

static int smallest_from_the_end(int n, const float *x, float *value)
{
    float best = INFINITY;
    int at = -1, i;
    for (i = n - 1; i >= 0; i--)
        if (best > x[i]) {
            at = i;
            best = x[i];
        }
    *value = best;
    return at;
}

static int in_rows(int n, int m, const int *x, int *column)
{
    int best = INT_MIN, row = -1, at = -1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (x[i * m + j] > best) {
                best = x[i * m + j];
                row = i;
                at = j;
            }
    *column = at;
    return row;
}

static long both(long n, const double *x, const int *numbers, int *number)
{
    double low = INFINITY, high = -INFINITY;
    long first = -1, last = -1, count = 0;
    for (long i = 0; i < n; i += 2) {
        count += x[i] > 0;
        if (x[i] < low) {
            low = x[i];
            first = i;
        }
        if (i % 3 && x[i] > high) {
            high = x[i];
            last = i;
        }
    }
    long taken = -1;
    int belongs = 0;
    double most = 0;
    for (long i = 0; i < n; i++)
        if (x[i] > most && numbers[i] > 2) {
            most = x[i];
            belongs = numbers[i];
            taken = i;
        }
    *number = belongs;
    return first + 1000 * last + 1000000 * taken + 100000000 * count;
}

static int by_position(int n, const double *x)
{
    int at = 0;
    for (int i = 0; i < n; i++)
        if (x[i] < x[at])
            at = i;
    return at;
}

static int by_member(int n, const struct item *x)
{
    int at = n - 1;
    for (int i = 0; i < n; i++)
        if (x[at].weight < x[i].weight)
            at = i;
    return at;
}

static int by_two_positions(int n, int m, const double *x, int *column)
{
    int row = 0, at = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (x[i * m + j] > x[row * m + at]) {
                row = i;
                at = j;
            }
    *column = at;
    return row;
}

static int pivot(int n, int m, const double *x, int column)
{
    int at = 0;
    for (int i = 0; i < n; i++)
        if (fabs(x[i * m + column]) > fabs(x[at * m + column]))
            at = i;
    return at;
}

static float largest_magnitude(int n, const float *x, int *position)
{
    float most = 0;
    int at = -1;
    for (int i = 0; i < n; i++)
        if (most < fabs(x[i])) {
            most = fabs(x[i]);
            at = i;
        }
    *position = at;
    return most;
}

static int by_continue(int n, const int *x, const int *skipped)
{
    int best = INT_MAX, at = -1;
    for (int i = 0; i < n; i++) {
        int t = x[i] * 3 - 7;
        if (skipped[i] > 6 || t >= best)
            continue;
        best = t;
        at = i;
    }
    return at;
}

static int not_larger(int n, const double *x)
{
    double best = INFINITY;
    int at = -1;
    for (int i = 0; i < n; i++) {
        if (!(x[i] < best))
            continue;
        at = i;
        best = x[i];
    }
    return at;
}

static int without_nan(int n, const int *x)
{
    double best = 4;
    int at = -1;
    for (int i = n - 1; i >= 0; i--) {
        double t = x[i] * 0.5;
        if (t >= best)
            continue;
        best = t;
        at = i;
    }
    return at;
}

int main(void)
{
    unsigned seed = 1;
    for (int round = 0; round < 150; round++) {
        int n = round % 37, m = 1 + round % 5, size = n * m, column = 0, number = 0;
        double *x = malloc(size * sizeof *x);
        float *y = malloc(size * sizeof *y), value = 0;
        int *z = malloc(size * sizeof *z);
        struct item *w = malloc(size * sizeof *w);
        for (int k = 0; k < size; k++) {
            seed = seed * 1664525u + 1013904223u;
            int drawn = seed >> 28;
            x[k] = drawn == 7 ? NAN : drawn == 3 ? -0.0 : drawn / 3 - 1;
            y[k] = x[k];
            z[k] = drawn / 2;
            w[k].weight = x[k];
        }
        printf("%d %d", largest(n, x), smallest_from_the_end(n, y, &value));
        printf(" %g %d %d", value, in_rows(n, m, z, &column), column);
        printf(" %ld %d", both(n, x, z, &number), number);
        printf(" %d %d", by_position(n, n ? x : NULL), by_member(n, n ? w : NULL));
        printf(" %d %d\n", by_two_positions(n, m, n ? x : NULL, &column), column);
        printf("%d %g", pivot(n, m, n ? x : NULL, m - 1), largest_magnitude(n, y, &column));
        printf(" %d %d", column, by_continue(n, z, z));
        printf(" %d %d\n", not_larger(n, x), without_nan(n, z));
        free(x);
        free(y);
        free(z);
        free(w);
    }
    return 0;
}
