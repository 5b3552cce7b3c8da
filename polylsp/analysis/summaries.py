"""Summary of a function: the effects of a call on memory, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from polylsp.model.program import Expr, Presumption, Type, Variable
from polylsp.model.verdict import Assumption, ReductionOperator


@dataclass(frozen=True, slots=True)
class SummaryAccess:
    """Footprint of one call through its parameter number `parameter`, a pointer or a structure with a pointer
    in it, or (-1) of the global `variable`: the elements that lie at `region`, isl text `{ [integer
    arguments] -> [x] }`, along a path of that `shape`, from the pointer to which `way` leads from the
    parameter (`("[]", ".x")` for `p->x`). `exact`: exactly these, and surely. `update` marks both halves of a
    reduction of a global. `subscript`: the one element in terms of the parameters, where `region` cannot
    express it (`y*m.w + x`)."""

    parameter: int
    variable: Variable
    shape: tuple[str, ...]
    kind: Literal["read", "write"]
    type: Type
    region: str
    exact: bool
    update: ReductionOperator | None = None
    way: tuple[str, ...] = ()
    subscript: Expr | None = None


@dataclass(frozen=True, slots=True)
class StateAccess:
    """A variable with static storage that every call of a function surely reads or writes; `owner` is the
    function that it is a local variable of, if it is one. `by_data`: only calls for which a condition on
    their arguments holds update it."""

    variable: Variable
    kind: Literal["read", "write"]
    owner: str = ""
    by_data: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """Effects of calling a function. `integers` are the numbers of its integer parameters, in whose values
    the regions are expressed; `returns`, if not `None`, is its value in terms of its parameters; `directed`:
    it, or a callee, contains directives that may order threads. `counters` are the integers and pointers with
    static storage that it or a callee names; `keeps`: it may store an address that it is given; `state` as in
    `NoSummary`; `per_thread` are names of thread-local variables that it uses, `sets` those of the library's
    that it may set; `presumed` are its branches that are presumed not to be taken. Equal keys, equal
    summaries."""

    name: str
    key: str
    parameters: tuple[Variable, ...]
    integers: tuple[int, ...]
    accesses: tuple[SummaryAccess, ...]
    returns: Expr | None
    assumptions: tuple[Assumption, ...] = ()
    directed: bool = False
    state: tuple[StateAccess, ...] | None = None
    counters: tuple[Variable, ...] = ()
    keeps: bool = False
    per_thread: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    presumed: tuple[Presumption, ...] = ()


@dataclass(frozen=True, slots=True)
class NoSummary:
    """Reason why a function of the file cannot be summarised. `state` are the variables with static storage
    that each call surely uses; `None` where the function may order threads. `reports`: all that it does is to
    print, or to end the program."""

    name: str
    reason: str
    state: tuple[StateAccess, ...] | None = None
    reports: bool = False

    @property
    def key(self) -> str:
        """Equal keys, equal reasons."""
        return f"-{self.name} {self.reason} {self.state} {self.reports}"


@dataclass(frozen=True)
class Calls:
    """The summaries at hand, by function name, and for other functions of the file why there is none;
    `state` has the functions of either kind that keep no order among threads, with the variables that they
    use; `passed_over` are functions of the library whose effects are no concern of a model; `reports` are
    functions without summary that only print or end the program. Branches with these are presumed not to be
    taken where `presuming`."""

    summaries: Mapping[str, Summary] = field(default_factory=dict[str, Summary])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    state: Mapping[str, tuple[StateAccess, ...]] = field(default_factory=dict[str, tuple[StateAccess, ...]])
    passed_over: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()
    presuming: bool = True

    def without_presumptions(self) -> Calls:
        """The same without presumptions, and without the summaries that rest on them."""
        resting = {name: one.presumed[0] for name, one in self.summaries.items() if one.presumed}
        return replace(
            self,
            summaries={name: one for name, one in self.summaries.items() if name not in resting},
            refused={**self.refused, **{name: one.otherwise.message for name, one in resting.items()}},
            presuming=False,
        )


def as_named_here(variable: Variable, named: Iterable[Variable]) -> Variable:
    """A variable with static storage that a called function names, as a caller that names the variables
    `named` knows it: under a name that no variable of the caller has, unless one is the same."""
    if variable.storage == "static":
        return variable
    outer = (v for v in named if v.storage in ("global", "cell") and v.source_name == variable.source_name)
    return next(outer, replace(variable, name=f"{variable.source_name}@file"))
