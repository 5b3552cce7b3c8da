"""The site: pages of `docs/`, those about findings without their test markup, and pages that are generated.

`python tests/project/site_pages.py FOLDER` writes its sources, from which MkDocs builds it (`make docs`);
with `--write`, the generated pages of `docs/` anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polylsp.cli import main, parser
from polylsp.cli.man import commands_of
from polylsp.ide.code_pages import known_codes, page_summary, page_text
from polylsp.ide.diagnostics import SEVERITIES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_MARKUP = re.compile(r"[ \t]*(?://|#) (?:verdict|code|no-code|band|transform|problem):.*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!polylsp/ide/docs)[^)]*\)")
"""Links to files of the repository that are no pages."""


def commands_page() -> str:
    """`docs/commands.md`: the options of every command, from the parser of the command line."""
    return "\n".join(_commands()) + "\n"


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Generated from the command line, as `polylsp COMMAND --help`; [how to use them](terminal.md)."
    for name, command, words in commands_of(parser()):
        yield ""
        yield f"## {name}"
        yield ""
        yield f"`polylsp {name}`: {words}."
        options = [each for each in command._actions if each.dest != "help"]
        if options:
            yield ""
            yield "| option | meaning |"
            yield "|---|---|"
        for each in options:
            spelled = ", ".join(each.option_strings) or str(each.metavar or each.dest)
            choices = "|".join(map(str, each.choices)) if each.choices else str(each.metavar or "")
            value = f" {choices}" if each.option_strings and choices else ""
            text = f"{spelled}{value}".replace("|", "\\|")
            yield f"| `{text}` | {(each.help or '').replace('|', chr(92) + '|')} |"


def codes_page() -> str:
    """The list of findings, from their pages and their severities."""
    head = ["# Findings", "", "Generated from the pages that editors link to.", ""]
    return "\n".join([*head, "| code | severity | meaning |", "|---|---|---|", *_codes()]) + "\n"


def _codes() -> Iterator[str]:
    for code in sorted(known_codes()):
        words = _LINK.sub(r"\1", page_summary(code)).replace("|", "\\|")
        yield f"| [`{code}`](../polylsp/ide/docs/{code}.md) | {SEVERITIES.get(code, 'hint')} | {words} |"


# --------------------------------------------------------------------------------------------------
# `docs/json.md`: each key of the JSON output, with the values that it has for a program. A key that
# the commands print and that has no meaning here is an error, and so is a meaning without a key.
# --------------------------------------------------------------------------------------------------


_PROGRAM = """
void f(int n, double *x, double *y, double a[n][n], int *q, int *restrict h) {
    double t, s = 0;
    for (int i = 0; i < n; i++) { t = x[i]; y[i] = t; s += x[i]; }
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
    for (int i = 0; i < n; i++) { t = 2 * x[i]; y[q[i]] = t; }
    for (int i = 0, k = 0; i < n; i++, k += 2) h[k] = 0;
    for (int i = 0; i < n; i++) h[q[i]]++;
    for (int i = 0; i < n; i++) y[g(i)] = t;
    double most = 0; int at = 0;
    for (int i = 0; i < n; i++) if (x[i] > most) { most = x[i]; at = i; }
    h[at] = 0;
}
"""

_LEAVES = ("range", "iteration", "parameters", "verdicts", "unknown")
"""Objects that are explained as a whole: ranges, and those whose keys are names of the program."""

_RANGE = (
    "`start` and `end`, each with `line` and `character` from 0, in UTF-16 units as in LSP; in a notebook"
    " also the `cell`"
)

_NEST = {
    "function": "function that the nest stands in",
    "range": _RANGE,
    "loops": "`ordinal` of each loop of the nest",
}

_END = {
    "text": "the access as the source spells it",
    "access": "`read` or `write`",
    "range": _RANGE,
    "iteration": "value of each iterator",
}

_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "check": {
        "version": "version of this format; keys are added without a new one",
        "files": "the files that could be read; those that could not are named on stderr",
        "files.path": "path as it was given or found",
        "files.language": "`c` or `python`",
        "files.loops": "every loop of every function, in source order",
        "files.loops.function": "function that the loop stands in",
        "files.loops.ordinal": "number of the loop in its function, from 1",
        "files.loops.kind": "`for`, `while` or `do`",
        "files.loops.iterator": "iterator; null where there is none",
        "files.loops.depth": "1 for an outermost loop",
        "files.loops.range": f"the header: {_RANGE}",
        "files.loops.verdict": "`parallel`, `reduction`, `sequential` or `unknown`",
        "files.loops.assumptions": "conditions under which the verdict holds",
        "files.loops.private": "variables of which each iteration needs its own copy",
        "files.loops.lastprivate": "those of them whose last value is needed after the loop",
        "files.loops.reductions": "reductions, which may be reassociated",
        "files.loops.reductions.operator": "`+`, `*`, `min`, `max`, `&`, `\\|`, `^`, `&&` or `\\|\\|`",
        "files.loops.reductions.variable": "variable or array that is reduced to",
        "files.loops.reductions.with": (
            "variables that keep what belongs to a minimum or maximum, such as its position; only where"
            " there are any"
        ),
        "files.loops.inductions": "those among `private` that are computed from the number of the iteration",
        "files.loops.inductions.variable": "the variable",
        "files.loops.inductions.step": "what an iteration adds to it; empty where loops inside change it",
        "files.loops.witness": "of a sequential loop, two accesses that conflict; else null",
        "files.loops.witness.kind": "`flow`, `anti` or `output`",
        "files.loops.witness.variable": "variable that both access",
        "files.loops.witness.source": "the earlier access",
        **{f"files.loops.witness.source.{key}": text for key, text in _END.items()},
        "files.loops.witness.sink": "the later access",
        **{f"files.loops.witness.sink.{key}": text for key, text in _END.items()},
        "files.loops.witness.distance": "iterations between them; null where that varies",
        "files.loops.witness.parameters": "sizes for which these two iterations conflict",
        "files.loops.witness.condition": "condition under which they do, in words; may be empty",
        "files.loops.rejection": "of an unknown loop, the obstacle; else null",
        "files.loops.rejection.code": "kind of the obstacle, as `unknown-call`",
        "files.loops.rejection.message": "the obstacle in words",
        "files.loops.rejection.advice": "how to remove it; may be empty",
        "files.loops.rejection.range": _RANGE,
        "files.loops.idiom": "the usual name of what the nest computes that this loop begins, if it has one",
        "files.loops.idiom.name": (
            "`matrix product`, `matrix-vector product`, `transpose`, `stencil` or `histogram`"
        ),
        "files.loops.idiom.arrays": "arrays that it reads, or counts in",
        "files.loops.wouldHelp": "of an unknown loop, conditions under which it would be parallel",
        "files.nests": "maximal nests with static control",
        **{f"files.nests.{key}": text for key, text in _NEST.items()},
        "files.nests.transform": "transform that exposes parallelism: `none`, `interchange`, `distribute`,"
        " `fuse`, `skew` or `none-found`",
        "files.nests.schedule": "new order as isl's text; null where there is none",
        "files.nests.band": "loops that are permutable together",
        "files.nests.band.loops": "their `ordinal`",
        "files.nests.band.permutable": "whether they are",
        "files.nests.band.coincident": "of each, whether it carries no dependence",
        "files.nests.targets": "targets that have an edit for the nest",
        "files.diagnostics": "findings as in an editor, by the settings",
        "files.diagnostics.code": "code of the [finding](codes.md)",
        "files.diagnostics.severity": "`error`, `warning`, `information` or `hint`",
        "files.diagnostics.range": _RANGE,
        "files.diagnostics.message": "the finding in a sentence",
        "files.diagnostics.related": "other places that it is about",
        "files.diagnostics.related.range": _RANGE,
        "files.diagnostics.related.message": "what is there",
    },
    "report": {
        "version": "version of this format; keys are added without a new one",
        "loops": "loops that can run in parallel and do not yet, most samples or most work first",
        "loops.rank": "place in the ranking, from 1",
        "loops.path": "file that the loop stands in",
        "loops.range": f"the header: {_RANGE}",
        "loops.function": "function that the loop stands in",
        "loops.iterator": "iterator; null where there is none",
        "loops.verdict": "`parallel` or `reduction`",
        "loops.label": "the verdict in a few words",
        "loops.work": "estimate of the work in one call; null where there is none",
        "loops.work.operations": "runs of the statement that runs most, as far as they are a number",
        "loops.work.factors": "factors whose values are known at run time only",
        "loops.samples": "samples of the profile (`--profile`); null without one, and where it has none",
        "loops.samples.fraction": "fraction of all samples",
        "loops.samples.of": "`loop` where the profile has lines, else `function`",
        "loops.estimate": "the work, or the samples, in words",
        "loops.target": "target of the edit",
        "loops.command": "command that makes the edit; null where there is none",
        "loops.condition": "condition under which the edit is right; null where there is none",
        "loops.obstacle": "why there is no edit; null where there is one",
        "verdicts": "number of loops of each verdict",
        "running": "loops in or under a parallel directive",
        "small": "loops left out because they do too little work (`parallel_threshold`)",
        "unknown": "number of unknown loops by the code of the obstacle",
        "hot": "outermost loops with 1 % of the samples or more that cannot run in parallel as they are",
        "hot.path": "file that the loop stands in",
        "hot.range": _RANGE,
        "hot.verdict": "the verdict on the loop",
        "hot.samples": "its samples",
        "hot.samples.fraction": "fraction of all samples",
        "hot.samples.of": "`loop` where the profile has lines, else `function`",
    },
    "model": {
        "version": "version of this format; keys are added without a new one",
        "path": "path as it was given",
        "nests": "nests that were modelled, in source order; statements are `S0`, `S1`, … in source order",
        **{f"nests.{key}": text for key, text in _NEST.items()},
        "nests.context": "what is known of parameters, as isl's text like all that follows",
        "nests.domain": "iterations of each statement",
        "nests.schedule": "order of the source, as a schedule tree",
        "nests.reads": "elements that are read",
        "nests.may_writes": "elements that may be written",
        "nests.must_writes": "elements that are certainly written",
        "nests.flow": "flow dependences",
        "nests.false": "anti and output dependences",
    },
}


def json_page() -> str:
    """`docs/json.md`: keys and values of the JSON output, from what the commands print for a program."""
    return "\n".join(_json_lines()) + "\n"


def _json_lines() -> Iterator[str]:
    yield "# JSON output"
    yield ""
    yield "Generated from the output for a program."
    for command, meanings in _MEANINGS.items():
        values = _printed(command)
        if values.keys() != meanings.keys():
            raise KeyError(f"{command}: {sorted(values.keys() ^ meanings.keys())}")
        yield ""
        yield f"## polylsp {command} --format json"
        yield ""
        yield "| key | value | meaning |"
        yield "|---|---|---|"
        for key, kinds in values.items():
            shown = " or ".join(sorted(kinds, key=lambda kind: (kind == "null", kind)))
            yield f"| `{key}` | {shown} | {meanings[key]} |"


def _printed(command: str) -> dict[str, set[str]]:
    """Kinds of the values of each key, in the order of the output of a command."""
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.c"
        path.write_text(_PROGRAM, encoding="utf-8")
        for given in _variants(command, Path(folder)):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                main([command, "--isolated", "--no-cache", "--format", "json", *given, str(path)])
            _collect(json.loads(out.getvalue()), "", found)
    return found


def _variants(command: str, folder: Path) -> Iterator[list[str]]:
    """Options under which a command prints all of its keys: the first ones give their order."""
    if command == "report":
        profile = folder / "stacks.txt"
        lines = range(1, _PROGRAM.count("\n") + 1)
        profile.write_text("".join(f"f (a.c:{line}) 1\n" for line in lines), encoding="utf-8")
        yield ["--profile", str(profile)]
    yield []


def _collect(value: Any, key: str, found: dict[str, set[str]]) -> None:
    if key:
        kind = next(name for kinds, name in _KINDS if isinstance(value, kinds))
        found.setdefault(key, set()).add(kind)
    if isinstance(value, dict) and key.rpartition(".")[2] not in _LEAVES:
        for name, each in value.items():
            _collect(each, f"{key}.{name}" if key else name, found)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, dict):
                for name, one in each.items():
                    _collect(one, f"{key}.{name}", found)


_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "boolean"),
    ((int, float), "number"),
    ((str,), "string"),
    ((list,), "array"),
    ((dict,), "object"),
    ((type(None),), "null"),
)

GENERATED = {"commands.md": commands_page, "codes.md": codes_page, "json.md": json_page}


def write_site(folder: Path) -> None:
    """Write the sources of the site into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "findings").mkdir(parents=True)
    for page in DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8").replace("(../polylsp/ide/docs)", "(codes.md)")
        text = text.replace("(../polylsp/ide/docs/", "(findings/").replace("(../README.md)", "(index.md)")
        (folder / page.name).write_text(_OUTSIDE.sub(r"`\1`", text).replace("``", "`"), encoding="utf-8")
    for path in sorted((ROOT / "polylsp/ide/docs").glob("*.md")):
        (folder / "findings" / path.name).write_text(_MARKUP.sub("", page_text(path.stem)), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        for name, make in GENERATED.items():
            (DOCS / name).write_text(make(), encoding="utf-8")
    else:
        write_site(Path(sys.argv[1]))
