"""A stand-in for CuPy on the one for PyCUDA: arrays and modules of kernels."""

from __future__ import annotations

import numpy as np
from pycuda.compiler import SourceModule
from pycuda.driver import Error, Function

from cupy import cuda
from cupy.cuda import MemoryPointer, alloc, runtime

__all__ = ["RawModule", "asarray", "cuda", "ndarray"]


class Flags:
    c_contiguous = True


class ndarray:
    """An array on the device; the host cannot see its elements."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype, self.flags = shape, dtype, Flags()
        self.size = int(np.prod(shape))
        self.nbytes = self.size * dtype.itemsize
        self.data: MemoryPointer = alloc(self.nbytes)

    def get(self) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        runtime.memcpy(found.ctypes.data, self.data.ptr, found.nbytes, runtime.memcpyDeviceToHost)
        return found


def asarray(array: np.ndarray) -> ndarray:
    found = ndarray(array.shape, array.dtype)
    own = np.ascontiguousarray(array)
    runtime.memcpy(found.data.ptr, own.ctypes.data, own.nbytes, runtime.memcpyHostToDevice)
    return found


modules: dict[str, SourceModule] = {}


class RawModule:
    """Kernels, which are compiled once; C++ would change their names."""

    def __init__(self, *, code: str) -> None:
        head, tail = 'extern "C" {\n', "}"
        assert code.startswith(head) and code.endswith(tail)
        if code not in modules:
            try:
                modules[code] = SourceModule(code[len(head) : -len(tail)])
            except Error as error:
                raise cuda.compiler.CompileException(str(error)) from None
        self._module = modules[code]

    def get_function(self, name: str) -> RawKernel:
        return RawKernel(self._module.get_function(name))


class RawKernel:
    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[object, ...]) -> None:
        # Not all versions of CuPy take pointers to memory.
        assert not any(isinstance(each, MemoryPointer) for each in args)
        runtime.checked(lambda: self._function(*args, block=block, grid=grid))
