"""The demonstration: open, look, point, type, and the same in a terminal without an editor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from polylsp.core.text import Source
from tests.demo.editor import Editor, Shown

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
JACOBI = SAMPLES / "polybench/c/jacobi-2d.c"
BROKEN = SAMPLES / "programs/broken.c"
TERMINAL = "samples/polybench/c/jacobi-1d.c"
KERNEL = "static void kernel_jacobi_2d("
SIGNATURE = "double A[n][n], double B[n][n])"
PROMISE = "double A[restrict n][n], double B[restrict n][n])"

console = Console(highlight=False, width=110 if not sys.stdout.isatty() else None)


async def main() -> None:
    """The session, then `polylsp check`."""
    async with Editor() as editor:
        _say(f"The server is ready after {_ms(editor.ready_after)}.")
        first = await editor.open(JACOBI)
        _say(f"Open {JACOBI.relative_to(ROOT)}: the first findings are there after {_ms(first.seconds)}.")
        _show_function(first, KERNEL)
        _say("Point at the first loop.")
        _show_hover(await editor.hover(JACOBI, "for (int t"))

        promised = await editor.replace(JACOBI, SIGNATURE, PROMISE)
        _say(f"Promise that A and B do not overlap: new findings after {_ms(promised.seconds)}.")
        _show_changes(promised, first)

        slipped = await editor.replace(JACOBI, "B[i][j] = 0.2", "A[i][j] = 0.2")
        _say(f"Now a slip: write A where B was meant. New findings after {_ms(slipped.seconds)}.")
        _show_changes(slipped, promised)
        _show_diagnostic(slipped, "for (int i = 1")

        broken = await editor.open(BROKEN)
        _say(f"Open {BROKEN.relative_to(ROOT)}, which does not compile: {_ms(broken.seconds)}.")
        _show_diagnostic(broken, "        a[i] = b[i]\n", "syntax-error")
        console.print("       The functions around it keep their answers:")
        _show_function(broken, "void good_recurrence(")
    _say(f"The same without an editor: polylsp check {TERMINAL}")
    sys.stdout.flush()
    environment = {**os.environ, **({"FORCE_COLOR": "1"} if sys.stdout.isatty() else {})}
    command = [sys.executable, "-m", "polylsp", "check", TERMINAL]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    console.print("In your own editor: docs/editor.md tells how.", style="bold")


def _say(text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _show_function(shown: Shown, start: str) -> None:
    """The source of a function, with the hints at the ends of its lines."""
    source = shown.source
    offset = source.text.index(start)
    last = source.line_of(source.text.index("\n}", offset)) + 1
    for number in range(source.line_of(offset), last + 1):
        _show_line(source, number, shown.hints.get(number))


def _show_changes(shown: Shown, before: Shown) -> None:
    """The lines that are other ones than before, and those with another hint."""
    lines = zip(shown.source.text.split("\n"), before.source.text.split("\n"), strict=True)
    for number, (new, old) in enumerate(lines):
        hint, earlier = shown.hints.get(number), before.hints.get(number)
        if new != old or hint != earlier:
            _show_line(shown.source, number, hint, f"  (was: {earlier})" if hint != earlier else "")


def _show_line(source: Source, number: int, hint: str | None, remark: str = "") -> None:
    line = Text(f"{number + 1:4} │ ", style="dim").append(source.line_text(number), style="not dim")
    if hint:
        line.append(f"  « {hint}", style=_colour(hint)).append(remark, style="dim")
    console.print(line, overflow="ellipsis", no_wrap=True)


def _show_hover(lines: list[str], count: int = 6) -> None:
    """The first lines of a hover."""
    for line in lines[:count]:
        console.print(Padding(Text(line), (0, 0, 0, 7), expand=False))
    if len(lines) > count:
        console.print(Text(f"       … ({len(lines) - count} more lines)", style="dim"))


def _show_diagnostic(shown: Shown, place: str, code: str = "") -> None:
    """The message of the first diagnostic at or after a place."""
    source = Source(shown.source.text)
    line = source.line_of(source.text.index(place))
    found = (d for d in shown.diagnostics if d.range.start.line >= line and code in ("", d.code))
    first = min(found, key=lambda d: d.range.start.line)
    message = Text(f"line {first.range.start.line + 1}, {first.code}: {first.message}")
    console.print(Padding(message, (0, 0, 0, 7), expand=False))


def _colour(hint: str) -> str:
    return "magenta" if hint.startswith(("sequential", "unknown")) else "green"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    asyncio.run(main())
