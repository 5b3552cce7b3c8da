"""OpenMP and OpenACC directives of a C function: clauses as values, and the governed statement.

Macros in pragmas are expanded, as compilers do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polylsp.core.text import Span
from polylsp.frontends.c.environment import Expanded, Pragma
from polylsp.frontends.c.macro_expansion import Overflow, expand_texts
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.text_layout import COMMENTS
from polylsp.frontends.c.tokens import matching_brackets, tokenize
from polylsp.ir.directive import (
    AnyDirective,
    Clause,
    Collapse,
    Condition,
    DefaultSharing,
    Directive,
    Family,
    Flow,
    Item,
    Limit,
    Ordered,
    OtherClause,
    ReductionClause,
    Safelen,
    Schedule,
    Sharing,
    SharingKind,
    Transfer,
    UnknownClause,
    UnknownDirective,
)
from polylsp.ir.program import Site

_SHARING: dict[str, SharingKind] = {
    "private": "private",
    "firstprivate": "firstprivate",
    "lastprivate": "lastprivate",
    "linear": "linear",
    "shared": "shared",
}
_REDUCTIONS = {"reduction", "in_reduction", "task_reduction"}
_LIMITS = {
    "num_threads", "num_teams", "thread_limit", "num_gangs", "num_workers", "vector_length",
}  # fmt: skip
_TRANSFERS: dict[Family, set[str]] = {
    "omp": {
        "map", "to", "from", "is_device_ptr", "has_device_addr", "use_device_ptr", "use_device_addr",
    },
    "acc": {
        "copy", "copyin", "copyout", "create", "no_create", "present", "deviceptr", "attach", "detach",
        "delete", "use_device", "pcopy", "pcopyin", "pcopyout", "pcreate", "present_or_copy",
        "present_or_copyin", "present_or_copyout", "present_or_create", "host", "self", "device",
        "device_resident", "link",
    },
}  # fmt: skip
_MAPS: dict[str, Flow] = {"to": "in", "from": "out", "tofrom": "both", "alloc": "none"}
_COPIES: dict[str, Flow] = {"copy": "both", "copyin": "in", "copyout": "out", "create": "none"}
_OTHER: dict[Family, set[str]] = {
    "omp": {
        "nowait", "simdlen", "aligned", "nontemporal", "proc_bind", "copyin", "copyprivate", "allocate",
        "uses_allocators", "order", "bind", "dist_schedule", "depend", "device", "defaultmap", "final",
        "untied", "mergeable", "priority", "affinity", "detach", "grainsize", "num_tasks", "nogroup",
        "filter", "hint", "read", "write", "update", "capture", "compare", "fail", "weak", "seq_cst",
        "acq_rel", "acquire", "release", "relaxed", "threads", "simd", "inclusive", "exclusive", "doacross",
    },
    "acc": {
        "independent", "seq", "auto", "gang", "worker", "vector", "async", "wait", "device_type", "dtype",
        "finalize", "if_present", "read", "write", "update", "capture", "default_async", "device_num",
        "nohost", "bind",
    },
}  # fmt: skip


def clauses_in(family: Family, tokens: Sequence[str]) -> tuple[Clause, ...]:
    """The clauses in the tokens that follow a directive's name; commas between them mean nothing."""
    found: list[Clause] = []
    k = 0
    while k < len(tokens):
        name, arguments, k = tokens[k], None, k + 1
        if name == ",":
            continue
        if tokens[k : k + 1] == ["("]:
            close = closing(tokens, k)
            arguments, k = tokens[k + 1 : close], close + 1
        found.append(_clause(family, name, arguments))
    return tuple(found)


def closing(tokens: Sequence[str], k: int) -> int:
    """The index of the bracket that closes the one at `k`, or the number of tokens."""
    depth = 0
    for n in range(k, len(tokens)):
        depth += (tokens[n] in "([{") - (tokens[n] in ")]}")
        if depth == 0:
            return n
    return len(tokens)


