/* Elements that data, quotients and remainders choose, of arrays without a size. */
#include <stdio.h>
#include <stdlib.h>

static void f_gather(int n, double *restrict out, const double *restrict v, const int *restrict list)
{
    for (int i = 0; i < n; i++)
        out[i] = v[list[i]];
}

static void f_indirect(int n, double *restrict out, const double *restrict v, const int *restrict list)
{
    for (int i = 0; i < n; i++) {
        int at = list[i];
        double here = v[at];
        out[i] = here * here;
    }
}

static void f_count(int n, int *restrict count, const int *restrict list)
{
    for (int i = 0; i < n; i++)
        count[list[i]]++;
}

static void f_rows(int n, const int *restrict first, const int *restrict column, const double *restrict value,
                   const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

static void f_half(int n, double *restrict out, const double *restrict a)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i / 2];
}

static void f_strided(int n, double *restrict out, const double *restrict a)
{
    for (int i = 0; i < n; i += 2)
        out[i] = a[i / 2];
}

static void f_around(int n, double *restrict out, const double *restrict a, const double *restrict w)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * w[i % 16];
}

static double number(int k)
{
    return (k * 37 + 11) % 101 * 0.125;
}

static void show(int n, const double *a)
{
    for (int i = 0; i < n; i++)
        printf("%.9g ", a[i]);
    printf("\n");
}

/* Rows of which the first element is read before the others, and none has a length that C says. */
static void f_largest(int n, int m, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double most = x[i * m];
        for (int j = 1; j < m; j++)
            most = most > x[i * m + j] ? most : x[i * m + j];
        y[i] = most;
    }
}

static void f_periodic(int n, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] = a[(i + 1) % n] - a[(i - 1 + n) % n];
}

/* Half of the rows of a flat array. */
static void f_rows_between(int rows, int cols, const double *restrict v, double *restrict out)
{
    for (int i = 0; i < rows / 2; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = 3 * v[2 * i * cols + j];
}

/* Both operands of a quotient are converted, one because the other one is. */
void f_between(int n, double *restrict out, const double *restrict v)
{
    for (int i = 0; i < n; i++) {
        float at = (float)i * 3 / (n + 1);
        int left = (int)at;
        double product = (double)at * at;
        out[i] = v[left] + product / n + 1 / (double)(i + 2) + (double)i / (n + 3);
    }
}

static void try(int n)
{
    int few = n < 16 ? n : 16;
    double *v = malloc(sizeof *v * n), *half = malloc(sizeof *half * ((n + 1) / 2));
    double *w = malloc(sizeof *w * few), *out = calloc(n, sizeof *out);
    int *list = malloc(sizeof *list * n), *count = calloc(n, sizeof *count);
    int *first = malloc(sizeof *first * (n + 1)), *column = malloc(sizeof *column * 2 * n);
    double *value = malloc(sizeof *value * 2 * n);
    for (int i = 0; i < n; i++) {
        v[i] = number(i);
        list[i] = (7 * i + 3) % n / 2;
    }
    for (int i = 0; i < (n + 1) / 2; i++)
        half[i] = number(i + 1);
    for (int i = 0; i < few; i++)
        w[i] = number(i + 2);
    first[0] = 0;
    for (int i = 0; i < n; i++)
        first[i + 1] = first[i] + i % 3;
    for (int k = 0; k < first[n]; k++) {
        column[k] = (3 * k + 1) % n;
        value[k] = number(k + 4);
    }
    f_gather(n, out, v, list);
    show(n, out);
    f_indirect(n, out, v, list);
    show(n, out);
    f_count(n, count, list);
    for (int i = 0; i < n; i++)
        printf("%d ", count[i]);
    f_rows(n, first, column, value, v, out);
    show(n, out);
    f_half(n, out, half);
    show(n, out);
    f_strided(n, out, half);
    show(n, out);
    f_around(n, out, v, w);
    show(n, out);
    f_periodic(n, v, out);
    show(n, out);
    f_largest(n / 3, 3, v, out);
    show(n / 3, out);
    f_largest(n, 1, v, out);
    show(n, out);
    f_rows_between(n, 1, v, out);
    show(n, out);
    f_rows_between(n / 3, 3, v, out);
    show(n, out);
    f_between(n, out, v);
    show(n, out);
    free(v), free(half), free(w), free(out), free(list), free(count), free(first), free(column), free(value);
}

int main(void)
{
    const int sizes[] = {1, 2, 17, 33, 1100};
    for (int k = 0; k < 5; k++)
        try(sizes[k]);
    return 0;
}
