"""Times and errors of a version with kernels on the device, in Python, for `driver.py`; like it, this file
stands alone. It does for PyCUDA what `driver.cuh` does: kernels and transfers are timed with events, and
errors are recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

_OUT_OF_MEMORY, _NO_DEVICE, _LAUNCH_FAILED = 2, 100, 719
"""Errors of CUDA, by the numbers that they have there."""

_NOT_MADE_FOR = "the data are not what the kernels were made for"


class Kernels:
    """The functions of a module that run kernels and say whether they did, by their names."""

    def __init__(self, names: list[str], module: dict[str, Any]) -> None:
        self._error = (0, "")
        self._inside = self._refusals = 0
        self._spans: list[tuple[bool, Any, Any]] = []
        self._open: Any = None
        self._driver: Any = None
        for name in names:
            module[name] = self._asked(module[name])
        try:
            self._driver = import_module("pycuda.driver")
            self._listen(import_module("pycuda.compiler"))
        except ImportError as error:
            self._error = (_NO_DEVICE, f"PyCUDA cannot be imported by this Python ({error})")

    def begin(self) -> None:
        """Before each call."""
        self._spans, self._open = [], None
        self._inside = self._refusals = 0
        self._error = self._error if self._driver is None else (0, "")

    def device(self) -> str:
        """The answer to `device`."""
        try:
            if self._driver is not None:
                import_module("pycuda.autoprimaryctx")
                free, _ = self._driver.mem_get_info()
                return f"is {free} {self._driver.Context.get_device().name()}"
        except Exception as error:
            self._error = (_NO_DEVICE, _line(error))
        return f"left {self._error[0]} {self._error[1]}"

    def refusal(self) -> str:
        """Error line if kernels did not run in the last call; empty if they did."""
        return f"left {self._error[0]} {self._error[1] or _NOT_MADE_FOR}" if self._refusals else ""

    def nanoseconds(self) -> str:
        """Nanoseconds of the last call in functions that run kernels, in kernels, and in transfers."""
        self._close()
        if self._spans:
            self._driver.Context.synchronize()
        moved, ran = (sum(_span(*ends) for kind, *ends in self._spans if kind == k) for k in (False, True))
        return f"{self._inside} {ran} {moved}"

    # --- What is listened to -------------------------------------------------------------------

    def _asked(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            began = time.perf_counter_ns()
            given = plain(*arguments)
            self._inside += time.perf_counter_ns() - began
            self._refusals += given is False
            return given

        return asked

    def _listen(self, compiler: Any) -> None:
        driver = self._driver
        compiler.SourceModule = self._kept(compiler.SourceModule)
        driver.mem_alloc = self._kept(driver.mem_alloc)
        driver.memcpy_htod = self._moved(driver.memcpy_htod)
        driver.memcpy_dtoh = self._moved(driver.memcpy_dtoh)
        driver.Context.synchronize = staticmethod(self._waited(driver.Context.synchronize))
        driver.Function.__call__ = self._launched(driver.Function.__call__)

    def _kept(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """The first error is the cause of those that follow."""

        def kept(*arguments: Any, **named: Any) -> Any:
            try:
                return plain(*arguments, **named)
            except Exception as error:
                self._error = self._error if self._error[1] else (_code(error), _line(error))
                raise

        return kept

    def _moved(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def moved(*arguments: Any, **named: Any) -> Any:
            self._close()
            began = self._event()
            given = plain(*arguments, **named)
            self._spans.append((False, began, self._event()))
            return given

        return self._kept(moved)

    def _waited(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def waited() -> Any:
            self._close()
            return plain()

        return self._kept(waited)

    def _launched(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Kernels that follow one another are one span."""

        def launched(*arguments: Any, **named: Any) -> Any:
            self._open = self._open or self._event()
            return plain(*arguments, **named)

        return self._kept(launched)

    def _close(self) -> None:
        if self._open is not None:
            self._spans.append((True, self._open, self._event()))
            self._open = None

    def _event(self) -> Any:
        event = self._driver.Event()
        event.record()
        return event


def _span(began: Any, ended: Any) -> int:
    return int(ended.time_since(began) * 1e6)


def _code(error: Exception) -> int:
    """The number of an error, of which PyCUDA tells the kind."""
    known = {"MemoryError": _OUT_OF_MEMORY, "LaunchError": _LAUNCH_FAILED}
    return known.get(type(error).__name__, 0)


def _line(error: Exception) -> str:
    told = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return told.strip()[:400]
