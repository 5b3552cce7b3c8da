"""Text of registers for array elements: declarations, loads, and stores back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.frame import Frame, unrolled
from polylsp.codegen.cuda.launch import as_parameters
from polylsp.codegen.cuda.references import subscripts_at
from polylsp.codegen.cuda.registers import Kept
from polylsp.codegen.cuda.statements import INDENT, braced


@dataclass(frozen=True, eq=False)
class Held:
    """Array elements in a register variable, `name`; `stores`: they are written back at the end."""

    kept: Kept
    name: str
    words: str
    stores: bool = True


def variable(frame: Frame, held: Held) -> str:
    """The variable, for one value along each axis."""
    return held.name + "".join(f"[{frame.step[axis.letter]}]" for axis in frame.several)


def loaded(frame: Frame, held: Held) -> Iterator[str]:
    """The declaration, with the values before the launch where these matter."""
    extents = "".join(f"[{axis.each}]" for axis in frame.several)
    if not held.kept.loads:
        yield f"{held.words} {held.name}{extents}{' = {}' if extents else ' = 0'};"
        return
    place, when = _element(frame, held), _when(frame, held)
    value = f"{when} ? {place} : 0" if when else place
    if not extents:
        yield f"{held.words} {held.name} = {value};"
        return
    yield f"{held.words} {held.name}{extents};"
    yield from unrolled(frame, [f"{variable(frame, held)} = {value};"])


def stored(frame: Frame, held: Held) -> Iterator[str]:
    """Stores back to the array, by one of the threads that share the element."""
    if not held.stores:
        return
    when = " && ".join(each for each in (_when(frame, held), one_lane(frame)) if each)
    line = f"{_element(frame, held)} = {variable(frame, held)};"
    yield from unrolled(frame, list(braced(f"if ({when})", iter([line]))) if when else [line])


def one_lane(frame: Frame) -> str:
    """Condition that selects one of the threads that share sums; empty where none do."""
    lanes = frame.blocking.lanes
    return f"{frame.thread[lanes.letter]} == 0" if lanes is not None else ""


def _element(frame: Frame, held: Held) -> str:
    """The element in the array."""
    found = subscripts_at(held.kept.element, [axis.parameter for axis in frame.axes])
    if found is None:
        raise Unwritable(f"An element of `{held.kept.memory.variable.source_name}` cannot be written down.")
    return frame.element(held.kept.memory, found, frame.values)


def _when(frame: Frame, held: Held) -> str:
    """Condition that there is an element."""
    points: isl.Set = held.kept.element.domain()
    return frame.when(as_parameters(points, [axis.parameter for axis in frame.axes]), frame.values, {})


# --- First values ------------------------------------------------------------------------


def merged(held: Held, lines: list[str]) -> list[str]:
    """Lines in which a variable is declared where it is set first, and set once where that is to zero."""
    head, word = f"{held.words} {held.name}", re.compile(rf"\b{held.name}\b")
    declared = (
        k for k, line in enumerate(lines) if line.startswith(head) and line.endswith(("= 0;", "= {};"))
    )
    start = next(declared, len(lines))
    first = next((k for k, line in enumerate(lines) if k > start and word.search(line)), len(lines))
    if first == len(lines):
        return lines
    return _for_each(first, lines) if "[" in lines[start] else _for_one(held, start, first, lines)


def _for_each(first: int, lines: list[str]) -> list[str]:
    """Lines without a loop that only sets all values to zero, if they start there."""
    begin = max(k for k in range(first + 1) if not lines[k].startswith(" "))
    begin -= lines[begin].startswith("for ") and lines[begin - 1].startswith("#pragma")
    end = next((k for k in range(first, len(lines)) if lines[k] == "}"), len(lines) - 1)
    inside = [line.strip() for line in lines[begin : end + 1]]
    done = [line for line in inside if not line.startswith(("#pragma", "for (", "if (", "const int", "}"))]
    values = [re.fullmatch(r"\w+(?:\[\w+\])+ = (.*);", line) for line in done]
    zero = [each for each in values if each is not None and _ZERO.fullmatch(each[1])]
    return lines[:begin] + lines[end + 1 :] if len(zero) == len(done) == 1 else lines


def _for_one(held: Held, start: int, first: int, lines: list[str]) -> list[str]:
    word = re.compile(rf"\b{held.name}\b")
    set_here = re.fullmatch(rf"( *){held.name} = (.*);", lines[first])
    if set_here is None or word.search(set_here[2]):
        return lines
    if not set_here[1]:
        rest = [*lines[start + 1 : first], f"{held.words} {lines[first]}", *lines[first + 1 :]]
        return [*lines[:start], *rest]
    alone = lines[first - 1].startswith("if (") and not lines[first - 1].endswith("{")
    if alone and set_here[1] == INDENT and _ZERO.fullmatch(set_here[2]):
        # It has that value already.
        return lines[: first - 1] + lines[first + 1 :]
    return lines


_ZERO = re.compile(r"0(\.0*)?[fFlL]?")
