"""Simulated device with separate memory on the host: for programs with OpenACC or OpenMP data clauses.

Each section that a clause names has a second copy, filled with ones (a NaN in floating point) where no data
come in. While a loop of the device runs, the copies take the place of the originals. A program whose clauses
move too little prints a different result then, and one that uses absent data on the device ends with an
error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from polylsp.core.text import Span
from polylsp.model.action import Replacement, applied
from tests.codegen.editing import statement_end

_DIRECTIVE = re.compile(r"^[ \t]*#pragma (acc|omp) ((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)
_ARGUMENTS = r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
_CLAUSE = re.compile(
    rf"\b(copyin|copyout|copy|create|present|host|device|map|from|to|private|reduction){_ARGUMENTS}"
)
_CONDITION = re.compile(rf"\bif{_ARGUMENTS}")
_ITEM = re.compile(r"(\w+)((?:\[[^\]]*\])*)")
_SUBSCRIPTED = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\[")
_READ_ONLY = re.compile(r"^static const (?=\w+ \w+\[)", re.MULTILINE)
_MOVES = {
    "copyin": (1, 0), "copyout": (0, 1), "copy": (1, 1), "create": (0, 0),
    "to": (1, 0), "from": (0, 1), "tofrom": (1, 1), "alloc": (0, 0),
}  # fmt: skip

RUNTIME = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static struct { char *at, *copy; size_t size; int out; } on_device[64];
static int sections_on_device;
static int is_on_device(char *at, long long size)
{
    for (int k = 0; k < sections_on_device; k++)
        if (on_device[k].copy && on_device[k].at <= at && at + size <= on_device[k].at + on_device[k].size)
            return k;
    return -1;
}
static void must_be_there(const void *at, long long size, const char *name)
{
    if (size > 0 && is_on_device((char *)at, size) < 0) {
        fprintf(stderr, "%s is not on the device\\n", name);
        exit(3);
    }
}
static void to_device(const void *at, long long size, int in, int out, const char *name)
{
    int k = sections_on_device;
    size_t bytes = size > 0 ? (size_t)size : 0;
    on_device[k].copy = NULL;
    if (bytes && is_on_device((char *)at, size) < 0) {
        for (int other = 0; other < k; other++)
            if (on_device[other].copy && on_device[other].at < (char *)at + bytes
                && (char *)at < on_device[other].at + on_device[other].size) {
                fprintf(stderr, "a part of %s is on the device already\\n", name);
                exit(3);
            }
        on_device[k].at = (char *)at;
        on_device[k].size = bytes;
        on_device[k].out = out;
        on_device[k].copy = malloc(bytes);
        if (in)
            memcpy(on_device[k].copy, at, bytes);
        else
            memset(on_device[k].copy, 255, bytes);
    }
    sections_on_device++;
}
static void from_device(int count)
{
    while (count-- > 0) {
        int k = --sections_on_device;
        if (on_device[k].copy && on_device[k].out)
            memcpy(on_device[k].at, on_device[k].copy, on_device[k].size);
        free(on_device[k].copy);
    }
}
static void switch_memory(void)
{
    for (int k = 0; k < sections_on_device; k++)
        for (size_t byte = 0; on_device[k].copy && byte < on_device[k].size; byte++) {
            char here = on_device[k].at[byte];
            on_device[k].at[byte] = on_device[k].copy[byte];
            on_device[k].copy[byte] = here;
        }
}
static void update_memory(const void *at, long long size, int from_host, const char *name)
{
    int k = is_on_device((char *)at, size);
    if (size <= 0)
        return;
    must_be_there(at, size, name);
    char *copy = on_device[k].copy + ((char *)at - on_device[k].at);
    memcpy(from_host ? copy : (char *)at, from_host ? (char *)at : copy, (size_t)size);
}
"""


