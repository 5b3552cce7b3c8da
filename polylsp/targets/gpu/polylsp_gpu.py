"""Kernels of a GPU for functions of Python: checks of their arguments, copies there and back, launches.

polylsp wrote this file; functions in files beside it use it. It runs kernels by PyCUDA (`PyCuda`), CuPy
(`CuPy`) or Numba (`NumbaCuda`), which are imported at the first call. Where there is none, the functions run
their own loops.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

NARROW = 1 << 30
"""Elements that a kernel counts with 32 bits; more are counted with 64."""

_MOST_BLOCKS = 65535
_EITHER = {
    "real": {
        "float64": "typedef double Real;\ntypedef double2 Real2;\n",
        "float32": "typedef float Real;\ntypedef float2 Real2;\n",
    },
    "whole": {"int64": "typedef long long Whole;\n", "int32": "typedef int Whole;\n"},
}
"""Types of elements that only a call tells, with how kernels call them."""


class Gpu:
    """The work of one call on the device.

    `with gpu:` surrounds the launches. Nothing of the host changes before all results are there; `done` tells
    whether they are. If the device fails, a warning says so, and the loops can run: but for arrays that are
    on the device, which may have changed. Then the error is raised.
    """

    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
    float32, float64, bool_ = np.float32, np.float64, np.bool_

    def __init__(self, function: str, kernels: str, index: str = "", counted: Sequence[Any] = ()) -> None:
        """Kernels of a `function`, in CUDA C++. Where these count elements in a type `index`, it has 64 bits
        if one of the `counted` arrays has many."""
        wide = max((each.size for each in counted if hasattr(each, "size")), default=0) > NARROW
        self.index = np.int64 if wide else np.int32
        self._head = f"typedef {'long long' if wide else 'int'} {index};\n" if index else ""
        self.done = False
        self._function, self._kernels = function, kernels
        self._module: Any = None
        self._held = False
        self._types: dict[str, str] = {}
        self._memory: list[Any] = []
        self._results: list[tuple[Any, int, Any]] = []
        self._failures: tuple[type[BaseException], ...] = (ImportError, OSError, RuntimeError)

    # --- Arguments ---------------------------------------------------------------------------------

    def takes(
        self,
        written: Sequence[tuple[Any, str, int]] = (),
        read: Sequence[tuple[Any, str, int]] = (),
        whole: Sequence[Any] = (),
        floats: Sequence[Any] = (),
        singles: Sequence[Any] = (),
        most: int = NARROW,
    ) -> bool:
        """Check the arguments of a call. The arrays `written` and `read` come with their type of elements and
        number of dimensions; they have to be C-contiguous, and those written must not overlap others. Those
        of type "real" are all `float64` or all `float32`, those of type "whole" all `int64` or all `int32`:
        kernels call these `Real` and `Whole`. `whole`, `floats` and `singles` (`numpy.float32`) are numbers.
        No size may be larger than `most`."""
        try:
            self._import()
        except ImportError:
            return False
        self._held = any(self.holds(array) for array, _, _ in written)
        for array, dtype, _ in (*written, *read):
            if dtype in _EITHER and dtype not in self._types:
                self._types[dtype] = own = str(getattr(array, "dtype", ""))
                if own not in _EITHER[dtype]:
                    return False
                self._head += _EITHER[dtype][own]
        return (
            all(isinstance(n, (int, np.integer)) and abs(int(n)) <= most for n in whole)
            and all(isinstance(x, (int, float)) and float(x) == x for x in floats)
            and all(type(x) is np.float32 and x == x for x in singles)
            and all(self._is_array(*each, most) for each in (*written, *read))
            and all(self.holds(array) or array.flags.writeable for array, _, _ in written)
            and self._apart([array for array, _, _ in (*written, *read)], len(written))
        )

    def _is_array(self, array: Any, dtype: str, dimensions: int, most: int) -> bool:
        if type(array) is not np.ndarray and not self.holds(array):
            return False
        if (
            array.dtype != self._types.get(dtype, dtype)
            or len(array.shape) != dimensions
            or not self._is_dense(array)
        ):
            return False
        return min(array.shape) > 0 and max(array.shape) <= most

    def _apart(self, arrays: Sequence[Any], written: int) -> bool:
        """True if the first arrays, so many, overlap none."""
        spans = [(self._start(array), self._start(array) + array.nbytes) for array in arrays]
        return not any(
            start < other[1] and other[0] < end
            for at, (start, end) in enumerate(spans[:written])
            for other in spans[at + 1 :]
        )

    def _start(self, array: Any) -> int:
        return self._address(array) if self.holds(array) else array.ctypes.data

    def holds(self, *arrays: Any) -> bool:
        """True if one of these arrays is on the device."""
        return any(isinstance(array, self._array) for array in arrays)

    def within(self, indices: Any, length: int) -> bool:
        """True if all elements are subscripts of an array of that length."""
        numbers = self._on_host(indices) if self.holds(indices) else indices
        return -length <= numbers.min() and numbers.max() < length

    def spans(self, ends: Any, length: int) -> bool:
        """True if all ranges between two of the elements are within an array of that length."""
        numbers = self._on_host(ends) if self.holds(ends) else ends
        return numbers.min() >= 0 and numbers.max() <= length

    # --- Memory ------------------------------------------------------------------------------------

    def place(self, array: Any, first: int, count: int, copied: bool = True) -> Any:
        """Address of the first element of an array on the device, or where it would be: so many rows from
        the `first` are there, with their values if they are `copied`."""
        if self.holds(array):
            return np.uintp(self._address(array))
        rows = array[first : first + count]
        there = self.scratch(rows.nbytes)
        if copied and rows.nbytes:
            self._copy_in(int(there), rows)
        return np.uintp(int(there) - first * _row(array))

    def copy(self, array: Any, there: Any, first: int, count: int) -> Any:
        """The same for a copy, on the device, of an array that is there."""
        row = _row(array)
        copied = self.scratch(count * row)
        self._copy_on(int(copied), int(there) + first * row, count * row)
        return np.uintp(int(copied) - first * row)

    def number(self, value: Any, dtype: str) -> Any:
        """Address of a number on the device."""
        there = self.scratch(np.dtype(dtype).itemsize)
        self._copy_in(int(there), np.array([value], dtype))
        return there

    def scratch(self, size: int) -> Any:
        """Address of new memory of so many bytes."""
        self._begin()
        self._memory.append(self._allocated(max(1, size)))
        return np.uintp(int(self._memory[-1]))

    def offset(self, there: Any, size: int) -> Any:
        """The address so many bytes further."""
        return np.uintp(int(there) + size)

    def taken(self, array: Any, count: int) -> int:
        """Bytes that rows of an array need on the device."""
        return 0 if self.holds(array) else count * _row(array)

    def slabs(
        self, first: int, end: int, size: int, needed: Callable[[int], int]
    ) -> Iterator[tuple[int, int]]:
        """Parts of the iterations from `first` to `end`, with `size` in each: half as many, and so on, where
        the device has no room for what they need."""
        self._begin()
        size, room = max(1, size), self._room() * 15 // 16
        while size > 1 and needed(size) > room:
            size = (size + 1) // 2
        kept = len(self._memory)
        for start in range(first, end, size):
            del self._memory[kept:]
            yield start, min(start + size, end)

    # --- Kernels -----------------------------------------------------------------------------------

    def blocks(self, count: int, each: int, most: int = _MOST_BLOCKS) -> int:
        """Number of blocks for so many iterations, with `each` in a block."""
        return max(1, min(most, -(-count // each)))

    def launch(self, kernel: Any, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> None:
        """Run a kernel on a grid of blocks."""
        self._begin()
        of_grid, of_block = ((*each, 1, 1)[:3] for each in (grid, block))
        self._run(kernel, of_grid, of_block, arguments)

    def fetch(self, *written: tuple[Any, ...]) -> None:
        """Wait for the kernels, and get rows of arrays from where these are: the first, and how many."""
        self._wait()
        for array, there, first, count in written:
            if not self.holds(array) and count > 0:
                rows = np.empty_like(array[first : first + count])
                self._copy_out(rows, int(there) + first * _row(array))
                self._results.append((array, first, rows))

    def value(self, there: Any, dtype: str) -> Any:
        """The number at an address."""
        found = np.empty(1, dtype)
        self._copy_out(found, int(there))
        return found[0]

    def _begin(self) -> None:
        if self._module is None:
            self._module = self._compiled(self._head + self._kernels)

    def __enter__(self) -> Gpu:
        return self

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> bool:
        self._memory.clear()
        if error is None:
            for array, first, rows in self._results:
                array[first : first + len(rows)] = rows
            self.done = True
        elif isinstance(error, self._failures) and not (self._held and self._module is not None):
            warned = f"`{self._function}` runs its loops on the CPU: {error}"
            warnings.warn(warned, RuntimeWarning, stacklevel=3)
            return True
        return False

    # --- The library -------------------------------------------------------------------------------

    _array: Any = ()
    """Type of arrays on the device."""

    def _import(self) -> None:
        """Import the library."""
        raise NotImplementedError

    def _address(self, array: Any) -> int:
        """Address of an array on the device."""
        raise NotImplementedError

    def _is_dense(self, array: Any) -> bool:
        """True if an array is C-contiguous."""
        return array.flags.c_contiguous

    def _on_host(self, array: Any) -> Any:
        """A copy of an array that is on the device."""
        return array.get()

    def _compiled(self, kernels: str) -> Any:
        """The kernels in a text, compiled once."""
        raise NotImplementedError

    def _run(self, kernel: Any, grid: Any, block: Any, arguments: Any) -> None:
        """Launch a kernel, with three sizes of the grid and of a block."""
        raise NotImplementedError

    def _allocated(self, size: int) -> Any:
        raise NotImplementedError

    def _room(self) -> int:
        """Bytes that the device has left."""
        raise NotImplementedError

    def _copy_in(self, target: int, source: Any) -> None:
        raise NotImplementedError

    def _copy_out(self, target: Any, source: int) -> None:
        raise NotImplementedError

    def _copy_on(self, target: int, source: int, size: int) -> None:
        raise NotImplementedError

    def _wait(self) -> None:
        raise NotImplementedError


class PyCuda(Gpu):
    """By PyCUDA, which has nvcc compile kernels and keeps them; arrays on the device are
    `pycuda.gpuarray.GPUArray`s."""

    def _import(self) -> None:
        self._driver = import_module("pycuda.driver")
        self._array = import_module("pycuda.gpuarray").GPUArray
        self._once = import_module("pycuda.tools").context_dependent_memoize
        self._failures = (*self._failures, self._driver.Error)

    def _address(self, array: Any) -> int:
        return int(array.gpudata)

    def _compiled(self, kernels: str) -> Any:
        if self._driver.Context.get_current() is None:
            import_module("pycuda.autoprimaryctx")
        return self._once(_module_of_pycuda)(kernels)

    def _run(self, kernel: Any, grid: Any, block: Any, arguments: Any) -> None:
        self._module.get_function(kernel)(*arguments, block=block, grid=grid)

    def _allocated(self, size: int) -> Any:
        return self._driver.mem_alloc(size)

    def _room(self) -> int:
        return self._driver.mem_get_info()[0]

    def _copy_in(self, target: int, source: Any) -> None:
        self._driver.memcpy_htod(target, source)

    def _copy_out(self, target: Any, source: int) -> None:
        self._driver.memcpy_dtoh(target, source)

    def _copy_on(self, target: int, source: int, size: int) -> None:
        self._driver.memcpy_dtod(target, source, size)

    def _wait(self) -> None:
        self._driver.Context.synchronize()


def _module_of_pycuda(kernels: str) -> Any:
    return import_module("pycuda.compiler").SourceModule(kernels)


class CuPy(Gpu):
    """By CuPy, which compiles kernels with NVRTC and keeps them; arrays on the device are
    `cupy.ndarray`s."""

    def _import(self) -> None:
        self._cupy = import_module("cupy")
        self._runtime = import_module("cupy.cuda.runtime")
        self._array = self._cupy.ndarray
        self._failures = (*self._failures, MemoryError, self._cupy.cuda.compiler.CompileException)

    def _address(self, array: Any) -> int:
        return int(array.data.ptr)

    def _compiled(self, kernels: str) -> Any:
        # Names of kernels stay as they are in C alone.
        return self._cupy.RawModule(code=f'extern "C" {{\n{kernels}}}')

    def _run(self, kernel: Any, grid: Any, block: Any, arguments: Any) -> None:
        self._module.get_function(kernel)(grid, block, arguments)

    def _allocated(self, size: int) -> Any:
        return self._cupy.cuda.alloc(size)

    def _room(self) -> int:
        return self._runtime.memGetInfo()[0]

    def _copy_in(self, target: int, source: Any) -> None:
        self._runtime.memcpy(target, source.ctypes.data, source.nbytes, self._runtime.memcpyHostToDevice)

    def _copy_out(self, target: Any, source: int) -> None:
        self._runtime.memcpy(target.ctypes.data, source, target.nbytes, self._runtime.memcpyDeviceToHost)

    def _copy_on(self, target: int, source: int, size: int) -> None:
        self._runtime.memcpy(target, source, size, self._runtime.memcpyDeviceToDevice)

    def _wait(self) -> None:
        self._cupy.cuda.Device().synchronize()


class NumbaCuda(Gpu):
    """By Numba, whose kernels are functions of Python (`numba.cuda.jit`); arrays on the device are those of
    `numba.cuda.to_device`. Arrays are there as a whole."""

    def __init__(self, function: str) -> None:
        """Kernels of a `function`, which Numba compiles at the first launch."""
        super().__init__(function, "")

    def place(self, array: Any, first: int = 0, count: int = 0, copied: bool = True) -> Any:
        """An array on the device."""
        self._begin()
        return array if self.holds(array) else self._cuda.to_device(array)

    def fetch(self, *written: tuple[Any, ...]) -> None:
        """Wait for the kernels, and get arrays from the device."""
        self._wait()
        for array, there in written:
            if not self.holds(array):
                self._results.append((array, 0, self._on_host(there)))

    def holds(self, *arrays: Any) -> bool:
        """True if one of these arrays is on the device."""
        return any(self._arrays.is_cuda_ndarray(array) for array in arrays)

    def _import(self) -> None:
        self._cuda = import_module("numba.cuda")
        self._arrays = import_module("numba.cuda.cudadrv.devicearray")
        errors = import_module("numba.cuda.cudadrv.error")
        own = [getattr(errors, name, None) for name in ("CudaDriverError", "NvvmError", "NvrtcError")]
        compiling = import_module("numba.core.errors").NumbaError
        self._failures = (*self._failures, compiling, *(each for each in own if each is not None))

    def _address(self, array: Any) -> int:
        return int(array.__cuda_array_interface__["data"][0])

    def _is_dense(self, array: Any) -> bool:
        return array.is_c_contiguous() if self.holds(array) else array.flags.c_contiguous

    def _on_host(self, array: Any) -> Any:
        return array.copy_to_host()

    def _compiled(self, kernels: str) -> Any:
        return self._cuda

    def _run(self, kernel: Any, grid: Any, block: Any, arguments: Any) -> None:
        with warnings.catch_warnings():
            # Numba warns of small grids.
            warnings.simplefilter("ignore")
            kernel[grid, block](*arguments)

    def _wait(self) -> None:
        self._cuda.synchronize()


def _row(array: Any) -> int:
    """Bytes of a row of an array."""
    return array.nbytes // array.shape[0]
