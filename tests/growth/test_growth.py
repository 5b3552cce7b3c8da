"""Reading takes work in proportion to the text, whatever its shape: counted are all calls, of functions in
Python and in C. What a single search or copy takes is not seen by that: `make bench-growth` times it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import _lru_cache_wrapper, cache  # pyright: ignore[reportPrivateUsage]
from types import FrameType

import pytest
from shapes import C_SHAPES, PYTHON_SHAPES, Shape

from polylsp.core.query import Query
from polylsp.core.settings import Settings
from polylsp.engine.reading import read

SIZES = 1600, 6400
MOST = 6.0
"""Largest factor of work for four times the text; sixteen where it grows with the square."""


@cache
def memories() -> tuple[Callable[[], None], ...]:
    """Functions that empty what is remembered from one text to the next; all modules are loaded by then."""
    for suffix, text in ((".c", "void f(int n) { for (int i = 0; i < n; i++) ; }\n"), (".py", "n = 1\n")):
        read(f"/growth/first{suffix}", text, Settings()).problems(frozenset())
    found: list[Callable[[], None]] = []
    for one in gc.get_objects():
        # Not `isinstance`, which asks what a proxy stands for: that may be gone.
        if issubclass(type(one), Query):
            found.append(one._answers.clear)  # pyright: ignore[reportPrivateUsage]
        elif issubclass(type(one), _lru_cache_wrapper) and one.__module__.startswith("polylsp"):
            found.append(one.cache_clear)
    return tuple(found)


def forget() -> None:
    """Empty all that is remembered from one text to the next."""
    for each in memories():
        each()


def work(path: str, text: str) -> int:
    """Number of calls that reading takes."""
    read(f"/growth/none{path[-3:]}", "", Settings())  # what is loaded first is not counted
    count = 0
    forget()

    def tell(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        functions = read(path, text, Settings())
        functions.problems(frozenset())
    finally:
        sys.setprofile(before)
    return count


def growth(shape: Shape, suffix: str, mark: str) -> float:
    """Factor of work from a text of a quarter of the size."""
    small, large = (
        work(f"/growth/{id(shape)}-{size}{suffix}", f"{shape(size)}{mark} {size}\n") for size in SIZES
    )
    return large / max(small, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("name", C_SHAPES)
def test_reading_c_is_linear(name: str) -> None:
    assert growth(C_SHAPES[name], ".c", "//") < MOST


@pytest.mark.sweep
@pytest.mark.parametrize("name", PYTHON_SHAPES)
def test_reading_python_is_linear(name: str) -> None:
    assert growth(PYTHON_SHAPES[name], ".py", "#") < MOST


def test_work_that_grows_with_the_square_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def __init__(self, text: str) -> None:
            self.text = text

        def problems(self, broken: frozenset[int]) -> None:
            for _ in self.text[::20]:
                for _ in self.text[::20]:
                    len(self.text)

    monkeypatch.setattr("test_growth.read", lambda path, text, settings: Slow(text))
    assert growth(lambda size: "x" * size, ".c", "//") > MOST
