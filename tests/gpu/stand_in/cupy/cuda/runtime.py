"""Functions of CUDA's runtime, by their addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pycuda import driver

T = TypeVar("T")
memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = 1, 2, 3


class CUDARuntimeError(RuntimeError):
    """An error of CUDA."""


def checked(call: Callable[[], T]) -> T:
    try:
        return call()
    except driver.Error as error:
        raise CUDARuntimeError(str(error)) from None


def memcpy(target: int, source: int, size: int, kind: int) -> None:
    """A copy; one that fails has copied the half of it."""
    assert type(target) is int and type(source) is int and type(size) is int
    try:
        checked(driver.may_fail)
    except CUDARuntimeError:
        driver.DEVICE.played_copy(target, source, size // 2, kind)
        raise
    driver.DEVICE.played_copy(target, source, size, kind)


def memGetInfo() -> tuple[int, int]:
    return checked(driver.mem_get_info)
