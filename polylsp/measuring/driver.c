/* What runs one version of a function: it makes the data, calls the function, times it, and says whether
 * what came out is what came out of the original. It obeys lines on standard input and answers each with
 * one line on standard output:
 *
 *     integer K VALUE                             the K-th number is VALUE
 *     real K VALUE
 *     memory K KIND SIZE FIRST COUNT WRITTEN FILL LOW HIGH [SHAPE]
 *                                                 elements FIRST .. FIRST + COUNT - 1 of the K-th memory; KIND
 *                                                 is f, i, u or b, or s of structures, FILL random, kept,
 *                                                 positive-definite or ascending; with a SHAPE (as 3x4)
 *                                                 tables of pointers lead to it, one less than lengths
 *     allocate GUARDED                            make all memories; GUARDED: an access outside is a crash
 *     time                                        call the function: "ran NANOSECONDS", and if it has
 *                                                 kernels those in host functions, kernels, and transfers
 *     reference FILE                              write what comes out, and how far rounding moves it: "ran
 *                                                 NANOSECONDS LOST COUNT", so many real numbers of which LOST
 *                                                 say nothing
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

enum { MOST = 128, RESULT = MOST - 1, LINE = 8192, LEVELS = 4, FIELDS = 32, NAME = 64 };

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

/* A field of the structures in a memory; `each`: so many numbers, if it is an array. */
struct field {
    char name[NAME];
    char kind;
    int size;
    long long each;
    unsigned long offset;
};

struct structure {
    unsigned long size;
    int count;
    struct field fields[FIELDS];
};

static struct memory memories[MOST];
static struct structure structures[MOST];
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

void polylsp_structure(int k, unsigned long size) { structures[k].size = size; }

