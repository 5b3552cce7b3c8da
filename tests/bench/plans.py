"""Measurement of the kernels of samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, measurable
from polylsp.model.action import ActionName
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan

_USUAL = Settings()


def planned(
    path: Path,
    text: str,
    sizes: Mapping[str, int],
    targets: tuple[ActionName, ...] = (),
    settings: Settings = _USUAL,
) -> Plan | NoPlan:
    """A plan for the kernel of a sample, at some sizes or at those that a person would get, for some targets
    or for all."""
    report = analyse(str(path), text, settings, schedules=False)
    placed = next(p for p in report.functions if p.answer.facts.name.startswith("kernel_"))
    wanted = AskToMeasure(placed.answer.facts.name, placed.start, 0, tuple(sizes.items()), targets)
    return measurable(str(path), text, settings, wanted)
