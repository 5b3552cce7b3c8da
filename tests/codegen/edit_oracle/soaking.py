"""Batches of programs of a class, and reduction of failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .building import SUPPORT, Build, accelerated, clang, real, virtual, watched
from .drawing import drawn
from .trial import Failure, Harvest, judged
from .writing import PRELUDE, Drawn


def _quick() -> list[Build]:
    return [virtual()]


def _few() -> list[Build]:
    return [virtual(), real("gcc", "-O2", 1), *([watched()] if clang() else [])]


def _usual() -> list[Build]:
    return [virtual(), accelerated(), real("gcc", "-O2", 2), *([watched()] if clang() else [])]


def _full() -> list[Build]:
    found = clang()
    more = [real(found[0], "-O0"), real(found[0], "-O2"), watched()] if found else []
    return [virtual("-O0"), virtual("-O2"), accelerated(), real("gcc", "-O0"), real("gcc", "-O2"), *more]


BUILDS: dict[str, Callable[[], Sequence[Build]]] = {
    "quick": _quick,
    "few": _few,
    "usual": _usual,
    "full": _full,
}


def batch(group: str, seed: int, start: int, count: int, builds: str, most: int | None) -> Harvest:
    """Draw and judge some programs of a class."""
    programs = [drawn(group, seed, start + k) for k in range(count)]
    return judged(programs, BUILDS[builds](), seed * 1000 + start, most)


def minimised(failure: Failure, builds: str) -> Failure:
    """A failure with lines left out that are not needed for it."""
    found, lines = failure, failure.program.text.splitlines(keepends=True)
    tries, size = 0, max(1, len(lines) // 4)
    while size and tries < 40:
        at, shorter = 0, False
        while at < len(lines) and tries < 40:
            rest = [*lines[:at], *lines[at + size :]]
            tries += 1
            again = _same(failure, "".join(rest), builds)
            if again is None:
                at += size
            else:
                found, lines, shorter = again, rest, True
        size = size if shorter and size == 1 else size // 2
    return found


def _same(failure: Failure, text: str, builds: str) -> Failure | None:
    """The same sort of failure of another text, if it is there."""
    if not re.search(r"\bkernel\(", text) or "int main(void)" not in text:
        return None
    program: Drawn = replace(failure.program, text=text)
    try:
        harvest = judged([program], BUILDS[builds](), 0, None)
    except Exception:
        return None
    if any(each.sort == "generator" for each in harvest.failures):
        return None
    return next((each for each in harvest.failures if each.sort == failure.sort), None)


def saved(folder: Path, failure: Failure, number: int) -> None:
    """Write a failure as programs that compile: as written, and after the edit."""
    name = re.sub(r"\W+", "-", failure.sort) + (f"-{number}" if number else "")
    into = folder / failure.group
    into.mkdir(parents=True, exist_ok=True)
    told = re.sub(r"^", "// ", f"{failure.sort}: {failure.told}\n{failure.seen}", flags=re.MULTILINE)
    support = SUPPORT.read_text()
    (into / f"{name}.c").write_text(f"{told}\n{PRELUDE}{failure.program.text}\n{support}")
    if failure.edited:
        (into / f"{name}.edited.c").write_text(f"{told}\n{failure.edited}\n{support}")
