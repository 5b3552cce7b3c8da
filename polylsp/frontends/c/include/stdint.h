#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef signed char int_least8_t;
typedef unsigned char uint_least8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef short int_least16_t;
typedef unsigned short uint_least16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef int int_least32_t;
typedef unsigned int uint_least32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long int_least64_t;
typedef unsigned long uint_least64_t;
typedef signed char int_fast8_t;
typedef unsigned char uint_fast8_t;
typedef long int_fast16_t;
typedef unsigned long uint_fast16_t;
typedef long int_fast32_t;
typedef unsigned long uint_fast32_t;
typedef long int_fast64_t;
typedef unsigned long uint_fast64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long intmax_t;
typedef unsigned long uintmax_t;
#define INT8_MIN (-128)
#define INT8_MAX (127)
#define UINT8_MAX (255)
#define INT_LEAST8_MIN (-128)
#define INT_LEAST8_MAX (127)
#define UINT_LEAST8_MAX (255)
#define INT_FAST8_MIN (-128)
#define INT_FAST8_MAX (127)
#define UINT_FAST8_MAX (255)
#define INT16_MIN (-32767-1)
#define INT16_MAX (32767)
#define UINT16_MAX (65535)
#define INT_LEAST16_MIN (-32767-1)
#define INT_LEAST16_MAX (32767)
#define UINT_LEAST16_MAX (65535)
#define INT_FAST16_MIN (-9223372036854775807L-1)
#define INT_FAST16_MAX (9223372036854775807L)
#define UINT_FAST16_MAX (18446744073709551615UL)
#define INT32_MIN (-2147483647-1)
#define INT32_MAX (2147483647)
#define UINT32_MAX (4294967295U)
#define INT_LEAST32_MIN (-2147483647-1)
#define INT_LEAST32_MAX (2147483647)
#define UINT_LEAST32_MAX (4294967295U)
#define INT_FAST32_MIN (-9223372036854775807L-1)
#define INT_FAST32_MAX (9223372036854775807L)
#define UINT_FAST32_MAX (18446744073709551615UL)
#define INT64_MIN (-9223372036854775807L-1)
#define INT64_MAX (9223372036854775807L)
#define UINT64_MAX (18446744073709551615UL)
#define INT_LEAST64_MIN (-9223372036854775807L-1)
#define INT_LEAST64_MAX (9223372036854775807L)
#define UINT_LEAST64_MAX (18446744073709551615UL)
#define INT_FAST64_MIN (-9223372036854775807L-1)
#define INT_FAST64_MAX (9223372036854775807L)
#define UINT_FAST64_MAX (18446744073709551615UL)
#define INTPTR_MIN (-9223372036854775807L-1)
#define INTPTR_MAX (9223372036854775807L)
#define INTMAX_MIN (-9223372036854775807L-1)
#define INTMAX_MAX (9223372036854775807L)
#define PTRDIFF_MIN (-9223372036854775807L-1)
#define PTRDIFF_MAX (9223372036854775807L)
#define UINTPTR_MAX (18446744073709551615UL)
#define UINTMAX_MAX (18446744073709551615UL)
#define SIZE_MAX (18446744073709551615UL)
#define SIG_ATOMIC_MIN (-2147483647-1)
#define SIG_ATOMIC_MAX (2147483647)
#define WCHAR_MIN (-2147483647-1)
#define WCHAR_MAX (2147483647)
#define WINT_MIN (0U)
#define WINT_MAX (4294967295U)
#define INT8_C(c) c
#define INT16_C(c) c
#define INT32_C(c) c
#define INT64_C(c) c ## L
#define UINT8_C(c) c
#define UINT16_C(c) c
#define UINT32_C(c) c ## U
#define UINT64_C(c) c ## UL
#define INTMAX_C(c) c ## L
#define UINTMAX_C(c) c ## UL
