/* Input and output of the drawn programs. Values are small whole numbers, so that sums of them are exact. */
#include <stdio.h>
static unsigned state_of_input = 1;
void start_input(unsigned seed) { state_of_input = seed * 2654435761u + 1; }
int drawn_int(int least, int most)
{
    state_of_input = state_of_input * 1664525u + 1013904223u;
    return least + (int)((state_of_input >> 8) % (unsigned)(most - least + 1));
}
static unsigned long hashed(unsigned long hash, double value)
{
    union { double value; unsigned long bits; } both = {value + 0.0};
    return (hash ^ both.bits) * 1099511628211ul;
}
#define DATA(type, name) \
    void fill_##name(type *a, int count, int least, int most) \
    { \
        for (int k = 0; k < count; k++) \
            a[k] = (type)drawn_int(least, most); \
    } \
    void show_##name(int number, const type *a, int count) \
    { \
        unsigned long hash = 14695981039346656037ul; \
        for (int k = 0; k < count; k++) \
            hash = hashed(hash, (double)a[k]); \
        printf("%d: %lx %.17g %.17g\n", number, hash, (double)a[0], (double)a[count / 2]); \
    }
DATA(double, double)
DATA(float, float)
DATA(int, int)
DATA(long, long)
DATA(unsigned, unsigned)
DATA(short, short)
DATA(unsigned short, ushort)
DATA(signed char, schar)
DATA(unsigned char, uchar)
DATA(_Bool, bool)
void show_number(int number, double value) { printf("%d: %.17g\n", number, value + 0.0); }
