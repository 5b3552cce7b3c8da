"""Driver that runs one version of a function in Python, with the protocol of `driver.c`.

    driver.py PATH VERSION CALL [NAME...]

PATH is the user's file, VERSION holds the text in its place. The last line of CALL is the expression that is
timed: it names the function, `number(K)`, `memory(K)` and `made(K)`, an object that a line before it creates:
`make(K, NAME, CLASS, ATTRIBUTES, NUMBERS)`. Each NAME is a function that runs kernels, reported by
`driver_kernels.py`. This file stands alone: the interpreter that runs it need not have polylsp, but NumPy.
Beside what `driver.c` answers:

    raised WORDS        the function raised an exception
    refused WORDS       it cannot be run: its file raises an exception, or a compiler that it is handed to
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import os
import platform
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

NEAREST = 0
_DIRECTIONS = {
    "x86_64": (0x800, 0x400),
    "amd64": (0x800, 0x400),
    "aarch64": (0x400000, 0x800000),
    "arm64": (0x400000, 0x800000),
}
"""The numbers of rounding upward and downward."""

_LOOSE = 1e-9
"""Relative tolerance where the rounding direction cannot be set."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_COMPILERS = ("numba", "llvmlite")


class Refused(Exception):
    """The version cannot be run at all."""


class UnmadeError(Exception):
    """There is no such object without its `__init__`."""


def made(of_type: Any, attributes: dict[str, Any], numbers: dict[str, Any]) -> Any:
    """An object with attributes, created without its `__init__`; `numbers` are set only where its class has
    none."""
    set_in_class = {k for k in numbers if isinstance(inspect.getattr_static(of_type, k, None), (int, float))}
    try:
        found = object.__new__(of_type)
        for name, value in attributes.items():
            object.__setattr__(found, name, value)
        for name in numbers.keys() - set_in_class:
            object.__setattr__(found, name, numbers[name])
    except (TypeError, AttributeError) as error:
        name = getattr(of_type, "__name__", of_type)
        raise UnmadeError(
            f"needs a `{name}`, which cannot be made without its `__init__` ({error})"
        ) from error
    return found


