"""Libraries that run kernels from Python: PyCUDA and CuPy, each as the lines that a host function needs.

PyCUDA (Klöckner et al., Parallel Computing 2012) compiles with nvcc; CuPy, of which there are wheels, with
NVRTC, and keeps the memory that it has released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

Own = Callable[[str], str]
"""A name of a host function: the wanted one, or one like it that is free."""

_INDENT = "    "


class Library(ABC):
    """Lines and expressions of Python that use a library; `own` gives the names of the host function."""

    title: str
    arrays: str
    """Arrays on the device, as documentation names them."""
    compiles: str
    """Compilation of kernels, in half a sentence."""

    @abstractmethod
    def imports(self, own: Own) -> Iterator[str]:
        """Imports, which fail where there is no library."""

    @abstractmethod
    def array(self, own: Own) -> str:
        """The type of arrays on the device."""

    @abstractmethod
    def place(self, array: str) -> str:
        """Address of an array on the device, as a number."""

    @abstractmethod
    def module(self, text: str) -> Iterator[str]:
        """Lines that compile the kernels in a `text` to a `module`."""

    @abstractmethod
    def compiled(self, own: Own, function: str, index: str) -> str:
        """The kernels, which a `function` compiles once."""

    @abstractmethod
    def begun(self, own: Own) -> Iterator[str]:
        """Lines that begin work on a device."""

    @abstractmethod
    def allocated(self, own: Own, size: str) -> str:
        """New memory of so many bytes, whose address `int` gives."""

    @abstractmethod
    def copied(self, own: Own, kind: str, target: str, source: str, size: str = "") -> str:
        """A copy to the device (`in`), from it (`out`) or on it (`on`, of `size` bytes), at once."""

    @abstractmethod
    def synchronized(self, own: Own) -> str:
        """A wait for all kernels."""

    @abstractmethod
    def room(self, own: Own) -> str:
        """Bytes that the device has left."""

    @abstractmethod
    def errors(self, own: Own) -> str:
        """The errors of the library beside those of Python that both raise."""

    @abstractmethod
    def call(self, kernel: str, arguments: Sequence[str], block: str, grid: str) -> tuple[str, list[str]]:
        """The launch of a kernel: the start of the call, and its arguments."""


class _PyCuda(Library):
    title = "PyCUDA"
    arrays = "`pycuda.gpuarray.GPUArray`"
    compiles = "PyCUDA compiles them with nvcc, and keeps them"

    def imports(self, own: Own) -> Iterator[str]:
        yield f"from pycuda import {_as(own, 'driver')}"
        yield f"from pycuda.gpuarray import {_as(own, 'GPUArray')}"
        yield f"from pycuda.tools import {_as(own, 'context_dependent_memoize')}"

    def array(self, own: Own) -> str:
        return own("GPUArray")

    def place(self, array: str) -> str:
        return f"int({array}.gpudata)"

    def module(self, text: str) -> Iterator[str]:
        yield "from pycuda.compiler import SourceModule"
        yield ""
        yield f"module = SourceModule({text})"

    def compiled(self, own: Own, function: str, index: str) -> str:
        return f"{own('context_dependent_memoize')}({function})({index})"

    def begun(self, own: Own) -> Iterator[str]:
        yield f"if {own('driver')}.Context.get_current() is None:"
        yield f"{_INDENT}import pycuda.autoprimaryctx"

    def allocated(self, own: Own, size: str) -> str:
        return f"{own('driver')}.mem_alloc({size})"

    def copied(self, own: Own, kind: str, target: str, source: str, size: str = "") -> str:
        name = {"in": "memcpy_htod", "out": "memcpy_dtoh", "on": "memcpy_dtod"}[kind]
        return f"{own('driver')}.{name}({', '.join(filter(None, (target, source, size)))})"

    def synchronized(self, own: Own) -> str:
        return f"{own('driver')}.Context.synchronize()"

    def room(self, own: Own) -> str:
        return f"{own('driver')}.mem_get_info()[0]"

    def errors(self, own: Own) -> str:
        return f"{own('driver')}.Error"

    def call(self, kernel: str, arguments: Sequence[str], block: str, grid: str) -> tuple[str, list[str]]:
        return f"{kernel}(", [*arguments, f"block={block}", f"grid={grid}"]


class _CuPy(Library):
    title = "CuPy"
    arrays = "`cupy.ndarray`"
    compiles = "CuPy compiles them with NVRTC, and keeps them"

    def imports(self, own: Own) -> Iterator[str]:
        yield f"import {_as(own, 'cupy')}"
        yield f"from cupy.cuda import {_as(own, 'runtime')}"

    def array(self, own: Own) -> str:
        return f"{own('cupy')}.ndarray"

    def place(self, array: str) -> str:
        return f"int({array}.data.ptr)"

    def module(self, text: str) -> Iterator[str]:
        yield "from cupy import RawModule"
        yield ""
        # Names of kernels stay as they are in C alone.
        yield f'module = RawModule(code=\'extern "C" {{\\n\' + {text} + "}}")'

    def compiled(self, own: Own, function: str, index: str) -> str:
        return f"{function}({index})"

    def begun(self, own: Own) -> Iterator[str]:
        return iter(())

    def allocated(self, own: Own, size: str) -> str:
        return f"{own('cupy')}.cuda.alloc({size})"

    def copied(self, own: Own, kind: str, target: str, source: str, size: str = "") -> str:
        runtime = own("runtime")
        ends = {
            "in": (f"int({target})", f"{source}.ctypes.data", f"{source}.nbytes", "memcpyHostToDevice"),
            "out": (f"{target}.ctypes.data", f"int({source})", f"{target}.nbytes", "memcpyDeviceToHost"),
            "on": (f"int({target})", f"int({source})", size, "memcpyDeviceToDevice"),
        }[kind]
        return f"{runtime}.memcpy({', '.join(ends[:3])}, {runtime}.{ends[3]})"

    def synchronized(self, own: Own) -> str:
        return f"{own('cupy')}.cuda.Device().synchronize()"

    def room(self, own: Own) -> str:
        return f"{own('runtime')}.memGetInfo()[0]"

    def errors(self, own: Own) -> str:
        return f"MemoryError, {own('cupy')}.cuda.compiler.CompileException"

    def call(self, kernel: str, arguments: Sequence[str], block: str, grid: str) -> tuple[str, list[str]]:
        given = f"({arguments[0]},)" if len(arguments) == 1 else f"({', '.join(arguments)})"
        return f"{kernel}(", [grid, block, given]


def _as(own: Own, name: str) -> str:
    """An imported name, as another where a variable has it."""
    found = own(name)
    return name if found == name else f"{name} as {found}"


PYCUDA, CUPY = _PyCuda(), _CuPy()
