#pragma once
double acos(double x) __attribute__((const));
double asin(double x) __attribute__((const));
double atan(double x) __attribute__((const));
double cos(double x) __attribute__((const));
double sin(double x) __attribute__((const));
double tan(double x) __attribute__((const));
double acosh(double x) __attribute__((const));
double asinh(double x) __attribute__((const));
double atanh(double x) __attribute__((const));
double cosh(double x) __attribute__((const));
double sinh(double x) __attribute__((const));
double tanh(double x) __attribute__((const));
double exp(double x) __attribute__((const));
double exp2(double x) __attribute__((const));
double expm1(double x) __attribute__((const));
double log(double x) __attribute__((const));
double log10(double x) __attribute__((const));
double log1p(double x) __attribute__((const));
double log2(double x) __attribute__((const));
double logb(double x) __attribute__((const));
double cbrt(double x) __attribute__((const));
double fabs(double x) __attribute__((const));
double sqrt(double x) __attribute__((const));
double erf(double x) __attribute__((const));
double erfc(double x) __attribute__((const));
double lgamma(double x) __attribute__((const));
double tgamma(double x) __attribute__((const));
double ceil(double x) __attribute__((const));
double floor(double x) __attribute__((const));
double nearbyint(double x) __attribute__((const));
double rint(double x) __attribute__((const));
double round(double x) __attribute__((const));
double trunc(double x) __attribute__((const));
double exp10(double x) __attribute__((const));
double j0(double x) __attribute__((const));
double j1(double x) __attribute__((const));
double y0(double x) __attribute__((const));
double y1(double x) __attribute__((const));
double atan2(double x, double y) __attribute__((const));
double pow(double x, double y) __attribute__((const));
double hypot(double x, double y) __attribute__((const));
double fmod(double x, double y) __attribute__((const));
double remainder(double x, double y) __attribute__((const));
double copysign(double x, double y) __attribute__((const));
double nextafter(double x, double y) __attribute__((const));
double fdim(double x, double y) __attribute__((const));
double fmax(double x, double y) __attribute__((const));
double fmin(double x, double y) __attribute__((const));
double drem(double x, double y) __attribute__((const));
double fma(double x, double y, double z) __attribute__((const));
double ldexp(double x, int e) __attribute__((const));
double scalbn(double x, int n) __attribute__((const));
double scalbln(double x, long n) __attribute__((const));
double frexp(double x, int *e);
double modf(double x, double *i);
double remquo(double x, double y, int *q);
int ilogb(double x) __attribute__((const));
long lrint(double x) __attribute__((const));
long lround(double x) __attribute__((const));
long long llrint(double x) __attribute__((const));
long long llround(double x) __attribute__((const));
double nexttoward(double x, long double y) __attribute__((const));
double nan(const char *tag) __attribute__((const));
void sincos(double x, double *s, double *c);
float acosf(float x) __attribute__((const));
float asinf(float x) __attribute__((const));
float atanf(float x) __attribute__((const));
float cosf(float x) __attribute__((const));
float sinf(float x) __attribute__((const));
float tanf(float x) __attribute__((const));
float acoshf(float x) __attribute__((const));
float asinhf(float x) __attribute__((const));
float atanhf(float x) __attribute__((const));
float coshf(float x) __attribute__((const));
float sinhf(float x) __attribute__((const));
float tanhf(float x) __attribute__((const));
float expf(float x) __attribute__((const));
float exp2f(float x) __attribute__((const));
float expm1f(float x) __attribute__((const));
float logf(float x) __attribute__((const));
float log10f(float x) __attribute__((const));
float log1pf(float x) __attribute__((const));
float log2f(float x) __attribute__((const));
float logbf(float x) __attribute__((const));
float cbrtf(float x) __attribute__((const));
float fabsf(float x) __attribute__((const));
float sqrtf(float x) __attribute__((const));
float erff(float x) __attribute__((const));
float erfcf(float x) __attribute__((const));
float lgammaf(float x) __attribute__((const));
float tgammaf(float x) __attribute__((const));
float ceilf(float x) __attribute__((const));
float floorf(float x) __attribute__((const));
float nearbyintf(float x) __attribute__((const));
float rintf(float x) __attribute__((const));
float roundf(float x) __attribute__((const));
float truncf(float x) __attribute__((const));
float exp10f(float x) __attribute__((const));
float j0f(float x) __attribute__((const));
float j1f(float x) __attribute__((const));
float y0f(float x) __attribute__((const));
float y1f(float x) __attribute__((const));
float atan2f(float x, float y) __attribute__((const));
float powf(float x, float y) __attribute__((const));
float hypotf(float x, float y) __attribute__((const));
float fmodf(float x, float y) __attribute__((const));
float remainderf(float x, float y) __attribute__((const));
float copysignf(float x, float y) __attribute__((const));
float nextafterf(float x, float y) __attribute__((const));
float fdimf(float x, float y) __attribute__((const));
float fmaxf(float x, float y) __attribute__((const));
float fminf(float x, float y) __attribute__((const));
float dremf(float x, float y) __attribute__((const));
float fmaf(float x, float y, float z) __attribute__((const));
float ldexpf(float x, int e) __attribute__((const));
float scalbnf(float x, int n) __attribute__((const));
float scalblnf(float x, long n) __attribute__((const));
float frexpf(float x, int *e);
float modff(float x, float *i);
float remquof(float x, float y, int *q);
int ilogbf(float x) __attribute__((const));
long lrintf(float x) __attribute__((const));
long lroundf(float x) __attribute__((const));
long long llrintf(float x) __attribute__((const));
long long llroundf(float x) __attribute__((const));
float nexttowardf(float x, long double y) __attribute__((const));
float nanf(const char *tag) __attribute__((const));
void sincosf(float x, float *s, float *c);
long double acosl(long double x) __attribute__((const));
long double asinl(long double x) __attribute__((const));
long double atanl(long double x) __attribute__((const));
long double cosl(long double x) __attribute__((const));
long double sinl(long double x) __attribute__((const));
long double tanl(long double x) __attribute__((const));
long double acoshl(long double x) __attribute__((const));
long double asinhl(long double x) __attribute__((const));
long double atanhl(long double x) __attribute__((const));
long double coshl(long double x) __attribute__((const));
long double sinhl(long double x) __attribute__((const));
long double tanhl(long double x) __attribute__((const));
long double expl(long double x) __attribute__((const));
long double exp2l(long double x) __attribute__((const));
long double expm1l(long double x) __attribute__((const));
long double logl(long double x) __attribute__((const));
long double log10l(long double x) __attribute__((const));
long double log1pl(long double x) __attribute__((const));
long double log2l(long double x) __attribute__((const));
long double logbl(long double x) __attribute__((const));
long double cbrtl(long double x) __attribute__((const));
long double fabsl(long double x) __attribute__((const));
long double sqrtl(long double x) __attribute__((const));
long double erfl(long double x) __attribute__((const));
long double erfcl(long double x) __attribute__((const));
long double lgammal(long double x) __attribute__((const));
long double tgammal(long double x) __attribute__((const));
long double ceill(long double x) __attribute__((const));
long double floorl(long double x) __attribute__((const));
long double nearbyintl(long double x) __attribute__((const));
long double rintl(long double x) __attribute__((const));
long double roundl(long double x) __attribute__((const));
long double truncl(long double x) __attribute__((const));
long double exp10l(long double x) __attribute__((const));
long double j0l(long double x) __attribute__((const));
long double j1l(long double x) __attribute__((const));
long double y0l(long double x) __attribute__((const));
long double y1l(long double x) __attribute__((const));
long double atan2l(long double x, long double y) __attribute__((const));
long double powl(long double x, long double y) __attribute__((const));
long double hypotl(long double x, long double y) __attribute__((const));
long double fmodl(long double x, long double y) __attribute__((const));
long double remainderl(long double x, long double y) __attribute__((const));
long double copysignl(long double x, long double y) __attribute__((const));
long double nextafterl(long double x, long double y) __attribute__((const));
long double fdiml(long double x, long double y) __attribute__((const));
long double fmaxl(long double x, long double y) __attribute__((const));
long double fminl(long double x, long double y) __attribute__((const));
long double dreml(long double x, long double y) __attribute__((const));
long double fmal(long double x, long double y, long double z) __attribute__((const));
long double ldexpl(long double x, int e) __attribute__((const));
long double scalbnl(long double x, int n) __attribute__((const));
long double scalblnl(long double x, long n) __attribute__((const));
long double frexpl(long double x, int *e);
long double modfl(long double x, long double *i);
long double remquol(long double x, long double y, int *q);
int ilogbl(long double x) __attribute__((const));
long lrintl(long double x) __attribute__((const));
long lroundl(long double x) __attribute__((const));
long long llrintl(long double x) __attribute__((const));
long long llroundl(long double x) __attribute__((const));
long double nexttowardl(long double x, long double y) __attribute__((const));
long double nanl(const char *tag) __attribute__((const));
void sincosl(long double x, long double *s, long double *c);
int isnan(double x) __attribute__((const));
int isinf(double x) __attribute__((const));
int isfinite(double x) __attribute__((const));
int isnormal(double x) __attribute__((const));
int signbit(double x) __attribute__((const));
int fpclassify(double x) __attribute__((const));
int isgreater(double x, double y) __attribute__((const));
int isgreaterequal(double x, double y) __attribute__((const));
int isless(double x, double y) __attribute__((const));
int islessequal(double x, double y) __attribute__((const));
int islessgreater(double x, double y) __attribute__((const));
int isunordered(double x, double y) __attribute__((const));
extern const double __polylsp_huge_val;
extern const float __polylsp_infinity;
extern const float __polylsp_nan;
extern int signgam;
typedef float float_t;
typedef double double_t;
#define HUGE_VAL __polylsp_huge_val
#define HUGE_VALF __polylsp_infinity
#define HUGE_VALL __polylsp_huge_val
#define INFINITY __polylsp_infinity
#define NAN __polylsp_nan
#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define MATH_ERRNO 1
#define MATH_ERREXCEPT 2
#define math_errhandling 3
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
