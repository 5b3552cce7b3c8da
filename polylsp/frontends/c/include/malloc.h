#pragma once
#include <stddef.h>
#include <stdlib.h>
void *memalign(size_t alignment, size_t size) __attribute__((malloc));
size_t malloc_usable_size(void *p);
int mallopt(int parameter, int value);
int malloc_trim(size_t pad);
