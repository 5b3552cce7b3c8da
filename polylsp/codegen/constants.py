"""Numbers that the user wrote as names of macros, so that edits can use the same names.

The model has only the present value of such a macro; an edit with the number would be wrong once the program
is compiled with `-DN=…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from polylsp.analysis.effects import nodes, walk
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Array, Assign, Constant, Declare, Expr, Loop, Pointer, Type

_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_WORD = re.compile(r"\w+")
_SECTION = re.compile(r"\[[^\]]*:[^\]]*\]")
_LARGE = re.compile(r"[1-9]\d+")
_SMALL = 2


def named_constants(subject: Subject) -> dict[int, str]:
    """Macros that stand for a number in the headers of loops and the declarations of arrays, by their
    values."""
    found: dict[int, str] = {}
    local = {s.variable.source_name for s in walk(subject.function.body) if isinstance(s, Declare)}
    for constant in _constants(subject):
        if isinstance(constant.value, int) and constant.value > _SMALL:
            text = subject.source(constant.site)
            if _NAME.fullmatch(text) and text not in local:
                found.setdefault(constant.value, text)
    return found


def literals(subject: Subject) -> frozenset[int]:
    """The numbers that stand in the function's text as whole subscripts (`b[3]`)."""
    words = [subject.token(k) for k in range(len(subject.starts))]
    between = zip(words, words[1:], words[2:], strict=False)
    return frozenset(int(n) for a, n, b in between if (a, b) == ("[", "]") and _NUMBER.fullmatch(n))


def settled_by_macros(subject: Subject, texts: Iterable[str]) -> tuple[str, ...]:
    """Computed numbers in the array sections of some directives, in a function that computes with macros:
    they may differ when the program is compiled with other values of these."""
    if not any(_is_named(subject, constant) for constant in _all_constants(subject)):
        return ()
    own = set(_WORD.findall(subject.text[subject.start : subject.start + subject.ends[-1]]))
    found = (
        number for text in texts for section in _SECTION.findall(text) for number in _WORD.findall(section)
    )
    return tuple(dict.fromkeys(n for n in found if _LARGE.fullmatch(n) and n not in own))


def _all_constants(subject: Subject) -> Iterator[Constant]:
    for statement in walk(subject.function.body):
        for node in nodes(statement):
            if isinstance(node, Constant):
                yield node


def _is_named(subject: Subject, constant: Constant) -> bool:
    """True if a number comes out of a macro, or is the value of a name."""
    large = isinstance(constant.value, int) and constant.value > _SMALL
    return large and not subject.source(constant.site)[:1].isdigit()


def _constants(subject: Subject) -> Iterator[Constant]:
    values = [*_extents(subject), *_bounds(subject)]
    for value in values:
        for node in subexpressions(value):
            if isinstance(node, Constant):
                yield node


def _extents(subject: Subject) -> Iterator[Expr]:
    declared = [s.variable for s in walk(subject.function.body) if isinstance(s, Declare)]
    for variable in (*subject.function.parameters, *declared):
        of_type: Type = variable.type
        while isinstance(of_type, (Array, Pointer)):
            if isinstance(of_type, Array) and of_type.extent is not None:
                yield of_type.extent
            of_type = of_type.element if isinstance(of_type, Array) else of_type.to


def _bounds(subject: Subject) -> Iterator[Expr]:
    for statement in walk(subject.function.body):
        if isinstance(statement, Loop):
            if statement.condition is not None:
                yield statement.condition
            yield from (s.value for s in statement.step.statements if isinstance(s, Assign))
