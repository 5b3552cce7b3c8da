#pragma once
typedef __builtin_va_list va_list;
typedef __builtin_va_list __gnuc_va_list;
void __polylsp_va_start(va_list list);
void *__polylsp_va_arg(va_list list);
void __polylsp_va_end(va_list list);
void __polylsp_va_copy(va_list to, va_list from);
#define va_start(list, last) __polylsp_va_start(list)
#define va_arg(list, type) (*(type *)__polylsp_va_arg(list))
#define va_end(list) __polylsp_va_end(list)
#define va_copy(to, from) __polylsp_va_copy(to, from)
