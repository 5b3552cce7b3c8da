/* What runs one version of a function: it makes the data, calls the function, times it, and says whether
 * what came out is what came out of the original. It obeys lines on standard input and answers each with
 * one line on standard output:
 *
 *     integer K VALUE                             the K-th number is VALUE
 *     real K VALUE
 *     memory K KIND SIZE FIRST COUNT WRITTEN FILL LOW HIGH [SHAPE]
 *                                                 elements FIRST .. FIRST + COUNT - 1 of the K-th memory; KIND
 *                                                 is f, i or u, FILL random, kept,
 *                                                 positive-definite or ascending; with a SHAPE (as 3x4)
 *                                                 tables of pointers lead to it, one less than lengths
 *     allocate GUARDED                            make all memories; GUARDED: an access outside is a crash
 *     time                                        call the function: "ran NANOSECONDS", and if it has
 *                                                 kernels those in host functions, kernels, and transfers
 *     reference FILE                              write what comes out, and how far rounding moves it
 *     again FILE                                  call it again, and compare bit by bit: "same", or as `check`
 *     check FILE                                  compare: "same ERROR", or "differs MEMORY ELEMENT OURS THEIRS"
 *     device                                      "is FREE NAME": the GPU, and the bytes that are free there
 *
 * Where kernels did not run, and the function its own loops, the answer is "left CODE WORDS": an error of CUDA.
 * Standard output of the function goes where its standard error goes. Every name of ours that the function's
 * file could meet begins with polylsp_.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern void polylsp_register(void);
extern void polylsp_call(void);

enum { MOST = 128, RESULT = MOST - 1, LINE = 8192, LEVELS = 4 };

struct memory {
    char kind;
    int size, written;
    long long first, count;
    char fill[32];
    long long low, high;
    int levels;             /* how many pointers lead to it, one after the other */
    long long shape[LEVELS];
    char *base;     /* the element `first` */
    char *initial;  /* what it holds before each call; of what is written alone */
    void *object;   /* a variable of the file, instead of memory of ours */
    void *map;
    size_t mapped;
};

static struct memory memories[MOST];
static struct memory tables[MOST][LEVELS];
static long long integers[MOST];
static double reals[MOST];
static long double result;
static FILE *answers;

static void fail(const char *what)
{
    fprintf(answers, "failed %s\n", what);
    fflush(answers);
    _exit(3);
}

/* --- What the function's file asks ------------------------------------------------------------- */

long long polylsp_integer(int k) { return integers[k]; }
double polylsp_real(int k) { return reals[k]; }

void *polylsp_memory(int k)
{
    struct memory *m = &memories[k];
    return m->levels > 1 ? tables[k][0].base : m->base - m->first * m->size;
}

void polylsp_object(int k, void *address, unsigned long size)
{
    memories[k].object = address;
    memories[k].mapped = size;
}

void polylsp_result(const void *value, unsigned long size, char kind)
{
    struct memory *m = &memories[RESULT];
    *m = (struct memory){.kind = kind, .size = (int)size, .written = 1, .count = 1, .base = (char *)&result};
    memcpy(&result, value, size);
}

/* --- Data --------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double uniform(int k, uint64_t i)
{
    return (double)(mixed(mixed((uint64_t)k + 1) ^ i) >> 11) * 0x1p-53;
}

static void set_real(struct memory *m, long long i, double value)
{
    char *at = m->base + i * m->size;
    if (m->size == (int)sizeof(float))
        *(float *)at = (float)value;
    else if (m->size == (int)sizeof(double))
        *(double *)at = value;
    else
        *(long double *)at = value;
}

static void set_integer(struct memory *m, long long i, long long value)
{
    char *at = m->base + i * m->size;
    switch (m->size) {
    case 1: *(int8_t *)at = (int8_t)value; break;
    case 2: *(int16_t *)at = (int16_t)value; break;
    case 4: *(int32_t *)at = (int32_t)value; break;
    default: *(int64_t *)at = value; break;
    }
}

/* A symmetric matrix whose diagonal outweighs its rows is positive definite. */
static double positive_definite(int k, long long i, long long side)
{
    long long row = i / side, column = i % side;
    if (row == column)
        return 2.0 * (double)side;
    long long low = row < column ? row : column, high = row < column ? column : row;
    return 0.5 + uniform(k, (uint64_t)(low * side + high));
}

