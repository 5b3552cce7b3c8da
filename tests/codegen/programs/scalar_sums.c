/* Sums in variables that end in elements of arrays: eliminations, whose steps a device runs at once where each
 * term is added in the element itself. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int n;
    float *entries;
} matrix;

static void f_eliminated(int n, int m, double (*restrict a)[m])
{
    double w;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            w = a[i][j];
            for (int k = 0; k < j; k++)
                w -= a[i][k] * a[k][j];
            a[i][j] = w / a[j][j];
        }
        for (int j = i; j < n; j++) {
            w = a[i][j];
            for (int k = 0; k < i; k++)
                w -= a[i][k] * a[k][j];
            a[i][j] = w;
        }
    }
}

/* As numerical recipes have it: declared at the top, columns first. */
static void f_columns(int n, int m, double (*restrict a)[m])
{
    int i, j, k;
    double sum;
    for (j = 0; j < n; j++) {
        for (i = 0; i < j; i++) {
            sum = a[i][j];
            for (k = 0; k < i; k++)
                sum -= a[i][k] * a[k][j];
            a[i][j] = sum;
        }
        for (i = j; i < n; i++) {
            sum = a[i][j];
            for (k = 0; k < j; k++)
                sum -= a[i][k] * a[k][j];
            a[i][j] = sum / (i == j ? 1 : a[j][j]);
        }
    }
}

/* Each sum is declared where it begins, over several lines. */
static void f_root(int n, double *restrict a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum =
                a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i > j)
                a[i * n + j] = sum / a[j * n + j];
            else
                a[i * n + j] = sum / 2 + n;
        }
}

/* Members of a structure. */
static void f_member(matrix *m)
{
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < i; j++) {
            float sum = m->entries[i * m->n + j];
            for (int k = 0; k < j; k++)
                sum -= m->entries[i * m->n + k] * m->entries[k * m->n + j];
            m->entries[i * m->n + j] = sum / 4;
        }
}

/* The sum has more digits than the element. */
static void f_digits(int n, int m, float (*restrict a)[m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= (double)a[i][k] * a[k][j];
            a[i][j] = sum / 4;
        }
}

/* The sum ends in two elements. */
static void f_symmetric(int n, int m, double (*restrict a)[m], double (*restrict both)[m])
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[k][i] * a[k][j];
            both[i][j] = both[j][i] = sum / (n + 1);
        }
}

/* The element is read before the sum ends in it. */
static void f_read(int n, int m, double (*restrict a)[m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[k][j] + a[i][j] / 8;
            a[i][j] = sum / 4;
        }
}

/* The last sum is needed. */
static double f_needed(int n, int m, double (*restrict a)[m])
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[k][j];
            a[i][j] = sum / 4;
        }
    return sum;
}

/* The pointers are not said to lead to different elements. */
static void f_two(int n, double *a, double *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * b[k * n + j];
            a[i * n + j] = sum / 4;
        }
}

static double state;

static double next(void)
{
    state = state * 5 + 3;
    while (state >= 97)
        state -= 97;
    return state / 97 + 0.25;
}

static void filled(int count, double *v)
{
    for (int i = 0; i < count; i++)
        v[i] = next();
}

static void shown(const char *name, int count, const double *v)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += v[i] * (i % 7 + 1);
    printf("%s %.8g %.8g\n", name, sum, v[count - 1]);
}

int main(void)
{
    static const int sizes[] = {1, 2, 17, 33, 40};
    for (int s = 0; s < 5; s++) {
        int n = sizes[s];
        double *v = malloc(sizeof(double) * n * n), *w = malloc(sizeof(double) * n * n);
        float *f = malloc(sizeof(float) * n * n);
        matrix m = {n, f};
        filled(n * n, v);
        for (int i = 0; i < n; i++)
            v[i * n + i] += n;
        f_eliminated(n, n, (double (*)[n])v);
        shown("eliminated", n * n, v);
        filled(n * n, v);
        for (int i = 0; i < n; i++)
            v[i * n + i] += n;
        f_columns(n, n, (double (*)[n])v);
        shown("columns", n * n, v);
        filled(n * n, v);
        f_root(n, v);
        shown("root", n * n, v);
        filled(n * n, v);
        for (int i = 0; i < n * n; i++)
            f[i] = v[i];
        f_member(&m);
        for (int i = 0; i < n * n; i++)
            v[i] = f[i];
        shown("member", n * n, v);
        f_digits(n, n, (float (*)[n])f);
        for (int i = 0; i < n * n; i++)
            v[i] = f[i];
        shown("digits", n * n, v);
        filled(n * n, v);
        f_read(n, n, (double (*)[n])v);
        shown("read", n * n, v);
        filled(n * n, v);
        printf("needed %.8g\n", f_needed(n, n, (double (*)[n])v));
        shown("needed", n * n, v);
        filled(n * n, v);
        filled(n * n, w);
        f_symmetric(n, n, (double (*)[n])v, (double (*)[n])w);
        shown("symmetric", n * n, w);
        filled(n * n, w);
        f_two(n, v, w);
        shown("two", n * n, v);
        free(v), free(w), free(f);
    }
    return 0;
}
