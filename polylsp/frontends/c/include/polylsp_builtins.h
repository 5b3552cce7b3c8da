/* What every file knows without including anything. */
#pragma once
typedef struct __polylsp_valist *__builtin_va_list;
typedef struct __polylsp_typeof_type __polylsp_typeof;
typedef struct __polylsp_evaluated_type __polylsp_evaluated;
void __polylsp_asm(void);
void __polylsp_attribute(const char *);
