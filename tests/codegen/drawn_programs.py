"""Programs drawn at random of which a function `kernel` is edited: its text, and what is around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.codegen.drawn_mixtures import mixtures
from tests.codegen.drawn_sums import sums
from tests.codegen.transform.drawn_nests import nests, summing
from tests.oracle.compiling import complete, expected
from tests.oracle.drawing import affine_programs
from tests.oracle.evidence import evidence
from tests.oracle.interpreter import runner
from tests.oracle.nests import Program
from tests.oracle.printing import layout
from tests.oracle.values import Floating


@dataclass(frozen=True)
class Around:
    """Surroundings that make a program of a text with `kernel`, and the numbers that it must print, if these
    are determined without running it."""

    before: str
    behind: str
    expected: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Drawn:
    """A text with a function `kernel`, and programs that call it."""

    text: str
    programs: tuple[Around, ...]


def drawn() -> st.SearchStrategy[Drawn]:
    """Nests of every kind."""
    of_nests = nests().map(lambda kernel: whole(summing(kernel)))
    of_loops = sums().map(whole) | of_nests
    every = affine_programs().map(of_oracle) | of_loops
    steps = st.sampled_from(("", "", *_SAME))
    # What the oracle says is about one turn.
    return st.builds(in_steps, every, steps, steps) | st.builds(
        in_turns, of_loops, st.sampled_from(_IN_TURNS)
    )


_SAME = ("@ % 512", "@ / 2 * 2 + @ % 2", "@ < 500 ? @ : 500")
"""Values in several steps that are those of a size `@` below 500."""
_IN_TURNS = ("{0} + turn / 2 * 5", "{0} - turn / 2", "{0} < 500 ? {0} + turn / 2 : 7")
"""Values that are those of a size below 500 in turns 0 and 1."""
_HEAD = re.compile(r"\bkernel\([^()]*\)\s*\{")


def in_steps(one: Drawn, first: str, second: str) -> Drawn:
    """The same program, but `kernel` computes its sizes `n` and `m` in several steps, to the same values."""
    steps = (f" {name} = {step.replace('@', name)};" for name, step in (("n", first), ("m", second)) if step)
    return replace(one, text=_HEAD.sub(lambda head: head[0] + "".join(steps), one.text, count=1))


def in_turns(one: Drawn, step: str) -> Drawn:
    """The program with two turns of `kernel` in it, each of which computes its sizes anew, to the same
    values."""
    head = _HEAD.search(one.text)
    if head is None:
        return one
    depth, end = 1, head.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(one.text[end], 0)
        end += 1
    names = [name for name in ("n", "m") if re.search(rf"\bint {name}\b", head[0])]
    kept = " ".join(f"int {name}_kept = {name};" for name in names)
    anew = " ".join(f"{name} = {step.format(f'{name}_kept')};" for name in names)
    inside = one.text[head.end() : end - 1]
    turns = f" {kept} for (int turn = 0; turn < 2; turn++) {{ {anew}{inside} }}\n"
    return replace(one, text=one.text[: head.end()] + turns + one.text[end - 1 :])


def deep() -> st.SearchStrategy[Drawn]:
    """Nests that use elements again, in an order that may not be the best."""
    return nests(deep=True).map(lambda kernel: whole(summing(kernel)))


def mixed() -> st.SearchStrategy[Drawn]:
    """Functions in which everything meets."""
    return mixtures().map(whole)


def whole(text: str) -> Drawn:
    """A program as it is."""
    before, main, behind = text.partition("\nint main(void)")
    return Drawn(before + "\n", (Around("", f"{main}{behind}"),))


def of_oracle(program: Program) -> Drawn:
    """A program of the oracle's with the input that does most, and with the one that does least."""
    # Only what C defines, without aliases: an edit rests on assumptions about these.
    known = [run.inputs for run in evidence(program).runs if not run.inputs.aliases]
    text = layout(program).text
    found: list[Around] = []
    for inputs in dict.fromkeys((*known[:1], *known[-1:])):
        run = runner(program).run(inputs, arithmetic=Floating)
        before, _, behind = complete(program, run).partition(text)
        found.append(Around(before, behind, tuple(float(line) for line in expected(program, run))))
    return Drawn(text, tuple(found))
