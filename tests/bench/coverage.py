"""Share of other people's Python that is modelled: `python -m tests.bench.coverage FOLDER [--pattern GLOB]`.

For the files of a folder it prints the number of functions that are translated without an unmodelled
statement, and, for the others, the reasons, with names left out, and the number of functions that each stops.
With `--verdicts` the loops are analysed as well, and counted by their verdicts. Nothing is run or imported.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from polylsp.core.settings import Settings
from polylsp.core.source_files import decode
from polylsp.engine.queries import analyse
from polylsp.frontends.python.definitions import Item, outline
from polylsp.frontends.python.lowered_functions import lower
from polylsp.frontends.python.modules import environment
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Function, Rejection, Unsupported


@dataclass
class Found:
    """Counts for some files: functions, those with loops, and the reasons why functions are not modelled."""

    functions: int = 0
    with_loops: int = 0
    modelled: int = 0
    modelled_with_loops: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)


def look(path: Path, found: Found) -> None:
    """Translate the functions of a file."""
    items = outline(decode(path.read_bytes()))
    known = environment(items)
    for item in items.functions:
        declarations = known.needed(item)
        function = lower(item.name, item.texts, item.lines, declarations, item.owner)
        _count(path, item, function, found)


def _count(path: Path, item: Item, function: Function, found: Found) -> None:
    reasons = {_plain(one.message): one for one in (*function.problems, *rejections(function.body))}
    has_loops = any(True for _ in loops_in(function.body))
    found.functions += 1
    found.with_loops += has_loops
    found.modelled += not reasons
    found.modelled_with_loops += has_loops and not reasons
    for reason, one in reasons.items():
        found.reasons[reason] += 1
        found.places.setdefault(reason, f"{path.name}: {item.name}: {one.message}")


def rejections(value: object) -> Iterator[Rejection]:
    """Reasons why the statements in a tree of the program are not modelled."""
    if isinstance(value, Unsupported):
        yield value.rejection
    if isinstance(value, tuple):
        for each in value:
            yield from rejections(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, Rejection):
        for each in dataclasses.fields(value):
            yield from rejections(getattr(value, each.name))


def _plain(message: str) -> str:
    """A reason without the names in it, so that alike ones are counted together."""
    return re.sub(r"`[^`]*`", "`…`", message)


def judge(path: Path, found: Found) -> None:
    """Analyse the loops of a file."""
    report = analyse(str(path), decode(path.read_bytes()), Settings(), schedules=False)
    for placed in report.functions:
        found.verdicts.update(type(loop.verdict).__name__.lower() for loop in placed.answer.facts.loops)


def main() -> None:
    """Run from a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pattern", default="**/*.py")
    parser.add_argument("--verdicts", action="store_true")
    given = parser.parse_args()
    found = Found()
    paths = sorted(given.folder.glob(given.pattern))
    for path in paths:
        look(path, found)
        if given.verdicts:
            judge(path, found)
    report(found, len(paths))


def report(found: Found, files: int) -> None:
    """Print what was found."""
    console = Console(width=160)
    console.print(
        f"{files} files: {found.modelled} of {found.functions} functions are modelled whole, "
        f"{found.modelled_with_loops} of the {found.with_loops} with loops"
    )
    table = Table("functions", "why not", "for example")
    for reason, count in found.reasons.most_common(40):
        table.add_row(str(count), reason, found.places[reason])
    console.print(table)
    if found.verdicts:
        console.print(", ".join(f"{count} {word}" for word, count in found.verdicts.most_common()))


if __name__ == "__main__":
    main()
