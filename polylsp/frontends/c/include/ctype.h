#pragma once
int isalnum(int c) __attribute__((pure));
int isalpha(int c) __attribute__((pure));
int isblank(int c) __attribute__((pure));
int iscntrl(int c) __attribute__((pure));
int isdigit(int c) __attribute__((pure));
int isgraph(int c) __attribute__((pure));
int islower(int c) __attribute__((pure));
int isprint(int c) __attribute__((pure));
int ispunct(int c) __attribute__((pure));
int isspace(int c) __attribute__((pure));
int isupper(int c) __attribute__((pure));
int isxdigit(int c) __attribute__((pure));
int isascii(int c) __attribute__((pure));
int toascii(int c) __attribute__((pure));
int tolower(int c) __attribute__((pure));
int toupper(int c) __attribute__((pure));
