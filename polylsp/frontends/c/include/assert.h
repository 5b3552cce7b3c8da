#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) __polylsp_assert(expression)
#endif
#undef static_assert
#define static_assert _Static_assert
