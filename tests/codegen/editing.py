"""Edits of a file applied at once, and outputs of its versions: built together, run in turn, and compared.

A compiler that starts once for twenty versions costs less than half.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import WHOLE_FUNCTION, ActionName, Ask, Declined, Target, applied
from polylsp.model.facts import FunctionFacts
from polylsp.transforms import MODULES as TRANSFORMS

EAGER = Settings(parallel_threshold=0, offload_threshold=0)
"""However small the loops of a sample are, they run in parallel."""
QUICK = replace(EAGER, offload_threshold=20, tile_sizes=(3, 4, 5), max_operations=200_000)
"""Settings for which drawn programs run on a device at some sizes, and have several tiles; programs that take
long to analyse are left out."""


@dataclass(frozen=True)
class EditedFile:
    """A file with directives on all of its outermost loops that take one: its text before and after, the
    number of edits, and the reasons why there is none of other loops."""

    text: str
    edited: str
    edits: int
    declined: tuple[str, ...]


def everywhere(
    path: str, text: str, target: Target, whole: bool = False, settings: Settings = EAGER, prefix: str = ""
) -> EditedFile:
    """The edits of all outermost loops of a file, or (`whole`) of all functions, one after the other, as a
    person would choose them; of functions alone whose names begin with `prefix`."""
    ordinals = (0,) if whole else None
    asked = [
        (facts.name, ordinal)
        for facts in _functions(path, text, settings)
        if facts.name.startswith(prefix)
        for ordinal in ordinals or [loop.ordinal for loop in facts.loops if loop.depth == 1]
    ]
    return _edited(path, text, target, asked, settings)


def alternatives(
    path: str, text: str, action: ActionName, function: str, given: frozenset[str]
) -> Iterator[EditedFile]:
    """Edited versions of a function for all of its outermost loops, for all of it at once if that can be
    requested, and for each of its inner loops alone; by edits that assume no more than is `given`."""
    (facts,) = _functions(path, text, QUICK, function)
    outermost = [loop.ordinal for loop in facts.loops if loop.depth == 1]
    asked = [[loop.ordinal] for loop in facts.loops if loop.depth > 1]
    if action == "restructure":
        asked = [outermost[:1]]
    else:
        asked = [outermost, *([[0]] if action in WHOLE_FUNCTION else []), *asked]
    for ordinals in asked:
        yield _edited(path, text, action, [(function, each) for each in ordinals], QUICK, given)


def transformed(path: str, text: str, function: str, given: frozenset[str]) -> Iterator[EditedFile]:
    """Edited versions of a function by a transform of a loop, and then threads."""
    (facts,) = _functions(path, text, QUICK, function)
    for action in TRANSFORMS:
        for loop in facts.loops:
            first = _edited(path, text, action, [(function, loop.ordinal)], QUICK, given)
            if first.edits:
                then = next(alternatives(path, first.edited, "openmp", function, given))
                yield replace(then, text=text, edits=then.edits + 1)


def _edited(
    path: str,
    text: str,
    action: ActionName,
    asked: Iterable[tuple[str, int]],
    settings: Settings,
    given: frozenset[str] | None = None,
) -> EditedFile:
    edited, edits, declined = text, 0, list[str]()
    for name, ordinal in asked:
        answer = edit(path, edited, settings, _ask(path, edited, settings, action, name, ordinal))
        if isinstance(answer, Declined):
            declined.append(answer.reason)
        elif given is not None and not {each.kind for each in answer.assumptions} <= given:
            declined.append("It rests on what these programs do not keep to.")
        else:
            edited, edits = applied(edited, answer.replacements), edits + 1
    return EditedFile(text, edited, edits, tuple(declined))


def _functions(path: str, text: str, settings: Settings, function: str = "") -> list[FunctionFacts]:
    """Facts of all functions, or of one."""
    every = [each.answer.facts for each in analyse(path, text, settings, schedules=False).functions]
    return [facts for facts in every if function in ("", facts.name)]


def _ask(path: str, text: str, settings: Settings, action: ActionName, name: str, ordinal: int) -> Ask:
    report = analyse(path, text, settings, schedules=False)
    start = next(each.start for each in report.functions if each.answer.facts.name == name)
    return Ask(action, name, start, ordinal)


# --------------------------------------------------------------------------------------------------
# Comparison of the outputs of programs.
# --------------------------------------------------------------------------------------------------


Build = Callable[..., str]

_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)")


def assert_same(expected: str, found: str) -> None:
    """The same words, and numbers as close as another order of addition leaves them."""
    lines = zip_longest(expected.splitlines(), found.splitlines())
    told = "\n".join(f"{one} is now {other}" for one, other in lines if one != other)[:2000]
    assert _NUMBER.sub("#", expected) == _NUMBER.sub("#", found), told
    assert _numbers(found) == pytest.approx(_numbers(expected), rel=1e-9, abs=1e-12), told


def _numbers(text: str) -> Sequence[float]:
    return [float(word) for word in _NUMBER.findall(text)]


# --------------------------------------------------------------------------------------------------
# End of a statement of C, from its text alone.
# --------------------------------------------------------------------------------------------------


_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#(?:[^\n\\]|\\\n|\\)*)*", re.DOTALL)
_OPAQUE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_HEADER = re.compile(r"(for|while|if|[A-Z_]+)\b\s*\(")


def statement_end(text: str, start: int) -> int:
    """Offset after the statement that follows `start`: a block, a loop or an `if` with its branches, or an
    expression. A macro in capitals is a loop."""
    at = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    if text[at : at + 1] == "{":
        return _closing(text, at) + 1
    header = _HEADER.match(text, at)
    if header is None:
        return _closing(text, at, ";") + 1
    end = statement_end(text, _closing(text, header.end() - 1) + 1)
    follows = _BLANK.match(text, end).end()  # type: ignore[union-attr]
    if header[1] == "if" and re.match(r"else\b", text[follows:]):
        return statement_end(text, follows + 4)
    return end


def _closing(text: str, at: int, wanted: str = "") -> int:
    """The offset of the bracket that closes the one at `at`, or of the next `wanted` in no bracket."""
    depth = 0
    while at < len(text):
        opaque = _OPAQUE.match(text, at)
        if opaque is not None:
            at = opaque.end()
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and (text[at] == wanted if wanted else text[at] in ")]}"):
            return at
        at += 1
    raise ValueError("a statement has no end")


# --------------------------------------------------------------------------------------------------
# Versions of a function `kernel`, built at once and run one after the other: a compiler that starts
# once for twenty versions costs less than half.
# --------------------------------------------------------------------------------------------------


_KERNEL = re.compile(r"^(?:static )?\w+ kernel\(", re.MULTILINE)
_MAIN = "int main(void)\n{\n"
_CHOICE = (
    "int atoi(const char *);\nint main(int count, char **given)\n{\n    kernel = versions[atoi(given[1])];\n"
)
_FLAGS = ("-std=gnu11", "-O1", "-ffp-contract=off", "-w")


def outputs(texts: Sequence[str], *flags: str, threads: Sequence[int] = (1,)) -> list[list[str]]:
    """Output of each of some programs with each number of threads, or its failure. Those that differ in
    `kernel` alone are built as one."""
    around: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, text in enumerate(texts):
        before, kernel, behind = _parts(text)
        around.setdefault((before, behind), []).append((number, kernel))
    found: dict[int, list[str]] = {}
    for (before, behind), members in around.items():
        whole = _together(before, [kernel for _, kernel in members], behind)
        for (number, _), lines in zip(members, _printed(whole, len(members), flags, threads), strict=True):
            found[number] = lines
    return [found[number] for number in range(len(texts))]


def _parts(text: str) -> tuple[str, str, str]:
    """Text before the function, the function, and the text after it."""
    header = _KERNEL.search(text)
    assert header is not None, text
    end = text.index("\n}", header.end()) + len("\n}\n")
    return text[: header.start()], text[header.start() : end], text[end:]


def _together(before: str, kernels: Sequence[str], behind: str) -> str:
    """A program whose argument says which version it calls."""
    assert behind.count(_MAIN) == 1, behind
    versions = [text.replace("kernel(", f"kernel_{k}(", 1) for k, text in enumerate(kernels)]
    names = ", ".join(f"kernel_{k}" for k in range(len(kernels)))
    table = f"static __typeof__(kernel_0) *const versions[] = {{{names}}}, *kernel;\n"
    return "\n".join((before, *versions, table, behind.replace(_MAIN, _CHOICE)))


def printed(text: str, *flags: str) -> str:
    """Output of a whole program."""
    ((lines,),) = _printed(text, 1, flags, (1,))
    return lines


def _printed(text: str, count: int, flags: Sequence[str], threads: Sequence[int]) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder, "drawn.c"), Path(folder, "drawn")
        path.write_text(text)
        build = ["gcc", *_FLAGS, *flags, "-o", str(program), str(path), "-lm"]
        built = subprocess.run(build, capture_output=True, text=True, check=False, timeout=120)
        assert built.returncode == 0, f"{built.stderr}\n{text}"
        for number in range(count):
            yield [_run([str(program), str(number)], each) for each in threads]


def _run(command: Sequence[str], threads: int) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    return ran.stdout if ran.returncode == 0 else f"exit {ran.returncode}: {ran.stderr}"
