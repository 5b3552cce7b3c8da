"""The command that ranks the loops of the workspace: `polylsp report` in a process of its own, with a
progress bar whose button ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from lsprotocol import types
from pygls.uris import from_fs_path

from polylsp.core.project import REFUSED
from polylsp.core.settings import Settings
from polylsp.launch import polylsp_command
from polylsp.measuring.remote import Step
from polylsp.server import convert
from polylsp.server.session import PolylspServer
from polylsp.server.worker import start_process

logger = logging.getLogger(__name__)

_OPTIONS = {"include_paths": "-I", "defines": "-D"}
"""Settings whose values may have commas in them."""


async def rank(ls: PolylspServer, _: object) -> convert.Json:
    """The output of `polylsp report --format json` on the folders of the workspace as they are on disk, with
    the `uri` of each loop's file; or the `reason` why there is none, which the user is shown too."""
    folders = [str(each) for each in ls.folders.values()]
    if not folders:
        return _refused(ls, "Open a folder: the report ranks the loops of all of its files.")
    settings = ls.settings_at(f"{folders[0]}/a.c") if len(folders) == 1 else ls.settings
    bar = await ls.measurements.bar("Ranking the loops of the workspace", shown=ls.client.progress)
    bar.report(Step(0, "analysing its files"))
    try:
        return await _ranked(ls, [*_options(settings), "--", *folders])
    except asyncio.CancelledError:
        return {"reason": "cancelled"}
    finally:
        ls.measurements.end(bar)


async def _ranked(ls: PolylspServer, arguments: Sequence[str]) -> convert.Json:
    process = await start_process(*polylsp_command(), "report", "--format", "json", *arguments)
    try:
        out, err = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    for line in err.decode(errors="replace").splitlines():
        logger.info("report: %s", line)
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        return _refused(ls, f"There is no report: {last or 'its process ended'}", types.MessageType.Error)
    for each in found["loops"]:
        each["uri"] = from_fs_path(each["path"])
    return found


def _refused(
    ls: PolylspServer, reason: str, kind: types.MessageType = types.MessageType.Info
) -> convert.Json:
    ls.tell_user(reason, kind)
    return {"reason": reason}


def _options(settings: Settings) -> Iterator[str]:
    """Settings as options of the command line, but for those about programs that are run."""
    default = Settings()
    for each in fields(Settings):
        value = getattr(settings, each.name)
        if value == getattr(default, each.name) or any(name in each.metadata for name in REFUSED):
            continue
        if each.name in _OPTIONS:
            yield from (word for one in value for word in (_OPTIONS[each.name], one))
        else:
            yield from ("--setting", f"{each.name}={_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
