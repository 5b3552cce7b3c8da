"""Verdicts in a few words, for the end of a line or a list."""

from __future__ import annotations

from typing_extensions import assert_never

from polylsp.ide import wording
from polylsp.model.verdict import Assumption, Parallel, Sequential, Unknown, Verdict

_LIMIT = 60

_CONDITIONS = {
    "no-overlap": "no overlap",
    "distinct-values": "values distinct",
    "in-bounds": "in bounds",
    "no-overflow": "no overflow",
    "distinct-rows": "rows distinct",
    "no-wrap": "no wrap-around",
    "not-taken": "no output or exit",
    "other": "…",
}


def verdict_label(verdict: Verdict, obstacle: str = "") -> str:
    """A verdict in a few words; `obstacle` is the access that a sequential loop waits for."""
    match verdict:
        case Parallel():
            return _cut(_parallel(verdict))
        case Sequential():
            return _cut(f"sequential: {obstacle}") if obstacle else "sequential"
        case Unknown(would_help=would_help):
            return _cut(f"unknown: {_condition(would_help)}?") if would_help else "unknown"
        case _:
            assert_never(verdict)


def _parallel(verdict: Parallel) -> str:
    label = "parallel"
    if verdict.reductions:
        label = ", ".join(f"reduction({each.operator}: {each.variable})" for each in verdict.reductions)
    elif verdict.private or verdict.lastprivate:
        label = f"parallel, private({', '.join((*verdict.private, *verdict.lastprivate))})"
    if verdict.assumptions:
        label = f"{label} if {_condition(verdict.assumptions)}"
    return label


def _condition(assumptions: tuple[Assumption, ...]) -> str:
    kinds = dict.fromkeys(_CONDITIONS[assumption.kind] for assumption in assumptions)
    return wording.listing(list(kinds))


def _cut(label: str) -> str:
    return label if len(label) <= _LIMIT else label[: _LIMIT - 1] + "…"
