"""Independent kernels: each group of them runs on a separate stream, so that a device computes one while it
receives the data of another."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.host_parameters import Host
from polylsp.targets.gpu.kernel_launch import sets_of
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.mapping import Kernel

STREAMS = "streams"
"""Name of the streams in the host function."""

_MOST = 4
"""Streams at most: one that computes, one that is sent to, one that is fetched from, and one to spare."""


@dataclass(frozen=True, eq=False)
class Group:
    """Kernels that are independent of all others, and the `buffers` that they alone use."""

    kernels: tuple[tuple[Kernel, Written], ...]
    buffers: tuple[Buffer, ...]


@dataclass
class _Growing:
    """A group while kernels come together: the names that they use and write."""

    kernels: list[tuple[Kernel, Written]]
    uses: set[str]
    writes: set[str]


def groups_of(host: Host) -> tuple[Group, ...]:
    """The groups of a host function's kernels, where there are several. Slabs of which one is on its way
    while another is computed have their streams for that."""
    if host.overlaps:
        return ()
    growing: list[_Growing] = []
    for kernel, made in host.kernels:
        one = _alone(host, kernel, made)
        touching = [each for each in growing if each.writes & one.uses or each.uses & one.writes]
        for each in touching:
            one.kernels = [*each.kernels, *one.kernels]
            one.uses |= each.uses
            one.writes |= each.writes
        growing = [*(each for each in growing if each not in touching), one]
    if len(growing) < 2:
        return ()
    order = [kernel for kernel, _ in host.kernels]
    growing.sort(key=lambda each: min(order.index(kernel) for kernel, _ in each.kernels))
    return tuple(_finished(host, each, growing) for each in growing)


def count_of(host: Host) -> int:
    """Number of streams of a host function."""
    if host.overlaps:
        return 2
    return min(_MOST, len(groups_of(host)))


def stream_of(number: int) -> str:
    """The stream of a group."""
    return f"{STREAMS}[{number % _MOST}]"


def _alone(host: Host, kernel: Kernel, made: Written) -> _Growing:
    leaves = {each.get_tuple_name() for each in sets_of(kernel.domain)}
    seen = [access for leaf, access in host.setting.shared if leaf.name in leaves]
    uses = {each.memory.variable.name for each in seen}
    # An array is copied before any kernel changes it.
    uses |= {b.variable.name for b in host.buffers if b.name in _copied(host, uses)}
    writes = {each.memory.variable.name for each in seen if each.kind == "write"}
    scratch = {made.total.scratch} if made.total is not None else set[str]()
    return _Growing([(kernel, made)], uses | scratch, writes | scratch)


def _copied(host: Host, uses: set[str]) -> set[str]:
    """The arrays of which some have copies."""
    return {b.of for b in host.buffers if b.variable.name in uses}


def _finished(host: Host, group: _Growing, every: list[_Growing]) -> Group:
    others = {name for each in every if each is not group for name in each.uses}
    kernels = tuple(each for each in host.kernels if each in group.kernels)
    own = (b for b in host.moving if b.variable.name in group.uses - others)
    return Group(kernels, tuple(own))