def held(one: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, in order of their names."""
    told = (getattr(each, "__slots__", ()) for each in type(one).__mro__)
    slots = (name for each in told for name in ((each,) if isinstance(each, str) else each))
    names = {*getattr(one, "__dict__", ()), *(name for name in slots if hasattr(one, name))}
    return [(name, getattr(one, name)) for name in sorted(names) if name not in ("__dict__", "__weakref__")]


class Memory:
    """An array that the function is given."""

    def __init__(self, number: int, words: list[str]) -> None:
        kind, size, _first, count, _written, fill, low, high, *shape = words
        self.number = number
        lengths = tuple(int(each) for each in shape[0].split("x")) if shape else (int(count),)
        self.array = self._filled(kind, int(size), lengths, fill, int(low), int(high))
        # Whatever is thought to be read alone is compared too: that costs nothing that is timed.
        self.initial = self.array.copy()

    def _filled(
        self, kind: str, size: int, shape: tuple[int, ...], fill: str, low: int, high: int
    ) -> np.ndarray[Any, Any]:
        count = int(np.prod(shape))
        if fill == "ascending":
            return np.linspace(low, high, count).astype(f"{kind}{size}").reshape(shape)
        if kind in "iu":
            drawn = low + (_mixed(self.number, count) % np.uint64(high - low + 1)).astype(np.int64)
            return drawn.astype(f"{kind}{size}").reshape(shape)
        if kind == "b":
            return (_mixed(self.number, count) % np.uint64(2)).astype(bool).reshape(shape)
        if fill == "positive-definite":
            return _positive_definite(self.number, shape).astype(f"f{size}")
        if kind == "c":
            parts = 0.5 + _uniform(self.number, 2 * count)
            return parts.view(np.complex128).astype(f"c{size}").reshape(shape)
        return (0.5 + _uniform(self.number, count)).astype(f"f{size}").reshape(shape)

    def restore(self) -> None:
        """Restore the initial values."""
        self.array[...] = self.initial


def _mixed(number: int, count: int) -> np.ndarray[Any, Any]:
    """Pseudo-random numbers as in `driver.c`, a hash of the memory's number and the place in it."""
    start = _mix(np.array([number + 1], np.uint64))[0]
    return _mix(start ^ np.arange(count, dtype=np.uint64))


def _mix(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    x = x + _ODD
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _uniform(number: int, count: int) -> np.ndarray[Any, Any]:
    return (_mixed(number, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _positive_definite(number: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A symmetric matrix whose diagonal outweighs its rows."""
    drawn = 0.5 + _uniform(number, int(np.prod(shape))).reshape(shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        return drawn
    low = np.tril(drawn, -1)
    return low + low.T + np.diag(np.full(shape[0], 2.0 * shape[0]))


# --- The function ------------------------------------------------------------------------------


class Version:
    """The user's file with another text in its place, and the call that is timed."""

    def __init__(self, path: str, text: str, call: str, helpers: list[str]) -> None:
        self._path, self._text, self._call, self._helpers = path, text, call, helpers
        self.kernels: Any = None
        self._makers: list[types.CodeType] = []
        self._code: types.CodeType | None = None
        self._names: dict[str, Any] = {}
        self._objects: dict[int, tuple[str, Any]] = {}
        self.numbers: dict[int, float] = {}
        self.memories: dict[int, Memory] = {}
        self._has_run = False

    def _load(self) -> types.CodeType:
        """Run the file, under its name, as if it were imported."""
        root, package = _package(Path(self._path))
        sys.path.insert(0, str(root))
        module = types.ModuleType(".".join([*package, Path(self._path).stem]))
        module.__file__ = self._path
        module.__package__ = ".".join(package)
        sys.modules[module.__name__] = module
        try:
            exec(compile(self._text, self._path, "exec"), module.__dict__)
        except BaseException as error:
            raise Refused(f"raised {_words(error)}") from error
        if self._helpers:
            from driver_kernels import Kernels

            self.kernels = Kernels(self._helpers, module.__dict__)
        self._names = {
            "function": module,
            "number": self.numbers.__getitem__,
            "memory": self._array,
            "make": self._make,
            "made": self._made,
        }
        *makers, call = (compile(line, "polylsp", "eval") for line in self._call.split("\n"))
        self._makers = makers
        return call

    def _array(self, number: int) -> np.ndarray[Any, Any]:
        return self.memories[number].array

    def _make(self, number: int, name: str, *parts: Any) -> None:
        try:
            self._objects[number] = (name, made(*parts))
        except UnmadeError as error:
            raise Refused(str(error)) from error

    def _made(self, number: int) -> Any:
        return self._objects[number][1]

    def attributes(self) -> list[tuple[str, Any]]:
        """Attributes of the objects that the function received, by their spelling."""
        objects = self._objects.values()
        return [(f"{of}.{name}", value) for of, one in objects for name, value in held(one)]

    def prepare(self) -> None:
        """Load the file, if that was not done."""
        if self._code is None:
            self._code = self._load()

    def run(self) -> Any:
        """Run one call, on the initial data; return its result and its nanoseconds."""
        assert self._code is not None
        for each in self.memories.values():
            each.restore()
        for each in self._makers:
            eval(each, self._names)
        if self.kernels is not None:
            self.kernels.begin()
        began = time.perf_counter_ns()
        try:
            value = eval(self._code, self._names)
        except BaseException as error:
            module = type(error).__module__.partition(".")[0]
            if module in _COMPILERS and not self._has_run:
                raise Refused(f"raised {_words(error)}") from error
            raise
        took = time.perf_counter_ns() - began
        self._has_run = True
        return value, took


def _package(path: Path) -> tuple[Path, list[str]]:
    """Import root of a file, and the packages that it is in."""
    folder, names = path.parent, list[str]()
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, names


def _words(error: BaseException) -> str:
    """An exception in a line."""
    told = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {told.strip()}"[:400] if told else type(error).__name__


# --- What came out -----------------------------------------------------------------------------


Outputs = list[tuple[int | str, np.ndarray[Any, Any]]]


def outputs(version: Version, value: Any) -> Outputs:
    """The arrays that it was given, by their numbers; the numbers and arrays that its objects hold, by their
    spelling; and its result (-1)."""
    found: Outputs = [(m.number, m.array) for m in version.memories.values()]
    for name, there in version.attributes():
        # What else an object holds cannot be compared.
        with contextlib.suppress(Refused):
            found += [(name, each) for each in _arrays(there)]
    return [*found, *((-1, each) for each in _arrays(value))]


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    if value is None:
        return []
    if isinstance(value, (tuple, list)) and not all(isinstance(each, (int, float)) for each in value):
        return [array for each in value for array in _arrays(each)]
    found = np.asarray(value)
    if found.dtype.kind not in "biufc":
        raise Refused(f"gives a result of type {type(value).__name__}, which cannot be compared")
    return [found.view(f"f{found.itemsize // 2}") if found.ndim and found.dtype.kind == "c" else found]


def reference(version: Version, path: str) -> str:
    """Write the results, and their change when every operation rounds up, or down. Returns the time, the
    number of meaningless real numbers, and the number of all."""
    value, took = version.run()
    kept = [(number, array.copy()) for number, array in outputs(version, value)]
    bounds = [np.zeros(array.shape) for _, array in kept]
    for direction in _DIRECTIONS.get(platform.machine().lower(), ()):
        value = _rounded(version, direction)
        for bound, (_, before), (_, now) in zip(bounds, kept, outputs(version, value), strict=False):
            if before.dtype.kind in "fc" and before.shape == now.shape:
                with np.errstate(all="ignore"):
                    np.fmax(bound, np.abs(now - before).astype(np.float64), out=bound)
    named = {f"v{k}": array for k, (_, array) in enumerate(kept)}
    named.update({f"b{k}": bound for k, bound in enumerate(bounds)})
    with Path(path).open("wb") as file:
        np.savez(file, **named)
    real = [array for _, array in kept if array.dtype.kind in "fc"]
    return f"{took} {sum(int(_lost(each).sum()) for each in real)} {sum(each.size for each in real)}"


def _lost(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Mask of NaNs, infinities and values too large to compare: as in `driver.c`."""
    limits = np.finfo(found.dtype)
    return ~(np.abs(found) <= limits.max * limits.eps)


def _rounded(version: Version, direction: int) -> Any:
    """Result under a rounding direction."""
    library = ctypes.CDLL(None)
    library.fesetround(direction)
    try:
        return version.run()[0]
    finally:
        library.fesetround(NEAREST)


def check(version: Version, path: str, *, exact: bool) -> str:
    """Run it, and check the results against a file."""
    value, _ = version.run()
    if version.kernels is not None and version.kernels.refusal():
        return version.kernels.refusal()
    found, error = outputs(version, value), 0.0
    with np.load(path, allow_pickle=False) as kept:
        if 2 * len(found) != len(kept.files):
            return f"differs -1 0 {len(found)} {len(kept.files) // 2}"
        for k, (number, ours) in enumerate(found):
            at, off = _apart(ours, kept[f"v{k}"], kept[f"b{k}"], exact=exact)
            if at is not None:
                # A number has no elements.
                return f"differs {number} {at if ours.ndim else at.replace('0', '-', 1)}"
            error = max(error, off)
    return f"same {error:.3g}"


def _apart(
    ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], bound: np.ndarray[Any, Any], *, exact: bool
) -> tuple[str | None, float]:
    """The first element that differs, with both values, if one does; else how far off they are."""
    if ours.shape != theirs.shape:
        return f"0 shape{'x'.join(map(str, ours.shape))} shape{'x'.join(map(str, theirs.shape))}", 0.0
    a, b, limit = ours.ravel(), theirs.ravel(), bound.ravel()
    with np.errstate(all="ignore"):
        equal = (a == b) | ((a != a) & (b != b))
        if not exact and a.dtype.kind in "fc" and b.dtype.kind in "fc":
            equal |= ~(np.isfinite(a) & np.isfinite(b)) & _lost(a) & _lost(b)
        off = np.abs(a - b) if a.dtype.kind in "fc" or b.dtype.kind in "fc" else np.zeros(len(a))
        wrong = ~equal if exact or theirs.dtype.kind not in "fc" else ~equal & ~(off <= _allowed(b, limit))
        relative = np.where(equal, 0.0, off / np.where(b == 0, 1.0, np.abs(b)))
    if wrong.any():
        at = int(np.argmax(wrong))
        return f"{at} {_shown(a[at])} {_shown(b[at])}", 0.0
    return None, float(np.nanmax(relative)) if len(relative) else 0.0


def _allowed(theirs: np.ndarray[Any, Any], bound: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Tolerance for real numbers: as in `driver.c`."""
    if platform.machine().lower() not in _DIRECTIONS:
        return _LOOSE * np.abs(theirs)
    finite = bound[np.isfinite(bound)]
    least = finite.sum() / len(bound) if len(bound) else 0.0
    return 16 * (bound + np.finfo(theirs.dtype).eps * np.abs(theirs)) + least


def _shown(value: Any) -> str:
    return f"{value:.9g}".replace(" ", "") if value.dtype.kind in "fc" else str(value)


# --- Lines -------------------------------------------------------------------------------------


def obey(version: Version, line: str) -> str:
    """Execute the command of a line; return the answer, if it has one."""
    word, _, rest = line.partition(" ")
    if word in ("integer", "real"):
        number, value = rest.split()
        version.numbers[int(number)] = int(value) if word == "integer" else float(value)
    elif word == "memory":
        number, *words = rest.split()
        version.memories[int(number)] = Memory(int(number), words)
    elif word == "allocate":
        version.prepare()
        return "allocated"
    elif word == "time":
        return _timed(version)
    elif word == "device":
        return version.kernels.device()
    elif word == "reference":
        return f"ran {reference(version, rest)}"
    elif word in ("check", "again"):
        return check(version, rest, exact=word == "again")
    elif word == "about":
        return f"is {_about()}"
    return ""


def _timed(version: Version) -> str:
    _, took = version.run()
    if version.kernels is None:
        return f"ran {took}"
    return version.kernels.refusal() or f"ran {took} {version.kernels.nanoseconds()}"


def _about() -> str:
    names = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    numba = sys.modules.get("numba")
    names += [f"Numba {numba.__version__}"] if numba is not None else []
    pycuda = sys.modules.get("pycuda")
    return ", ".join([*names, f"PyCUDA {pycuda.VERSION_TEXT}"] if pycuda is not None else names)


def main() -> None:
    """Obey standard input, which the function finds empty; its output goes to standard error."""
    path, version_path, call, *helpers = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    lines = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    version = Version(path, Path(version_path).read_text("utf-8", "surrogateescape"), call, helpers)
    wrong = ""
    for line in lines:
        try:
            answer = obey(version, line.rstrip("\n"))
        except Refused as refused:
            answer = f"refused {refused}"
        except MemoryError:
            answer = "failed memory" if line.startswith("memory") else "raised MemoryError"
        except BaseException as error:
            answer = f"raised {_words(error)}"
        # Errors of a line without an answer are reported at the next one with an answer.
        wrong = wrong or (answer if line.startswith("memory") else "")
        if not line.startswith(("integer", "real", "memory")):
            answers.write(f"{wrong or answer}\n")
            answers.flush()


if __name__ == "__main__":
    main()