def _clause(family: Family, name: str, arguments: Sequence[str] | None) -> Clause:
    given = list(arguments or ())
    text = " ".join(given)
    if name in _SHARING and arguments is not None:
        step = _linear_step(given) if name == "linear" else None
        is_conditional = _after_colon(given)[0] == ["conditional"]
        return Sharing(_SHARING[name], _items(_unmodified(given, name)), step, is_conditional)
    if name in _REDUCTIONS and arguments is not None:
        return _reduction(given)
    if name in _LIMITS:
        return Limit(name, text)
    if name in _TRANSFERS[family] and arguments is not None:
        modifiers, listed = _after_colon(given)
        return Transfer(name, _items(listed), _flow(name, modifiers))
    match name:
        case "default":
            return DefaultSharing(text)
        case "collapse":
            return Collapse(_number(_after_colon(given)[1]))
        case "ordered":
            return Ordered(_number(given) or 0 if arguments is not None else None)
        case "schedule":
            return _schedule(given)
        case "safelen":
            return Safelen(_number(given))
        case "if":
            return Condition(" ".join(_after_colon(given)[1]))
        case _:
            return OtherClause(name, text) if name in _OTHER[family] else UnknownClause(name)


def _flow(name: str, modifiers: list[str]) -> Flow | None:
    """Direction in which a clause moves its items; `None` if undetermined, as with other words beside the
    type of a `map`."""
    if name != "map":
        return None if modifiers else _COPIES.get(re.sub("^(p|present_or_)(?=c)", "", name))
    return _MAPS.get("".join(modifiers) or "tofrom")


def _unmodified(given: list[str], name: str) -> list[str]:
    """A list without its modifier: `lastprivate(conditional: x)`, `linear(x: 2)`, `linear(val(x))`."""
    before, after = _after_colon(given)
    names = before if name == "linear" and before else after
    return names[2:-1] if name == "linear" and names[1:2] == ["("] else names


def _linear_step(given: list[str]) -> int | None:
    """Increment per iteration of `linear(x: 2)`, or `linear(x: val, step(2))`: 1 by default."""
    before, after = _after_colon(given)
    if not before:
        return 1
    parts = [part for part in _split(after) if part and part[0] not in ("val", "ref", "uval")]
    if len(parts) != 1:
        return None if parts else 1
    return _number(parts[0][1:] if parts[0][0] == "step" else parts[0])


def _after_colon(given: list[str]) -> tuple[list[str], list[str]]:
    """Tokens before and after the first colon outside brackets and conditional expressions."""
    depth = 0
    for k, token in enumerate(given):
        depth += (token in "([{") - (token in ")]}")
        if depth == 0 and token == "?":
            break
        if depth == 0 and token == ":":
            return given[:k], given[k + 1 :]
    return [], given


def _reduction(given: list[str]) -> Clause:
    """`reduction(+: s)`, `reduction(inscan, +: s)`; with a modifier the operator stays joined to it, so that
    it equals none that we compare with."""
    before, after = _after_colon(given)
    return ReductionClause("".join(before), _items(after))


def _schedule(given: list[str]) -> Schedule:
    kind, *chunk = _split(_after_colon(given)[1])
    return Schedule("".join(kind), " ".join(chunk[0]) if chunk else "")


def _items(tokens: Sequence[str]) -> tuple[Item, ...]:
    return tuple(Item(_name(part), "".join(part)) for part in _split(tokens) if part)


def _name(part: Sequence[str]) -> str:
    """The variable that an item is about: the first word in it."""
    return next((t for t in part if t[0].isalpha() or t[0] == "_"), "")


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """Tokens between the commas that stand in no brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _number(tokens: Sequence[str]) -> int | None:
    try:
        return int("".join(tokens).strip("()").rstrip("uUlL"), 0)
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------------
# The OpenMP and OpenACC directives of a function: their words, and the statement each governs.
# --------------------------------------------------------------------------------------------------


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
    "omp": "barrier|taskwait|taskyield|flush|scan|cancel|cancellation point|cancel for|cancellation point for"
    "|threadprivate|target update|target enter data|target exit data|declare simd|declare target"
    "|declare reduction|declare variant|declare mapper|requires|nothing|error|depobj|interop|allocate",
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
