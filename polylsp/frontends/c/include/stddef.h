#pragma once
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef int wchar_t;
typedef struct { long long __max_align_ll; long double __max_align_ld; } max_align_t;
#define NULL ((void *)0)
#define unreachable() __builtin_unreachable()
