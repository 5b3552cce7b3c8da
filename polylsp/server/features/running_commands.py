"""Commands that run programs: those that are measured, and commands of the shell for the whole workspace."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams
from pygls.uris import from_fs_path

from polylsp.core.project import REFUSED
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, read_file
from polylsp.ide.lookup import loop_by_number
from polylsp.ide.measured import best_object, is_wrong, measured_label, measured_object
from polylsp.ide.measurement_view import Kept, code_name
from polylsp.launch import polylsp_command
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
from polylsp.server.worker import start_process

logger = logging.getLogger(__name__)

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


# --------------------------------------------------------------------------------------------------
# Commands of the shell for the whole workspace, each in a process of its own: the ranking of its loops,
# and the tools of coding assistants.
# --------------------------------------------------------------------------------------------------

_OPTIONS = {"include_paths": "-I", "defines": "-D"}
"""Settings whose values may have commas in them."""


async def rank(ls: PolylspServer, data: Any) -> convert.Json:
    """The output of `polylsp report --format json` on the folders of the workspace as they are on disk, by
    the samples of the file `profile` if it is given, with the `uri` of each loop's file; or the `reason` why
    there is none, which the user is shown too."""
    given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    profile = given.get("profile")
    folders = [str(each) for each in ls.folders.values()]
    if not folders:
        return _refused(ls, "Open a folder: the report ranks the loops of all of its files.")
    settings = ls.settings_at(f"{folders[0]}/a.c") if len(folders) == 1 else ls.settings
    bar = await ls.measurements.bar("Ranking the loops of the workspace", shown=ls.client.progress)
    bar.report(Step(0, "analysing its files"))
    try:
        with_profile = ["--profile", profile] if isinstance(profile, str) else []
        return await _ranked(ls, [*_options(settings), *with_profile, "--", *folders])
    except asyncio.CancelledError:
        return {"reason": "cancelled"}
    finally:
        ls.measurements.end(bar)


async def call_tool(ls: PolylspServer, data: Any) -> convert.Json:
    """The `answer` of a `tool` of `polylsp mcp`, called with `arguments` for files as they are on disk, or
    the `reason` why there is none. The client has the user's consent to `write` files or to `measure`."""
    given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    tool, arguments = given.get("tool"), given.get("arguments")
    if not isinstance(tool, str) or not isinstance(arguments, Mapping):
        raise JsonRpcInvalidParams("A tool needs its name as `tool` and its `arguments`")
    path = str(cast("Mapping[str, Any]", arguments).get("path", "."))
    folder = _folder_of(ls, path)
    if folder is None:
        return {"reason": "No folder is open."}
    if given.get("measure") and not ls.measurements.is_trusted:
        return {"reason": NOT_TRUSTED}
    if given.get("write") and _is_unsaved(ls, folder / path):
        return {"reason": f"{path} has changes that are not saved: save it first."}
    consents = [f"--{each}" for each in ("write", "measure") if given.get(each) is True]
    options = [*_options(ls.settings_at(str(folder / path)), runs=given.get("measure") is True)]
    try:
        found = await _output(
            ["mcp", "--call", tool, *consents, "--", str(folder)],
            {"arguments": arguments, "options": options},
        )
    except NoOutput as failure:
        return {"reason": str(failure)}
    except asyncio.CancelledError:
        return {"reason": "cancelled"}
    if "refused" in found:
        return {"reason": found["refused"]}
    stale = "This is about the file on disk: it has changes that are not saved.\n\n"
    return {"answer": (stale if _is_unsaved(ls, folder / path) else "") + found["answer"]}


def _folder_of(ls: PolylspServer, path: str) -> Path | None:
    """The folder of the workspace that has a path in it, or else the first."""
    folders = [*ls.folders.values()]
    return next((each for each in folders if _has(each, path)), folders[0] if folders else None)


def _has(folder: Path, path: str) -> bool:
    try:
        return (folder / path).is_relative_to(folder) and (folder / path).exists()
    except (OSError, ValueError):
        return False


def _is_unsaved(ls: PolylspServer, path: Path) -> bool:
    """True if a document of the editor has another text than its file."""
    document = next((each for each in ls.documents.values() if Path(each.path) == path.absolute()), None)
    if document is None:
        return False
    if document.path.endswith(".ipynb"):
        return False
    try:
        stored = decode(read_file(path, ls.settings_of(document).max_file_mb))
    except (OSError, ValueError):
        return True
    return stored.split() != document.source.text.split()


async def _ranked(ls: PolylspServer, arguments: Sequence[str]) -> convert.Json:
    try:
        found = await _output(["report", "--format", "json", *arguments])
    except NoOutput as failure:
        return _refused(ls, f"There is no report: {failure}", types.MessageType.Error)
    for each in (*found["loops"], *found["hot"]):
        each["uri"] = from_fs_path(each["path"])
    return found


class NoOutput(Exception):
    """A command that ended without the JSON that was expected; the message is its last complaint."""


async def _output(arguments: Sequence[str], given: object = None) -> dict[str, Any]:
    """JSON that a command of the shell prints, with JSON on its standard input; raises `NoOutput`."""
    process = await start_process(*polylsp_command(), *arguments)
    try:
        out, err = await process.communicate(json.dumps(given).encode() if given is not None else None)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    lines = err.decode(errors="replace").strip().splitlines()
    for line in lines:
        logger.info("%s: %s", arguments[0], line)
    try:
        return json.loads(out)
    except ValueError:
        raise NoOutput(lines[-1] if lines else "its process ended") from None


def _refused(
    ls: PolylspServer, reason: str, kind: types.MessageType = types.MessageType.Info
) -> convert.Json:
    ls.tell_user(reason, kind)
    return {"reason": reason}


def _options(settings: Settings, *, runs: bool = False) -> Iterator[str]:
    """Settings as options of the command line; those about programs that are run only if it `runs` any."""
    default = Settings()
    for each in fields(Settings):
        value = getattr(settings, each.name)
        if value == getattr(default, each.name):
            continue
        if not runs and any(name in each.metadata for name in REFUSED):
            continue
        if each.name in _OPTIONS:
            yield from (word for one in value for word in (_OPTIONS[each.name], one))
        else:
            yield from ("--setting", f"{each.name}={_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
