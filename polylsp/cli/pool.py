"""A function mapped over arguments by several processes, of which any may die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar, Union

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Crashed:
    """In the place of a result: the process that worked on it died."""


def results(function: Callable[[A], R], arguments: Sequence[A], jobs: int) -> Iterator[Union[R, Crashed]]:
    """The results in the order of the arguments. Once a process has died, each of the arguments
    that have no result yet is tried in a process of its own, so that only the guilty one fails."""
    with _pool(min(jobs, len(arguments))) as pool:
        futures = [pool.submit(function, argument) for argument in arguments]
        for argument, future in zip(arguments, futures, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield _alone(function, argument)


def _alone(function: Callable[[A], R], argument: A) -> Union[R, Crashed]:
    with _pool(1) as pool:
        try:
            return pool.submit(function, argument).result()
        except BrokenProcessPool:
            return Crashed()


def _pool(jobs: int) -> ProcessPoolExecutor:
    # A forked copy of a process that has threads or an isl context may hang; a spawned one cannot.
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
