/* Members of structures: in arrays of these, behind their pointers, and alone. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double x, y;
} pair;
typedef struct {
    pair at, by;
    float weight[3];
    int kind;
} body;
typedef struct {
    int n;
    double *from, *to;
    const int *order;
} table;
typedef struct {
    double place[1200][3];
    double force[1200][3];
} bodies;
typedef struct {
    bodies *all;
    double step;
    int count;
} world;

typedef struct {
    int n;
    int *first;
} columns;

static body fixed[1200];

static void f_moved(int n, body *b, double t)
{
    for (int i = 0; i < n; i++) {
        b[i].at.x += t * b[i].by.x;
        b[i].at.y += t * b[i].by.y;
    }
}

static void f_inside(int n, body *restrict b, const double *restrict a)
{
    for (int i = 1; i < n - 1; i++)
        b[i].at.x = a[i - 1] + a[i + 1];
}

static double f_energy(int n, const body *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += b[i].kind * (b[i].by.x * b[i].by.x + b[i].by.y * b[i].by.y);
    return sum;
}

static void f_weighted(int n, body *b)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            b[i].weight[k] = b[i].weight[k] * 2 + b[i].kind;
}

static pair plus(pair a, pair b)
{
    pair r = {a.x + b.x, a.y + b.y}; // by members
    return r;
}

static pair times(double t, pair a)
{
    return (pair){t * a.x, t * a.y};
}

static void exchange(const pair *from, pair *to)
{
    double x = from->x;
    to->x = from->y;
    to->y = x;
}

/* Functions that return structures. */
static void f_stepped(int n, body *b, double t)
{
    for (int i = 0; i < n; i++) {
        b[i].at = plus(b[i].at,
                       times(t, b[i].by)); // in parts
        if (plus(b[i].at, b[i].by).x > 1)
            b[i].kind++;
    }
}

static void f_gathered(int n, body *restrict b, const pair *restrict p)
{
    for (int i = 0; i < n; i++) {
        pair sum = {0, 0}, last = times(2, p[i]);
        for (int j = 0; j < n; j++)
            sum = plus(sum, times(p[j].x - p[i].x, p[j]));
        b[i].by = plus(sum, last);
    }
}

static void f_exchanged(int n, pair *restrict p, pair *restrict q)
{
    for (int i = 0; i < n; i++) {
        exchange(&p[i], &q[i]);
        exchange(&p[i], &p[i]);
    }
}

static void count_column(columns *c, int j)
{
    c->first[j + 1] += c->first[j] + j % 3;
}

/* Other loops leave the members to functions. */
static void f_columns(columns *c)
{
    for (int j = 0; j <= c->n; j++)
        c->first[j] = j % 2;
    for (int j = 0; j < c->n; j++)
        count_column(c, j);
}

static void f_fixed(int n)
{
    int i;
    for (i = 0; i < n; i++)
        fixed[i].by.y = fixed[i].at.x + 1;
}

static void f_led(table *t, double a)
{
    for (int i = 0; i < t->n; i++)
        t->to[i] = a * t->from[i] + t->to[i];
}

static void f_ordered(const table *t, double *restrict out)
{
    int i;
    for (i = 0; i < t->n; i++)
        out[i] = t->from[t->order[i]];
}

static void f_local(table *t)
{
    double *from = t->from, *to = t->to;
    int n = t->n;
    for (int i = 0; i < n; i++)
        to[i] = from[i] + 1;
}

static void f_world(world *w)
{
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < 3; k++)
            w->all->place[i][k] += w->step * w->all->force[i][k];
}

static void f_given(world w, double *restrict out, const double *restrict in)
{
    for (int i = 0; i < w.count; i++)
        out[i] = in[i] * w.step;
}

static void f_own(int n, const pair *restrict a, const pair *restrict b, double *restrict out)
{
    for (int i = 0; i < n; i++) {
        pair c;
        c.x = a[i].x * b[i].x - a[i].y * b[i].y;
        c.y = a[i].x * b[i].y + a[i].y * b[i].x;
        out[i] = c.x + 2 * c.y;
    }
}

static void f_turned(int n, pair *restrict a, pair *restrict b)
{
    for (int i = 0; i < n; i++) {
        pair c = a[i];
        a[i] = b[i];
        b[i].x = c.y;
        b[i].y = -c.x;
    }
}

static int f_counted(int n, double *restrict out)
{
    int i;
    for (i = 1; i <= n; i++)
        out[i - 1] += i;
    return i;
}

static double value(int k)
{
    return (k * 37 + 11) % 101 * 0.125;
}

static void show(int n, const double *a)
{
    for (int i = 0; i < n; i++)
        printf("%.9g ", a[i]);
    printf("\n");
}

static void try(int n)
{
    body *b = malloc(sizeof *b * n);
    pair *p = malloc(sizeof *p * n), *q = malloc(sizeof *q * n);
    double *x = malloc(sizeof *x * n), *y = malloc(sizeof *y * n);
    int *order = malloc(sizeof *order * n);
    bodies *all = malloc(sizeof *all);
    for (int i = 0; i < n; i++) {
        b[i] = (body){{value(i), value(i + 1)}, {value(i + 2), value(i + 3)}, {i, 1, 2}, i % 3};
        fixed[i] = b[i];
        p[i] = b[i].at;
        q[i] = b[i].by;
        x[i] = value(i + 4);
        y[i] = value(i + 5);
        order[i] = (5 * i + 3) % n;
        for (int k = 0; k < 3; k++) {
            all->place[i][k] = value(i + k);
            all->force[i][k] = value(2 * i + k);
        }
    }
    table t = {n, x, y, order};
    world w = {all, 0.5, n};
    f_moved(n, b, 0.25);
    f_inside(n, b, x);
    f_weighted(n, b);
    printf("%.9g\n", f_energy(n, b));
    for (int i = 0; i < n; i++)
        printf("%g %g %g %d ", b[i].at.x, b[i].at.y, b[i].weight[1], b[i].kind);
    f_fixed(n);
    for (int i = 0; i < n; i++)
        printf("%g %g ", fixed[i].by.y, fixed[i].by.x);
    f_led(&t, 0.5);
    show(n, y);
    f_ordered(&t, y);
    show(n, y);
    f_local(&t);
    show(n, y);
    f_world(&w);
    show(3 * n, all->place[0]);
    f_given(w, y, x);
    show(n, y);
    f_own(n, p, q, y);
    show(n, y);
    f_turned(n, p, q);
    show(2 * n, &p->x);
    show(2 * n, &q->x);
    f_stepped(n, b, 0.125);
    f_gathered(n, b, p);
    for (int i = 0; i < n; i++)
        printf("%g %g %g %d ", b[i].at.x, b[i].by.x, b[i].by.y, b[i].kind);
    f_exchanged(n, p, q);
    show(2 * n, &p->x);
    show(2 * n, &q->x);
    printf("%d\n", f_counted(n, y));
    show(n, y);
    columns c = {n, malloc(sizeof(int) * (n + 1))};
    f_columns(&c);
    printf("%d %d %d\n", c.first[0], c.first[n / 2], c.first[n]);
    free(c.first);
    free(b), free(p), free(q), free(x), free(y), free(order), free(all);
}

int main(void)
{
    const int sizes[] = {1, 2, 17, 33, 1100};
    for (int k = 0; k < 5; k++)
        try(sizes[k]);
    return 0;
}
