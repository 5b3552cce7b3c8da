/* Arrays whose used part depends on conditions, local variables and members: found out before the loops. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    float r, g;
} pixel;

typedef struct {
    int w, h;
    pixel *px;
    double *u, *v;
} image;

static const int aside[5] = {0, 1, 0, -1, 0};

/* Some iterations have no element: their subscripts are negative. */
static void f_guarded(int n, double *restrict out, const double *restrict v, const int *restrict list)
{
    for (int i = 0; i < n; i++)
        if (list[i] >= 0)
            out[i] += v[list[i]];
}

static void f_chosen(int n, double *restrict out, const double *restrict v, const int *restrict list)
{
    for (int i = 0; i < n; i++)
        out[i] = list[i] < 0 ? 1 : v[list[i]];
}

static void f_both(int n, int *restrict out, const double *restrict v, const int *restrict list)
{
    int i;
    for (i = 0; i < n; i++)
        out[i] = list[i] >= 0 && v[list[i]] > 3;
}

/* A subscript in several steps, by a table and by remainders. */
static void f_shifted(int n, int m, double *restrict out, const double *restrict v)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < m; x++)
            for (int k = 0; k < 5; k++) {
                int from = (x - aside[k] + m) % m;
                int row = (y + aside[4 - k] + n) % n;
                from += row * m;
                out[y * m + x] += v[from] * (k + 1);
            }
}

static void f_skipped(int n, double *restrict out, const double *restrict v, const int *restrict list)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            int at = list[(i + k) % n];
            if (at < 0)
                continue;
            if (k == 1)
                at = at / 2;
            else {
                at = at + 1;
            }
            sum += v[at];
        }
        out[i] = sum;
    }
}

/* The sizes of a filter do not depend on those of the picture. */
static void f_filter(int h, int w, const float *restrict in, float *restrict out, const float *restrict k)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (y + dy >= 0 && y + dy < h && x + dx >= 0 && x + dx < w)
                        sum += in[(y + dy) * w + x + dx] * k[(dy + 1) * 3 + dx + 1];
            out[y * w + x] = sum;
        }
}

static void f_members(const image *from, image *to)
{
    for (int y = 1; y < from->h - 1; y++)
        for (int x = 1; x < from->w - 1; x++)
            to->px[y * to->w + x].r = from->px[y * from->w + x - 1].g + from->px[(y - 1) * from->w + x].r;
}

static void f_hoisted(image *g)
{
    double *u = g->u;
    double *v = g->v;
    int w = g->w, h = g->h;
    for (int j = 1; j < h - 1; j++)
        for (int i = 1; i < w - 1; i++)
            v[j * w + i] = 0.25 * (u[j * w + i - 1] + u[j * w + i + 1] + u[(j - 1) * w + i] + u[(j + 1) * w + i]);
}

/* No order of isl's: the first column depends on the row. */
static void f_red_black(int n, double u[n][n], double b[n][n])
{
    for (int color = 0; color < 2; color++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1 + (i + color) % 2; j < n - 1; j += 2)
                u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - b[i][j]);
}

/* Conditions around and before loops say whether these run, and not what they use. */
static void f_branch(int n, double alpha, const int *p, const int *rows, const double *v, const double *x,
                     double *restrict y)
{
    if (p[n] == 0 || alpha == 0)
        return;
    if (alpha != -1) {
        for (int j = 0; j < n; j++)
            for (int k = p[j]; k < p[j + 1]; k++)
                y[rows[k]] += alpha * v[k] * x[j];
    }
}

static void f_given(int n, double out[], double v)
{
    if (out != (double *)NULL) {
        for (int i = 0; i < n; i++)
            out[i] = v + i;
    }
}

/* Which elements of `p` are used depends on the format: a device has those of any. */
static void f_format(int n, int format, const int *p, double *restrict x)
{
    int offset = format == 0 ? 1 : 0;
    for (int i = 0; i < n; i++)
        x[p[i + offset] - offset] += 1.5;
}

static void show(const char *name, int n, const double *a)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * (i % 7 + 1);
    printf("%s %d %.10g\n", name, n, sum);
}

static double *numbers(int n)
{
    double *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++)
        a[i] = (i * 37 + 11) % 101 * 0.125;
    return a;
}

static void try(int n)
{
    double *v = numbers(n + 1), *out = numbers(n), *a = numbers(n * n), *b = numbers(n * n);
    int *list = malloc(n * sizeof *list), *is = calloc(n, sizeof *is);
    for (int i = 0; i < n; i++)
        list[i] = (5 * i + 2) % (n + 3) - 3;
    f_guarded(n, out, v, list);
    show("guarded", n, out);
    f_chosen(n, out, v, list);
    show("chosen", n, out);
    f_both(n, is, v, list);
    for (int i = 0; i < n; i++)
        out[i] = is[i];
    show("both", n, out);
    f_shifted(n, n, a, b);
    show("shifted", n * n, a);
    f_skipped(n, out, v, list);
    show("skipped", n, out);
    float *in = malloc(n * n * sizeof *in), *made = calloc(n * n, sizeof *made);
    const float k[9] = {1, 2, 1, 0, 3, 0, -1, -2, -1};
    for (int i = 0; i < n * n; i++)
        in[i] = i % 13;
    f_filter(n, n, in, made, k);
    for (int i = 0; i < n * n; i++)
        b[i] = made[i];
    show("filter", n * n, b);
    image one = {n, n, calloc(n * n, sizeof(pixel)), a, b}, other = {n, n, calloc(n * n, sizeof(pixel)), a, b};
    for (int i = 0; i < n * n; i++) {
        one.px[i].r = i % 5;
        one.px[i].g = i % 9;
    }
    f_members(&one, &other);
    for (int i = 0; i < n * n; i++)
        b[i] = other.px[i].r + other.px[i].g;
    show("members", n * n, b);
    f_hoisted(&one);
    show("hoisted", n * n, b);
    f_red_black(n, (double (*)[n])a, (double (*)[n])b);
    show("red-black", n * n, a);
    int *p = malloc((n + 1) * sizeof *p), *rows = malloc(2 * n * sizeof *rows);
    for (int i = 0; i <= n; i++)
        p[i] = 2 * i;
    for (int i = 0; i < 2 * n; i++)
        rows[i] = (3 * i + 1) % n;
    double *w = numbers(2 * n);
    f_branch(n, -1, p, rows, w, v, out);
    f_branch(n, 0.5, p, rows, w, v, out);
    show("branch", n, out);
    f_format(n, 0, p, w);
    f_format(n, 1, p, w);
    show("format", 2 * n, w);
    f_given(n, NULL, 3);
    f_given(n, out, 3);
    show("given", n, out);
    free(p), free(rows), free(w);
    free(v), free(out), free(a), free(b), free(list), free(is), free(in), free(made), free(one.px), free(other.px);
}

int main(void)
{
    try(1);
    try(2);
    try(17);
    try(33);
    return 0;
}
