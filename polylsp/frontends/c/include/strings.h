#pragma once
#include <stddef.h>
int bcmp(const void *a, const void *b, size_t n) __attribute__((pure));
void bcopy(const void *from, void *to, size_t n);
void bzero(void *p, size_t n);
char *index(const char *s, int c) __attribute__((pure));
char *rindex(const char *s, int c) __attribute__((pure));
int ffs(int i) __attribute__((const));
int strcasecmp(const char *a, const char *b) __attribute__((pure));
int strncasecmp(const char *a, const char *b, size_t n) __attribute__((pure));
