"""`polylsp mcp`: the analysis as tools of a coding assistant, by the Model Context Protocol on stdio.

Each tool runs the command of the same name in a process of its own, so that limits, confinement and refusals
are those of the command line. Files outside of the folder that the server was started for are refused. Edits
are written, and programs run, only where the person who configured the server said so.

With `--call` one tool is called without the protocol and the package `mcp`: for editors that offer the tools
to their assistants themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, cast, get_type_hints

import polylsp
from polylsp.cli.output import Exit, Misused, write_json
from polylsp.launch import polylsp_command

_SECONDS = 600.0
_MOST_CHARACTERS = 60_000
"""Characters of an answer: assistants pay for each."""

_INSTRUCTIONS = (
    "polylsp proves which loops of C and Python can run in parallel, and gives two iterations that conflict"
    " where they cannot. `parallel` and `reduction` are proven under the conditions listed; `unknown` means"
    " neither is proven. Check before you write OpenMP or Numba, and let `apply` make the edit."
)


class Refused(Exception):
    """Request that the server does not carry out; the message is for the assistant."""


class Tools:
    """The tools of a server for one folder. `writes` and `measures`: consent of the person who started it;
    `options` go to each command."""

    def __init__(self, root: Path, *, writes: bool, measures: bool, options: Sequence[str] = ()) -> None:
        self._root, self._writes, self._measures = root.resolve(), writes, measures
        self._options = tuple(options)

    def check(self, path: str = ".", every_loop: bool = False) -> str:
        """Report which loops of a C or Python file (or a folder) can run in parallel, which cannot and why;
        races of OpenMP and OpenACC directives are errors. `every_loop` reports inner loops too."""
        level = ["--setting", "findings=all"] if every_loop else []
        return self._run("check", [*level, self._inside(path)], has_errors=True)

    def report(self, path: str = ".") -> str:
        """Rank the loops of a folder by what running them in parallel would gain, by estimated work."""
        return self._run("report", [self._inside(path)])

    def explain(self, path: str, line: int) -> str:
        """Give the verdict on the loop around a line (from 1) with its evidence: dependences, two iterations
        that conflict, assumptions, transforms."""
        return self._run("explain", [self._place(path, line)])

    def actions(self, path: str, line: int) -> list[dict[str, Any]]:
        """List the edits that can be made of the loop on a line (from 1): `action` for `apply`, title,
        conditions it rests on, and the reason why an action is unavailable."""
        from polylsp.cli import parser
        from polylsp.cli.files import Unreadable
        from polylsp.cli.one_file import offered

        place = self._place(path, line)
        options = parser().parse_args(["explain", *self._options, place])
        try:
            listed = offered(options.place.path, line - 1, options)
        except Unreadable as problem:
            raise Refused(str(problem)) from problem
        if listed is None:
            raise Refused(f"{place}: there is no such line")
        return [
            {
                "action": each.ask.action,
                "title": each.title,
                "preferred": each.preferred,
                "conditional": each.conditional,
                "unavailable": each.disabled or None,
            }
            for each in listed
        ]

    def apply(self, path: str, line: int, action: str, write: bool = False) -> str:
        """Make the edit of an action (`openmp`, `cuda`, `numba`, `skew`, … as `actions` lists them) on the
        loop of a line: a unified diff, or with `write` in the file, and the conditions it rests on."""
        from polylsp.cli import TARGETS, TRANSFORMS

        if action not in (*TARGETS, *TRANSFORMS):
            raise Refused(f"There is no action {action!r}: {', '.join((*TARGETS, *TRANSFORMS))}.")
        if write and not self._writes:
            raise Refused("This server writes no files: start it with --write, or apply the diff yourself.")
        kind = "--target" if action in TARGETS else "--transform"
        outcome = "--write" if write else "--diff"
        return self._run("offload", [kind, action, outcome, self._place(path, line)])

    def measure(self, path: str, line: int, sizes: dict[str, int] | None = None) -> str:
        """Build the function around a line and its parallel versions, run them on generated data in a
        sandbox, check that results agree, and report speedups. `sizes` sets parameters, as {"n": 2000}."""
        if not self._measures:
            raise Refused("This server runs no programs: start it with --measure to allow that.")
        given = [word for name, size in (sizes or {}).items() for word in ("--set", f"{name}={size}")]
        return self._run("measure", [*given, self._place(path, line)], has_errors=True)

    def _place(self, path: str, line: int) -> str:
        return f"{self._inside(path)}:{line}"

    def _inside(self, path: str) -> str:
        """The path from the folder of the server; links are followed before it is judged."""
        found = (self._root / path).resolve()
        if found != self._root and self._root not in found.parents:
            raise Refused(f"{path} is outside of {self._root}, the folder that this server was started for.")
        inside = os.fspath(found.relative_to(self._root))
        return f"./{inside}" if inside.startswith("-") else inside

    def _run(self, command: str, arguments: Sequence[str], *, has_errors: bool = False) -> str:
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
        try:
            ended = subprocess.run(
                [*polylsp_command(), command, *self._options, *arguments],
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise Refused(f"polylsp {command} took more than {_SECONDS:.0f} s.") from late
        out, err = (each.decode(errors="replace").strip() for each in (ended.stdout, ended.stderr))
        if ended.returncode not in (Exit.DONE, *([Exit.ERRORS] if has_errors else [])):
            raise Refused(err or out or f"polylsp {command} ended with status {ended.returncode}")
        text = "\n\n".join(each for each in (out, err) if each) or "Nothing to report."
        return (
            text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n… (cut; ask for one file)"
        )


TOOLS: Mapping[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (Tools.check, Tools.report, Tools.explain, Tools.actions, Tools.measure, Tools.apply)
}
"""The tools, by the name that assistants use."""


def run(options: argparse.Namespace) -> int:
    """Serves the tools until the client closes its end, or calls one of them."""
    root = Path(options.folder)
    if not root.is_dir():
        raise Misused(f"{root} is no folder")
    os.chdir(root)
    return _call(options) if options.call else _serve(options)


def _call(options: argparse.Namespace) -> int:
    """Calls one tool with the `arguments` of a JSON object on standard input, and the `options` that its
    command gets; prints a JSON object with the `answer`, or the reason why it is `refused`."""
    signal.signal(signal.SIGTERM, _leave)
    try:
        given: dict[str, Any] = json.load(sys.stdin)
        words, arguments = [str(each) for each in given.get("options", ())], dict(given["arguments"])
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise Misused('standard input has no JSON object {"arguments": {…}}') from wrong
    tools = Tools(Path(), writes=options.write, measures=options.measure, options=words)
    try:
        answer = TOOLS[options.call](tools, **_checked(options.call, arguments))
    except Refused as refused:
        write_json({"refused": str(refused)})
    else:
        write_json({"answer": answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)})
    return Exit.DONE


def _leave(_signal: int, _frame: object) -> None:
    """Ends the running command, too: `subprocess.run` kills it when it is left."""
    sys.exit(Exit.INTERRUPTED)


def _checked(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, if the tool takes these; raises `Refused`."""
    try:
        signature(TOOLS[tool]).bind(None, **arguments)
    except TypeError as wrong:
        raise Refused(f"{tool}: {wrong}") from wrong
    hints = get_type_hints(TOOLS[tool])
    for name, value in arguments.items():
        if not _is_of(value, hints[name]):
            raise Refused(f"{tool}: `{name}` cannot be {value!r}.")
    return arguments


def _is_of(value: Any, hint: Any) -> bool:
    if hint in (str, bool, int):
        return type(value) is hint
    return value is None or (isinstance(value, dict) and {*map(type, cast(Any, value).values())} <= {int})


def _serve(options: argparse.Namespace) -> int:
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as missing:
        raise Misused("`polylsp mcp` needs the package `mcp`: pip install 'polylsp[mcp]'") from missing
    tools = Tools(Path(), writes=options.write, measures=options.measure)
    server: MCPServer[Any] = MCPServer("polylsp", instructions=_INSTRUCTIONS, version=polylsp.__version__)

    def refusing(tool: Callable[..., Any]) -> Callable[..., Any]:
        """The tool, with refusals as the errors that an assistant reads."""

        @wraps(tool)
        def called(*args: Any, **arguments: Any) -> Any:
            try:
                return tool(*args, **arguments)
            except Refused as refused:
                raise ToolError(str(refused)) from refused

        return called

    for name in TOOLS:
        reads = name != "apply" or not options.write
        annotations = ToolAnnotations(read_only_hint=reads, open_world_hint=False)
        server.add_tool(refusing(getattr(tools, name)), annotations=annotations)
    server.run("stdio")
    return Exit.DONE
