"""Programs damaged at random: nothing escapes, and the function before the damage keeps its answer.

    python -m tests.bad_input.fuzz --programs 2000 --seed 1 [--folder OTHER-PROGRAMS]

prints each program that is answered wrongly, and ends with status 1 if there is one; its number as the seed
shows it again.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.check_json import file_object
from polylsp.ide.hover import hover
from polylsp.ide.lookup import loops
from polylsp.ide.terminal import file_lines
from tests.loud import quiet

SAMPLES = Path(__file__).parents[2] / "samples"
SETTINGS = Settings(max_operations=20_000)
_TOKEN = re.compile(r"\w+|\"(?:\\.|[^\"\\\n])*\"|[^\w\s]|\n[ \t]*")
_LONGEST = 12_000


@dataclass(frozen=True)
class Program:
    """A file with two functions around it that no damage between them may reach."""

    name: str
    before: str
    text: str
    after: str

    def damaged(self, text: str) -> str:
        """The file with another text between the two."""
        return f"{self.before}{text}{self.after}"


_C_FIRST = "void first_one(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 0.0;\n}\n"
_C_LAST = (
    "\nvoid last_one(int n, double *a)\n{\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n"
)
_P_FIRST = "def first_one(n, a):\n    for i in range(n):\n        a[i] = 0.0\n\n\n"
_P_LAST = "\n\ndef last_one(n, a):\n    for i in range(1, n):\n        a[i] = a[i - 1]\n"

HUGE = ("9" * 400, "0x" + "f" * 257, "1e99999", "0" * 5000, "1" * 6000, "0x1p9999", "1ULL<<63", "1j")
ODD = (
    "\0",
    "\u202e",
    "\ud800",
    "\x1b[31m",
    "λ",
    "𝔸",
    "\u2028",
    "\ufeff",
    "\x0c",
    "\x0b",
    "`",
    "<script>",
    "\\\n",
)
JUNK = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ";",
        ",",
        ":",
        "=",
        "==",
        "+=",
        "->",
        ".",
        "...",
        "@",
        "#",
        "%",
        "?",
        "*",
        "&",
    ),
    *(
        "for",
        "while",
        "if",
        "else",
        "def",
        "return",
        "lambda",
        "struct",
        "typedef",
        "goto",
        "sizeof",
        "in",
        "not",
    ),
    *(
        "break",
        "continue",
        "switch",
        "case",
        "default",
        "do",
        "static",
        "const",
        "volatile",
        "restrict",
        "class",
    ),
    *(
        '"',
        "'",
        "/*",
        "*/",
        "//",
        "'''",
        "\\",
        "0",
        "1",
        "-1",
        "n",
        "i",
        "a",
        "a[i]",
        "np.zeros(n)",
        "range(n)",
    ),
)


def deep(draw: random.Random) -> str:
    """Something that nests."""
    depth = draw.choice((20, 80, 300, 3000))
    before, after = draw.choice(
        (("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("a[", "]"), ("f(", ")"), ("!", ""))
    )
    return f"{before * depth}1{after * depth}"


def long(draw: random.Random) -> str:
    """Something that is long."""
    return (
        draw.choice(("a[i] + ", "1 * ", "i, ", "x = ", "n and ", "n && ", "1 if n else "))
        * draw.choice((30, 400))
        + "1"
    )


def damaged(draw: random.Random, text: str) -> str:
    """The text with one to five tokens lost, doubled, swapped, replaced, or put in."""
    for _ in range(draw.randint(1, 5)):
        tokens = list(_TOKEN.finditer(text))
        if not tokens:
            return text
        token = draw.choice(tokens)
        start, end = token.span()
        old = token[0]
        kind = draw.randrange(10)
        new: str | Callable[[random.Random], str] = (
            "",
            old * 2,
            draw.choice(tokens)[0],
            f"{old} {draw.choice(JUNK)} ",
            draw.choice(JUNK),
            f" {draw.choice(HUGE)} ",
            f"{old}{draw.choice(ODD)}",
            deep,
            long,
            "",
        )[kind]
        if kind == 9:
            end = min(len(text), start + draw.randrange(200))  # A piece of the text is lost.
        text = text[:start] + (new if isinstance(new, str) else new(draw)) + text[end:]
    return text


def programs(folder: Path) -> list[Program]:
    """The programs of a folder that are not too long to be analysed often."""
    found: list[Program] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".c", ".py") or not path.is_file() or path.stat().st_size > _LONGEST:
            continue
        text = path.read_text("utf-8", "replace")
        c = path.suffix == ".c"
        found.append(
            Program(
                f"{path.stem}{path.suffix}", *((_C_FIRST, text, _C_LAST) if c else (_P_FIRST, text, _P_LAST))
            )
        )
    return found


def answered(name: str, text: str) -> dict[str, Any]:
    """All that is said of a text, in all forms; a bug of ours is raised."""
    source = Source(text)
    report = analyse(name, text, SETTINGS, schedules=False)
    for placed, loop in loops(report):
        hover(source, report, placed.span(loop.header).start)
    for _ in file_lines(source, report, SETTINGS, 100):
        pass
    return file_object(source, report, SETTINGS)


def trouble(draw: random.Random, program: Program) -> tuple[str, str]:
    """Damage a program: what is wrong with the answer, or nothing, and the text."""
    text = program.damaged(damaged(draw, program.text))
    try:
        with quiet():
            found = answered(program.name, text)
    except Exception as error:
        return f"{type(error).__name__}: {error}", text
    ours = [each["message"] for each in found["diagnostics"] if each["code"] == "internal-error"]
    if ours:
        return f"internal error: {ours[0]}", text
    verdicts = {loop["function"]: loop["verdict"] for loop in found["loops"]}
    if program.name.endswith(".c") and verdicts.get("first_one") != "parallel" and "#" not in text:
        return f"the first function is {verdicts.get('first_one')}", text
    return "", text


def drawn(folder: Path, first: int, count: int) -> Iterator[tuple[int, str, str, str]]:
    """Each wrong answer: its seed, the name of the program, what is wrong, the text."""
    known = programs(folder)
    for seed in range(first, first + count):
        draw = random.Random(seed)
        program = draw.choice(known)
        wrong, text = trouble(draw, program)
        if wrong:
            yield seed, program.name, wrong, text


def main() -> int:
    """Damage programs, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=SAMPLES)
    parser.add_argument("--keep", type=Path, help="a folder for the texts that are answered wrongly")
    options = parser.parse_args()
    wrong = 0
    for seed, name, why, text in drawn(options.folder, options.seed, options.programs):
        wrong += 1
        print(f"{seed} {name}: {why}", flush=True)
        if options.keep is not None:
            Path(options.keep, f"{seed}-{name}").write_text(text, "utf-8", "surrogatepass")
    print(f"{options.programs} damaged programs, {wrong} answered wrongly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
