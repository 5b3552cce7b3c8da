"""OpenMP and OpenACC directives that stand in a function, and the findings about them. A loop over Numba's
`prange` is one too (family `numba`, word `prange`): its clauses state Numba's implicit behaviour.

The words are those of OpenMP 5.2 and OpenACC 3.3. A directive or a clause outside of these is a value too:
the analysis stays silent where one of them stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from polylsp.ir.program import Site
from polylsp.ir.verdict import AccessPoint, ReductionOperator, Witness

Family = Literal["omp", "acc", "numba"]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Reason why no directive can stand before a loop, as half a sentence after "because". By `kind` its
    header starts (`start`) or changes (`step`) more than a counter, tests it without a comparison (`test`),
    or starts it with a value that each thread would compute anew (`value`)."""

    kind: Literal["start", "step", "test", "value", "other"]
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Item:
    """A list item: the name of a variable, and all of its spelling (`a[0:n]`, `s.x`)."""

    name: str
    text: str


SharingKind = Literal["private", "firstprivate", "lastprivate", "linear", "shared"]


@dataclass(frozen=True, slots=True)
class Sharing:
    """Data-sharing clause: each thread has a private copy of the variables, or all threads share one. `step`,
    of `linear`: the increment of the variable per iteration; `None` where it is no number. `conditional`, of
    `lastprivate`: the last iteration that sets the variable provides its final value."""

    kind: SharingKind
    items: tuple[Item, ...]
    step: int | None = None
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class ReductionClause:
    """Each thread has a copy, and the copies are combined by `operator` (which a program may declare)."""

    operator: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class DefaultSharing:
    """`default(none)` and the like."""

    kind: str


@dataclass(frozen=True, slots=True)
class Collapse:
    """Number of loops collapsed into one; `None` where the argument is no number."""

    count: int | None


@dataclass(frozen=True, slots=True)
class Ordered:
    """`ordered`; with a count iterations wait for each other as `depend` says."""

    count: int | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Distribution of iterations among threads."""

    kind: str
    chunk: str = ""


@dataclass(frozen=True, slots=True)
class Safelen:
    """Iterations that far apart never run at once; `None` where that is no number."""

    length: int | None


@dataclass(frozen=True, slots=True)
class Condition:
    """`if(…)`, without its directive-name modifier (`parallel:`)."""

    text: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Number of threads, teams, gangs or lanes."""

    name: str
    text: str


