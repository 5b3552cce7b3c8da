/* What a version with kernels tells of the device: its files are compiled with this before them. Calls of CUDA
 * in these files are counted as transfers or looked at for errors; before each launch stands
 * `polylsp::launching(STREAM)`. Kernels and transfers are timed with events, which the device sees to: the host
 * waits for nothing that it would not wait for anyway.
 *
 * One file of a program has POLYLSP_DEFINES, and with it what the others share.
 */
#ifndef POLYLSP_DRIVER_CUH
#define POLYLSP_DRIVER_CUH

#include <cuda_runtime.h>

namespace polylsp {
cudaError_t told(cudaError_t status);
void launching(cudaStream_t stream);
cudaError_t copied(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t copied_on(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t waited();
cudaError_t launched();
} // namespace polylsp

#ifdef POLYLSP_DEFINES
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace polylsp {

/* What the device was at from one event to another. */
struct Span {
    bool is_kernel, is_open;
    cudaStream_t stream;
    cudaEvent_t from, to;
};
static std::vector<Span> spans;
static std::vector<cudaEvent_t> events;
static size_t used;
static cudaError_t error = cudaSuccess;

/* The first error is the cause of those that follow. */
cudaError_t told(cudaError_t status)
{
    if (error == cudaSuccess)
        error = status;
    return status;
}

static cudaEvent_t recorded(cudaStream_t stream)
{
    if (used == events.size()) {
        events.emplace_back();
        told(cudaEventCreate(&events.back()));
    }
    told(cudaEventRecord(events[used], stream));
    return events[used++];
}

static void close(Span &span)
{
    span.to = recorded(span.stream);
    span.is_open = false;
}

static void close_all()
{
    for (Span &each : spans)
        if (each.is_open)
            close(each);
}

/* Kernels that follow one another on a stream are one span. */
void launching(cudaStream_t stream)
{
    for (const Span &each : spans)
        if (each.is_open && each.stream == stream)
            return;
    spans.push_back({true, true, stream, recorded(stream), nullptr});
}

cudaError_t copied_on(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    for (Span &each : spans)
        if (each.is_open && (stream == nullptr || each.stream == stream))
            close(each);
    cudaEvent_t began = recorded(stream);
    cudaError_t status = stream == nullptr ? cudaMemcpy(to, from, bytes, kind) : cudaMemcpyAsync(to, from, bytes, kind, stream);
    spans.push_back({false, false, stream, began, recorded(stream)});
    return told(status);
}

cudaError_t copied(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return copied_on(to, from, bytes, kind, nullptr);
}

cudaError_t waited()
{
    close_all();
    return told(cudaDeviceSynchronize());
}

cudaError_t launched() { return told(cudaGetLastError()); }

/* The nanoseconds in which the device was at kernels, or at transfers, whether at one or at several. */
static long long nanoseconds(bool is_kernel)
{
    std::vector<std::pair<float, float>> found;
    for (const Span &each : spans) {
        float from = 0, to = 0;
        if (each.is_kernel != is_kernel || cudaEventElapsedTime(&from, spans[0].from, each.from) != cudaSuccess ||
            cudaEventElapsedTime(&to, spans[0].from, each.to) != cudaSuccess)
            continue;
        found.push_back({from, to});
    }
    std::sort(found.begin(), found.end());
    double whole = 0, reached = -1e30;
    for (const auto &each : found) {
        double from = std::max<double>(each.first, reached);
        whole += std::max(0.0, each.second - from);
        reached = std::max<double>(reached, each.second);
    }
    return static_cast<long long>(whole * 1e6);
}

} // namespace polylsp

extern "C" void polylsp_device_begin(void)
{
    polylsp::spans.clear();
    polylsp::used = 0;
    polylsp::error = cudaSuccess;
}

extern "C" void polylsp_device_end(long long *kernels, long long *transfers)
{
    polylsp::close_all();
    cudaDeviceSynchronize();
    *kernels = polylsp::nanoseconds(true);
    *transfers = polylsp::nanoseconds(false);
}

extern "C" int polylsp_device_error(const char **words)
{
    if (polylsp::error != cudaSuccess)
        *words = cudaGetErrorString(polylsp::error);
    return polylsp::error;
}

extern "C" int polylsp_device_is(char *name, unsigned long size, unsigned long *available)
{
    size_t left = 0, whole = 0;
    cudaDeviceProp about;
    if (polylsp::told(cudaMemGetInfo(&left, &whole)) == cudaSuccess &&
        polylsp::told(cudaGetDeviceProperties(&about, 0)) == cudaSuccess) {
        std::snprintf(name, size, "%s", about.name);
        *available = left;
    }
    return polylsp::error;
}
#endif

#define cudaMemcpy(to, from, bytes, kind) polylsp::copied(to, from, bytes, kind)
#define cudaMemcpyAsync(to, from, bytes, kind, stream) polylsp::copied_on(to, from, bytes, kind, stream)
#define cudaDeviceSynchronize() polylsp::waited()
#define cudaGetLastError() polylsp::launched()
#define cudaMalloc(result, bytes) polylsp::told((cudaMalloc)(result, bytes))
#define cudaMallocHost(result, bytes) polylsp::told((cudaMallocHost)(result, bytes))

#endif
