"""Evidence on a program that is printed as Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from .. import evidence as of_any
from ..machine import LoopKey, Machine
from ..nests import Assign, Element, Inputs, Program, loops, walk
from .making import Made
from .printing import layout
from .running import run


def evidence(program: Program) -> of_any.Evidence:
    """Print a program and run it, also with arrays that overlap: Python forbids that nowhere."""
    found = of_any.evidence(program, layout)
    found.made = _made(program)
    found.runs = [one for one in found.runs if _runs_through(found, one)]
    found.overlapping = list(of_any.defined_runs(program, found.runner, _overlapping(program)))
    return found


def _made(program: Program) -> dict[LoopKey, tuple[str, ...]]:
    """The names that get new arrays in each loop."""
    made, found = Made.of(program.kernel), dict[LoopKey, tuple[str, ...]]()
    for loop in loops(program.kernel):
        nodes = [node for node in walk(loop) if isinstance(node, Assign) and made.anew(node)]
        names = {node.target.array for node in nodes if isinstance(node.target, Element)}
        found[program.kernel.name, loop.ordinal] = tuple(sorted(names))
    return found


def _runs_through(found: of_any.Evidence, start: Machine) -> bool:
    """True if CPython raises nothing: it checks the subscript beside an empty slice as well."""
    try:
        run(found.program, found.layout.text, start)
    except IndexError:
        return False
    return True


def _overlapping(program: Program) -> list[Inputs]:
    """Inputs with two of the arrays identical."""
    arrays = [p for p in program.kernel.parameters if p.extents and not p.constant]
    pairs = [(p, q) for p, q in combinations(arrays, 2) if len(p.extents or ()) == len(q.extents or ())]
    plain = [one for one in program.inputs if not one.aliases]
    return [replace(one, aliases=((q.name, p.name, 0),)) for one in plain[:2] for p, q in pairs]
