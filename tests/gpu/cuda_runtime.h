// CUDA on the host, for tests: what a program does with blocks, threads, barriers and the memory of a device has
// real meaning here, and what it must not do ends it.
//
// - Threads of a block are fibers that take turns at barriers: each runs alone up to the next one, so that what a
//   missing barrier lets happen does happen. One that some threads never reach is an error.
// - The device's memory lies in a region of its own. Each allocation ends at a page that cannot be touched, has a
//   guard before it, and is full of NaN at first, as shared memory is for each block. A kernel that is given a
//   pointer of the host ends the program.
// - Vectors (`float4` and the like) must lie at multiples of their size.
// - What is asked of a stream is done once someone waits for it, that of the last stream first.
// - POLYLSP_CUDA_MEMORY=n gives the device n bytes, of which no piece is lost between arrays.
// - Events are times of the host; POLYLSP_CUDA_DEVICE=NAME FREE names the device and the bytes that are free, and
//   with POLYLSP_CUDA_ABSENT there is none; with POLYLSP_CUDA_ILLEGAL all kernels end in an error.
// - POLYLSP_CUDA_FAIL=n lets the n-th call that can fail do so, and with n = 0 their number is printed at the end.
#ifndef POLYLSP_CUDA_ON_THE_HOST
#define POLYLSP_CUDA_ON_THE_HOST

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
// Threads of a block jump between their stacks, which `_FORTIFY_SOURCE` takes for an error.
#pragma push_macro("__USE_FORTIFY_LEVEL")
#undef __USE_FORTIFY_LEVEL
#define __USE_FORTIFY_LEVEL 0
#include <csetjmp>
#pragma pop_macro("__USE_FORTIFY_LEVEL")
#include <memory>
#include <set>
#include <string>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNoDevice = 100,
    cudaErrorIllegalAddress = 700,
    cudaErrorUnknown = 999
};
enum { cudaHostRegisterDefault = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

struct dim3 {
    unsigned int x, y, z;
    dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

// Their elements are aligned like any: what CUDA asks of them is asked where they are used.
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct double2 {
    double x, y;
};
struct int2 {
    int x, y;
};
struct int4 {
    int x, y, z, w;
};

#define __global__ static
#define __device__
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("played_shared")))
#define __syncthreads() played::barrier(__LINE__)
#define __restrict__ __restrict

inline dim3 gridDim, blockDim, blockIdx, threadIdx;

// Where the linker puts all shared memory of a program.
extern "C" char __start_played_shared[] __attribute__((weak));
extern "C" char __stop_played_shared[] __attribute__((weak));

