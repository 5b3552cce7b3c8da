// The memory of the device that `pycuda` plays: one for all modules.
#include <cuda_runtime.h>

extern "C" void *played_allocate(size_t bytes)
{
    return played::allocate(bytes);
}

extern "C" size_t played_available()
{
    return played::available();
}

extern "C" void played_release(void *start)
{
    played::release(static_cast<char *>(start));
}

extern "C" void played_copy(void *to, const void *from, size_t bytes, int kind)
{
    cudaMemcpy(to, from, bytes, static_cast<cudaMemcpyKind>(kind));
}
