"""Combining two partial results of a sum, a product or an extremum."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.effects import expressions, walk
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Call
from polylsp.model.verdict import ReductionOperator

_NEUTRAL: dict[ReductionOperator, str] = {"+": "0", "*": "1", "^": "0"}
_ASSIGNED = ("+", "*", "&", "|", "^")


@dataclass(frozen=True, slots=True)
class Combining:
    """`function`: extrema are computed by this one, which ignores NaN."""

    operator: ReductionOperator
    function: str = ""

    @property
    def rounds(self) -> bool:
        """True if another order may round differently, where numbers are not whole."""
        return self.operator in ("+", "*")

    def start(self, element: str) -> str:
        """Initial value of a part: the neutral element, or for an extremum the present element, which may
        count repeatedly."""
        return _NEUTRAL.get(self.operator, element)

    def statement(self, target: str, value: str) -> str:
        """The statement by which a value is combined with the present one."""
        if self.operator in _ASSIGNED:
            return f"{target} {self.operator}= {value};"
        if self.function:
            return f"{target} = {self.function}({target}, {value});"
        if self.operator in ("&&", "||"):
            return f"{target} = {target} {self.operator} {value};"
        comparison = ">=" if self.operator == "max" else "<="
        return f"{target} = {target} {comparison} {value} ? {target} : {value};"


def function_of(leaf: Leaf) -> str:
    """The function of `math.h` that a leaf takes an extremum by; empty if by a comparison."""
    values = [value for s in walk(*leaf.statements) for value in expressions(s)]
    calls = {each.function for v in values for each in subexpressions(v) if isinstance(each, Call)}
    return next((name for name in ("fmin", "fmax") if calls & {name, f"{name}f"}), "")
