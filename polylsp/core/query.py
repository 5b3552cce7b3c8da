"""Queries: functions of values whose answers are remembered.

`@query` keeps the answers of the last `size` distinct arguments and records what really ran, so that a test
can state what an edit recomputes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import update_wrapper
from hashlib import blake2b
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_recorders: list[list[tuple[str, tuple[Any, ...]]]] = []


class Query(Generic[P, R]):
    """A function whose answers are remembered, least recently used forgotten first."""

    def __init__(self, function: Callable[P, R], size: int) -> None:
        self._function = function
        self._size = size
        self._answers: OrderedDict[Any, R] = OrderedDict()
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer, computed or remembered. Exceptions are not remembered."""
        key = _key(args, kwargs)
        answers = self._answers
        if key in answers:
            answers.move_to_end(key)
            return answers[key]
        for recorder in _recorders:
            recorder.append((self._function.__name__, args))
        answer = self._function(*args, **kwargs)
        self._keep(key, answer)
        return answer

    def remember(self, answer: R, *args: P.args, **kwargs: P.kwargs) -> None:
        """Take an answer that was found elsewhere."""
        self._keep(_key(args, kwargs), answer)

    def remembers(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """True if the answer is remembered."""
        return _key(args, kwargs) in self._answers

    def _keep(self, key: Any, answer: R) -> None:
        self._answers[key] = answer
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)


def query(size: int = 4096) -> Callable[[Callable[P, R]], Query[P, R]]:
    """Remember the answers of a pure function by its (hashable) arguments."""
    return lambda function: Query(function, size)


def _key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return (args, tuple(sorted(kwargs.items()))) if kwargs else args


def by_identity(size: int = 4096) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the answers of a pure function by the identities of its arguments: parts of trees, whose
    hashes cost as much as the answers. The arguments stay referenced, so that no others get their
    identities; where there are `size` of them, all are forgotten."""

    def remembering(function: Callable[P, R]) -> Callable[P, R]:
        known: dict[int | tuple[int, ...], tuple[tuple[Any, ...], R]] = {}

        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            identities = tuple(map(id, args))
            key = identities[0] if len(identities) == 1 else identities
            found = known.get(key)
            if found is None:
                if len(known) >= size:
                    known.clear()
                found = known[key] = args, function(*args, **kwargs)
            return found[1]

        return update_wrapper(answer, function)

    return remembering


def digest(*values: object) -> str:
    """A short text that stands for values: the same for equal ones, and for no others."""
    return blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@contextmanager
def recording() -> Generator[list[tuple[str, tuple[Any, ...]]]]:
    """The (name, arguments) of each query that runs, rather than being remembered, inside."""
    ran: list[tuple[str, tuple[Any, ...]]] = []
    _recorders.append(ran)
    try:
        yield ran
    finally:
        _recorders.remove(ran)
