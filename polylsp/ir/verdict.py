"""Verdicts on a loop: a closed union, each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from polylsp.ir.program import Rejection, Site

DependenceKind = Literal["flow", "anti", "output"]
ReductionOperator = Literal["+", "*", "min", "max", "&", "|", "^", "&&", "||"]


@dataclass(frozen=True, slots=True)
class Assumption:
    """Condition behind a verdict, which a reader can check and the analysis could not prove.

    `kind` determines how to discharge it; `subjects` are the source names it is about; `sentence` says it,
    without a full stop ("`x` and `y` do not overlap"). `or_one`: the loop is as independent where the two
    are one array from its start on.
    """

    kind: Literal[
        "no-overlap",
        "distinct-values",
        "in-bounds",
        "no-overflow",
        "distinct-rows",
        "no-wrap",
        "not-taken",
        "pure-call",
        "other",
    ]
    subjects: tuple[str, ...]
    sentence: str
    guard: str = ""
    or_one: bool = False

    @property
    def is_of_array(self) -> bool:
        """True if it says that a name of Python stands for an array, of whatever type."""
        begins = tuple(
            f"`{each}` is {article} " for each in self.subjects for article in ("an array", "a NumPy array")
        )
        return self.kind == "other" and len(self.subjects) == 1 and f"{self.sentence} ".startswith(begins)


@dataclass(frozen=True, slots=True)
class Reduction:
    """Updates of `variable` by `operator`, which may be reassociated; `variable` is the source
    name of a scalar or an array (then its elements are reduced), or the path of a number in memory
    (`is_member`: `s->total`), which clauses treat as they do an element. `carried` are the variables that
    are set together with an extremum, its position among them; no clause of a directive combines these."""

    operator: ReductionOperator
    variable: str
    is_array: bool = False
    is_member: bool = False
    carried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Induction:
    """A variable that changes by `step` each iteration: an iteration's copy starts from its closed
    form, `step` times the number of iterations before. `step` is empty where loops inside of an iteration
    change the variable."""

    variable: str
    step: str


@dataclass(frozen=True, slots=True)
class AccessPoint:
    """An end of a dependence: an access in the source. `text` is its spelling as modelled."""

    variable: str
    text: str
    kind: Literal["read", "write"]
    site: Site


@dataclass(frozen=True, slots=True)
class Dependence:
    """A dependence that a loop carries (it joins two different iterations of that loop).

    `distance` is how many iterations of the carrying loop (`carrier`, an ordinal) lie between,
    where constant. `directions` has one of `<`, `=`, `>`, `*` for each loop around both
    accesses, outermost first. `certain`: both accesses happen at exactly the stated elements;
    otherwise one of them may only possibly happen. `order`: the reason why two calls, which are the ends
    then, have to run one after the other.
    """

    kind: DependenceKind
    source: AccessPoint
    sink: AccessPoint
    carrier: int
    distance: int | None
    directions: tuple[str, ...]
    certain: bool
    order: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """Two concrete iterations that conflict, at concrete parameter values.

    Iterations are (loop iterator, value) from the outermost loop in. `condition` says which inputs it takes,
    beyond loops being long enough ("if `k == 0`"); empty if none. `if_input`: the part of it that is on data.
    """

    dependence: Dependence
    source_iteration: tuple[tuple[str, int], ...]
    sink_iteration: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, int], ...]
    condition: str = ""
    if_input: str = ""


@dataclass(frozen=True, slots=True)
class Parallel:
    """No iteration depends on another, under `assumptions`, once `private` and `lastprivate`
    variables have a copy per iteration and `reductions` may be reassociated. The copies of
    `inductions` (which are listed among the private ones too) start from their closed form.

    The verdict word is `reduction` where `reductions` is not empty, else `parallel`.
    """

    assumptions: tuple[Assumption, ...] = ()
    private: tuple[str, ...] = ()
    lastprivate: tuple[str, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    inductions: tuple[Induction, ...] = ()

    @property
    def searches(self) -> bool:
        """True if a reduction finds an extremum with what belongs to it."""
        return any(each.carried for each in self.reductions)


@dataclass(frozen=True, slots=True)
class Sequential:
    """Proven: two iterations conflict. `carried` lists every dependence in the way. `former` are reads as
    they are written, each with its array, if these alone are in the way and see only values from before the
    loop: array renaming would remove them. `advice`: the parallel form of what the loop computes, if it is a
    known one."""

    witness: Witness
    carried: tuple[Dependence, ...]
    former: tuple[tuple[str, str], ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not decided. `would_help` is an assumption under which the loop would be parallel;
    `carried` the possible dependences, if that is the obstacle."""

    rejection: Rejection
    would_help: tuple[Assumption, ...] = ()
    carried: tuple[Dependence, ...] = ()


Verdict = Union[Parallel, Sequential, Unknown]

VerdictWord = Literal["parallel", "reduction", "sequential", "unknown"]


def word(verdict: Verdict) -> VerdictWord:
    """The contract's word for a verdict."""
    match verdict:
        case Parallel(reductions=reductions):
            return "reduction" if reductions else "parallel"
        case Sequential():
            return "sequential"
        case Unknown():
            return "unknown"
