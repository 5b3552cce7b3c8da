"""Tools that turn versions of a file into programs: a compiler, or an interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, Union

from polylsp.model.measurement import Plan
from polylsp.runtime.confine import Limits

MEBIBYTE = 2**20
ORIGINAL = "original"
"""The name of the version that nothing was done to; other names begin with their number."""

_PER_THREAD = 128 * MEBIBYTE
_DEVICE_FILES = 64 * MEBIBYTE
"""Size of a temporary file where kernels are compiled as the program runs."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """A version that can be started. `is_lasting`: one program takes data of one size after the other, as
    starting it costs more than its work; else it is started for each size. `memory` (bytes) and `processes`
    are its limits beside the needs of its data and threads; `reads` are folders that it has to be able to
    read, `shown` those that it also sees if they are in a folder that is empty for it otherwise. `on_device`:
    it uses a GPU. `processor`: the only one that it runs on, as it has one thread."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    is_lasting: bool = False
    memory: int = 1024 * MEBIBYTE
    processes: int = 16
    reads: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    on_device: bool = False
    processor: int | None = None

    def limits(self, data: int, seconds: float, threads: int) -> Limits:
        """Limits of the program, with so many bytes of data."""
        return Limits(
            cpu_seconds=int(seconds * threads) + 10,
            memory=3 * data + self.memory + threads * _PER_THREAD,
            file_size=2 * data + (_DEVICE_FILES if self.on_device else MEBIBYTE),
            processes=threads + self.processes,
            reads=self.reads,
            shown=(*self.reads, *self.shown),
            on_device=self.on_device,
            processor=self.processor,
        )


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Reason why there is no program, in one sentence. `is_absence`: this machine has no device that it could
    run on."""

    reason: str
    is_absence: bool = False


Built = Mapping[str, Union[Runnable, NotBuilt]]
"""Built versions, by their names."""


class Tools(Protocol):
    """Tools that build programs of the versions of a plan."""

    @property
    def is_repeatable(self) -> bool:
        """True if the original has to give the same bits each time: with threads, it may add up in another
        order."""
        ...

    @property
    def seconds_at_first(self) -> float:
        """Time limit of a version for little data, on its first run."""
        ...

    @property
    def flags(self) -> str:
        """Flags for speed; empty if there are none."""
        ...

    def name(self, about: Callable[[], str], *, has_kernels: bool) -> str:
        """Version line of the tools, with that of the CUDA compiler if there are kernels; `about` returns
        that of the original's program."""
        ...

    def build(self, plan: Plan, folder: str, threads: int, step: Callable[[int, int], None]) -> Built:
        """Build the original and the variants of a plan; `step` is called with the numbers of finished steps
        and of all."""
        ...


def version_names(plan: Plan) -> tuple[str, ...]:
    """The names of the variants, which files can have."""
    return tuple(f"{k}-{each.target}-{each.form}" for k, each in enumerate(plan.variants))
