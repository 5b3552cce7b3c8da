#pragma once
#define complex _Complex
extern const float _Complex __polylsp_imaginary_unit;
#define _Complex_I __polylsp_imaginary_unit
#define I _Complex_I
double cabs(double _Complex z) __attribute__((const));
double carg(double _Complex z) __attribute__((const));
double cimag(double _Complex z) __attribute__((const));
double creal(double _Complex z) __attribute__((const));
double _Complex cacos(double _Complex z) __attribute__((const));
double _Complex casin(double _Complex z) __attribute__((const));
double _Complex catan(double _Complex z) __attribute__((const));
double _Complex ccos(double _Complex z) __attribute__((const));
double _Complex csin(double _Complex z) __attribute__((const));
double _Complex ctan(double _Complex z) __attribute__((const));
double _Complex cacosh(double _Complex z) __attribute__((const));
double _Complex casinh(double _Complex z) __attribute__((const));
double _Complex catanh(double _Complex z) __attribute__((const));
double _Complex ccosh(double _Complex z) __attribute__((const));
double _Complex csinh(double _Complex z) __attribute__((const));
double _Complex ctanh(double _Complex z) __attribute__((const));
double _Complex cexp(double _Complex z) __attribute__((const));
double _Complex clog(double _Complex z) __attribute__((const));
double _Complex csqrt(double _Complex z) __attribute__((const));
double _Complex conj(double _Complex z) __attribute__((const));
double _Complex cproj(double _Complex z) __attribute__((const));
double _Complex cpow(double _Complex x, double _Complex y) __attribute__((const));
float cabsf(float _Complex z) __attribute__((const));
float cargf(float _Complex z) __attribute__((const));
float cimagf(float _Complex z) __attribute__((const));
float crealf(float _Complex z) __attribute__((const));
float _Complex cacosf(float _Complex z) __attribute__((const));
float _Complex casinf(float _Complex z) __attribute__((const));
float _Complex catanf(float _Complex z) __attribute__((const));
float _Complex ccosf(float _Complex z) __attribute__((const));
float _Complex csinf(float _Complex z) __attribute__((const));
float _Complex ctanf(float _Complex z) __attribute__((const));
float _Complex cacoshf(float _Complex z) __attribute__((const));
float _Complex casinhf(float _Complex z) __attribute__((const));
float _Complex catanhf(float _Complex z) __attribute__((const));
float _Complex ccoshf(float _Complex z) __attribute__((const));
float _Complex csinhf(float _Complex z) __attribute__((const));
float _Complex ctanhf(float _Complex z) __attribute__((const));
float _Complex cexpf(float _Complex z) __attribute__((const));
float _Complex clogf(float _Complex z) __attribute__((const));
float _Complex csqrtf(float _Complex z) __attribute__((const));
float _Complex conjf(float _Complex z) __attribute__((const));
float _Complex cprojf(float _Complex z) __attribute__((const));
float _Complex cpowf(float _Complex x, float _Complex y) __attribute__((const));
long double cabsl(long double _Complex z) __attribute__((const));
long double cargl(long double _Complex z) __attribute__((const));
long double cimagl(long double _Complex z) __attribute__((const));
long double creall(long double _Complex z) __attribute__((const));
long double _Complex cacosl(long double _Complex z) __attribute__((const));
long double _Complex casinl(long double _Complex z) __attribute__((const));
long double _Complex catanl(long double _Complex z) __attribute__((const));
long double _Complex ccosl(long double _Complex z) __attribute__((const));
long double _Complex csinl(long double _Complex z) __attribute__((const));
long double _Complex ctanl(long double _Complex z) __attribute__((const));
long double _Complex cacoshl(long double _Complex z) __attribute__((const));
long double _Complex casinhl(long double _Complex z) __attribute__((const));
long double _Complex catanhl(long double _Complex z) __attribute__((const));
long double _Complex ccoshl(long double _Complex z) __attribute__((const));
long double _Complex csinhl(long double _Complex z) __attribute__((const));
long double _Complex ctanhl(long double _Complex z) __attribute__((const));
long double _Complex cexpl(long double _Complex z) __attribute__((const));
long double _Complex clogl(long double _Complex z) __attribute__((const));
long double _Complex csqrtl(long double _Complex z) __attribute__((const));
long double _Complex conjl(long double _Complex z) __attribute__((const));
long double _Complex cprojl(long double _Complex z) __attribute__((const));
long double _Complex cpowl(long double _Complex x, long double _Complex y) __attribute__((const));
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
