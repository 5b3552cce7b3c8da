"""What must be true of the arrays of a call: every subscript of the loops is one of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.memory import Buffer, plain_names
from polylsp.codegen.footprint import entered, touched
from polylsp.codegen.hull import Hull, hull
from polylsp.model.scop import Access


def inside(found: Launched, buffer: Buffer) -> Iterator[str]:
    """Conditions in Python that the subscripts of a buffer are in range, and count from the start."""
    accesses = [access for _, access in found.leaves.shared if access.memory is buffer.memory]
    if any(access.indirect for access in accesses):
        raise Unwritable(f"Subscripts of `{buffer.name}` are data, which may be out of range.")
    for k in range(len(buffer.memory.shape)):
        together = _ends(found, accesses, k)
        # What has no simple ends together may have them one by one.
        alone = [together] if together is not None else [_ends(found, [each], k) for each in accesses]
        for own in alone:
            if own is None:
                raise Unwritable(f"Which elements of `{buffer.name}` the loops use is not known before them.")
            yield from _within(own, f"{buffer.name}.shape[{k}]")


def _ends(found: Launched, accesses: Sequence[Access], dimension: int) -> Hull | None:
    region = found.region
    elements = touched(region.scop, accesses, region.place)
    where = entered(region.subject, region.scop, region.place)
    return hull(elements, dimension, plain_names(region), where)


def _within(own: Hull, length: str) -> Iterator[str]:
    end = own.count if own.first == "0" else f"{own.first} + {own.count}"
    if not own.first.isdigit():
        yield f"{own.first} >= 0"
    if end not in (length, f"{length} - 1 + 1"):
        yield f"{end} <= {length}"
