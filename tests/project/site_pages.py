"""The site: pages of `docs/`, those about findings without their test markup, and pages that are generated.

`python tests/project/site_pages.py FOLDER` writes its sources, from which MkDocs builds it (`make docs`);
with `--write`, the generated pages of `docs/` anew.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from polylsp.cli import parser
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


GENERATED = {"commands.md": commands_page, "codes.md": codes_page}


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
