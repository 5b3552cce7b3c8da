"""GPU kernels from loop nests: schedule, mapping, memory, and host code in C and Python."""
