"""Bounds checks on the arrays of a call: every subscript of the loops is within range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.naming import plain_names
from polylsp.codegen.footprint import entered, touched
from polylsp.codegen.hull import Hull, hull
from polylsp.codegen.pycuda.chosen import Chosen, chosen
from polylsp.model.scop import Access


def inside(found: Launched, buffer: Buffer) -> Iterator[str]:
    """Conditions in Python that the subscripts of a buffer are in range, and count from the start."""
    every = [access for _, access in found.leaves.shared if access.memory is buffer.memory]
    by_data = {id(a): {each.dimension for each in _chosen(found, buffer, a)} for a in every}
    for k in range(len(buffer.memory.shape)):
        accesses = [access for access in every if k not in by_data[id(access)]]
        if not accesses:
            continue
        together = _ends(found, accesses, k)
        # What has no simple ends together may have them one by one.
        alone = [together] if together is not None else [_ends(found, [each], k) for each in accesses]
        for own in alone:
            if own is None:
                raise Unwritable(f"Which elements of `{buffer.name}` the loops use is not known before them.")
            yield from _within(own, f"{buffer.name}.shape[{k}]")


def looked_up(found: Launched, buffer: Buffer) -> list[Chosen]:
    """The subscripts of a buffer that are elements of other arrays; raises `Unwritable`."""
    every = [access for _, access in found.leaves.shared if access.memory is buffer.memory]
    return list(dict.fromkeys(each for access in every for each in _chosen(found, buffer, access)))


def _chosen(found: Launched, buffer: Buffer, access: Access) -> list[Chosen]:
    own = chosen(found, access) if access.indirect else []
    if own is None:
        raise Unwritable(f"Subscripts of `{buffer.name}` are data, which may be out of range.")
    return own


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
