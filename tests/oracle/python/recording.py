"""Arrays that record every access to their elements, through any view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Key = tuple[int, ...]
LoopRound = tuple[str, int, int]
"""An iteration: the function, the loop's ordinal there, and the iteration's number from 0."""


class Access(NamedTuple):
    """An access to an element, with the iterations that were running, outermost first."""

    array: str
    key: Key
    write: bool
    rounds: tuple[LoopRound, ...]


@dataclass(slots=True)
class Log:
    """Record of a run: its accesses, and every iteration with the value of its counter."""

    accesses: list[Access] = field(default_factory=list)
    iterations: list[tuple[LoopRound, Any]] = field(default_factory=list)
    rounds: list[LoopRound] = field(default_factory=list)

    def record(self, array: str, keys: list[Key], write: bool) -> None:
        rounds = tuple(self.rounds)
        self.accesses += [Access(array, key, write, rounds) for key in keys]


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, or a view of one: `places` holds the flat index of each element in the whole array.

    A view reads nothing. Its elements are read when something is computed of them, and what is
    stored is computed before.
    """

    __array_priority__ = 1000

    def __init__(self, name: str, log: Log, data: npt.NDArray[Any], whole: Key, places: npt.NDArray[Any]):
        self.name, self.log, self.data, self.whole, self.places = name, log, data, whole, places
        self.changed = False

    @property
    def shape(self) -> Key:
        return self.data.shape

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def T(self) -> Recorded:
        return self.view(self.data.T, self.places.T)

    def __len__(self) -> int:
        return len(self.data)

    def view(self, data: npt.NDArray[Any], places: npt.NDArray[Any]) -> Recorded:
        return Recorded(self.name, self.log, data, self.whole, places)

    def touch(self, places: npt.NDArray[Any], write: bool) -> None:
        flat = [int(place) for place in np.ravel(places)]
        self.log.record(self.name, [tuple(map(int, np.unravel_index(f, self.whole))) for f in flat], write)

    def read(self) -> npt.NDArray[Any]:
        """The elements, as they are now."""
        self.touch(self.places, False)
        return self.data.copy()

    def __getitem__(self, key: Any) -> Any:
        key = plain(key)
        places = self.places[key]
        if np.ndim(places):
            return self.view(self.data[key], places)
        self.touch(places, False)
        return self.data[key].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Recorded) and value.changed and _same(self, key, value):
            return  # what `a[s] += b` stores at last is the view that it has changed already
        value, key = plain(value), plain(key)
        self.touch(self.places[key], True)
        self.data[key] = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return self.read()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **how: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **how)
        if out is None:
            return result
        (target,) = out
        target[...] = result
        changed = target.view(target.data, target.places)
        changed.changed = True
        return changed

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*plain(args), **plain(kwargs))

    def copy(self) -> npt.NDArray[Any]:
        return self.read()

    def fill(self, value: Any) -> None:
        self[...] = value

    def sum(self, *args: Any, **how: Any) -> Any:
        return self.read().sum(*args, **how)


def _same(array: Recorded, key: Any, value: Recorded) -> bool:
    places = array.places[plain(key)]
    return (
        value.name == array.name and np.shape(places) == value.shape and bool(np.all(places == value.places))
    )


def plain(value: Any) -> Any:
    """A value in which recorded arrays were read."""
    if isinstance(value, Recorded):
        return value.read()
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def recorded(name: str, log: Log, data: npt.NDArray[Any]) -> Recorded:
    """A whole array."""
    return Recorded(name, log, data, data.shape, np.arange(data.size).reshape(data.shape))
