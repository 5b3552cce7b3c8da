"""Commands of the shell for the whole workspace, each in a process of its own: the ranking of its loops, with
a progress bar whose button ends it, and the tools of coding assistants.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from polylsp.core.project import REFUSED
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, read_file
from polylsp.launch import polylsp_command
from polylsp.measuring.remote import Step
from polylsp.server import convert
from polylsp.server.features.measuring_commands import NOT_TRUSTED
from polylsp.server.session import PolylspServer
from polylsp.server.worker import start_process

logger = logging.getLogger(__name__)

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
