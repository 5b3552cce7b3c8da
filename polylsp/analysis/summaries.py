"""The summary of a function: what a call of it does to memory, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from polylsp.model.program import Expr, Type, Variable
from polylsp.model.verdict import Assumption


@dataclass(frozen=True, slots=True)
class SummaryAccess:
    """What one call touches through its parameter number `parameter`, a pointer or a structure with a
    pointer in it, or (-1) of the global `variable`: the elements that lie at `region`, isl text
    `{ [integer arguments] -> [x] }`, along a path of that `shape`. `exact`: exactly these, and surely."""

    parameter: int
    variable: Variable
    shape: tuple[str, ...]
    kind: Literal["read", "write"]
    type: Type
    region: str
    exact: bool

    @property
    def members(self) -> tuple[str, ...]:
        """The members that lead to the pointer in a structure which is a parameter."""
        first = self.shape.index("[]") if "[]" in self.shape else 0
        return tuple(step[1:] for step in self.shape[:first]) if self.parameter >= 0 else ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call of a function does. `integers` are the numbers of its integer parameters, whose
    values the regions are about; `returns`, if not `None`, is its value in terms of its parameters;
    `directed`: directives stand in it, or in what it calls, that may keep threads in order.
    Equal keys, equal summaries."""

    name: str
    key: str
    parameters: tuple[Variable, ...]
    integers: tuple[int, ...]
    accesses: tuple[SummaryAccess, ...]
    returns: Expr | None
    assumptions: tuple[Assumption, ...] = ()
    directed: bool = False


@dataclass(frozen=True, slots=True)
class NoSummary:
    """Why a function of the file cannot be summarised."""

    name: str
    reason: str

    @property
    def key(self) -> str:
        """Equal keys, equal reasons."""
        return f"-{self.name} {self.reason}"


@dataclass(frozen=True)
class Calls:
    """The summaries at hand, by function name, and for other functions of the file why there is none."""

    summaries: Mapping[str, Summary] = field(default_factory=dict[str, Summary])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