void polylsp_field(int k, const char *name, unsigned long offset, unsigned long whole, unsigned long size, char kind)
{
    struct structure *s = &structures[k];
    if (s->count == FIELDS)
        return;
    struct field *f = &s->fields[s->count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->kind = kind;
    f->size = (int)size;
    f->each = (long long)(whole / size);
    f->offset = offset;
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

/* The elements of a memory that are numbers, all of one kind: its own, or those of one field of the structures
 * that it holds. */
struct view {
    const struct memory *m;
    char kind;
    int size;
    long long count, each; /* each structure has so many */
    unsigned long offset;
    const char *name;
};

static int view_count(int k) { return structures[k].count > 0 ? structures[k].count : 1; }

static struct view view_of(int k, int number)
{
    const struct memory *m = &memories[k];
    const struct field *f = &structures[k].fields[number];
    if (structures[k].count == 0)
        return (struct view){m, m->kind, m->size, m->count, 1, 0, ""};
    return (struct view){m, f->kind, f->size, m->count * f->each, f->each, f->offset, f->name};
}

static char *at(const struct view *v, const char *data, long long i)
{
    long long whole = v->each == 1 ? i : i / v->each;
    return (char *)data + whole * v->m->size + (long long)v->offset + (i - whole * v->each) * v->size;
}

static void set_real(const struct view *v, long long i, double value)
{
    char *place = at(v, v->m->base, i);
    if (v->size == (int)sizeof(float))
        *(float *)place = (float)value;
    else if (v->size == (int)sizeof(double))
        *(double *)place = value;
    else
        *(long double *)place = value;
}

static void set_integer(const struct view *v, long long i, long long value)
{
    char *place = at(v, v->m->base, i);
    switch (v->size) {
    case 1: *(int8_t *)place = (int8_t)value; break;
    case 2: *(int16_t *)place = (int16_t)value; break;
    case 4: *(int32_t *)place = (int32_t)value; break;
    default: *(int64_t *)place = value; break;
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

static void fill_view(int k, const struct view *v)
{
    const struct memory *m = v->m;
    long long side = (long long)(sqrt((double)m->count) + 0.5);
    uint64_t range = (uint64_t)(m->high - m->low) + 1;
    for (long long i = 0; i < v->count; i++) {
        uint64_t own = (uint64_t)i ^ (uint64_t)v->offset << 40;
        if (v->kind == 'f' && strcmp(m->fill, "positive-definite") == 0)
            set_real(v, i, positive_definite(k, i, side));
        else if (v->kind == 'f')
            set_real(v, i, 0.5 + uniform(k, own));
        else if (v->kind == 'b')
            set_integer(v, i, (long long)(mixed(mixed((uint64_t)k + 1) ^ own) & 1));
        else if (strcmp(m->fill, "ascending") == 0)
            set_integer(v, i, m->low + (long long)((double)(m->high - m->low) * (double)i / (double)(v->count > 1 ? v->count - 1 : 1)));
        else
            set_integer(v, i, m->low + (long long)(mixed(mixed((uint64_t)k + 1) ^ own) % range));
    }
}

static void fill(int k)
{
    if (strcmp(memories[k].fill, "kept") == 0)
        return;
    for (int number = 0; number < view_count(k); number++) {
        struct view v = view_of(k, number);
        fill_view(k, &v);
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

static long double real_at(const struct view *v, const char *data, long long i)
{
    const char *place = at(v, data, i);
    if (v->size == (int)sizeof(float))
        return *(const float *)place;
    if (v->size == (int)sizeof(double))
        return *(const double *)place;
    return *(const long double *)place;
}

static size_t aligned(size_t size) { return (size + 63) / 64 * 64; }

/* A reference file has, for each output, its bytes, and of real numbers how far each moves when every
 * operation rounds up, or down: as much as another order of the same operations may move it. */
static size_t bounds(const struct view *v)
{
    return v->kind == 'f' ? aligned((size_t)v->count * sizeof(double)) : 0;
}

static size_t reference_size(void)
{
    size_t size = 0;
    for (int k = 0; k < MOST; k++) {
        if (!is_output(&memories[k]))
            continue;
        size += aligned(bytes(&memories[k]));
        for (int number = 0; number < view_count(k); number++) {
            struct view v = view_of(k, number);
            size += bounds(&v);
        }
    }
    return size;
}

static long double epsilon(const struct view *v)
{
    return v->size == (int)sizeof(float) ? FLT_EPSILON : v->size == (int)sizeof(double) ? DBL_EPSILON : LDBL_EPSILON;
}

static long double largest(const struct view *v)
{
    return v->size == (int)sizeof(float) ? FLT_MAX : v->size == (int)sizeof(double) ? DBL_MAX : LDBL_MAX;
}

/* What is no number, or so large that terms in another order may be none, says nothing of versions. */
static int is_lost(const struct view *v, long double value)
{
    return !isfinite(value) || fabsl(value) > largest(v) * epsilon(v);
}

static void count_lost(const struct view *v, long long *lost, long long *count)
{
    for (long long i = 0; v->kind == 'f' && i < v->count; i++, ++*count)
        *lost += is_lost(v, real_at(v, v->m->base, i));
}

static void widen(const struct view *v, const char *theirs, double *bound)
{
    for (long long i = 0; i < v->count; i++) {
        double moved = (double)fabsl(real_at(v, v->m->base, i) - real_at(v, theirs, i));
        /* Whatever is no number in one direction alone says nothing of how far it moved. */
        bound[i] = moved > bound[i] ? moved : bound[i];
    }
}

static void each_output(char *file, int is_first, long long *lost, long long *count)
{
    for (int k = 0; k < MOST; k++) {
        struct memory *m = &memories[k];
        if (!is_output(m))
            continue;
        if (is_first)
            memcpy(file, m->base, bytes(m));
        char *bound = file + aligned(bytes(m));
        for (int number = 0; number < view_count(k); number++) {
            struct view v = view_of(k, number);
            if (is_first)
                count_lost(&v, lost, count);
            else if (v.kind == 'f')
                widen(&v, file, (double *)bound);
            bound += bounds(&v);
        }
        file = bound;
    }
}

static void reference(const char *path)
{
    long long took = timed(FE_TONEAREST), lost = 0, count = 0;
    size_t size = reference_size();
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, (off_t)size) != 0)
        fail("file");
    char *data = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : NULL;
    if (data == MAP_FAILED)
        fail("file");
    each_output(data, 1, &lost, &count);
    timed(FE_UPWARD);
    each_output(data, 0, &lost, &count);
    timed(FE_DOWNWARD);
    each_output(data, 0, &lost, &count);
    if (size)
        munmap(data, size);
    close(file);
    fprintf(answers, "ran %lld %lld %lld\n", took, lost, count);
}

static double mean(const double *bound, long long count)
{
    double sum = 0;
    for (long long i = 0; i < count; i++)
        sum += isfinite(bound[i]) ? bound[i] : 0;
    return count ? sum / (double)count : 0;
}

/* Compares real numbers; gives the first element that differs, or -1. */
static long long compare_reals(const struct view *v, const char *theirs, const double *bound, double *error)
{
    long double least = mean(bound, v->count);
    for (long long i = 0; i < v->count; i++) {
        long double a = real_at(v, v->m->base, i), b = real_at(v, theirs, i);
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        if (!(isfinite(a) && isfinite(b)) && is_lost(v, a) && is_lost(v, b))
            continue;
        long double apart = fabsl(a - b), allowed = 16 * (bound[i] + epsilon(v) * fabsl(b)) + least;
        if (!(apart <= allowed))
            return i;
        long double relative = b == 0 ? apart : apart / fabsl(b);
        if (relative > *error)
            *error = (double)relative;
    }
    return -1;
}

/* The same of bits. Between the fields of structures there may be any. */
static long long compare_integers(const struct view *v, const char *theirs)
{
    if (memcmp(v->m->base, theirs, bytes(v->m)) == 0)
        return -1;
    for (long long i = 0; i < v->count; i++)
        if (memcmp(at(v, v->m->base, i), at(v, theirs, i), (size_t)v->size) != 0)
            return i;
    return -1;
}

static long long integer_at(const struct view *v, const char *data, long long i)
{
    const char *place = at(v, data, i);
    switch (v->size) {
    case 1: return v->kind == 'u' ? (long long)*(const uint8_t *)place : *(const int8_t *)place;
    case 2: return v->kind == 'u' ? (long long)*(const uint16_t *)place : *(const int16_t *)place;
    case 4: return v->kind == 'u' ? (long long)*(const uint32_t *)place : *(const int32_t *)place;
    default: return *(const int64_t *)place;
    }
}

static void differs(int k, const struct view *v, long long i, const char *theirs)
{
    const char *base = v->m->base;
    fprintf(answers, "differs %d %lld", k == RESULT ? -1 : k, v->m->first + i / v->each);
    if (*v->name != '\0')
        fprintf(answers, ".%s", v->name);
    if (v->each > 1)
        fprintf(answers, "[%lld]", i % v->each);
    if (v->kind == 'f')
        fprintf(answers, " %.9Lg %.9Lg\n", real_at(v, base, i), real_at(v, theirs, i));
    else
        fprintf(answers, " %lld %lld\n", integer_at(v, base, i), integer_at(v, theirs, i));
}

static void compare_all(const char *file, int is_exact)
{
    double error = 0;
    for (int k = 0; k < MOST; k++) {
        struct memory *m = &memories[k];
        if (!is_output(m))
            continue;
        const char *bound = file + aligned(bytes(m));
        for (int number = 0; number < view_count(k); number++) {
            struct view v = view_of(k, number);
            long long found = v.kind == 'f' && !is_exact ? compare_reals(&v, file, (const double *)bound, &error)
                                                         : compare_integers(&v, file);
            if (found >= 0) {
                differs(k, &v, found, file);
                return;
            }
            bound += bounds(&v);
        }
        file = bound;
    }
    fprintf(answers, "same %.3g\n", error);
}

static void check(const char *path, int is_exact)
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
    compare_all(data, is_exact);
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
    if (structures[k].size != 0)
        m.size = (int)structures[k].size;
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
        check(path, 0);
    else if (sscanf(line, "again %8000[^\n]", path) == 1)
        check(path, 1);
    else
        fail("line");
    fflush(answers);
}

int main(void)
{
    static char line[LINE];
    /* What the function reads is not what we are told. */
    FILE *told = fdopen(dup(STDIN_FILENO), "r");
    int nothing = open("/dev/null", O_RDONLY);
    if (told == NULL || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return 1;
    answers = fdopen(dup(STDOUT_FILENO), "w");
    if (answers == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 3;
    polylsp_register();
    while (fgets(line, sizeof line, told) != NULL)
        obey(line);
    return 0;
}
