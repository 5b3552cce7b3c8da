"""Macros of the source that are plain numbers in the new file: the call checks their values, so that a
program built with others runs its loops on the host."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from polylsp.emit.c_text import element_words
from polylsp.emit.source_names import horizon
from polylsp.emit.subject import Subject
from polylsp.frontends.c.macros import Macro
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import (
    Array,
    Call,
    Constant,
    Declare,
    Expr,
    Floating,
    Integer,
    Pointer,
    Type,
    subexpressions,
)
from polylsp.model.action import Declined
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.region import Region

_NAME = re.compile(r"[A-Za-z_]\w*")
_IDENTIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]")
_STEP = re.compile(r"\+\+|--")
_TYPE_WORDS = frozenset(
    ("char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "const", "enum")
)
_LIBRARY_TYPES = frozenset(
    ("bool", "size_t", "ptrdiff_t", "ssize_t", "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t")
) | {"int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}
_STANDARD = re.compile(
    r"true|false|M_\w+|(FLT|DBL)_\w+|CHAR_BIT|(U|S)?(CHAR|SHRT|INT|LONG|LLONG|INT\d+|SIZE)_(MAX|MIN)"
)
"""Numbers that the headers of C say, the same on all machines that polylsp knows."""
_LITERAL = re.compile(r"\W*\.?\d[\w.]*")


def baked(region: Region, buffers: Sequence[Buffer]) -> list[str] | Declined:
    """Conditions in C that are true if the source is built with other numbers than it was read with."""
    found: dict[str, set[str]] = {}
    subjects = [region.subject, *map(region.subject.of, region.helpers)]
    last = horizon(region.subject, region.place.site)
    for subject, constant in ((each, c) for each in subjects for c in _constants(each)):
        if subject is region.subject and constant.site.first > last:
            continue
        text = subject.source(constant.site).strip()
        number = _number(constant)
        if not number or _LITERAL.fullmatch(text) or _STANDARD.fullmatch(text):
            continue
        inside = _inside_macros(subject, text, number)
        if isinstance(inside, frozenset):
            for name in inside:
                found.setdefault(name, set()).add(number)
        elif _is_named(subject, text, constant.value):
            if not _NAME.fullmatch(text) and not subject.is_written_out(constant.site):
                return Declined(f"`{text}` hides the number {number} in a macro: write it out first.")
            found.setdefault(text, set()).add(number)
    for name, values in found.items():
        if len(values) > 1:
            return Declined(f"The macro `{name}` is more than a number: put its value into a variable first.")
    names = [f"{_grouped(t)} != {min(v)}" for t, v in sorted(found.items()) if not _follows(t, found)]
    return [*names, *dict.fromkeys(each for b in buffers for each in _shape(region, b))]


def _number(constant: Constant) -> str:
    """A constant in C; empty where it has no plain spelling."""
    if isinstance(constant.value, int):
        return str(constant.value)
    if not math.isfinite(constant.value):
        return ""
    if constant.value.is_integer() and abs(constant.value) < 1 << 53:
        return str(int(constant.value))
    exact = (constant.value * 1024).is_integer()
    return f"{constant.value!r}{'f' if constant.type == Floating(32) and not exact else ''}"


def _inside_macros(subject: Subject, text: str, number: str) -> frozenset[str] | None:
    """The macros without parameters that give a number to the use of a macro with some; none where the macro
    itself says the number. `None` where the text is another one, or the number comes from elsewhere."""
    macros = {each.name: each for each in subject.macros}
    used = macros.get(text.partition("(")[0].strip())
    if used is None or used.parameters is None:
        return None
    reached, literal, waiting = set[str](), False, _NAME.findall(text)
    while waiting:
        one = macros.get(waiting.pop())
        if one is None or one.name in reached:
            continue
        reached.add(one.name)
        literal |= one.parameters is not None and number in one.body
        waiting += [word for word in one.body if _NAME.fullmatch(word)]
    giving = frozenset(
        name for name in reached if macros[name].parameters is None and _says(macros[name], number)
    )
    literal |= re.search(rf"(?<![\w.]){re.escape(number)}(?![\w.])", text) is not None
    return giving if giving or literal else None


def _says(macro: Macro, number: str) -> bool:
    """True if a macro stands for a number alone."""
    body = [word for word in macro.body if word not in "()"]
    if len(body) != 1:
        return False
    try:
        return float(body[0].rstrip("uUlLfF")) == float(number.rstrip("f"))
    except ValueError:
        return False


def _is_named(subject: Subject, text: str, value: float) -> bool:
    """True if a number is written with a name; where an array stands, C means its first element."""
    words = set(_NAME.findall(text))
    implied = value in (0, 1) and not _NAME.fullmatch(text)
    if implied or words & _local(subject) or _STEP.search(text):
        return False
    return bool(_IDENTIFIER.search(text))


def _local(subject: Subject) -> set[str]:
    """Variables of the function, whose initial numbers are not macros. Others are arrays, for which C reads
    the first element, and variables and called functions (weak ones) compared with zero."""
    statements = list(walk(subject.function.body))
    declared = {s.variable for s in statements if isinstance(s, Declare)}
    known = {v for v in subject.variables if not v.const}
    parts = (part for s in statements for value in expressions(s) for part in subexpressions(value))
    called = {part.function for part in parts if isinstance(part, Call)}
    return called | {v.source_name for v in (*declared, *known)}


def _follows(text: str, found: Mapping[str, set[str]]) -> bool:
    """True if the value of a computation is determined by its parts'."""
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
    """Conditions on the size of an array's rows of fixed length, and on that of elements with a named type:
    the declaration may be another one when the source is built."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    member = region.subject.members.get(buffer.name)
    if member is not None and member.size:
        yield f"sizeof({member.first[1:]}) != {element.bits // 8}"
        if member.depth:
            count = prod(int(each) for each in buffer.inner[-member.depth :])
            yield f"sizeof({member.rows}) != {count * element.bits // 8}"
        return
    if member is not None:
        steps = "[0]" * (0 if buffer.scalar else 1 + len(buffer.inner))
        yield f"sizeof({buffer.name}{steps}) != {element.bits // 8}"
    size, depth = element.bits // 8, len(buffer.inner)
    while depth and buffer.inner[depth - 1].isdigit():
        depth -= 1
        size *= int(buffer.inner[depth])
    fixed = _has_fixed_type(region.subject, buffer, element)
    if depth < len(buffer.inner) and not (fixed and _is_spelled(region.subject, buffer)):
        yield f"sizeof({buffer.name}{'[0]' * (depth + 1)}) != {size}"
    elif depth == len(buffer.inner) and not fixed:
        steps = "[0]" * (0 if buffer.scalar else depth + 1)
        yield f"sizeof({buffer.name}{steps}) != {size}"


def _is_spelled(subject: Subject, buffer: Buffer) -> bool:
    """True if a parameter's declaration has the lengths of its rows as numbers."""
    written = (subject.source(each.site) for each in _extents(buffer.variable.type))
    plain = all(_LITERAL.fullmatch(text) or text.isidentifier() for text in written)
    return buffer.variable.storage == "parameter" and plain


def _has_fixed_type(subject: Subject, buffer: Buffer, element: Integer | Floating) -> bool:
    """True if a variable is declared with a type of the language, or of its library."""
    words = element_words(subject, buffer.variable, element)
    return words is None or words in _LIBRARY_TYPES or set(words.split()) <= _TYPE_WORDS
