/* Point at the header of a loop to see why; the lightbulb there rewrites it. */

/* Parallel, but only if the arrays do not overlap: nothing says so. */
void axpy(int n, double alpha, double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

/* Sequential: each element needs the one before it. */
void smooth(int n, double *x)
{
    for (int i = 1; i < n; i++)
        x[i] = 0.5 * (x[i - 1] + x[i]);
}

/* Parallel, and a sum inside it. */
void multiply(int n, double a[n][n], double x[restrict n], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
    }
}

/* Neither loop is parallel as it stands; along diagonals they are. */
void relax(int n, double a[n][n])
{
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = 0.5 * (a[i - 1][j] + a[i][j - 1]);
}
