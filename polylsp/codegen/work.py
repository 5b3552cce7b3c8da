"""Amount of work of a loop: the third of Polly-ACC's guards, an over-approximated count of the operations
(Grosser and Hoefler, Polly-ACC, ICS 2016, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.effects import nodes, walk
from polylsp.codegen.affine import Names, constant, largest, smallest, spelled
from polylsp.codegen.names import names_at
from polylsp.codegen.stretch import Stretch, stretch_of
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.program import (
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    If,
    Loop,
    Place,
    Read,
    Site,
    within,
)
from polylsp.model.scop import Scop, ScopStatement

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_FEW = 8
_UNKNOWN = 100
"""Iterations that a loop of a called function counts for, if its header does not say how many it has."""
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """Instances of the statement that runs most often, as a box around its iterations: a constant factor, and
    C expressions that are evaluated at run time. Loops around `root` do not count."""

    known: int
    factors: tuple[str, ...] = ()

    def condition(self, threshold: int) -> str:
        """Condition under which it is more than `threshold`, in C; empty if that is constant."""
        if not self.factors:
            return ""
        if len(self.factors) == 1:
            return f"{self.factors[0]} > {threshold // self.known}"
        first, *rest = (f"({factor})" if " " in factor else factor for factor in self.factors)
        product = " * ".join([f"(long long){first}", *rest])
        return f"{product} > {threshold // self.known}"


def work_of(subject: Subject, root: LoopFacts) -> Work | None:
    """Work of one run of a loop; `None` if its extents are undetermined."""
    nest = subject.nest(root.ordinal)
    return work_in(subject, nest[1].scop, stretch_of(subject, root), (root,)) if nest is not None else None


def work_in(subject: Subject, scop: Scop, place: Stretch, roots: tuple[LoopFacts, ...]) -> Work | None:
    """Work of some loops in one run of the code around them at `place`; `None` if their extents are
    undetermined."""
    ordinals, names = {root.ordinal for root in roots}, names_at(subject, scop, place.site)
    inside = [s for s in scop.statements if ordinals & set(s.loops)]
    return largest_of(
        _times(_work(s, place.depth(scop), scop, names), _called(subject, s.site)) for s in inside
    )


def whole_work(subject: Subject, root: LoopFacts) -> Work | None:
    """Work of a loop in all runs of it that one run of its nest makes, for people: numbers stand in the place
    of macros, and parameters as the model names them; `None` if its extents are undetermined."""
    nest = subject.nest(root.ordinal)
    if nest is None:
        return None
    scop = nest[1].scop
    products = {name: " * ".join(factors) for name, factors in scop.products.items()}
    names = Names({**scop.parameters, **products})
    return largest_of(_work(s, 0, scop, names) for s in scop.statements if root.ordinal in s.loops)


def _times(work: Work | None, count: int) -> Work | None:
    """So many times an amount of work."""
    return replace(work, known=work.known * count) if work is not None and count > 1 else work


def _called(subject: Subject, site: Site) -> int:
    """Iterations of the loops that one run of a statement makes in the functions that it calls."""
    statements = (s for s in walk(subject.function.body) if not isinstance(s, Block))
    inside = (s for s in statements if within(s.site, site))
    called = {node.function for s in inside for node in nodes(s) if isinstance(node, Call) and not node.pure}
    return _iterations(subject, frozenset(called), frozenset({subject.function.name}))


def _iterations(subject: Subject, names: frozenset[str], callers: frozenset[str]) -> int:
    """Iterations of the innermost loops of some functions; 1 where there are none."""
    found = 1
    for companion in subject.companions:
        name = companion.function.name
        if name in names - callers:
            found = max(found, _in_block(subject, companion.function.body, callers | {name}))
    return min(found, _MOST)


def _in_block(subject: Subject, block: Block, callers: frozenset[str]) -> int:
    """Iterations of the innermost loops of a block, and of those of the functions that it calls."""
    found, before = 1, dict[str, int]()
    for statement in block.statements:
        match statement:
            case Block():
                found = max(found, _in_block(subject, statement, callers))
            case If():
                parts = (statement.then, statement.otherwise)
                found = max(found, *(_in_block(subject, each, callers) for each in parts))
            case Loop():
                inner = _in_block(subject, statement.body, callers)
                found = max(found, inner * _trips(statement, before))
            case Assign(target=Place(variable=variable, steps=()), value=Constant(value=int() as value)):
                before[variable.name] = value
            case _:
                pass
        called = frozenset(n.function for n in nodes(statement) if isinstance(n, Call) and not n.pure)
        found = max(found, _iterations(subject, called, callers)) if called else found
    return found


def _trips(loop: Loop, before: Mapping[str, int]) -> int:
    """Number of iterations of a loop, where its header says it."""
    match loop.condition:
        case Binary(
            operator="<" | "<=",
            left=Read(place=Place(variable=variable, steps=())),
            right=Constant(value=int() as end),
        ) if variable.name in before:
            return max(1, end - before[variable.name])
        case _:
            return _UNKNOWN


def largest_of(works: Iterable[Work | None]) -> Work | None:
    """Largest of some amounts of work; `None` if one of them is undetermined."""
    found = list(works)
    told = [one for one in found if one is not None]
    if not told or len(told) < len(found):
        return None
    return max(told, key=lambda one: (len(one.factors), one.known))


def _work(statement: ScopStatement, depth: int, scop: Scop, names: Names) -> Work | None:
    domain = statement.domain
    known, factors = 1, list[str]()
    # What the loops around fix is as unknown as a parameter, but cannot be written: a box around all.
    inside = domain.project_out(_SET, 0, depth) if depth else domain
    for k in range(inside.dim(_SET)):
        high, low = largest(inside, k), smallest(inside, k)
        if high is None or low is None:
            return None
        extent = high.sub(low).add_constant_val(isl.Val(1))
        step = abs(scop.loops[statement.loops[depth + k]].step)
        fixed = constant(extent)
        text = spelled(_rounded(extent), names)
        if text is None:
            return None
        text = "" if text.isdigit() else text
        known *= max(1, -(-fixed // step)) if fixed is not None and not text else 1
        if text:
            factors.append(text if step == 1 else f"({text}) / {step}" if " " in text else f"{text} / {step}")
    return Work(known, tuple(factors))


def _rounded(extent: isl.Aff) -> isl.Aff:
    """An extent without the few that it has more or less than a sum of parameters: `n - 2` is about `n`."""
    few = abs(int(str(extent.get_constant_val()))) <= _FEW
    positive = any(extent.get_coefficient_val(_PARAM, k).is_pos() for k in range(extent.dim(_PARAM)))
    return extent.set_constant_val(isl.Val(0)) if few and positive else extent
