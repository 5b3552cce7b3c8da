"""Profiles of a program's runs: the text of `perf script`, the flat profile and call graph of gprof, and
stacks as py-spy (`--format raw`) and flame graph tools write them.

A sample counts once for each function and each line on its stack, so that the time of called functions
belongs to the loops that call them. Frames without line numbers count for their functions alone. gprof has
the time of functions with what they call, where its call graph is in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Literal

_MOST_MB = 512


class WrongProfile(Exception):
    """Text or file that is no profile; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Function on a stack, with its file and line (from 1) where the profile has them."""

    function: str
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """Fraction of all samples that are in a loop by its lines, or in the function that has it."""

    fraction: float
    of: Literal["loop", "function"]


@dataclass(frozen=True, slots=True)
class FileProfile:
    """Samples in one file: weights by function, and numbers of the stacks that have a line."""

    functions: Mapping[str, float] = field(default_factory=dict[str, float])
    lines: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    weights: Mapping[int, float] = field(default_factory=dict[int, float])
    total: float = 0.0

    def share(self, name: str, function: tuple[int, int], loop: tuple[int, int]) -> Share | None:
        """Share of a loop in a function, both by their first and last lines; `None` where the profile has
        neither."""
        if any(function[0] <= line <= function[1] for line in self.lines):
            inside = (stacks for line, stacks in self.lines.items() if loop[0] <= line <= loop[1])
            weight = sum(self.weights[each] for each in frozenset[int]().union(*inside))
            return Share(weight / self.total, "loop") if weight else None
        weight = self.functions.get(name.rpartition(".")[2], 0.0)
        return Share(weight / self.total, "function") if weight else None


@dataclass(frozen=True)
class Profile:
    """Stacks with their weights, which add up to `total` unless they overlap."""

    stacks: Mapping[tuple[Frame, ...], float]
    total: float

    @cached_property
    def _names(self) -> Mapping[str, Sequence[int]]:
        """Numbers of the stacks with a file, by its last name; those of frames without a file by no name."""
        found: dict[str, list[int]] = {}
        for number, frames in enumerate(self.stacks):
            for name in {PurePath(each.path).name for each in frames}:
                found.setdefault(name, []).append(number)
        return found

    @cached_property
    def _entries(self) -> Sequence[tuple[tuple[Frame, ...], float]]:
        return tuple(self.stacks.items())

    def of(self, path: str) -> FileProfile:
        """The samples in a file, and those of functions whose file the profile does not have."""
        functions, lines = dict[str, float](), dict[int, set[int]]()
        weights: dict[int, float] = {}
        names = self._names
        for number in {*names.get(PurePath(path).name, ()), *names.get("", ())}:
            frames, weight = self._entries[number]
            here = [each for each in frames if not each.path or _is_same(each.path, path)]
            for function in {each.function for each in here}:
                functions[function] = functions.get(function, 0.0) + weight
            for line in {each.line for each in here if each.path and each.line}:
                lines.setdefault(line, set()).add(number)
                weights[number] = weight
        return FileProfile(
            functions, {line: frozenset(each) for line, each in lines.items()}, weights, self.total
        )


def _is_same(named: str, path: str) -> bool:
    """True if a file that a profile names may be the one at `path`: their last parts agree, three of them
    where the program may have been built in another folder."""
    given, found = PurePath(named).parts, Path(path).absolute().parts
    count = min(len(given), len(found), 3 if PurePath(named).is_absolute() else len(given))
    return given[-count:] == found[-count:]


# --- Reading -----------------------------------------------------------------------------


_EXPECTED = (
    "neither text of `perf script`, nor of gprof (a flat profile), nor stacks with counts"
    " (`py-spy record --format raw`)"
)
_BINARY = {
    b"PERFILE2": "it is the binary file of `perf record`: `perf script -F +srcline -i {0} > profile.txt`"
    " makes the text",
    b"gmon": "it is the binary file of gprof: `gprof PROGRAM {0} > profile.txt` makes the text",
    b"<?xml": "it is a picture: `py-spy record --format raw` makes the text",
    b"<svg": "it is a picture: `py-spy record --format raw` makes the text",
    b"{": "it is JSON: `py-spy record --format raw` makes the text",
}


def read_profile(path: str) -> Profile:
    """Profile in a file; raises `WrongProfile`."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_MB * 2**20 + 1)
    except OSError as error:
        raise WrongProfile(f"{path}: {error.strerror or error}") from error
    if len(data) > _MOST_MB * 2**20:
        raise WrongProfile(f"{path}: it is larger than {_MOST_MB} MiB")
    advice = next((words for start, words in _BINARY.items() if data.lstrip().startswith(start)), None)
    if advice is not None:
        raise WrongProfile(f"{path}: {advice.format(path)}")
    try:
        return profile_of(data.decode(errors="replace"))
    except WrongProfile as wrong:
        raise WrongProfile(f"{path}: {wrong}") from wrong


