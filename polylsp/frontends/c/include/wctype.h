#pragma once
#include <wchar.h>
int iswalpha(wint_t c);
int iswdigit(wint_t c);
int iswspace(wint_t c);
wint_t towlower(wint_t c);
wint_t towupper(wint_t c);
