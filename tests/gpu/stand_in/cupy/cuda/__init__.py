"""Memory of the device, and waiting for it."""

from __future__ import annotations

from pycuda import driver

from cupy.cuda import compiler, runtime

__all__ = ["Device", "MemoryPointer", "alloc", "compiler", "runtime"]

driver.Context.current = driver.Context()


class MemoryPointer:
    """Memory, until nothing refers to it any more."""

    def __init__(self, memory: driver.DeviceAllocation) -> None:
        self.memory, self.ptr = memory, int(memory)

    def __int__(self) -> int:
        return self.ptr


def alloc(size: int) -> MemoryPointer:
    try:
        return MemoryPointer(driver.mem_alloc(size))
    except driver.MemoryError as error:
        raise MemoryError(str(error)) from None
    except driver.Error as error:
        raise runtime.CUDARuntimeError(str(error)) from None


class Device:
    def synchronize(self) -> None:
        runtime.checked(driver.Context.synchronize)