def profile_of(text: str) -> Profile:
    """Profile in a text; raises `WrongProfile`."""
    if re.search(r"^Flat profile:", text, re.MULTILINE):
        found = _gprof(text)
    else:
        lines = text.splitlines()
        header = next((each for each in lines if each.strip() and not each.startswith("#")), "")
        samples = _perf(lines) if _PERF_SAMPLE.match(header) else _folded(lines)
        stacks = _added(samples)
        found = Profile(stacks, sum(stacks.values()))
    if not found.total > 0:
        raise WrongProfile("it has no samples")
    return found


def _added(samples: Iterable[tuple[tuple[Frame, ...], float]]) -> dict[tuple[Frame, ...], float]:
    found: dict[tuple[Frame, ...], float] = {}
    for frames, weight in samples:
        found[frames] = found.get(frames, 0.0) + weight
    return found


# `hot 23375/23376 [001] 3626.730033:     250000 cpu-clock:ppp:`, then a frame there or frames on lines below
_PERF_SAMPLE = re.compile(r"\s*\S.*?\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:(\d+)\s+)?\S+:\s*(.*)$")
_PERF_FRAME = re.compile(r"\s*[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \(.*\)$")
_SOURCE_LINE = re.compile(r"\s+(\S+):(\d+)(?: \(discriminator \d+\))?$")


def _perf(lines: Iterable[str]) -> Iterator[tuple[tuple[Frame, ...], float]]:
    frames: list[Frame] = []
    weight = 0.0
    for line in lines:
        if frame := _PERF_FRAME.match(line):
            frames.append(Frame(_plain(frame[1])))
        elif source := _SOURCE_LINE.match(line):
            if frames:
                frames[-1] = Frame(frames[-1].function, source[1], int(source[2]))
        elif sample := _PERF_SAMPLE.match(line):
            if frames:
                yield tuple(frames), weight
            weight = float(sample[1] or 1)
            alone = _PERF_FRAME.match(sample[2])
            frames = [Frame(_plain(alone[1]))] if alone else []
    if frames:
        yield tuple(frames), weight


_FOLDED = re.compile(r"(.*) (\d+)$")  # the stack may be empty
_FOLDED_FRAME = re.compile(r"(.*) \((.+?):(\d+)\)$")


def _folded(lines: Iterable[str]) -> Iterator[tuple[tuple[Frame, ...], float]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _FOLDED.match(line)
        if found is None:
            raise WrongProfile(_EXPECTED if number == 1 else f"line {number}: {_EXPECTED}")
        yield tuple(map(_folded_frame, found[1].split(";"))), float(found[2])


def _folded_frame(text: str) -> Frame:
    found = _FOLDED_FRAME.match(text)
    return Frame(_plain(found[1]), found[2], int(found[3])) if found else Frame(_plain(text))


_FLAT = re.compile(r"\s*[\d.]+\s+[\d.]+\s+(\d+\.\d+)\s+(?:\d+\s+)?(?:[\d.]+\s+[\d.]+\s+)?([A-Za-z_<].*)$")
_FLAT_LINE = re.compile(r"(\S+) \((.+):(\d+) @ [0-9a-f]+\)$")
_GRAPH = re.compile(
    r"\[\d+\]\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s+(?:[\d+/]+\s+)?(\S.*?)(?: <cycle .*>)? \[\d+\]$"
)


def _gprof(text: str) -> Profile:
    flat, _, rest = text.partition("Flat profile:")[2].partition("Call graph")
    stacks: dict[tuple[Frame, ...], float] = {}
    rows = [found for line in flat.splitlines() if (found := _FLAT.match(line))]
    if not rows:
        raise WrongProfile("the flat profile of gprof has no rows")
    for row in rows:
        at = _FLAT_LINE.match(row[2])
        frame = Frame(at[1], at[2], int(at[3])) if at else Frame(_plain(row[2]))
        stacks[(frame,)] = stacks.get((frame,), 0.0) + float(row[1])
    total = sum(stacks.values())
    for line in rest.splitlines():
        if found := _GRAPH.match(line):
            frame = Frame(_plain(found[3]))
            if (frame,) in stacks:
                stacks[(frame,)] = float(found[1]) + float(found[2])
    return Profile(stacks, total)


def _plain(function: str) -> str:
    """Name in the source of a function that a compiler cloned (`f.constprop.0`) or that is named with its
    class (`Grid.step`)."""
    name = function.strip().partition("@")[0]
    cloned = re.match(r"([A-Za-z_]\w*)\.(?:isra|constprop|part|cold|lto_priv|_omp_fn)\b", name)
    return cloned[1] if cloned else name if name.startswith("<") else name.rpartition(".")[2] or name
