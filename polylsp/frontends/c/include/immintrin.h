#pragma once
/* Vector types are opaque: code that uses them is not analysed. */
#include <stddef.h>
typedef struct __polylsp_m64 __m64;
typedef struct __polylsp_m128 __m128;
typedef struct __polylsp_m128d __m128d;
typedef struct __polylsp_m128i __m128i;
typedef struct __polylsp_m256 __m256;
typedef struct __polylsp_m256d __m256d;
typedef struct __polylsp_m256i __m256i;
typedef struct __polylsp_m512 __m512;
typedef struct __polylsp_m512d __m512d;
typedef struct __polylsp_m512i __m512i;
typedef unsigned char __mmask8;
typedef unsigned short __mmask16;
void *_mm_malloc(size_t size, size_t alignment) __attribute__((malloc));
void _mm_free(void *p);
void _mm_pause(void);
unsigned long long __rdtsc(void);
