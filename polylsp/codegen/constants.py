"""Numbers that the user wrote as names of macros, so that edits can say the same names.

The model knows only what such a macro stands for now; an edit that said the number would be wrong once
the program is compiled with `-DN=…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from polylsp.analysis.effects import walk
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Array, Assign, Constant, Declare, Expr, Loop, Pointer, Type

_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_SMALL = 2


def named_constants(subject: Subject) -> dict[int, str]:
    """Macros that stand for a number in the headers of loops and the declarations of arrays, by what
    they stand for."""
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
