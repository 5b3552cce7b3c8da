"""Upper limits of sizes, so that no counter of a kernel overflows an `int`."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.leaves import Leaf

LARGEST = 1 << 30
"""Limit where counters are the user's, and never added to."""

SMALLER = (1 << 26, 1 << 24, 1 << 22, 1 << 20, 1 << 18, 1 << 14)
"""Limits where a kernel computes sums of the user's counters: the first with which none of these is large."""

_COUNTED = (1 << 31) - (1 << 28)
"""Limit of counters: threads look for further iterations after the last one, as far on as all blocks of a
launch reach, which are 65535 of 1024 threads with four values each at most."""


def largest(leaves: Iterable[Leaf], candidates: Iterable[int]) -> int:
    """The first of some limits on sizes with which all counters stay small; raises `Unwritable`."""
    domains = [leaf.domain for leaf in leaves]
    for each in candidates:
        if all(_stays_small(domain, each) for domain in domains):
            return each
    raise Unwritable("A counter may be larger than a GPU's whole numbers.")


def _stays_small(domain: isl.Set, limit: int) -> bool:
    """True if counters stay small while the parameters of their bounds do."""
    for k in range(domain.dim(isl.dim_type.param)):
        bound = isl.Val(limit)
        domain = domain.upper_bound_val(isl.dim_type.param, k, bound)
        domain = domain.lower_bound_val(isl.dim_type.param, k, bound.neg())
    counters = range(domain.dim(isl.dim_type.set))
    values = [each for k in counters for each in (domain.dim_max_val(k), domain.dim_min_val(k))]
    return domain.is_empty() or all(v.is_int() and abs(v.to_python()) < _COUNTED for v in values)
