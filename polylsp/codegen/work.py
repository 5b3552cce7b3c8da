"""Amount of work of a loop: the third of Polly-ACC's guards, an over-approximated count of the operations
(Grosser and Hoefler, Polly-ACC, ICS 2016, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.affine import Names, constant, largest, smallest, spelled
from polylsp.codegen.names import names_at
from polylsp.codegen.stretch import Stretch, stretch_of
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.scop import Scop, ScopStatement

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_FEW = 8


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
    return largest_of(_work(s, place.depth(scop), scop, names) for s in inside)


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
