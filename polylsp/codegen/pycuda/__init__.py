"""Nests of Python as kernels of a GPU, which PyCUDA compiles and launches."""