namespace played {

inline void fail(const char *what)
{
    std::fprintf(stderr, "CUDA on the host: %s\n", what);
    std::_Exit(97);
}

// --- What may fail --------------------------------------------------------------------------------------

inline long calls = 0;
inline std::set<void *> locked;

inline bool failing()
{
    static const char *wanted = std::getenv("POLYLSP_CUDA_FAIL");
    calls++;
    return wanted != nullptr && std::atol(wanted) == calls;
}

inline bool has_streams = false;

// As on a device, a failure stays known until someone asks for it: the next launch would be taken to have failed.
inline cudaError_t last = cudaSuccess;

inline cudaError_t failed(cudaError_t error)
{
    return last = error;
}

struct Report {
    ~Report()
    {
        if (last != cudaSuccess)
            std::fprintf(stderr, "CUDA on the host: an error is left to the next call\n"), std::_Exit(97);
        if (!locked.empty())
            std::fprintf(stderr, "CUDA on the host: memory stays locked\n"), std::_Exit(97);
        if (has_streams)
            std::fprintf(stderr, "CUDA on the host: a stream is left behind\n"), std::_Exit(97);
        const char *wanted = std::getenv("POLYLSP_CUDA_FAIL");
        if (wanted != nullptr && std::atol(wanted) == 0)
            std::fprintf(stderr, "calls %ld\n", calls);
    }
};
inline Report report;

// --- The device's memory --------------------------------------------------------------------------------

constexpr size_t SPACE = size_t(1) << 36, GUARD = 4096;
inline char *space = nullptr;
inline size_t taken = 0;
inline std::map<char *, size_t> allocated;

// How many bytes are left.
inline size_t available()
{
    static const char *wanted = std::getenv("POLYLSP_CUDA_MEMORY");
    size_t all = wanted != nullptr ? static_cast<size_t>(std::atoll(wanted)) : SPACE, used = 0;
    for (const auto &each : allocated)
        used += each.second;
    return used < all ? all - used : 0;
}

inline void poison(void *start, size_t bytes)
{
    std::memset(start, 0xff, bytes);
}

inline char *allocate(size_t bytes)
{
    if (space == nullptr) {
        void *found = mmap(nullptr, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED)
            fail("no address space");
        space = static_cast<char *>(found);
    }
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t whole = (bytes + GUARD + page - 1) / page * page;
    if (bytes > available() || taken + whole + page > SPACE)
        return nullptr;
    char *start = space + taken;
    taken += whole + page;
    if (mprotect(start, whole, PROT_READ | PROT_WRITE) != 0)
        return nullptr;
    std::memset(start, 0xa5, whole);
    char *result = start + whole - bytes;
    poison(result, bytes);
    allocated[result] = bytes;
    return result;
}

inline void release(char *start)
{
    if (start == nullptr)
        return;
    auto found = allocated.find(start);
    if (found == allocated.end())
        fail("cudaFree of what cudaMalloc did not give");
    for (size_t k = 1; k <= GUARD / 2; k++)
        if (static_cast<unsigned char>(start[-static_cast<long>(k)]) != 0xa5)
            fail("a kernel wrote before an array");
    allocated.erase(found);
}

inline bool inside(const void *start, size_t bytes)
{
    const char *wanted = static_cast<const char *>(start);
    auto next = allocated.upper_bound(const_cast<char *>(wanted));
    if (next == allocated.begin())
        return bytes == 0;
    auto [first, size] = *--next;
    return wanted >= first && wanted + bytes <= first + size;
}

template <typename T> void check(T *pointer)
{
    // What a kernel gets may lie before its array by as much as it never touches.
    uintptr_t at = reinterpret_cast<uintptr_t>(pointer), low = reinterpret_cast<uintptr_t>(space);
    if (pointer != nullptr && (at + (size_t(1) << 32) < low || at > low + SPACE))
        fail("a kernel was given a pointer of the host");
}
template <typename T> void check(const T &) {}

// --- Vectors --------------------------------------------------------------------------------------------

// Elements that are loaded at once lie at a multiple of their size, counted from the start of what was
// allocated: that is where a device aligns memory.
template <typename T> struct Vector {
};

template <typename T, typename E> T &operator&(Vector<T>, E &element)
{
    using Plain = typename std::remove_const<T>::type;
    const char *at = reinterpret_cast<const char *>(&element);
    auto next = allocated.upper_bound(const_cast<char *>(at));
    if (next == allocated.begin() || !inside(at, sizeof(T)))
        fail("a vector lies beyond what cudaMalloc gave");
    if (static_cast<size_t>(at - (--next)->first) % sizeof(T) != 0)
        fail("a vector is not aligned");
    static_assert(std::is_same<decltype(Plain::x), typename std::remove_const<E>::type>::value, "other elements");
    return reinterpret_cast<T &>(element);
}

// --- Blocks and threads ---------------------------------------------------------------------------------

struct Fiber {
    ucontext_t context;
    jmp_buf place;
    bool begun = false;
    std::unique_ptr<char[]> stack;
    dim3 index;
    bool done = true;
    int line = 0;
};
inline jmp_buf scheduler;
inline std::vector<Fiber> fibers;
inline Fiber *current = nullptr;
inline std::function<void()> body;

// Once a fiber has begun, jumps change places: unlike `swapcontext` they ask nothing of the system.
inline void leave()
{
    if (_setjmp(current->place) == 0)
        _longjmp(scheduler, 1);
    threadIdx = current->index;
}

inline void resume(Fiber &fiber)
{
    current = &fiber;
    threadIdx = fiber.index;
    if (_setjmp(scheduler) != 0)
        return;
    if (current->begun)
        _longjmp(current->place, 1);
    current->begun = true;
    setcontext(&current->context);
}

// A fiber runs one thread of a block, then one of the next.
inline void enter()
{
    for (;;) {
        body();
        current->done = true;
        leave();
    }
}

inline void barrier(int line)
{
    current->line = line;
    leave();
}

inline void start(Fiber &fiber, dim3 index)
{
    constexpr size_t SIZE = 128 * 1024;
    if (fiber.stack == nullptr) {
        fiber.stack.reset(new char[SIZE]);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = SIZE;
        makecontext(&fiber.context, enter, 0);
    }
    fiber.index = index;
    fiber.done = false;
}

inline void run_block_with_barriers()
{
    size_t count = size_t(blockDim.x) * blockDim.y * blockDim.z, at = 0;
    if (fibers.empty())
        fibers = std::vector<Fiber>(1024);
    for (unsigned z = 0; z < blockDim.z; z++)
        for (unsigned y = 0; y < blockDim.y; y++)
            for (unsigned x = 0; x < blockDim.x; x++)
                start(fibers[at++], dim3(x, y, z));
    for (size_t left = count; left > 0;) {
        size_t ended = 0;
        for (size_t k = 0; k < count; k++) {
            if (fibers[k].done)
                continue;
            resume(fibers[k]);
            ended += fibers[k].done;
        }
        if (ended != 0 && ended != left)
            fail("some threads of a block wait at a barrier that others never reach");
        for (size_t k = 0; k < count && ended == 0; k++)
            if (fibers[k].line != fibers[0].line)
                fail("threads of a block wait at different barriers");
        left -= ended;
    }
}

inline void run_block()
{
    for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)
        for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
                body();
}

