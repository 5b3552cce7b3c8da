"""Arrays on the device."""

from __future__ import annotations

import numpy as np

from pycuda.driver import DeviceAllocation, mem_alloc, memcpy_dtoh, memcpy_htod


class Flags:
    c_contiguous = True


class GPUArray:
    """An array on the device; the host cannot see its elements."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype, self.flags = shape, dtype, Flags()
        self.size = int(np.prod(shape))
        self.nbytes = self.size * dtype.itemsize
        self.gpudata: DeviceAllocation = mem_alloc(self.nbytes)

    def get(self) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        memcpy_dtoh(found, self.gpudata)
        return found


def to_gpu(array: np.ndarray) -> GPUArray:
    found = GPUArray(array.shape, array.dtype)
    memcpy_htod(found.gpudata, np.ascontiguousarray(array))
    return found
