#pragma once
/* An assertion is taken to hold. */
#define assert(expression) ((void)0)
#define static_assert _Static_assert
