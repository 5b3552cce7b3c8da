"""A stand-in for CuPy on the one for PyCUDA: arrays and modules of kernels."""

from __future__ import annotations

import numpy as np
from pycuda.compiler import SourceModule
from pycuda.driver import Error, Function, memcpy_htod
from pycuda.gpuarray import GPUArray

from cupy import cuda
from cupy.cuda import MemoryPointer, runtime

__all__ = ["RawModule", "asarray", "cuda", "ndarray"]


class ndarray(GPUArray):
    """An array on the device; the host cannot see its elements."""

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(self.gpudata)


def asarray(array: np.ndarray) -> ndarray:
    found = ndarray(array.shape, array.dtype)
    memcpy_htod(found.gpudata, np.ascontiguousarray(array))
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