@dataclass(frozen=True)
class _Directive:
    """A directive in a text, and the text of the statement that it is about."""

    words: str
    span: Span
    statement: Span

    @property
    def is_kernel(self) -> bool:
        """True if it runs a loop on the device."""
        return self.words.startswith(("parallel loop", "target teams"))

    @property
    def is_data(self) -> bool:
        """True if it places arrays on the device."""
        return self.words.startswith(("data", "target data"))

    @property
    def is_update(self) -> bool:
        """True if it moves arrays where it stands."""
        return self.words.startswith(("update", "target update"))

    @property
    def condition(self) -> str:
        """Condition under which it is in force, in C."""
        found = _CONDITION.search(self.words)
        return found[1].removeprefix("target: ") if found is not None else "1"

    def clauses(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The name of each clause (of `map`: which way) and its items, each a name and its brackets."""
        for name, arguments in _CLAUSE.findall(self.words):
            kind, _, rest = (
                arguments.partition(": ") if name in ("map", "reduction") else (name, "", arguments)
            )
            yield (kind if name == "map" else name), _ITEM.findall(re.sub(r"\s", "", rest))


def played(text: str) -> str:
    """The program with calls in the place of its directives."""
    found = [_directive(text, match) for match in _DIRECTIVE.finditer(text)]
    for each in found:
        if each.is_kernel:
            _all_arrays_have_clauses(text, each, [o for o in found if o.is_data and _is_around(o, each)])
    insertions = [r for number, each in enumerate(found) for r in _calls(each, number)]
    # What host and device exchange cannot lie where nothing can be written.
    return RUNTIME + _READ_ONLY.sub("static ", applied(text, tuple(insertions)))


def _directive(text: str, match: re.Match[str]) -> _Directive:
    span = Span(*match.span())
    alone = _Directive(re.sub(r"\\\s+", " ", match[2]).strip(), span, Span(span.end, span.end))
    if alone.is_kernel or alone.is_data:
        return replace(alone, statement=Span(span.end, statement_end(text, span.end)))
    return alone


def _is_around(outer: _Directive, inner: _Directive) -> bool:
    return outer.statement.start <= inner.span.start and inner.statement.end <= outer.statement.end


def _all_arrays_have_clauses(text: str, kernel: _Directive, around: list[_Directive]) -> None:
    """Check that all arrays in a loop of the device have a clause, or are declared inside."""
    named = {name for one in (kernel, *around) for _, items in one.clauses() for name, _ in items}
    body = re.sub(
        r"#pragma[^\n]*(\\\n[^\n]*)*|/\*.*?\*/|//[^\n]*",
        "",
        text[kernel.statement.start : kernel.statement.end],
        flags=re.DOTALL,
    )
    declared = set(
        re.findall(r"\b(?:int|unsigned|long|float|double|char)\b[ *]*(?:const |restrict )*(\w+)", body)
    )
    declared |= set(re.findall(r"\w\s*\*+\s*(\w+)\s*=[^=]", body))
    missing = set(_SUBSCRIPTED.findall(body)) - named - declared
    assert not missing, f"no clause names {missing} in `{kernel.words}`"


def _calls(directive: _Directive, number: int) -> Iterator[Replacement]:
    if directive.is_update:
        yield Replacement(directive.span, f"if ({directive.condition}) {{ {' '.join(_updates(directive))} }}")
    elif directive.is_data or directive.is_kernel:
        moves, there = list(_moves(directive)), list(_present(directive))
        switch = " switch_memory();" if directive.is_kernel else ""
        begin = " ".join((*(f"to_device({m});" for m in moves), *(f"must_be_there({p});" for p in there)))
        pays = f"pays_{number}"
        yield Replacement(
            directive.span, f"{{ int {pays} = {directive.condition}; if ({pays}) {{ {begin}{switch} }}"
        )
        end = Span(directive.statement.end, directive.statement.end)
        yield Replacement(end, f" if ({pays}) {{{switch} from_device({len(moves)}); }} }}")
    else:
        yield Replacement(directive.span, "")


def _moves(directive: _Directive) -> Iterator[str]:
    for kind, items in directive.clauses():
        if kind in _MOVES:
            come, go = _MOVES[kind]
            for name, brackets in items:
                yield f'{_extent(name, brackets)}, {come}, {go}, "{name}"'


def _present(directive: _Directive) -> Iterator[str]:
    for kind, items in directive.clauses():
        if kind == "present":
            for name, brackets in items:
                yield f'{_extent(name, brackets)}, "{name}"'


def _updates(directive: _Directive) -> Iterator[str]:
    for kind, items in directive.clauses():
        for name, brackets in items:
            yield f'update_memory({_extent(name, brackets)}, {int(kind in ("device", "to"))}, "{name}");'


def _extent(name: str, brackets: str) -> str:
    """The address of a section, and its size; all but the first of its dimensions are whole."""
    if not brackets:
        return f"&{name}, sizeof({name})"
    first, *rest = re.findall(r"\[([^\]]*)\]", brackets)
    assert all(each == ":" or each.startswith("0:") for each in rest), brackets
    low, _, count = first.replace("longlong", "long long").partition(":")
    return f"&{name}[{low}], (long long)({count}) * (long long)sizeof({name}[0])"
