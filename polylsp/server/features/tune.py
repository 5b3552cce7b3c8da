"""The command that looks for the fastest version of a function."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from pygls.exceptions import JsonRpcContentModified

from polylsp.ide.measured_json import best_object
from polylsp.model.action import Declined
from polylsp.model.measurement import AskToMeasure, Figure, Measurement, NoPlan, NotMeasured, Plan
from polylsp.runtime.process import Step
from polylsp.runtime.search import CANDIDATES, best_of, of_kernels, searched
from polylsp.runtime.tuned import worth_keeping
from polylsp.server import convert
from polylsp.server.documents import Document
from polylsp.server.features.measure import Named, in_turn, named, remember, told
from polylsp.server.measurements import Bar
from polylsp.server.session import PolylspServer


async def tune(ls: PolylspServer, data: Any) -> convert.Json:
    """Look for the fastest version of the function of a loop, named as for measuring. Its settings are
    remembered, also where the search is cancelled after one was found."""
    return await in_turn(ls, data, "Tuning", _tuned)


@dataclass(slots=True)
class _Shown:
    """A progress bar that stores the fastest version reported to it."""

    bar: Bar
    best: Figure | None = None

    def report(self, step: Step) -> None:
        self.best = step.best or self.best
        self.bar.report(step)


async def _tuned(ls: PolylspServer, document: Document, ask: AskToMeasure, bar: Bar) -> convert.Json:
    loop = await named(document, ask)
    plan = await _plan(ls, document, replace(ask, starts=loop.starts), bar)
    if isinstance(plan, NoPlan):
        return told(ls, NotMeasured(plan.reason))
    shown = _Shown(bar)
    try:
        settings, folders = ls.settings_of(document), ls.folders.values()
        outcome = await ls.measurements.carried_out(plan, settings, folders, shown.report)
        if isinstance(outcome, Measurement):
            shown.best = best_of(outcome.figures)
            remember(ls, document, loop, outcome)
            _keep(ls, document, loop, plan, outcome.figures)
    except asyncio.CancelledError:
        if shown.best is not None:
            _keep(ls, document, loop, plan, (shown.best,))
        raise
    return {**told(ls, outcome, document.path, loop), "best": best_object(shown.best)}


async def _plan(ls: PolylspServer, document: Document, ask: AskToMeasure, bar: Bar) -> Plan | NoPlan:
    """The versions that the user's settings make, and those that others do."""
    plans: list[Plan | NoPlan] = []
    tried = ((), *CANDIDATES, *of_kernels(ls.settings_of(document)))
    for number, parameters in enumerate(tried):
        bar.report(Step(number, f"making version {number + 1}"))
        made = await ls.jobs.ask(document, replace(ask, parameters=parameters))
        if made is None:
            raise JsonRpcContentModified("The text changed")
        plans.append(NoPlan(made.reason) if isinstance(made, Declined) else made)
        if isinstance(plans[0], NoPlan):
            return plans[0]
    own, *others = plans
    assert isinstance(own, Plan)
    return searched(own, others)


def _keep(
    ls: PolylspServer, document: Document, loop: Named, plan: Plan, figures: tuple[Figure, ...]
) -> None:
    ls.tunings.keep(document, plan.function, worth_keeping(plan, loop.code, figures))