static void fill(int k)
{
    struct memory *m = &memories[k];
    long long side = (long long)(sqrt((double)m->count) + 0.5);
    uint64_t range = (uint64_t)(m->high - m->low) + 1;
    if (strcmp(m->fill, "kept") == 0)
        return;
    for (long long i = 0; i < m->count; i++) {
        if (strcmp(m->fill, "ascending") == 0)
            set_integer(m, i, m->low + (long long)((double)(m->high - m->low) * (double)i / (double)(m->count > 1 ? m->count - 1 : 1)));
        else if (m->kind != 'f')
            set_integer(m, i, m->low + (long long)(mixed(mixed((uint64_t)k + 1) ^ (uint64_t)i) % range));
        else if (strcmp(m->fill, "positive-definite") == 0)
            set_real(m, i, positive_definite(k, i, side));
        else
            set_real(m, i, 0.5 + uniform(k, (uint64_t)i));
    }
}

static size_t bytes(const struct memory *m) { return (size_t)m->count * (size_t)m->size; }

/* With guards, the last element ends where a page begins that nobody may touch, and so does the page
 * before the first. */
static void place(struct memory *m, int k, int guarded)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = bytes(m);
    size_t whole = (used + 64u * MOST + page - 1) / page * page;
    m->mapped = whole + 2 * page;
    m->map = mmap(NULL, m->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->map == MAP_FAILED)
        fail("memory");
    char *start = (char *)m->map + page;
    if (mprotect(start, whole, PROT_READ | PROT_WRITE) != 0)
        fail("memory");
    /* Arrays that all begin at the same place of a page would contend for the same sets of a cache. */
    m->base = guarded ? start + whole - used : start + 64 * (k + 1);
}

static void release(struct memory *m)
{
    if (m->map != NULL)
        munmap(m->map, m->mapped);
    free(m->initial);
    m->map = m->initial = NULL;
}

/* Tables of pointers that lead to a memory, the last one to its rows. */
static void make_tables(int k, int guarded)
{
    struct memory *m = &memories[k];
    long long count = 1;
    for (int level = 0; level < m->levels - 1; level++) {
        struct memory *table = &tables[k][level];
        release(table);
        count *= m->shape[level];
        *table = (struct memory){.size = (int)sizeof(void *), .count = count};
        place(table, k, guarded);
    }
    for (int level = 0; level < m->levels - 1; level++) {
        struct memory *below = level + 2 < m->levels ? &tables[k][level + 1] : m;
        for (long long i = 0; i < tables[k][level].count; i++)
            ((char **)tables[k][level].base)[i] = below->base + i * m->shape[level + 1] * below->size;
    }
}

static void allocate(int guarded)
{
    for (int k = 0; k < RESULT; k++) {
        struct memory *m = &memories[k];
        if (m->count == 0)
            continue;
        if (m->object != NULL) {
            m->base = m->object;
            if (bytes(m) > m->mapped)
                fail("object");
        } else {
            place(m, k, guarded);
            make_tables(k, guarded);
        }
        /* A variable of the file keeps what it holds at first, also when sizes change. */
        if (m->initial == NULL && m->written) {
            fill(k);
            m->initial = malloc(bytes(m));
            if (m->initial == NULL)
                fail("memory");
            memcpy(m->initial, m->base, bytes(m));
        } else if (m->initial == NULL) {
            fill(k);
        }
    }
}

static void restore(void)
{
    for (int k = 0; k < RESULT; k++)
        if (memories[k].initial != NULL)
            memcpy(memories[k].base, memories[k].initial, bytes(&memories[k]));
}

static long long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

/* --- Kernels ------------------------------------------------------------------------------------- */

/* Versions with kernels have these; see `driver.cuh`. */
extern void polylsp_device_begin(void) __attribute__((weak));
extern void polylsp_device_end(long long *kernels, long long *transfers) __attribute__((weak));
extern int polylsp_device_error(const char **words) __attribute__((weak));
extern int polylsp_device_is(char *name, unsigned long size, unsigned long *available) __attribute__((weak));

static long long entered, inside;
static int refusals;

/* What calls of host functions are surrounded by: `if (polylsp_entered(), polylsp_left(REFUSED))`. */
void polylsp_entered(void) { entered = now(); }

int polylsp_left(int is_refused)
{
    inside += now() - entered;
    refusals += is_refused;
    return is_refused;
}

/* Says that kernels did not run in the last call, if that is so. */
static int told_of_refusal(void)
{
    const char *words = "the data are not what the kernels were made for";
    if (refusals == 0)
        return 0;
    int code = polylsp_device_error != NULL ? polylsp_device_error(&words) : 0;
    fprintf(answers, "left %d %s\n", code, words);
    return 1;
}

