/* Complex numbers: element by element, private to iterations, in structures, summed up. */
#include <complex.h>
#include <stdio.h>

#define N 60

struct wave {
    double complex amplitude;
    int mode;
};

static double complex x[N], y[N], scaled[N];
static float complex narrow[N];
static struct wave waves[N];
static double power[N];

static void transform(const double complex *restrict from, double complex *restrict to, int n)
{
    for (int k = 0; k < n; k++) {
        double complex sum = 0;
        for (int j = 0; j < n; j++)
            sum += from[j] * (1.0 * (j * k % 7) + I * (j % 3));
        to[k] = sum;
    }
}

static void phases(int n)
{
    double complex t;
    for (int i = 0; i < n; i++) {
        t = x[i] * conj(y[i]);
        scaled[i] = t + 0.5i * t;
        narrow[i] = t;
        power[i] = creal(t) + cimag(t);
    }
}

static double complex total(int n)
{
    double complex sum = 0;
    for (int i = 0; i < n; i++)
        sum += waves[i].amplitude * waves[i].mode;
    return sum;
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        x[i] = i % 5 + I * (i % 3);
        waves[i].amplitude = i + 2 * I;
        waves[i].mode = i % 4;
    }
    transform(x, y, N);
    phases(N);
    double complex sum = total(N), check = 0;
    for (int i = 0; i < N; i++)
        check += (i % 7) * (scaled[i] + narrow[i]) + power[i];
    printf("%g %g %g %g\n", creal(sum), cimag(sum), creal(check), cimag(check));
    return 0;
}