// --- Streams --------------------------------------------------------------------------------------------

// What was asked for and is not done yet: a device may begin with any stream.
struct Stream {
    std::vector<std::function<void()>> work;
};
inline std::vector<Stream *> streams;

// The last stream first: nothing may rest on an order between two.
inline void finish()
{
    for (size_t k = streams.size(); k-- > 0;) {
        std::vector<std::function<void()>> work;
        work.swap(streams[k]->work);
        for (auto &each : work)
            each();
    }
}

inline void later(Stream *stream, std::function<void()> work)
{
    if (stream == nullptr) {
        finish();
        work();
    } else {
        stream->work.push_back(work);
    }
}

inline void run(bool barriers, dim3 grid, dim3 threads, std::function<void()> work)
{
    gridDim = grid;
    blockDim = threads;
    body = work;
    // The last block first: nothing may rest on an order of blocks.
    for (unsigned z = grid.z; z-- > 0;)
        for (unsigned y = grid.y; y-- > 0;)
            for (unsigned x = grid.x; x-- > 0;) {
                blockIdx = dim3(x, y, z);
                poison(__start_played_shared, static_cast<size_t>(__stop_played_shared - __start_played_shared));
                if (barriers)
                    run_block_with_barriers();
                else
                    run_block();
            }
}

template <typename... Parameters, typename... Arguments>
void launch(Stream *stream, bool barriers, void (*kernel)(Parameters...), dim3 grid, dim3 threads,
            Arguments... arguments)
{
    if (threads.x * threads.y * threads.z > 1024 || threads.z > 64 || grid.y > 65535 || grid.z > 65535 ||
        grid.x * grid.y * grid.z == 0 || failing()) {
        failed(cudaErrorUnknown);
        return;
    }
    (check(arguments), ...);
    later(stream, [=] { run(barriers, grid, threads, [=] { kernel(arguments...); }); });
}

} // namespace played

// Of this all threads of a block must take part, as at a barrier.
template <typename T> T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32)
{
    static T given[1024];
    unsigned int own = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (mask != 0xffffffff || width != 32 || blockDim.x * blockDim.y * blockDim.z % 32 != 0)
        played::fail("a part of a warp exchanges values");
    given[own] = value;
    played::barrier(-1);
    T result = given[own ^ static_cast<unsigned int>(lanes)];
    played::barrier(-2);
    return result;
}

// Threads take turns at barriers alone: nothing comes between what these read and what they write.
#define PLAYED_ATOMIC(name, type, operation)                                                                   \
    inline type name(type *address, type value)                                                                \
    {                                                                                                          \
        type before = *address;                                                                                \
        *address = before operation value;                                                                     \
        return before;                                                                                         \
    }
#define PLAYED_ATOMICS(name, operation)                                                                        \
    PLAYED_ATOMIC(name, int, operation)                                                                        \
    PLAYED_ATOMIC(name, unsigned int, operation)                                                               \
    PLAYED_ATOMIC(name, unsigned long long, operation)
PLAYED_ATOMICS(atomicAdd, +)
PLAYED_ATOMIC(atomicAdd, float, +)
PLAYED_ATOMIC(atomicAdd, double, +)
PLAYED_ATOMICS(atomicAnd, &)
PLAYED_ATOMICS(atomicOr, |)
PLAYED_ATOMICS(atomicXor, ^)
#define PLAYED_EXTREMES(type)                                                                                  \
    inline type atomicMax(type *address, type value)                                                           \
    {                                                                                                          \
        type before = *address;                                                                                \
        *address = before < value ? value : before;                                                            \
        return before;                                                                                         \
    }                                                                                                          \
    inline type atomicMin(type *address, type value)                                                           \
    {                                                                                                          \
        type before = *address;                                                                                \
        *address = value < before ? value : before;                                                            \
        return before;                                                                                         \
    }
PLAYED_EXTREMES(int)
PLAYED_EXTREMES(unsigned int)
PLAYED_EXTREMES(long long)
PLAYED_EXTREMES(unsigned long long)
template <typename T> T atomicCAS(T *address, T compared, T value)
{
    T before = *address;
    if (before == compared)
        *address = value;
    return before;
}
template <typename To, typename From> To played_bits(From value)
{
    To result;
    static_assert(sizeof(To) == sizeof(From), "bits of another width");
    __builtin_memcpy(&result, &value, sizeof(To));
    return result;
}
inline long long __double_as_longlong(double value) { return played_bits<long long>(value); }
inline double __longlong_as_double(long long value) { return played_bits<double>(value); }
inline unsigned int __float_as_uint(float value) { return played_bits<unsigned int>(value); }
inline float __uint_as_float(unsigned int value) { return played_bits<float>(value); }

