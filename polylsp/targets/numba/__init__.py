"""Parallel Python loops with Numba's `prange`."""