static void tell_device(void)
{
    char name[256] = "";
    unsigned long available = 0;
    const char *words = "it has no kernels";
    int code = polylsp_device_is != NULL ? polylsp_device_is(name, sizeof name, &available) : 1;
    if (code == 0)
        fprintf(answers, "is %lu %s\n", available, name);
    else {
        if (polylsp_device_error != NULL)
            polylsp_device_error(&words);
        fprintf(answers, "left %d %s\n", code, words);
    }
}

static long long timed(int rounding)
{
    restore();
    inside = refusals = 0;
    if (polylsp_device_begin != NULL)
        polylsp_device_begin();
    fesetround(rounding);
    long long from = now();
    polylsp_call();
    long long to = now();
    fesetround(FE_TONEAREST);
    return to - from;
}

static void tell_time(long long took)
{
    long long kernels, transfers;
    if (told_of_refusal())
        return;
    if (polylsp_device_end == NULL) {
        fprintf(answers, "ran %lld\n", took);
        return;
    }
    polylsp_device_end(&kernels, &transfers);
    fprintf(answers, "ran %lld %lld %lld %lld\n", took, inside, kernels, transfers);
}

/* --- What came out ------------------------------------------------------------------------------ */

static int is_output(const struct memory *m) { return m->count > 0 && m->written; }

static long double real_at(const struct memory *m, const char *data, long long i)
{
    const char *at = data + i * m->size;
    if (m->size == (int)sizeof(float))
        return *(const float *)at;
    if (m->size == (int)sizeof(double))
        return *(const double *)at;
    return *(const long double *)at;
}

static size_t aligned(size_t size) { return (size + 63) / 64 * 64; }

/* A reference file has, for each output, its bytes, and of real numbers how far each moves when every
 * operation rounds up, or down: as much as another order of the same operations may move it. */
static size_t reference_size(void)
{
    size_t size = 0;
    for (int k = 0; k < MOST; k++)
        if (is_output(&memories[k])) {
            size += aligned(bytes(&memories[k]));
            if (memories[k].kind == 'f')
                size += aligned((size_t)memories[k].count * sizeof(double));
        }
    return size;
}

static void widen(struct memory *m, const char *theirs, double *bound)
{
    for (long long i = 0; i < m->count; i++) {
        double moved = (double)fabsl(real_at(m, m->base, i) - real_at(m, theirs, i));
        /* Whatever is no number in one direction alone says nothing of how far it moved. */
        bound[i] = moved > bound[i] ? moved : bound[i];
    }
}

static void each_output(char *file, int is_first)
{
    for (int k = 0; k < MOST; k++) {
        struct memory *m = &memories[k];
        if (!is_output(m))
            continue;
        if (is_first)
            memcpy(file, m->base, bytes(m));
        char *bound = file + aligned(bytes(m));
        if (m->kind == 'f' && !is_first)
            widen(m, file, (double *)bound);
        file = bound + (m->kind == 'f' ? aligned((size_t)m->count * sizeof(double)) : 0);
    }
}

static void reference(const char *path)
{
    long long took = timed(FE_TONEAREST);
    size_t size = reference_size();
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, (off_t)size) != 0)
        fail("file");
    char *data = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : NULL;
    if (data == MAP_FAILED)
        fail("file");
    each_output(data, 1);
    timed(FE_UPWARD);
    each_output(data, 0);
    timed(FE_DOWNWARD);
    each_output(data, 0);
    if (size)
        munmap(data, size);
    close(file);
    fprintf(answers, "ran %lld\n", took);
}

static long double epsilon(const struct memory *m)
{
    return m->size == (int)sizeof(float) ? FLT_EPSILON : m->size == (int)sizeof(double) ? DBL_EPSILON : LDBL_EPSILON;
}

static double mean(const double *bound, long long count)
{
    double sum = 0;
    for (long long i = 0; i < count; i++)
        sum += isfinite(bound[i]) ? bound[i] : 0;
    return count ? sum / (double)count : 0;
}

/* Compares real numbers; gives the first element that differs, or -1. */
static long long compare_reals(const struct memory *m, const char *theirs, const double *bound, double *error)
{
    long double least = mean(bound, m->count);
    for (long long i = 0; i < m->count; i++) {
        long double a = real_at(m, m->base, i), b = real_at(m, theirs, i);
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        long double apart = fabsl(a - b), allowed = 16 * (bound[i] + epsilon(m) * fabsl(b)) + least;
        if (!(apart <= allowed))
            return i;
        long double relative = b == 0 ? apart : apart / fabsl(b);
        if (relative > *error)
            *error = (double)relative;
    }
    return -1;
}

static long long compare_integers(const struct memory *m, const char *theirs)
{
    if (memcmp(m->base, theirs, bytes(m)) == 0)
        return -1;
    long long i = 0;
    while (memcmp(m->base + i * m->size, theirs + i * m->size, (size_t)m->size) == 0)
        i++;
    return i;
}

