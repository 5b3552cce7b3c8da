"""The clauses of OpenMP and OpenACC directives, from tokens to values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polylsp.model.directive import (
    Clause,
    Collapse,
    Condition,
    DefaultSharing,
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
)

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
