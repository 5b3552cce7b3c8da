"""Edit of a text by an action, and the output of a program."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Answer, Ask
from polylsp.model.facts import PlacedFunction

WARNINGS = ("-Wall", "-Wextra", "-Werror")


def answers(
    path: str, text: str, action: ActionName, function: str = "", settings: Settings | None = None
) -> Iterator[tuple[PlacedFunction, int, Answer]]:
    """Answers of an action on each loop of a file, or of one function of it."""
    settings = settings or Settings(tile_sizes=(3, 4, 5))
    for placed in analyse(path, text, settings, schedules=False).functions:
        name = placed.answer.facts.name
        for loop in placed.answer.facts.loops if function in ("", name) else ():
            ask = Ask(action, name, placed.start, loop.ordinal)
            yield placed, loop.ordinal, edit(path, text, settings, ask)


def printed(text: str, folder: Path, *flags: str) -> str:
    """Compiles a program and runs it; what it prints."""
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    command = ["gcc", "-std=gnu11", "-O1", "-ffp-contract=off", *flags, "-o", program, source, "-lm"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, f"{made.stderr}\n{text}"
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return done.stdout
