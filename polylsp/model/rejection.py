"""Rejections: reasons for an undecided loop as values, with a code, a place and a sentence for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polylsp.model.program import Site

RejectionCode = Literal[
    "non-affine-subscript",
    "non-affine-bound",
    "generic-iterable",
    "non-affine-condition",
    "data-dependent-exit",
    "data-dependent-value",
    "unknown-call",
    "callee-state",
    "may-alias",
    "pointer-arithmetic",
    "unknown-shape",
    "unsupported-type",
    "unsupported-statement",
    "volatile",
    "thread-local",
    "out-of-bounds",
    "irreducible-control",
    "infinite-loop",
    "syntax-error",
    "missing-header",
    "budget",
    "internal-error",
    "wrong-pragma",
]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Obstacle to a verdict.

    `message` is one sentence without compiler jargon that names the variable at fault; `advice` says how to
    remove the obstacle, or is empty.
    """

    code: RejectionCode
    site: Site
    message: str
    advice: str = ""
