"""Speed estimates for absent devices: a roofline (Williams, Waterman and Patterson, CACM 52 (4), 2009) with
launches and transfers. Always a range, as wide as the uncertainty about the kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, log

from polylsp.measuring.confined_program import footprint
from polylsp.model.measurement import DeviceWork, Estimate, Plan, Rung


@dataclass(frozen=True, slots=True)
class Device:
    """Data sheet of a device: operations with 64 and with 32 bits, and bytes of its memory, in a second;
    multiprocessors; bytes of memory."""

    name: str
    double: float
    single: float
    bandwidth: float
    processors: int
    memory: float


DEVICES = {
    each.name: each
    for each in (
        Device("RTX 4090", 1.29e12, 82.6e12, 1.008e12, 128, 24e9),
        Device("A100", 9.7e12, 19.5e12, 2.039e12, 108, 80e9),
        Device("H100", 33.5e12, 66.9e12, 3.35e12, 132, 80e9),
        Device("H200", 33.5e12, 66.9e12, 4.8e12, 132, 141e9),
    )
}
"""By name: a consumer's card, and the SXM modules of three generations, from the data sheets of NVIDIA."""


def device_named(words: str) -> str:
    """The name here of a device that its driver calls so; empty if it is none of these."""
    return next((name for name in DEVICES if name.split()[-1] in re.split(r"\W+", words)), "")


@dataclass(frozen=True, slots=True)
class _Ability:
    """The fractions of a device's peaks that kernels reach (of the bandwidth, more than all of it where data
    stay in the cache); the number of threads that saturate a multiprocessor; the seconds that a launch takes;
    bytes in a second between the device and pageable memory of the host."""

    operations: float
    bandwidth: float
    threads: int
    launch: float
    link: float


_GOOD, _POOR = _Ability(0.6, 1.3, 256, 2e-6, 25e9), _Ability(0.1, 0.4, 1024, 10e-6, 2e9)
"""Both ends of what kernels of PolyBench reached on an H100 (docs/cuda.md)."""


def estimated(plan: Plan, rung: Rung, seconds: float, name: str) -> tuple[Estimate, ...]:
    """Estimated speedups of a device over an original that takes so many seconds; none where the work is
    undetermined, or the device's memory is too small."""
    device, found = DEVICES.get(name), _interpolated(plan, rung)
    # Loops that do not run at these sizes are no work.
    kernels = [each for each in found if each.parallel and each.launches]
    if device is None or not kernels or footprint(plan, rung) > device.memory:
        return ()
    best = sum(_seconds(each, device, _GOOD, each.least_bytes) for each in kernels)
    worst = sum(_seconds(each, device, _POOR, each.most_bytes) for each in kernels)
    # What is read goes there once; what is written comes back too, and counts twice in the footprint.
    moved = footprint(plan, rung)
    most, least = worst + moved / _POOR.link, best + moved / _GOOD.link
    ends = seconds / worst, seconds / best, seconds / most, seconds / least
    return (Estimate(device.name, *ends),)


def _seconds(work: DeviceWork, device: Device, ability: _Ability, moved: float) -> float:
    busy = min(1.0, work.parallel / (device.processors * ability.threads))
    peak = device.double if work.bits > 32 else device.single
    computing = work.operations / (peak * ability.operations * busy)
    moving = moved / (device.bandwidth * ability.bandwidth * busy)
    return work.launches * ability.launch + max(computing, moving)


def _interpolated(plan: Plan, rung: Rung) -> tuple[DeviceWork, ...]:
    """Work at some sizes, interpolated between the neighbouring sizes with a workload: it grows as a power
    does."""
    at = next((k for k, each in enumerate(plan.rungs) if each == rung), None)
    before = [each for each in plan.workloads if at is not None and each[0] <= at]
    after = [each for each in plan.workloads if at is not None and each[0] >= at]
    if at is None or not before or not after:
        return ()
    (low, first), (high, last) = before[-1], after[0]
    if low == high or not plan.rungs[low].instances:
        return first
    part = log(rung.instances / plan.rungs[low].instances)
    whole = log(plan.rungs[high].instances / plan.rungs[low].instances)
    share = part / whole if whole else 0.0
    return tuple(_between(a, b, share) for a, b in zip(first, last, strict=True))


def _between(one: DeviceWork, other: DeviceWork, share: float) -> DeviceWork:
    def mixed(a: float, b: float) -> float:
        return exp((1 - share) * log(a) + share * log(b)) if a > 0 and b > 0 else 0.0

    return DeviceWork(
        mixed(one.launches, other.launches),
        mixed(one.parallel, other.parallel),
        mixed(one.operations, other.operations),
        one.bits,
        mixed(one.least_bytes, other.least_bytes),
        mixed(one.most_bytes, other.most_bytes),
    )
