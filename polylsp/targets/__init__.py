"""Parallel targets: OpenMP, OpenACC, CUDA, Numba, and NumPy slices."""