Flow = Literal["in", "out", "both", "none"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Data transfer between host and device (`map`, `copyin`, …). `flow` is its direction, where the clause
    gives the device separate memory; `None` where it does not, or where the direction is undetermined."""

    kind: str
    items: tuple[Item, ...]
    flow: Flow | None = None


@dataclass(frozen=True, slots=True)
class OtherClause:
    """A clause that has no bearing on which iterations may run at once, or is a word that says so
    itself (`independent`, `seq`)."""

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class UnknownClause:
    """A clause of no standard that we know."""

    name: str


Clause = Union[
    Sharing,
    ReductionClause,
    DefaultSharing,
    Collapse,
    Ordered,
    Schedule,
    Safelen,
    Condition,
    Limit,
    Transfer,
    OtherClause,
    UnknownClause,
]


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive. `words` are its name (`parallel`, `for`); `pragma` its number among the function's;
    `at` the token before which it stands; `site` the statement that it governs, `None` where it stands
    alone; `argument` the name of a critical section."""

    family: Family
    words: tuple[str, ...]
    clauses: tuple[Clause, ...]
    pragma: int
    at: int
    site: Site | None
    argument: str = ""


@dataclass(frozen=True, slots=True)
class UnknownDirective:
    """A directive of one of the families that could not be read."""

    family: Family
    text: str
    pragma: int
    at: int
    site: Site | None


AnyDirective = Union[Directive, UnknownDirective]


# --- Findings ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mend:
    """The clause that makes a directive right. `moved` is the variable that has to leave the clause
    `out_of`, in which it stands now; both are empty where the clause is only added."""

    clause: str
    moved: str = ""
    out_of: str = ""


@dataclass(frozen=True, slots=True)
class Race:
    """Two iterations that the directive lets run at once use one place in memory, and one of them writes it.
    `copied`: the variable has copies, so that the values of one iteration never get to the other. `sized`: at
    other parameter values than those of the witness the loop may be free of races. `called`: in a call that
    passes one memory twice alone, in words."""

    witness: Witness
    copied: bool = False
    sized: bool = False
    called: str = ""


@dataclass(frozen=True, slots=True)
class ConditionalRace:
    """Race of iterations on the element of `access` under a `condition`, in words, on data or arguments.
    `atomic`: an atomic update prevents it; `mend`: the clause that prevents it, if there is one."""

    condition: str
    access: AccessPoint
    atomic: bool = False
    mend: Mend | None = None


@dataclass(frozen=True, slots=True)
class OtherOperator:
    """A reduction clause combines by `stated` the results that the loop computes by `computed`."""

    variable: str
    stated: str
    computed: ReductionOperator
    access: AccessPoint


@dataclass(frozen=True, slots=True)
class OtherStep:
    """A `linear` clause says that each iteration adds `stated` to a variable; the loop adds `computed`."""

    variable: str
    stated: int
    computed: int
    access: AccessPoint


@dataclass(frozen=True, slots=True)
class Lacking:
    """A missing clause. `kind` says why it is needed: the iterations share a temporary (`temporary`), a sum
    (`sum`), or a counter that advances with them (`count`); a private copy has no initial value (`start`), or
    its value is lost after the loop (`end`) or after a task (`result`); all threads of a region run code that
    writes one temporary (`each`), or adds to one sum (`each-sum`); a device's result is not copied back
    (`lost`), or the device reads data that were never copied to it (`unset`). `access` is where the variable
    is written, or where its value is needed."""

    kind: Literal["temporary", "sum", "count", "start", "end", "result", "each", "each-sum", "lost", "unset"]
    variable: str
    access: AccessPoint
    mend: Mend


@dataclass(frozen=True, slots=True)
class NotLast:
    """A `lastprivate` clause copies out the last iteration's value of a variable, which only earlier
    iterations set. `access` is their write."""

    variable: str
    access: AccessPoint


@dataclass(frozen=True, slots=True)
class Miscounted:
    """The iterations that a directive counts before the loop begins are not those of the loop: its body
    changes the counter `variable`, or (`wraps`) the loop ends when that wraps around. `access` is the write
    that does so."""

    variable: str
    access: AccessPoint
    wraps: bool


@dataclass(frozen=True, slots=True)
class ShortSection:
    """A device, or a thread with a copy (`reduction`), accesses an element of `variable` that the section
    `text` of its `clause` leaves out."""

    variable: str
    clause: str
    text: str
    access: AccessPoint


@dataclass(frozen=True, slots=True)
class EveryThread:
    """Code that all threads of a parallel region run writes shared variables; `in_loop`: in a loop that each
    of them goes through from its beginning."""

    access: AccessPoint
    in_loop: bool


UnorderedKind = Literal["nowait", "master", "sections", "no-barrier", "blocks", "task", "tasks"]


@dataclass(frozen=True, slots=True)
class Unordered:
    """Two pieces of a parallel region use one place in memory, one of them writing it, with no barrier
    between: threads do not wait after the first (`nowait`, `master`), both are sections of one construct,
    every thread runs the first and then comes to the second, two threads share out work by their numbers so
    that both use the place (`blocks`); or the first is a task without a wait before the
    second, which its creator runs (`task`) or which is another task (`tasks`)."""

    kind: UnorderedKind
    witness: Witness


Finding = Union[
    Race,
    ConditionalRace,
    OtherOperator,
    OtherStep,
    Lacking,
    NotLast,
    Miscounted,
    ShortSection,
    EveryThread,
    Unordered,
]


@dataclass(frozen=True, slots=True)
class DirectiveFacts:
    """Facts about a directive. `pragma` is its number among the function's pragmas, whose spans are looked up
    apart; `words` its name (`parallel for`); `loops` (ordinals) are the loops whose iterations it
    distributes, outermost first; `inside` all loops in the statement that it governs. `parallel`: several
    threads, lanes or gangs run the statement that it governs."""

    family: Family
    words: str
    pragma: int
    loops: tuple[int, ...]
    inside: tuple[int, ...]
    parallel: bool
    findings: tuple[Finding, ...] = ()