static long long integer_at(const struct memory *m, const char *data, long long i)
{
    const char *at = data + i * m->size;
    switch (m->size) {
    case 1: return m->kind == 'u' ? (long long)*(const uint8_t *)at : *(const int8_t *)at;
    case 2: return m->kind == 'u' ? (long long)*(const uint16_t *)at : *(const int16_t *)at;
    case 4: return m->kind == 'u' ? (long long)*(const uint32_t *)at : *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

static void differs(int k, long long i, const char *theirs)
{
    const struct memory *m = &memories[k];
    fprintf(answers, "differs %d %lld ", k == RESULT ? -1 : k, m->first + i);
    if (m->kind == 'f')
        fprintf(answers, "%.9Lg %.9Lg\n", real_at(m, m->base, i), real_at(m, theirs, i));
    else
        fprintf(answers, "%lld %lld\n", integer_at(m, m->base, i), integer_at(m, theirs, i));
}

static void compare(const char *file)
{
    double error = 0;
    for (int k = 0; k < MOST; k++) {
        struct memory *m = &memories[k];
        if (!is_output(m))
            continue;
        const char *bound = file + aligned(bytes(m));
        long long at = m->kind == 'f' ? compare_reals(m, file, (const double *)bound, &error) : compare_integers(m, file);
        if (at >= 0) {
            differs(k, at, file);
            return;
        }
        file = bound + (m->kind == 'f' ? aligned((size_t)m->count * sizeof(double)) : 0);
    }
    fprintf(answers, "same %.3g\n", error);
}

static void compare_bits(const char *file)
{
    for (int k = 0; k < MOST; k++) {
        struct memory *m = &memories[k];
        if (!is_output(m))
            continue;
        long long at = compare_integers(m, file);
        if (at >= 0) {
            differs(k, at, file);
            return;
        }
        file += aligned(bytes(m)) + (m->kind == 'f' ? aligned((size_t)m->count * sizeof(double)) : 0);
    }
    fprintf(answers, "same 0\n");
}

static void check(const char *path, void (*compared)(const char *))
{
    timed(FE_TONEAREST);
    if (told_of_refusal())
        return;
    size_t size = reference_size();
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0 || (size_t)status.st_size != size)
        fail("file");
    char *data = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0) : NULL;
    if (data == MAP_FAILED)
        fail("file");
    compared(data);
    if (size)
        munmap(data, size);
    close(file);
}

/* --- Lines -------------------------------------------------------------------------------------- */

static void describe(const char *line)
{
    int k, used = 0;
    struct memory m = {0};
    int read = sscanf(line, "memory %d %c %d %lld %lld %d %31s %lld %lld%n", &k, &m.kind, &m.size, &m.first,
                      &m.count, &m.written, m.fill, &m.low, &m.high, &used);
    if (read != 9 || k < 0 || k >= RESULT)
        fail("line");
    for (char *rest = (char *)line + used; (*rest == ' ' || *rest == 'x') && m.levels < LEVELS;)
        m.shape[m.levels++] = strtoll(rest + 1, &rest, 10);
    m.object = memories[k].object;
    if (m.object != NULL) {
        m.mapped = memories[k].mapped;
        m.initial = memories[k].initial;
    } else {
        release(&memories[k]);
    }
    memories[k] = m;
}

static void obey(char *line)
{
    int k, guarded;
    long long whole;
    double real;
    char path[LINE];
    if (sscanf(line, "integer %d %lld", &k, &whole) == 2 && k >= 0 && k < MOST)
        integers[k] = whole;
    else if (sscanf(line, "real %d %lf", &k, &real) == 2 && k >= 0 && k < MOST)
        reals[k] = real;
    else if (strncmp(line, "memory ", 7) == 0)
        describe(line);
    else if (sscanf(line, "allocate %d", &guarded) == 1) {
        allocate(guarded);
        fprintf(answers, "allocated\n");
    } else if (strncmp(line, "time", 4) == 0)
        tell_time(timed(FE_TONEAREST));
    else if (strncmp(line, "device", 6) == 0)
        tell_device();
    else if (sscanf(line, "reference %8000[^\n]", path) == 1)
        reference(path);
    else if (sscanf(line, "check %8000[^\n]", path) == 1)
        check(path, compare);
    else if (sscanf(line, "again %8000[^\n]", path) == 1)
        check(path, compare_bits);
    else
        fail("line");
    fflush(answers);
}

int main(void)
{
    static char line[LINE];
    answers = fdopen(dup(STDOUT_FILENO), "w");
    if (answers == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 3;
    polylsp_register();
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(line);
    return 0;
}
