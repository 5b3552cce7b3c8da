"""A stand-in for PyCUDA, for tests: the memory of a device and its kernels are played on the host, by
`cuda_runtime.h`. It knows what generated code uses, and is stricter than PyCUDA about it."""

VERSION_TEXT = "played"
