"""All nests of a function on the device, independent of the language that calls the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.region import Region, loops_at, region_of, regions_of
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined


class OnDevice(Protocol):
    """A region on the device."""

    @property
    def launched(self) -> Launched:
        """Kernels of the nest."""
        ...


M = TypeVar("M", bound=OnDevice)


def made_of(
    subject: Subject, make: Callable[[Region, frozenset[str]], M | Declined]
) -> tuple[list[M], list[str]] | Declined:
    """Results of `make` for a function's regions, given the names that are taken, and the reasons for those
    that fail; nests that follow one another share the memory on the device."""
    found: list[M] = []
    reasons: list[str] = []
    left = regions_of(subject)
    while left:
        region, *left = left
        taken = frozenset(each.launched.name for each in found)
        one = make(region, taken) if isinstance(region, Region) else region
        if not isinstance(one, Declined):
            found.append(one)
        elif isinstance(region, Region) and len(loops_at(region.statements)) > 1:
            # What they cannot do together, they may one by one.
            left = [*(region_of(subject, each.ordinal) for each in loops_at(region.statements)), *left]
        else:
            reasons.append(one.reason)
    if found:
        return found, reasons
    return Declined(
        reasons[0] if reasons else f"No loop of `{subject.function.name}` is known to be parallel."
    )
