"""The OpenMP and OpenACC directives of a function: their words, and the statement each governs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polylsp.frontends.c.brackets import matching_brackets
from polylsp.frontends.c.clauses import clauses_in, closing
from polylsp.frontends.c.expand import Expanded, Pragma
from polylsp.frontends.c.layout import COMMENTS
from polylsp.frontends.c.macro_expansion import Overflow, expand_texts
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.tokens import tokenize
from polylsp.model.directive import AnyDirective, Directive, Family, UnknownDirective
from polylsp.model.program import Site
from polylsp.text import Span

_FAMILY = re.compile(r"(omp|acc)\b\s*(.*)", re.DOTALL)

_KEEPING = re.compile(r"\b(omp\s+(begin\s+)?declare\s+target|omp\s+requires|acc\s+declare)\b")

_PARALLEL_FORMS = "parallel|parallel for|parallel for simd|parallel loop"
_DISTRIBUTE_FORMS = "distribute|distribute simd|distribute parallel for|distribute parallel for simd"
_TASK_FORMS = "taskloop|taskloop simd"
_ON_STATEMENTS: dict[Family, str] = {
    "omp": "|".join((
        _PARALLEL_FORMS, "for|for simd|simd|loop", _DISTRIBUTE_FORMS,
        "parallel sections|parallel master|parallel masked|sections|section|single|master|masked",
        "critical|atomic|ordered|task|taskgroup|scope|dispatch|teams|teams loop|tile|unroll|assume",
        *(f"{first} {form}" for first in ("teams", "target teams") for form in _DISTRIBUTE_FORMS.split("|")),
        "target|target simd|target data|target teams|target teams loop",
        *(f"target {form}" for form in _PARALLEL_FORMS.split("|")),
        *(f"{first}{form}" for form in _TASK_FORMS.split("|")
          for first in ("", "master ", "masked ", "parallel master ", "parallel masked ")),
    )),
    "acc": "parallel|kernels|serial|loop|parallel loop|kernels loop|serial loop|data|host_data|atomic",
}  # fmt: skip
_ALONE: dict[Family, str] = {
    "omp": "barrier|taskwait|taskyield|flush|scan|cancel|cancellation point|threadprivate|target update"
    "|target enter data|target exit data|declare simd|declare target|declare reduction|declare variant"
    "|declare mapper|requires|nothing|error|depobj|interop|allocate",
    "acc": "enter data|exit data|update|wait|cache|declare|routine|init|shutdown|set",
}
_FORMS: dict[Family, dict[tuple[str, ...], bool]] = {
    family: {
        **{tuple(form.split()): True for form in _ON_STATEMENTS[family].split("|")},
        **{tuple(form.split()): False for form in _ALONE[family].split("|")},
    }
    for family in ("omp", "acc")
}
"""The names of directives, and whether a statement belongs to each."""


def directives_in(expanded: Expanded, macros: Mapping[str, Macro]) -> tuple[AnyDirective, ...]:
    """The directives of a function in source order; macros in them are expanded, as compilers do."""
    match = matching_brackets(expanded.texts) if expanded.pragmas else {}
    found: list[AnyDirective] = []
    for number, pragma in enumerate(expanded.pragmas):
        of_family = _FAMILY.match(pragma.text)
        if of_family is not None:
            family: Family = "omp" if of_family[1] == "omp" else "acc"
            site = statement_at(expanded.texts, match, pragma.token)
            found.append(_directive(family, of_family[2], macros, number, pragma.token, site))
    return tuple(found)


def keeps_data(text: str) -> bool:
    """True if a part of a file outside of functions has directives on data of a device."""
    return _KEEPING.search(text) is not None


def pragma_spans(text: str, pragmas: Sequence[Pragma]) -> tuple[Span, ...]:
    """Spans of the pragmas in the text of their function, without comments that follow."""
    return tuple(_trimmed(text, pragma.span) for pragma in pragmas)


def _trimmed(text: str, span: Span) -> Span:
    written = text[span.start : span.end]
    bare = COMMENTS.sub(lambda m: m.group() if m.group(1) else " " * len(m.group()), written)
    return Span(span.start, span.start + max(1, len(bare.rstrip().rstrip("\\").rstrip())))


def _directive(
    family: Family, text: str, macros: Mapping[str, Macro], number: int, at: int, site: Site | None
) -> AnyDirective:
    tokens = expand_texts(tokenize(text, directives=False).texts, macros)
    if isinstance(tokens, Overflow):
        return UnknownDirective(family, text, number, at, site)
    forms = _FORMS[family]
    words = next((w for n in (6, 5, 4, 3, 2, 1) if (w := tuple(tokens[:n])) in forms and len(w) == n), None)
    if words is None:
        return UnknownDirective(family, text, number, at, site)
    rest, argument = tokens[len(words) :], ""
    if rest[:1] == ["("]:
        close = closing(rest, 0)
        argument, rest = " ".join(rest[1:close]), rest[close + 1 :]
    clauses = clauses_in(family, rest)
    return Directive(family, words, clauses, number, at, site if forms[words] else None, argument)


# --- The statement after a directive -------------------------------------------------------


def statement_at(tokens: tuple[str, ...], match: dict[int, int], start: int) -> Site | None:
    """The statement that begins at token `start`; `None` where none does."""
    if start >= len(tokens) or tokens[start] == "}":
        return None
    end = _end(tokens, match, start)
    return Site(start, min(max(start, end), len(tokens) - 1))


def _end(tokens: tuple[str, ...], match: dict[int, int], start: int) -> int:
    """The last token of the statement that begins at `start`."""
    word = tokens[start] if start < len(tokens) else ""
    after = tokens[start + 1] if start + 1 < len(tokens) else ""
    if word == "{":
        return match.get(start, len(tokens) - 1)
    if word in ("for", "while", "switch"):
        return _end(tokens, match, match.get(start + 1, start + 1) + 1)
    if word == "if":
        end = _end(tokens, match, match.get(start + 1, start + 1) + 1)
        return _end(tokens, match, end + 2) if tokens[end + 1 : end + 2] == ("else",) else end
    if word == "do":
        condition = _end(tokens, match, start + 1) + 2
        return match.get(condition, condition) + 1
    if after == ":":
        return _end(tokens, match, start + 2)
    while start < len(tokens) and tokens[start] not in (";", "}"):
        start = match[start] + 1 if tokens[start] in ("(", "[", "{") and start in match else start + 1
    return start
