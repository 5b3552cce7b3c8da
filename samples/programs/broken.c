/*
 * broken: a file in the middle of being edited. It must not compile.
 *
 * Every function whose name begins with good_ is whole and can be analysed;
 * every one whose name begins with broken_ is not, each in a way of its own.
 * Not one of the broken ones may take a good one down with it.
 */
#include <math.h>
#include <stdio.h>

#define SIZE 100
#define AT(a, i, j) (a)[(i) * SIZE + (j)]

typedef struct {
    double x, y;
} point;

/* Before anything is wrong. */
void good_scale(int n, double *a, double factor)
{
    for (int i = 0; i < n; i++)
        a[i] = factor * a[i];
}

/* Half typed: the cursor stands after the comparison. */
void broken_header(int n, double *a)
{
    for (int i = 0; i <
}

double good_norm(int n, const double *a)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* A semicolon is missing. */
void broken_statement(int n, double *a, double *b)
{
    for (int i = 0; i < n; i++) {
        a[i] = b[i]
        b[i] = 0.0;
    }
}

/* A subscript and a call are not closed. */
void broken_subscript(double *a)
{
    for (int i = 1; i < SIZE; i++)
        AT(a, i, 0 = fmax(a[i - 1, a[i]);
}

void good_recurrence(int n, double *a)
{
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}

/* The type is declared nowhere. */
void broken_type(matrix_t *m, int n)
{
    for (int i = 0; i < n; i++)
        m->row[i] = 0.0;
}

/* The closing brace of the inner loop is missing; the next function begins regardless. */
void broken_brace(int n, int m, double *a)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            a[i * m + j] = i + j;
    }
}

/* Comes straight after the missing brace. */
void good_transpose(double a[SIZE][SIZE], double b[SIZE][SIZE])
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            b[j][i] = a[i][j];
}

/* One brace too many. */
void broken_extra(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        a[i] = 0.0;
    }}
}

void good_move(int n, point *p, double dx, double dy)
{
    int i;

    for (i = 0; i < n; i++) {
        p[i].x += dx;
        p[i].y += dy;
    }
}

/* An else without an if, and a name that nobody declared. */
void broken_else(int n, double *a)
{
    for (int i = 0; i < n; i++)
        else a[i] = undeclared;
}

/* The string is not closed. */
void broken_string(int n)
{
    for (int i = 0; i < n; i++)
        printf("%d of %d\n, i, n);
}

/* After everything that is wrong, except for the end of the file. */
int good_main(void)
{
    static double a[SIZE * SIZE];
    int i, j;

    for (i = 0; i < SIZE; i++)
        for (j = 0; j < SIZE; j++)
            AT(a, i, j) = i < j ? 1.0 : 0.0;
    good_scale(SIZE, a, 2.0);
    return good_norm(SIZE, a) > 0.0;
}

/* The file ends here, in the middle of a word. */
void broken_end(int n, double *a)
{
    for (int i = 0; i < n; i++)
        a[i] = sq