// --- Calls of the host ----------------------------------------------------------------------------------

inline cudaError_t cudaMalloc(void **result, size_t bytes)
{
    if (played::failing())
        return played::failed(cudaErrorMemoryAllocation);
    *result = played::allocate(bytes);
    return *result == nullptr ? played::failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

inline cudaError_t cudaMallocHost(void **result, size_t bytes)
{
    if (played::failing())
        return played::failed(cudaErrorMemoryAllocation);
    *result = std::malloc(bytes);
    return *result == nullptr ? played::failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

inline cudaError_t cudaFreeHost(void *start)
{
    std::free(start);
    return cudaSuccess;
}

inline cudaError_t cudaHostRegister(void *start, size_t bytes, unsigned int)
{
    bool failed = played::failing() || bytes == 0 || !played::locked.insert(start).second;
    return failed ? played::failed(cudaErrorInvalidValue) : cudaSuccess;
}

inline cudaError_t cudaHostUnregister(void *start)
{
    if (played::locked.erase(start) == 0)
        played::fail("memory is released that was not locked");
    return cudaSuccess;
}

inline cudaError_t cudaFree(void *start)
{
    played::finish();
    played::release(static_cast<char *>(start));
    return cudaSuccess;
}

using cudaStream_t = played::Stream *;

inline cudaError_t cudaStreamCreate(cudaStream_t *result)
{
    if (played::failing())
        return played::failed(cudaErrorMemoryAllocation);
    *result = new played::Stream;
    played::streams.push_back(*result);
    played::has_streams = true;
    return cudaSuccess;
}

inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream->work.empty())
        played::fail("a stream is destroyed while it has work");
    for (size_t k = 0; k < played::streams.size(); k++)
        if (played::streams[k] == stream)
            played::streams.erase(played::streams.begin() + static_cast<long>(k));
    played::has_streams = !played::streams.empty();
    delete stream;
    return cudaSuccess;
}

inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    bool is_given = kind == cudaMemcpyHostToDevice || played::inside(from, bytes);
    if (!is_given || !(kind == cudaMemcpyDeviceToHost || played::inside(to, bytes)))
        played::fail("cudaMemcpy beyond what cudaMalloc gave");
    bool stops = played::failing();
    // Half of it, where it fails: what it was to overwrite is lost then.
    size_t done = stops ? bytes / 2 : bytes;
    played::later(stream, [=] { std::memcpy(to, from, done); });
    return stops ? played::failed(cudaErrorUnknown) : cudaSuccess;
}

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

// --- What is told of the device --------------------------------------------------------------------------

struct Event {
    std::chrono::steady_clock::time_point at;
};
using cudaEvent_t = Event *;

inline cudaError_t cudaEventCreate(cudaEvent_t *result)
{
    *result = new Event;
    return cudaSuccess;
}

inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    played::later(stream, [=] { event->at = std::chrono::steady_clock::now(); });
    return cudaSuccess;
}

inline cudaError_t cudaEventElapsedTime(float *result, cudaEvent_t from, cudaEvent_t to)
{
    *result = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return cudaSuccess;
}

struct cudaDeviceProp {
    char name[256];
};

inline cudaError_t cudaMemGetInfo(size_t *available, size_t *whole)
{
    if (std::getenv("POLYLSP_CUDA_ABSENT") != nullptr)
        return played::failed(cudaErrorNoDevice);
    if (played::failing())
        return played::failed(cudaErrorUnknown);
    const char *told = std::getenv("POLYLSP_CUDA_DEVICE");
    *whole = played::SPACE;
    *available = told != nullptr ? std::strtoull(std::strrchr(told, ' '), nullptr, 10) : played::available();
    return cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *result, int)
{
    const char *told = std::getenv("POLYLSP_CUDA_DEVICE");
    std::string name = told != nullptr ? told : "the host 0";
    std::snprintf(result->name, sizeof result->name, "%s", name.substr(0, name.rfind(' ')).c_str());
    return cudaSuccess;
}

inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
           : error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
                                              : "unknown error";
}

inline cudaError_t cudaGetLastError()
{
    cudaError_t result = played::last;
    played::last = cudaSuccess;
    return result;
}

inline cudaError_t cudaDeviceSynchronize()
{
    played::finish();
    if (std::getenv("POLYLSP_CUDA_ILLEGAL") != nullptr)
        return played::failed(cudaErrorIllegalAddress);
    return played::failing() ? played::failed(cudaErrorUnknown) : cudaSuccess;
}

#endif
