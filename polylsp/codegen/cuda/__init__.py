"""CUDA from C: a nest becomes kernels and a host function in a separate file, after PPCG (Verdoolaege et al.,
Polyhedral parallel code generation for CUDA, TACO 9(4), 2013)."""
