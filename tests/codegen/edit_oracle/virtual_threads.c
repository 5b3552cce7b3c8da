/* Threads of OpenMP that run one after the other, in an order that is chosen, until a barrier or their end.

   It takes the place of gcc's libgomp for parallel regions. With one thread for each iteration, reversed or
   mixed, a dependence between iterations, or a copy that is used before it is set, shows each time. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MOST 64
#define STACK (64l << 20)
#define FILLED (1l << 14)

enum { TO_RUN, AT_BARRIER, ENDED };

static int wanted_threads = 1, chosen_order, team = 1, current, is_inside;
static char *stacks[MOST];
static ucontext_t contexts[MOST], scheduler;
static int states[MOST], singles[MOST], singles_taken, shared_loops[MOST];
static struct { long next, left, end, step, chunk; int is_open; } handed_out[MOST];
static void (*region)(void *);
static void *region_data;

void virtual_threads(int count, int order) { wanted_threads = count; chosen_order = order; }

static int ordered(int k, int count)
{
    switch (chosen_order) {
    case 0: return count - 1 - k;
    case 1: return k < count / 2 ? 2 * k + 1 : 2 * (count - 1 - k);
    default: return count % 7 ? (k * 7 + 3) % count : k;
    }
}

static void begin(int thread)
{
    current = thread;
    region(region_data);
    states[thread] = ENDED;
}

static void wait_for_others(void)
{
    int thread = current;
    states[thread] = AT_BARRIER;
    swapcontext(&contexts[thread], &scheduler);
    current = thread;
}

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    int count = threads && (int)threads < wanted_threads ? (int)threads : wanted_threads, left, rounds = 0;
    (void)flags;
    if (is_inside || count == 1) {
        int around = team, thread = current;
        team = 1;
        current = 0;
        function(data);
        team = around;
        current = thread;
        return;
    }
    region = function;
    region_data = data;
    team = count;
    is_inside = 1;
    singles_taken = 0;
    for (int k = 0; k < count; k++) {
        if (!stacks[k])
            stacks[k] = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memset(stacks[k] + STACK - FILLED, 0xA5, FILLED);
        getcontext(&contexts[k]);
        contexts[k].uc_stack.ss_sp = stacks[k];
        contexts[k].uc_stack.ss_size = STACK;
        contexts[k].uc_link = &scheduler;
        makecontext(&contexts[k], (void (*)(void))begin, 1, k);
        states[k] = TO_RUN;
        singles[k] = shared_loops[k] = 0;
        handed_out[k].is_open = 0;
    }
    do {
        left = 0;
        rounds++;
        for (int k = 0; k < count; k++) {
            /* Forth and back, so that of chunks that threads have taken in turn the last one may run first. */
            int thread = ordered(rounds % 2 ? k : count - 1 - k, count);
            if (states[thread] == ENDED)
                continue;
            current = thread;
            swapcontext(&scheduler, &contexts[thread]);
            left += states[thread] != ENDED;
        }
    } while (left);
    team = 1;
    current = 0;
    is_inside = 0;
}

/* Chunks of a loop: each thread takes one, and waits until others have taken theirs before it runs it. */
_Bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end)
{
    int thread = current, k = shared_loops[thread] % MOST;
    long count = handed_out[k].left < handed_out[k].chunk ? handed_out[k].left : handed_out[k].chunk;
    if (count <= 0)
        return 0;
    *start = handed_out[k].next;
    *end = handed_out[k].next += count * handed_out[k].step;
    handed_out[k].left -= count;
    if (handed_out[k].left == 0)
        *end = handed_out[k].end;
    if (team > 1) {
        swapcontext(&contexts[thread], &scheduler);
        current = thread;
    }
    return 1;
}

_Bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to)
{
    int k = ++shared_loops[current] % MOST;
    if (team == 1 || !handed_out[k].is_open) {
        long count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
        handed_out[k].left = count > 0 ? count : 0;
        handed_out[k].next = start;
        handed_out[k].end = end;
        handed_out[k].step = step;
        handed_out[k].chunk = chunk > 0 ? chunk : 1;
        handed_out[k].is_open = 1;
    }
    return GOMP_loop_nonmonotonic_dynamic_next(from, to);
}

#define ALSO(kind) \
    _Bool GOMP_loop_##kind##_next(long *start, long *end) \
    { \
        return GOMP_loop_nonmonotonic_dynamic_next(start, end); \
    } \
    _Bool GOMP_loop_##kind##_start(long start, long end, long step, long chunk, long *from, long *to) \
    { \
        return GOMP_loop_nonmonotonic_dynamic_start(start, end, step, chunk, from, to); \
    } \
    _Bool GOMP_loop_ull_##kind##_next(long *start, long *end) \
    { \
        return GOMP_loop_nonmonotonic_dynamic_next(start, end); \
    } \
    _Bool GOMP_loop_ull_##kind##_start(_Bool up, long start, long end, long step, long chunk, long *from, long *to) \
    { \
        (void)up; \
        return GOMP_loop_nonmonotonic_dynamic_start(start, end, step, chunk, from, to); \
    }
ALSO(dynamic)
ALSO(guided)
ALSO(nonmonotonic_guided)
_Bool GOMP_loop_ull_nonmonotonic_dynamic_next(long *start, long *end)
{
    return GOMP_loop_nonmonotonic_dynamic_next(start, end);
}
_Bool GOMP_loop_ull_nonmonotonic_dynamic_start(_Bool up, long start, long end, long step, long chunk, long *from,
                                               long *to)
{
    (void)up;
    return GOMP_loop_nonmonotonic_dynamic_start(start, end, step, chunk, from, to);
}

void GOMP_barrier(void)
{
    if (team > 1)
        wait_for_others();
}

_Bool GOMP_single_start(void)
{
    if (team == 1)
        return 1;
    if (++singles[current] <= singles_taken)
        return 0;
    singles_taken++;
    return 1;
}

void GOMP_taskwait(void) {}
void GOMP_loop_end(void) { GOMP_barrier(); }
void GOMP_loop_end_nowait(void) {}
void GOMP_critical_start(void) {}
void GOMP_critical_end(void) {}
void GOMP_critical_name_start(void **name) { (void)name; }
void GOMP_critical_name_end(void **name) { (void)name; }
void GOMP_atomic_start(void) {}
void GOMP_atomic_end(void) {}
int omp_get_num_threads(void) { return team; }
int omp_get_thread_num(void) { return current; }
int omp_get_max_threads(void) { return wanted_threads; }
int omp_in_parallel(void) { return is_inside; }
