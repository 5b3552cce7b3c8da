"""Commands that measure a loop and search for the fastest version of a function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from polylsp.ide.lookup import loop_by_number
from polylsp.ide.measured import best_object, is_wrong, measured_label, measured_object
from polylsp.ide.measurement_view import Kept, code_name
from polylsp.measuring.remote import Step
from polylsp.measuring.stored_figures import worth_keeping
from polylsp.measuring.trials import CANDIDATES, best_of, of_kernels, searched
from polylsp.model.action import Declined
from polylsp.model.measurement import AskToMeasure, Figure, Measurement, NoPlan, NotMeasured, Outcome, Plan
from polylsp.server import convert
from polylsp.server.documents import Document
from polylsp.server.features.decorations import PATIENCE_OF_A_PERSON, fresh
from polylsp.server.measurements import Bar
from polylsp.server.session import PolylspServer

NOT_TRUSTED = "Nothing is built or run in a folder that you do not trust."


Doing = Callable[[PolylspServer, Document, AskToMeasure, Bar], Awaitable[convert.Json]]


@dataclass(frozen=True, slots=True)
class Named:
    """A loop that is there: its function's offset, a name for the code of that, and its line, from 1; in a
    notebook that of its `cell`, from 0."""

    function: str
    ordinal: int
    starts: int
    code: str
    line: int
    cell: int | None


async def measure(ls: PolylspServer, data: Any) -> convert.Json:
    """Measure a loop, named by `uri`, `function` and `ordinal`; `sizes` may say how large, and is remembered.
    Answers with the output of `polylsp measure`, or the reason why there is none; or, to a client that `asks`
    the user, with the names of the sizes that nothing in the file gives, as `asks`."""
    return await in_turn(ls, data, "Measuring", _measured)


async def in_turn(ls: PolylspServer, data: Any, doing: str, do: Doing) -> convert.Json:
    """Do something that runs programs, with a progress bar, when nothing else does."""
    document, ask = _asked(ls, data)
    if not ls.measurements.is_trusted:
        return told(ls, NotMeasured(NOT_TRUSTED))
    bar = await ls.measurements.bar(f"{doing} {ask.function}", shown=ls.client.progress)
    try:
        await ls.measurements.turn()
        try:
            sized = await _sized(ls, document, ask, data)
            return await do(ls, document, sized, bar) if isinstance(sized, AskToMeasure) else sized
        finally:
            ls.measurements.done()
    except asyncio.CancelledError:
        return {"reason": "cancelled"}
    finally:
        ls.measurements.end(bar)


async def _sized(
    ls: PolylspServer, document: Document, ask: AskToMeasure, data: Mapping[str, Any]
) -> AskToMeasure | convert.Json:
    """The request with the sizes that the user gave before, where neither it nor the file gives any; or the
    question for these."""
    if "sizes" in data:
        ls.measurements.keep_sizes(document, ask.function, ask.sizes)
        return ask
    remembered = ls.measurements.sizes_of(document).get(ask.function)
    if remembered == () or (remembered is None and data.get("asks") is not True):
        return ask
    loop = await named(document, ask)
    plan = await ls.jobs.ask(document, replace(ask, starts=loop.starts))
    if not isinstance(plan, Plan) or plan.given or plan.usual is not None or not plan.names:
        return ask
    if remembered is None:
        return {"asks": list(plan.names)}
    return replace(ask, sizes=tuple(each for each in remembered if each[0] in plan.names))


async def named(document: Document, ask: AskToMeasure) -> Named:
    """The requested loop, in the text as it is now."""
    report = await fresh(document, PATIENCE_OF_A_PERSON)
    found = loop_by_number(report, ask.function, ask.ordinal) if report is not None else None
    if report is None or found is None:
        raise JsonRpcContentModified("There is no such loop any more")
    placed, loop = found
    code = code_name(document.source, report, placed)
    header = placed.span(loop.header).start
    line = document.source.number(document.source.line_of(header))
    return Named(ask.function, ask.ordinal, placed.start, code, line, document.source.cell(header))


async def _measured(ls: PolylspServer, document: Document, ask: AskToMeasure, bar: Bar) -> convert.Json:
    loop = await named(document, ask)
    settings = ls.settings_of(document)
    plan = await ls.jobs.ask(document, replace(ask, starts=loop.starts))
    if plan is None:
        raise JsonRpcContentModified("The text changed")
    if isinstance(plan, (Declined, NoPlan)):
        return told(ls, NotMeasured(plan.reason))
    outcome = await ls.measurements.carried_out(plan, settings, ls.folders.values(), bar.report)
    if isinstance(outcome, Measurement):
        remember(ls, document, loop, outcome)
    return told(ls, outcome, document.path, loop)


def remember(ls: PolylspServer, document: Document, loop: Named, found: Measurement) -> None:
    """Keep a measurement, and show it."""
    ls.measurements.keep(document, (loop.function, loop.ordinal), Kept(loop.code, found))
    ls.measured(document)


def told(ls: PolylspServer, outcome: Outcome, path: str = "", loop: Named | None = None) -> convert.Json:
    """Show messages beyond the figures, and return the answer."""
    if isinstance(outcome, NotMeasured):
        kind = types.MessageType.Error if outcome.is_error else types.MessageType.Info
        ls.tell_user(outcome.reason, kind)
        return {"reason": outcome.reason}
    if is_wrong(outcome):
        wrong = next(each.reason for each in outcome.missing if each.is_error)
        ls.tell_user(f"An edit of polylsp does something else than `{outcome.function}`: {wrong}")
    elif not ls.client.refreshes_hints:
        ls.tell_user(f"{outcome.function}: {measured_label(outcome)}", types.MessageType.Info)
    assert loop is not None
    return measured_object(path, loop.line, outcome, loop.cell)


def _asked(ls: PolylspServer, data: Any) -> tuple[Document, AskToMeasure]:
    known: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    document = ls.document_of(str(known.get("uri", "")))
    function, ordinal, sizes = known.get("function"), known.get("ordinal"), known.get("sizes") or {}
    is_right = isinstance(function, str) and isinstance(ordinal, int) and isinstance(sizes, Mapping)
    if document is None or not is_right or not all(isinstance(each, int) for each in sizes.values()):
        raise JsonRpcInvalidParams("Measuring needs the `uri` of an open document, `function`, `ordinal`")
    given = tuple((str(name), int(value)) for name, value in sizes.items())
    return document, AskToMeasure(str(function), 0, int(str(ordinal)), given)


# --------------------------------------------------------------------------------------------------
# The command that looks for the fastest version of a function.
# --------------------------------------------------------------------------------------------------


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
