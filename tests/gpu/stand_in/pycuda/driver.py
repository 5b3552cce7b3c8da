"""The driver: memory, copies, functions of modules. `DEVICE` is a library with the device's memory."""

from __future__ import annotations

import ctypes
import os
import re
import time

import numpy as np

DEVICE = ctypes.CDLL(os.environ["PLAYED_DEVICE"])
DEVICE.played_allocate.restype = ctypes.c_void_p
DEVICE.played_allocate.argtypes = [ctypes.c_size_t]
DEVICE.played_available.restype = ctypes.c_size_t
DEVICE.played_release.argtypes = [ctypes.c_void_p]
DEVICE.played_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

calls, failing = 0, int(os.environ.get("PLAYED_FAILING", 0))
"""Number of calls so far that can fail, and the one that does (from 1 on)."""


class Error(Exception):
    """An error of CUDA."""


class LogicError(Error):
    """A call that makes no sense."""


class MemoryError(Error):
    """There is no memory left on the device."""


def may_fail() -> None:
    """Count a call, and let it fail if it is its turn."""
    global calls
    calls += 1
    if calls == failing:
        raise LogicError(f"call {calls} fails")


class Context:
    """The one context, once there is one."""

    current: Context | None = None

    @staticmethod
    def get_current() -> Context | None:
        return Context.current

    @staticmethod
    def synchronize() -> None:
        may_fail()

    @staticmethod
    def get_device() -> Context:
        assert Context.current is not None
        return Context.current

    def name(self) -> str:
        return os.environ.get("PLAYED_NAME", "the host")


class Event:
    """A time of the host."""

    def record(self) -> None:
        self.at = time.perf_counter()

    def time_since(self, other: Event) -> float:
        return 1e3 * (self.at - other.at)


class DeviceAllocation:
    """Memory of the device, until nothing refers to it any more."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __int__(self) -> int:
        return self.address

    def __del__(self) -> None:
        DEVICE.played_release(self.address)


def mem_alloc(count: int) -> DeviceAllocation:
    may_fail()
    if Context.current is None or count <= 0:
        raise LogicError("cuMemAlloc failed: invalid argument")
    start = DEVICE.played_allocate(int(count))
    if start is None:
        raise MemoryError("cuMemAlloc failed: out of memory")
    return DeviceAllocation(start)


def mem_get_info() -> tuple[int, int]:
    may_fail()
    return DEVICE.played_available(), 1 << 36


def memcpy_htod(dest: object, src: np.ndarray) -> None:
    _copy(int(dest), src, src.ctypes.data, 1)  # type: ignore[call-overload]


def memcpy_dtoh(dest: np.ndarray, src: object) -> None:
    assert dest.flags.writeable
    _copy(int(src), dest, dest.ctypes.data, 2)  # type: ignore[call-overload]


def memcpy_dtod(dest: object, src: object, size: int) -> None:
    may_fail()
    DEVICE.played_copy(int(dest), int(src), size, 3)  # type: ignore[call-overload]


def _copy(device: int, array: np.ndarray, host: int, kind: int) -> None:
    """A copy; one that fails has copied the half of it."""
    assert array.flags.c_contiguous
    ends = (device, host) if kind == 1 else (host, device)
    try:
        may_fail()
    except LogicError:
        DEVICE.played_copy(*ends, array.nbytes // 2, kind)
        raise
    DEVICE.played_copy(*ends, array.nbytes, kind)


_TYPES = {
    "int": np.int32, "float": np.float32, "double": np.float64, "long long": np.int64, "signed char": np.int8,
    "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16, "unsigned int": np.uint32,
    "unsigned long long": np.uint64, "bool": np.bool_, "long": np.int64, "unsigned long": np.uint64,
}  # fmt: skip
SIGNATURE = re.compile(r"__global__ void (?:__launch_bounds__\([\d, ]+\)\s+)?(\w+)\(([^)]*)\)")


class Function:
    """A kernel. What it is given must have the types of its parameters: PyCUDA does not look at these."""

    def __init__(self, entry: ctypes._FuncPointer, parameters: str) -> None:
        self.entry = entry
        self.types = [each.replace("const ", "").strip() for each in parameters.split(",")]

    def __call__(self, *arguments: object, block: tuple[int, ...], grid: tuple[int, ...]) -> None:
        assert len(block) == 3 and 2 <= len(grid) <= 3
        assert all(type(each) is int and each > 0 for each in (*block, *grid)), (block, grid)
        assert len(arguments) == len(self.types), (arguments, self.types)
        may_fail()
        given = [_argument(value, of_type) for value, of_type in zip(arguments, self.types, strict=True)]
        sizes = [ctypes.c_uint(each) for each in (*grid, 1)[:3]] + [ctypes.c_uint(each) for each in block]
        assert self.entry(*sizes, *given) == 0


def _argument(value: object, of_type: str) -> object:
    if "*" in of_type:
        assert isinstance(value, (np.uintp, DeviceAllocation)), (value, of_type)
        return ctypes.c_void_p(int(value))
    words = of_type.rpartition(" ")[0]
    assert type(value) is _TYPES[words], (type(value), of_type)
    return np.ctypeslib.as_ctypes_type(_TYPES[words])(value)
