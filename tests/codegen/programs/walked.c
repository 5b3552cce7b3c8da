#include <math.h>
#include <stddef.h>
void f_gamma(float *p, int n, float g)
{
    while (n--) {
        *p = powf(*p, g);
        p++;
    }
}
void f_for(float *p, int n, float g)
{
    for (int i = 0; i < n; i++) {
        *p = powf(*p, g);
        p++;
    }
}
void f_for2(const float *x, float *restrict y, size_t n, float a)
{
    for (size_t i = 0; i < n; i++)
        *y++ += a * *x++;
}
void f_saxpy_walk(const float *x, float *restrict y, size_t n, float a)
{
    const float *end = x + n;
    while (x < end)
        *y++ += a * *x++;
}
#include <stdio.h>
#include <stdlib.h>
typedef struct { float r, g, b; } rgb_t;
void f_gray(const unsigned char *src, unsigned char *dst, int n)
{
    for (int i = 0; i < n; i++) {
        int r = *src++;
        int g = *src++;
        int b = *src++;
        *dst++ = (unsigned char)((r * 77 + g * 150 + b * 29) >> 8);
    }
}
void f_gray3(const unsigned char *src, unsigned char *dst, int n)
{
    while (n-- > 0) {
        *dst++ = (unsigned char)((src[0] * 77 + src[1] * 150 + src[2] * 29) >> 8);
        src += 3;
    }
}
void f_member(rgb_t *p, size_t n)
{
    for (size_t i = 0; i < n; ++i, ++p) {
        p->r *= 2;
        p->g += p->r;
    }
}
void f_member2(rgb_t *p, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        p->r *= 2;
        if (p->b > 1)
            p->g += p->r;
        p++;
    }
}
void f_rows(float *restrict a, const float *restrict b, int h, int w)
{
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++)
            a[x] += b[x] * 2;
        a += w;
        b += w;
    }
}
float f_sum(const float *p, int n)
{
    float s = 0;
    while (n--)
        s += *p++;
    return s;
}
void f_cond(float *p, const float *q, int n)
{
    for (int i = 0; i < n; i++)
        if (q[i] > 0.5f)
            *p++ = q[i];
}
void f_lazy(float *p, const float *q, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = q[0] > 0.3f && *q++ > 0.5f;
}
float *f_live(float *p, int n)
{
    for (int i = 0; i < n; i++)
        *p++ = i;
    return p;
}
int f_nlive(float *p, int n)
{
    while (n--)
        *p++ = 3;
    return n;
}
#define NEXT *p++
void f_mac(float *p, int n)
{
    for (int i = 0; i < n; i++)
        NEXT = i;
}
void f_stencil(const float *p, float *restrict q, int n)
{
    p++;
    for (int i = 1; i < n - 1; i++) {
        *q++ = p[-1] + *p + p[1];
        p++;
    }
}
void f_pre(float *p, int n)
{
    for (int i = 1; i < n; i++)
        *++p = i * 2;
}
void f_nest(float *restrict d, const float *restrict s, int h, int w)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            *d++ = 2 * *s++;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, h = n / 9, w = h ? n / h : 0;
    float *a = malloc((6 * n + 9) * sizeof *a), *b = malloc((6 * n + 9) * sizeof *b), *c = malloc((3 * n + 9) * sizeof *c);
    unsigned char *u = malloc(3 * n + 9), *v = malloc(3 * n + 9);
    for (int i = 0; i < 6 * n + 9; i++) { a[i] = (i * 37 % 101) / 64.f; b[i] = (i * 53 % 97) / 50.f; if (i < 3 * n + 9) { c[i] = i % 7; u[i] = i * 91; v[i] = i; } }
    f_gamma(a, n, 1.3f); f_for(a + 1, n, 0.9f); f_for2(a, b, n, 0.3f); f_saxpy_walk(b, c, n, 0.1f);
    f_gray(u, v, n); f_gray3(v, u, n / 3); f_member((rgb_t *)a, n / 2); f_member2((rgb_t *)b, n / 2);
    f_rows(a, b, h, w); printf("%g\n", f_sum(a, n));
    f_cond(c, b, n); f_lazy(c, b, n); printf("%d %d\n", (int)(f_live(c, n / 3) - c), f_nlive(c + n / 3, n / 4));
    f_mac(c + n / 2, n / 5); f_stencil(a, c, n); f_pre(c + n, n); f_nest(b, a, h, w);
    double t = 0; for (int i = 0; i < 6 * n + 9; i++) t += (i % 13 + 1) * (a[i] + b[i]);
    for (int i = 0; i < 3 * n + 9; i++) t += (i % 11 + 1) * (c[i] + u[i] * 3 + v[i]);
    printf("%.6g\n", t);
    return 0;
}
