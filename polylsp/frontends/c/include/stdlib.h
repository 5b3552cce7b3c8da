#pragma once
#include <stddef.h>
#include <sys/types.h>
typedef struct { int quot; int rem; } div_t;
typedef struct { long quot; long rem; } ldiv_t;
typedef struct { long long quot; long long rem; } lldiv_t;
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define MB_CUR_MAX 6
int abs(int j) __attribute__((const));
long labs(long j) __attribute__((const));
long long llabs(long long j) __attribute__((const));
div_t div(int numer, int denom) __attribute__((const));
ldiv_t ldiv(long numer, long denom) __attribute__((const));
lldiv_t lldiv(long long numer, long long denom) __attribute__((const));
double atof(const char *s) __attribute__((pure));
int atoi(const char *s) __attribute__((pure));
long atol(const char *s) __attribute__((pure));
long long atoll(const char *s) __attribute__((pure));
double strtod(const char *restrict s, char **restrict end);
float strtof(const char *restrict s, char **restrict end);
long double strtold(const char *restrict s, char **restrict end);
long strtol(const char *restrict s, char **restrict end, int base);
long long strtoll(const char *restrict s, char **restrict end, int base);
unsigned long strtoul(const char *restrict s, char **restrict end, int base);
unsigned long long strtoull(const char *restrict s, char **restrict end, int base);
int rand(void);
void srand(unsigned int seed);
int rand_r(unsigned int *seed);
long random(void);
void srandom(unsigned int seed);
double drand48(void);
double erand48(unsigned short state[3]);
long lrand48(void);
long mrand48(void);
void srand48(long seed);
void *malloc(size_t size) __attribute__((malloc));
void *calloc(size_t n, size_t size) __attribute__((malloc));
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t n, size_t size);
void *aligned_alloc(size_t alignment, size_t size) __attribute__((malloc));
int posix_memalign(void **p, size_t alignment, size_t size);
void *valloc(size_t size) __attribute__((malloc));
void free(void *p);
void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));
void _Exit(int status) __attribute__((noreturn));
void quick_exit(int status) __attribute__((noreturn));
int atexit(void (*function)(void));
int at_quick_exit(void (*function)(void));
char *getenv(const char *name);
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
int putenv(char *s);
int system(const char *command);
void *bsearch(const void *key, const void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
int mblen(const char *s, size_t n);
int mbtowc(wchar_t *restrict wide, const char *restrict s, size_t n);
int wctomb(char *s, wchar_t wide);
size_t mbstowcs(wchar_t *restrict wide, const char *restrict s, size_t n);
size_t wcstombs(char *restrict s, const wchar_t *restrict wide, size_t n);
char *realpath(const char *restrict path, char *restrict resolved);
int mkstemp(char *template);
int getloadavg(double *average, int n);
