"""Programs of each class, drawn from a seed, in batches, and reduction of failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.codegen.edit_oracle import control_pieces as control
from tests.codegen.edit_oracle import memory_pieces as memory
from tests.codegen.edit_oracle import state_pieces as state
from tests.codegen.edit_oracle import value_pieces as value
from tests.codegen.edit_oracle.building import SUPPORT, Build, accelerated, clang, real, virtual, watched
from tests.codegen.edit_oracle.trial import Failure, Harvest, judged
from tests.codegen.edit_oracle.writing import PRELUDE, Drawn, Writer


def _mixed(w: Writer) -> None:
    """Pieces of two classes in one function."""
    sizes = [w.sizes]
    for group in w.draw.sample([each for each in CLASSES if each != "mixed"], 2):
        CLASSES[group](w)
        sizes.append(w.sizes)
    w.sizes = (min(first for first, _ in sizes), min(second for _, second in sizes))


CLASSES: dict[str, Callable[[Writer], None]] = {
    "pointers": memory.pointers,
    "addresses": memory.addresses,
    "callees": state.callees,
    "shared": state.shared_arguments,
    "globals": state.overwritten_globals,
    "out-parameters": state.out_parameters,
    "conversions": value.conversions,
    "threads": state.threads,
    "bit-fields": state.bit_fields,
    "library": state.library_state,
    "facts": value.facts,
    "scatters": memory.scatters,
    "big-arrays": memory.big_arrays,
    "pragmas": state.foreign_pragmas,
    "narrow": value.narrow_types,
    "macros": value.macros,
    "tables": value.tables,
    "flat": memory.flat_images,
    "conditions": value.conditions,
    "last-values": value.last_values,
    "triangles": value.triangles,
    "extremes": value.extremes,
    "exits": value.exits,
    "whiles": value.while_loops,
    "structures": memory.structures,
    "members": memory.members,
    "counters": control.counters,
    "nests": control.nests,
    "statements": control.statements,
    "bounds": control.bounds,
    "walks": control.walks,
    "layouts": control.layouts,
    "reports": control.reports,
    "copies": memory.copies,
    "led": memory.led,
    "recasts": memory.recasts,
    "rings": memory.rings,
    "complex": value.complex_numbers,
    "mixed": _mixed,
}
"""Pieces of the programs of each class."""


def drawn(group: str, seed: int, number: int) -> Drawn:
    """A program of a class: the same for the same seed and number."""
    w = Writer(Random(f"{group} {seed} {number}"))
    for _ in range(w.pick(1, 1, 1, 2)):
        CLASSES[group](w)
        if w.chance(25):
            w.code += w.beside()
    return w.program(group)


# --------------------------------------------------------------------------------------------------
# Batches of programs of a class, and reduction of failures.
# --------------------------------------------------------------------------------------------------


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
