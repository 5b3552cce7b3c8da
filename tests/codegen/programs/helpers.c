/* Functions of the file that loops call, and iterations that `continue` ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMIT 0.5

static double later(double x);

static inline double square(double x)
{
    return x * x;
}

static int within(int value, int low, int high)
{
    if (value < low)
        return low;
    if (value > high)
        return high;
    return value;
}

static double distance(double ax, double ay, double bx, double by)
{
    return sqrt(square(ax - bx) + square(ay - by));
}

static double polynomial(const double *c, int count, double x)
{
    double sum = 0;
    for (int k = count - 1; k >= 0; k--)
        sum = sum * x + c[k];
    return sum;
}

static void turn(double *x, double *y)
{
    double t = 0.6 * *x - 0.8 * *y;
    *y = 0.8 * *x + 0.6 * *y;
    *x = t;
}

static float smooth(float x)
{
    float parts[3];
    for (int k = 0; k < 3; k++)
        parts[k] = x * k;
    return x > LIMIT ? parts[1] + parts[2] : parts[0];
}

static unsigned next_number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void slope(const double y[2], double d[2])
{
    for (int k = 0; k < 2; k++)
        d[k] = y[1 - k] * (k - LIMIT);
}

/* Functions that are given the address of what one iteration declares. */
static void f_drawn(int n, double *restrict a)
{
    for (int i = 0; i < n; i++) {
        unsigned s = i;
        double x = next_number(&s) % 100, y = next_number(&s) % 100;
        a[i] = 2 * x + y;
    }
}

static void f_orbit(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++) {
        double y[2] = {a[i], b[i]}, d[2];
        for (int s = 0; s < 5; s++) {
            slope(y, d);
            for (int k = 0; k < 2; k++)
                y[k] += 0.1 * d[k];
        }
        a[i] = y[0] - y[1];
    }
}

static void f_square(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = square(b[i]) + later(b[i]);
}

static void f_within(int n, int *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = within(b[i], 2, 20);
}

static double f_distance(int n, const double *restrict x, const double *restrict y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += distance(x[i], y[i], 0.5, 1);
    return sum;
}

static void f_polynomial(int n, double *restrict a, const double *restrict b, const double c[restrict 4])
{
    for (int i = 0; i < n; i++)
        a[i] = polynomial(c, 4, b[i]);
}

static void f_turn(int n, double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        turn(&x[i], &y[i]);
}

static void f_smooth(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = smooth(b[i]);
}

static void f_skip(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++) {
        if (b[i] <= 0.3)
            continue;
        a[i] = log(b[i]);
    }
}

static void f_skip_inside(int n, double a[restrict n][n], double b[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0)
            continue;
        for (int j = 0; j < n; j++) {
            if (b[i][j] > LIMIT)
                continue;
            if (j > i)
                a[i][j] = b[j][i];
            else
                continue;
            a[i][j] *= 2;
        }
    }
}

static void f_skip_twice(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++) {
        if (b[i] > 0.7) {
            if (b[i] > 0.9)
                continue;
            a[i] = 1;
        }
        a[i] += 2;
    }
}

static double later(double x)
{
    return x < 0.25 ? 1 : 2;
}

static double number(int k)
{
    return (k * 37 + 11) % 101 / 101.0;
}

static void show(int n, const double *a)
{
    for (int i = 0; i < n; i++)
        printf("%.9g ", a[i]);
    printf("\n");
}

/* A function that a macro defines, as a header would. */
#define DEFINE_LIMITED(of_type) \
    static of_type limited(of_type x, of_type least, of_type most) \
    { \
        return x < least ? least : x > most ? most : x; \
    }
DEFINE_LIMITED(double)

static void f_limit(int n, double *a, double most)
{
    for (int i = 0; i < n; i++)
        a[i] = limited(a[i], 0.25, most);
}

/* Each iteration has an array of its own. */
static void f_window(int n, const double *restrict a, double *restrict b)
{
    for (int i = 2; i < n; i++) {
        double w[3];
        double order[2][2] = {{0, 1}, {2, 3}};
        for (int k = 0; k < 3; k++)
            w[k] = a[i - k] * (k + 1);
        order[1][0] += w[1];
        b[i] = w[0] + w[1] * w[2] + order[1][0] + order[i % 2][1];
    }
}

static void try(int n)
{
    double *a = malloc(sizeof *a * n), *b = malloc(sizeof *b * n), c[4] = {1, 0.5, 0.25, 2};
    int *p = malloc(sizeof *p * n), *q = malloc(sizeof *q * n);
    double(*s)[n] = malloc(sizeof *s * n), (*t)[n] = malloc(sizeof *t * n);
    for (int i = 0; i < n; i++) {
        a[i] = number(i);
        b[i] = number(i + 3);
        q[i] = 7 * i % 31;
        for (int j = 0; j < n; j++) {
            s[i][j] = number(i + j);
            t[i][j] = number(i + 5 * j);
        }
    }
    f_square(n, a, b);
    show(n, a);
    f_within(n, p, q);
    for (int i = 0; i < n; i++)
        printf("%d ", p[i]);
    printf("%.7g\n", f_distance(n, a, b));
    f_polynomial(n, a, b, c);
    show(n, a);
    f_turn(n, a, b);
    show(n, a);
    show(n, b);
    f_smooth(n, a, b);
    show(n, a);
    f_skip(n, a, b);
    show(n, a);
    f_skip_twice(n, a, b);
    show(n, a);
    f_skip_inside(n, s, t);
    show(n * n, s[0]);
    f_drawn(n, b);
    show(n, b);
    f_orbit(n, a, b);
    show(n, a);
    f_limit(n, a, 2.5);
    show(n, a);
    f_window(n, a, b);
    show(n, b);
    free(a), free(b), free(p), free(q), free(s), free(t);
}

int main(void)
{
    const int sizes[] = {1, 2, 17, 33, 200};
    for (int k = 0; k < 5; k++)
        try(sizes[k]);
    return 0;
}
