"""Which schedule a region gets, and with it its kernels."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polylsp.codegen.cuda.launch import maps_of
from polylsp.codegen.cuda.leaves import Leaves
from polylsp.codegen.cuda.mapping import Kernel, kernels, respects
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.schedule import Strategy, dependences, domain_of, scheduled
from polylsp.codegen.cuda.segments import varies
from polylsp.codegen.cuda.sums import sum_of
from polylsp.model.action import Declined
from polylsp.settings import Settings


def chosen_kernels(region: Region, found: Leaves, settings: Settings) -> tuple[Kernel, ...] | Declined:
    """The kernels of a region, by the strategy that is set or, if that is left open, by the one with which
    the longest chain of steps, one after the other, is shortest."""
    if domain_of(found).is_empty():
        return Declined(f"The loop in line {region.subject.line_number(region.last.site)} never runs.")
    pairs = dependences(region, found)
    best: tuple[Kernel, ...] = ()
    left = settings.cuda_fusion not in FUSIONS
    for strategy in _strategies(settings):
        schedule = scheduled(region, found, pairs, strategy)
        made = kernels(schedule) if schedule is not None else ()
        if made and respects(made, pairs) and (not best or _steps(made, found) < _steps(best, found)):
            best = made
        if best and (not left or _steps(best, found)[0] < 2):
            break
    if not best:
        return Declined("isl's scheduler finds no order of these loops for a GPU.")
    if not any(kernel.parallel or sum_of(kernel, found) is not None for kernel in best):
        line = region.subject.line_number(region.last.site)
        return Declined(f"No iterations of the loop in line {line} can run at once.")
    return best


FUSIONS: tuple[Strategy, ...] = ("min", "max", "maximal-band")
"""What can be set."""


def _strategies(settings: Settings) -> tuple[Strategy, ...]:
    """What is tried, in this order."""
    for each in FUSIONS:
        if each == settings.cuda_fusion:
            return each, "feautrier"
    return "maximal-band", "min", "feautrier"


def _steps(made: Sequence[Kernel], found: Leaves) -> tuple[int, int, int]:
    """How many loops are around what runs one after the other, at most (loops of one thread count once more);
    how many of these are the host's; and the number of kernels."""
    longest = max(each.counters + _loops(each, found) for each in made)
    return longest, max(each.counters for each in made), len(made)


def _loops(kernel: Kernel, found: Leaves) -> int:
    """How many loops a thread has."""
    if sum_of(kernel, found) is not None:
        return 0
    inside = list(maps_of(kernel.schedule.intersect_domain(kernel.domain)))
    dimensions = range(kernel.parallel, max(each.dim(isl.dim_type.out) for each in inside))
    count = sum(any(varies(each, k) for each in inside) for k in dimensions)
    return count + (count > 0 and not kernel.parallel)
