#pragma once
struct __jmp_buf_tag { long __registers[8]; int __saved; unsigned long __mask[16]; };
typedef struct __jmp_buf_tag jmp_buf[1];
typedef struct __jmp_buf_tag sigjmp_buf[1];
int setjmp(jmp_buf env);
int sigsetjmp(sigjmp_buf env, int save);
void longjmp(jmp_buf env, int value);
void siglongjmp(sigjmp_buf env, int value);
