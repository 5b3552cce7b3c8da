"""Numbers that the source has as names of macros and the new file as numbers: the call says which they are,
so that a program built with others runs its own loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from polylsp.analysis.effects import expressions, walk
from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Array, Constant, Declare, Expr, Floating, Integer, Pointer, Type

_NAME = re.compile(r"[A-Za-z_]\w*")
_IDENTIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]")
_STEP = re.compile(r"\+\+|--")


def baked(region: Region, buffers: Sequence[Buffer]) -> list[str] | Declined:
    """Conditions in C that are true if the source is built with other numbers than it was read with."""
    found: dict[str, set[int]] = {}
    for constant in _constants(region.subject):
        text = region.subject.source(constant.site).strip()
        if not isinstance(constant.value, int) or not _is_named(region.subject, text, constant.value):
            continue
        if not _NAME.fullmatch(text) and not region.subject.is_written_out(constant.site):
            if re.search(rf"\b{constant.value}\b", text):
                continue
            return Declined(f"`{text}` hides the number {constant.value} in a macro: write it out first.")
        found.setdefault(text, set()).add(constant.value)
    for name, values in found.items():
        if len(values) > 1:
            return Declined(f"The macro `{name}` is more than a number: put its value into a variable first.")
    names = [f"{_grouped(t)} != {min(v)}" for t, v in sorted(found.items()) if not _follows(t, found)]
    return [*names, *(each for b in buffers for each in _shape(region, b))]


def _is_named(subject: Subject, text: str, value: int) -> bool:
    """Whether a number is written with a name; where an array stands, C means its first element."""
    words = set(_NAME.findall(text))
    implied = value in (0, 1) and not _NAME.fullmatch(text)
    if implied or words & _local(subject) or _STEP.search(text):
        return False
    return bool(_IDENTIFIER.search(text))


def _local(subject: Subject) -> set[str]:
    """Variables of the function: what they start from is a number of its own. Others are arrays, for which C
    reads the first element, and whatever a test compares with zero."""
    declared = {s.variable for s in walk(subject.function.body) if isinstance(s, Declare)}
    known = {v for v in subject.variables if not v.const}
    return {v.source_name for v in (*declared, *known)}


def _follows(text: str, found: dict[str, set[int]]) -> bool:
    """Whether the value of a computation is known with its parts'."""
    words = set(_NAME.findall(text))
    return text not in words and words <= found.keys()


def _grouped(text: str) -> str:
    return text if _NAME.fullmatch(text) else f"({text})"


def _constants(subject: Subject) -> Iterator[Constant]:
    """All numbers in the statements of a function, and in the types of its parameters."""
    values: list[Expr] = [e for s in walk(subject.function.body) for e in expressions(s)]
    for parameter in subject.function.parameters:
        values += _extents(parameter.type)
    for value in values:
        yield from (node for node in subexpressions(value) if isinstance(node, Constant))


def _extents(of_type: Type) -> Iterator[Expr]:
    while isinstance(of_type, (Array, Pointer)):
        if isinstance(of_type, Array) and of_type.extent is not None:
            yield of_type.extent
        of_type = of_type.element if isinstance(of_type, Array) else of_type.to


def _shape(region: Region, buffer: Buffer) -> Iterator[str]:
    """Where the declaration of an array stands elsewhere, its size tells."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    outside = buffer.variable.storage in ("global", "static") or buffer.variable.storage == "local"
    if outside and buffer.inner and all(each.isdigit() for each in buffer.inner):
        size = element.bits // 8
        for each in buffer.inner:
            size *= int(each)
        yield f"sizeof({buffer.name}[0]) != {size}"
