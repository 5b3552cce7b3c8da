#pragma once
#include <stddef.h>
#include <stdio.h>
typedef unsigned int wint_t;
typedef struct { int __count; unsigned int __value; } mbstate_t;
#define WEOF (0xffffffffu)
size_t wcslen(const wchar_t *s) __attribute__((pure));
wchar_t *wcscpy(wchar_t *restrict to, const wchar_t *restrict from);
wchar_t *wcsncpy(wchar_t *restrict to, const wchar_t *restrict from, size_t n);
wchar_t *wcscat(wchar_t *restrict to, const wchar_t *restrict from);
int wcscmp(const wchar_t *a, const wchar_t *b) __attribute__((pure));
wchar_t *wcschr(const wchar_t *s, wchar_t c) __attribute__((pure));
wchar_t *wmemcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t n);
wchar_t *wmemset(wchar_t *p, wchar_t c, size_t n);
int wprintf(const wchar_t *restrict format, ...);
int fwprintf(FILE *restrict stream, const wchar_t *restrict format, ...);
size_t mbrtowc(wchar_t *restrict wide, const char *restrict s, size_t n, mbstate_t *restrict state);
size_t wcrtomb(char *restrict s, wchar_t wide, mbstate_t *restrict state);
