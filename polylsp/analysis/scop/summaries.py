"""Summary of a function: the effects of a call on memory, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

from polylsp.core.query import digest
from polylsp.ir.effects import effects, walk
from polylsp.ir.library import BORROWING, TEAM_SIZE, THREAD_NUMBER, effect_of
from polylsp.ir.liveness import Callees
from polylsp.ir.program import (
    Array,
    Binary,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Floating,
    Function,
    Integer,
    Invariant,
    OtherType,
    Place,
    Pointer,
    Presumption,
    Read,
    Select,
    Site,
    Struct,
    Type,
    Unary,
    Variable,
    stripped,
)
from polylsp.ir.verdict import Assumption, ReductionOperator


@dataclass(frozen=True, slots=True)
class SummaryAccess:
    """Footprint of one call through its parameter number `parameter`, a pointer or a structure with a pointer
    in it, or (-1) of the global `variable`, or what it points to: the elements that lie at `region`, isl text
    `{ [integer arguments] -> [x] }`, along a path of that `shape`, from the pointer to which `way` leads from
    the parameter (`("[]", ".x")` for `p->x`). `exact`: exactly these, and surely. `update` marks both halves
    of a reduction of a global. `subscript`: the one element in terms of the parameters, where `region` cannot
    express it (`y*m.w + x`); `from_end`: a negative one counts from the end. `bytewise`: as characters,
    whatever the type of the pointer (`memcpy`). `followed`: the steps of the shape beyond `way`, by number,
    that follow more pointers found in memory (`m[i][j]`)."""

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
    bytewise: bool = False
    from_end: bool = False
    followed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StateAccess:
    """A place that every call of a function surely reads or writes: a variable with static storage, or an
    element of one or behind a parameter, whose subscripts are constants or in terms of the `parameters`.
    `owner` is the function that it is a local variable of, if it is one. `by_data`: only calls for which a
    condition on their arguments holds update it. `held` is the mutual exclusion of a critical section or an
    atomic update around it, the kind of directive and its name."""

    place: Place
    kind: Literal["read", "write"]
    owner: str = ""
    by_data: bool = False
    parameters: tuple[Variable, ...] = ()
    held: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Effects of calling a function. `integers` are the numbers of its integer parameters, in whose values
    the regions are expressed; `returns`, if not `None`, is its value in terms of its parameters; `directed`:
    it, or a callee, contains directives that may order threads. `counters` are the integers and pointers with
    static storage that it or a callee names; `keeps`: it may store an address that it is given; `state` as in
    `NoSummary`; `per_thread` are names of thread-local variables that it uses, `sets` those of the library's
    that it may set; `presumed` are its branches that are presumed not to be taken; `allocates`: it
    returns NULL, or memory that nothing else leads to; `sizes` are the numbers of parameters that are numbers
    of bytes of an object, or of its elements; `seen_as` are the structures, by name, that it sees behind
    parameters (by number) which are pointers to something else; `body` is its code with
    directives, where that may take the place of a call, and the key stands for it too. Equal keys, equal
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
    allocates: bool = False
    sizes: tuple[int, ...] = ()
    seen_as: tuple[tuple[int, str], ...] = ()
    body: Function | None = None

    @property
    def updated(self) -> frozenset[Variable]:
        """The integers with static storage that a call only updates as a reduction does."""
        own = (a for a in self.accesses if a.parameter < 0 and a.kind == "write")
        return frozenset(a.variable for a in own if isinstance(a.variable.type, Integer))

    @property
    def reads_static(self) -> bool:
        """True if a call may read variables with static storage, or memory that these lead to."""
        return any(access.parameter < 0 and access.kind == "read" for access in self.accesses)


@dataclass(frozen=True, slots=True)
class NoSummary:
    """Reason why a function of the file cannot be summarised, or why one that it calls cannot, however deep:
    the one that is `blamed`. `state` are the variables with static storage
    that each call surely uses; `None` where the function may order threads. `reports`: all that it does is to
    print, or to end the program. `ordered`: the function of the library that each call surely calls, and
    whose calls have to keep their order; empty if there is none. `for_now`: because of a limit of the
    process, or an error of ours. `stream`: where only calls with the same value of one parameter have to keep
    their order, its number. `keeps`: it may store an address that it is given. `carried`: the integer with
    static storage that each call surely reads before it, or a function that it calls, stores another value
    there. `body` as in `Summary`; `code` is its key."""

    name: str
    reason: str
    state: tuple[StateAccess, ...] | None = None
    reports: bool = False
    ordered: str = ""
    for_now: bool = False
    stream: int = -1
    keeps: bool = True
    blamed: str = ""
    carried: Variable | None = None
    body: Function | None = field(default=None, repr=False)
    code: str = ""

    @property
    def key(self) -> str:
        """Equal keys, equal reasons."""
        return digest(self)


@dataclass(frozen=True)
class Calls:
    """The summaries at hand, by function name, and for other functions of the file why there is none;
    `state` has the functions of either kind that keep no order among threads, with the variables that they
    use; `passed_over` are functions of the library whose effects are no concern of a model; `reports` are
    functions without summary that only print or end the program. Branches with these are presumed not to be
    taken where `presuming`. `ordered` are functions without summary, each with one of the library that each
    call of it calls, and whose calls have to keep their order; `streams` are the numbers of the parameters
    that are their streams, for those of which only calls with one stream have to. `keeping` are functions of
    either kind that may store an address that they are given. `named` are the variables that the function
    under analysis names. `blamed` are the functions whose reasons others without summary have, `carried` the
    integers with static storage that calls pass on to later calls, `bodies` those with directives whose code
    may take the place of a call."""

    summaries: Mapping[str, Summary] = field(default_factory=dict[str, Summary])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    state: Mapping[str, tuple[StateAccess, ...]] = field(default_factory=dict[str, tuple[StateAccess, ...]])
    passed_over: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()
    presuming: bool = True
    ordered: Mapping[str, str] = field(default_factory=dict[str, str])
    streams: Mapping[str, int] = field(default_factory=dict[str, int])
    keeping: frozenset[str] = frozenset()
    named: frozenset[Variable] = frozenset()
    blamed: Mapping[str, str] = field(default_factory=dict[str, str])
    carried: Mapping[str, Variable] = field(default_factory=dict[str, Variable])
    bodies: Mapping[str, Function] = field(default_factory=dict[str, Function])

    def of(self, call: Call) -> Summary | None:
        """The summary of a called function: one of the project, or one of the library that writes memory. A
        definition with other parameters than the call has arguments may be that of another program."""
        found = self.summaries.get(call.function)
        if found is not None:
            return found if len(found.parameters) == len(call.arguments) else None
        return None if call.function in self.refused else _of_library(call, self)

    def within(self, function: Function) -> Calls:
        """The same for the analysis of a function. Its integers have values in terms of those before it: a
        callee that updates one which the function or another callee names has no summary here."""
        named = effects(function.body).variables
        relied = {v.source_name for v in named if v.storage != "local"}
        relied |= {v.source_name for one in self.summaries.values() for v in one.counters}
        found = self
        for name, one in self.summaries.items():
            shared = sorted(v.source_name for v in one.updated if v.storage != "static")
            changed = next((each for each in shared if each in relied), None)
            if changed is not None:
                found = found.without(name, changes_integer(changed))
        return replace(found, named=named)

    def without(self, name: str, reason: str) -> Calls:
        """The same without the summary of one function, for a reason."""
        summaries = {each: one for each, one in self.summaries.items() if each != name}
        return replace(self, summaries=summaries, refused={**self.refused, name: reason})

    def as_named_here(self, variable: Variable, named: Iterable[Variable] = ()) -> Variable:
        """A variable with static storage that a called function names, as the caller knows it: under a name
        that no variable of the caller has, unless one, of `named` too, is the same."""
        if variable.storage == "static":
            return variable
        outer = (v for v in (*self.named, *named) if v.storage in ("global", "cell"))
        same = (v for v in outer if v.source_name == variable.source_name)
        return next(same, replace(variable, name=f"{variable.source_name}@file"))

    def counters(self, called: Iterable[Call]) -> frozenset[Variable]:
        """The integers and pointers with static storage that called functions name."""
        known = ((c.function, self.summaries.get(c.function) or self.of(c)) for c in called)
        summaries = {name: found for name, found in known if found is not None}
        return frozenset(self.as_named_here(v) for one in summaries.values() for v in one.counters)

    def callees(self, function: Function) -> Callees:
        """Properties of the functions that a function calls."""
        called = effects(function.body).calls
        known = self.summaries.keys() | self.refused.keys()
        borrowing = {c.function for c in called if effect_of(c.function) in BORROWING}
        borrowing = frozenset(known - self.keeping | borrowing) - _returning(function)
        blind = (name for name, one in self.summaries.items() if not (one.counters or one.reads_static))
        return Callees(borrowing, frozenset(blind))

    def in_thread(self, number: int, team: int) -> Calls:
        """The same as one thread of a team sees them, where OpenMP's functions return its number and the size
        of the team."""
        values = {THREAD_NUMBER: number, TEAM_SIZE: team}
        known = {
            name: Summary(name, f"{name} {value}", (), (), (), Constant(value, _INT, Site(0, 0)), state=())
            for name, value in values.items()
        }
        return replace(self, summaries={**self.summaries, **known})

    def without_presumptions(self) -> Calls:
        """The same without presumptions, and without the summaries that rest on them."""
        found = replace(self, presuming=False)
        for name, one in self.summaries.items():
            if one.presumed:
                found = found.without(name, one.presumed[0].otherwise.message)
        return found


def changes_integer(name: str) -> str:
    """Reason why a function that changes an integer or pointer with static storage has no summary."""
    return f"it changes `{name}`, which all calls share"


def _returning(function: Function) -> frozenset[str]:
    """The functions from whose calls an address may come back: a pointer or structure that they return is
    used."""
    unused = {id(s.value) for s in walk(function.body) if isinstance(s, Evaluate)}
    calls = (c for c in effects(function.body).calls if isinstance(c.type, (Pointer, Struct)))
    return frozenset(c.function for c in calls if id(c) not in unused)


_INT = Integer(32, True)
_Extent = Literal["bytes", "one", "some", "records"]
_Part = tuple[int, Literal["read", "write"], _Extent]

_COPY: tuple[_Part, ...] = ((1, "read", "bytes"), (0, "write", "bytes"))
_TEXT: tuple[_Part, ...] = ((1, "read", "some"), (0, "write", "some"))
_LIBRARY: dict[str, tuple[_Part, ...]] = {
    "memcpy": _COPY,
    "memmove": _COPY,
    "memset": ((0, "write", "bytes"),),
    **dict.fromkeys(("strcpy", "stpcpy", "strncpy"), _TEXT),
    **dict.fromkeys(("strcat", "strncat"), (*_TEXT[:1], (0, "read", "some"), *_TEXT[1:])),
    **dict.fromkeys(("sprintf", "snprintf"), ((0, "write", "some"),)),
    "sscanf": ((0, "read", "some"),),
    **dict.fromkeys(
        ("frexp", "frexpf", "frexpl", "modf", "modff", "modfl", "lgamma_r"), ((1, "write", "one"),)
    ),
    **dict.fromkeys(("sincos", "sincosf"), ((1, "write", "one"), (2, "write", "one"))),
    "rand_r": ((0, "read", "one"), (0, "write", "one")),
    "qsort": ((0, "read", "records"), (0, "write", "records")),
}
"""The accesses of functions of the library, by the number of the parameter that leads there: as many bytes as
the third argument says (C11, 7.24.2 and 7.24.6), one element, any elements from there on, or as many elements
as the second argument says (C11, 7.22.5.2)."""

_VARIADIC: dict[str, tuple[int, Literal["read", "write"]]] = {
    "sprintf": (2, "read"),
    "snprintf": (3, "read"),
    "sscanf": (2, "write"),
}
"""The first of the arguments that a format names, and what is done behind those that are pointers."""


def _of_library(call: Call, calls: Calls) -> Summary | None:
    """Summary of a function of the library that writes memory through its arguments, for the types of the
    arguments of one call; `None` for other functions, and elements of unknown size."""
    if call.macro:
        return _of_macro(call)
    name = call.function.removeprefix("__builtin_")
    parts, arguments = _LIBRARY.get(name, ()), call.arguments
    if name in _VARIADIC:
        first, done = _VARIADIC[name]
        named: list[_Part] = [(k, done, "some") for k in range(first, len(arguments)) if _leads(arguments[k])]
        parts = (*parts, *named)
    if not parts or len(arguments) <= max(number for number, *_ in parts):
        return None
    accesses: list[SummaryAccess] = []
    for number, kind, extent in parts:
        to = arguments[number].type
        if not isinstance(to, Pointer):
            return None
        if not _leads(arguments[number]):
            # A string literal.
            continue
        made = _behind(number, kind, extent, to.to, call)
        if not made:
            return None
        accesses += made
    if name == "qsort" and not _only_compares(arguments[-1], calls):
        return None
    parameters = tuple(
        Variable(f"argument {k}", f"argument {k}", argument.type, "parameter")
        for k, argument in enumerate(arguments)
    )
    integers = tuple(k for k in (1, 2) if any(extent == _COUNTED[k] for *_, extent in parts))
    key = f"{call.function} {[a.type for a in arguments]} {call.record} {call.record_bytes}"
    return Summary(call.function, key, parameters, integers, tuple(accesses), None, state=(), sizes=integers)


def _of_macro(call: Call) -> Summary | None:
    """Summary of a function that is not declared and has the name of a usual macro, of which it is assumed to
    be a use."""
    arguments, of_type, site = call.arguments, call.type, call.site
    parameters = tuple(
        Variable(f"argument {k}", f"argument {k}", argument.type, "parameter")
        for k, argument in enumerate(arguments)
    )
    values = [Cast(Read(Place(v, (), v.type, site)), of_type, site) for v in parameters]
    match call.macro, values:
        case "abs", [value]:
            zero = Cast(Constant(0, _INT, site), of_type, site)
            is_positive = Binary(">=", value, zero, _INT, site)
            returned = Select(is_positive, value, Unary("-", value, of_type, site), of_type, site)
            what = "the absolute value of its argument"
        case ("max" | "min") as kind, [left, right]:
            chosen = Binary(">" if kind == "max" else "<", left, right, _INT, site)
            returned = Select(chosen, left, right, of_type, site)
            what = f"the {'larger' if kind == 'max' else 'smaller'} of its two arguments"
        case _:
            return None
    assumed = Assumption("other", (call.function,), f"`{call.function}` is {what}")
    integers = tuple(k for k, v in enumerate(parameters) if isinstance(v.type, Integer))
    key = f"{call.function} {[a.type for a in arguments]}"
    return Summary(call.function, key, parameters, integers, (), returned, (assumed,), state=())


_COUNTED: dict[int, _Extent] = {1: "records", 2: "bytes"}
"""The parameters that say how much is accessed."""


def _leads(argument: Expr) -> bool:
    """True if an argument is a pointer to memory that may be written."""
    return isinstance(argument.type, Pointer) and not isinstance(stripped(argument), Invariant)


def _only_compares(argument: Expr, calls: Calls) -> bool:
    """True if an argument is a function that writes nothing, and reads nothing that is not behind its
    arguments."""
    name = function_passed(argument)
    summary = calls.summaries.get(name) if name is not None else None
    if summary is None or summary.counters or summary.per_thread or summary.sets:
        return False
    return all(each.kind == "read" and each.parameter >= 0 for each in summary.accesses)


def function_passed(argument: Expr) -> str | None:
    """The name of the function that an argument is; `None` where it is something else."""
    value = stripped(argument)
    is_function = isinstance(value.type, Pointer) and value.type.to == OtherType("function")
    return value.text if isinstance(value, Invariant) and is_function else None


def _behind(
    parameter: int, kind: Literal["read", "write"], extent: _Extent, element: Type, call: Call
) -> tuple[SummaryAccess, ...]:
    """Accesses behind a pointer to elements; none where their size is unknown."""
    if extent in ("bytes", "records") and isinstance(element, Struct):
        return tuple(_numbers_of(parameter, kind, element, extent == "bytes", call))
    if extent == "bytes":
        return _bytes_of(parameter, kind, element)
    if not isinstance(element, (Integer, Floating)) or element.bits > 64:
        return ()
    region = {"one": "{ [] -> [0] }", "some": "{ [] -> [x] : x >= 0 }"}.get(extent, "")
    if extent == "records":
        size = stripped(call.arguments[2])
        if not isinstance(size, Constant) or size.value != max(element.bits // 8, 1):
            return ()
        region = "{ [count] -> [x] : 0 <= x < count }"
    variable = Variable(f"argument {parameter}", f"argument {parameter}", Pointer(element), "parameter")
    return (SummaryAccess(parameter, variable, ("[]",), kind, element, region, extent != "some"),)


def _numbers_of(
    parameter: int, kind: Literal["read", "write"], element: Struct, by_bytes: bool, call: Call
) -> Iterator[SummaryAccess]:
    """Accesses of all numbers in as many structures as the second argument says, or (`by_bytes`) as lie in as
    many bytes as the third one says; none in those of another type than the first argument leads to."""
    first, size = call.arguments[0].type, call.record_bytes
    if not isinstance(first, Pointer) or first.to != element:
        return
    whole = f"0 <= x0 and {size}x0 + {size} <= amount" if by_bytes else "0 <= x0 < amount"
    ends = f"0 <= x0 and {size}x0 < amount and {size}x0 + {size} > amount"
    variable = Variable(f"argument {parameter}", f"argument {parameter}", Pointer(element), "parameter")
    for way, number in call.record:
        extents = [step for step in way if isinstance(step, int)]
        inner = [f"x{k + 1}" for k in range(len(extents))]
        within = "".join(f" and 0 <= {x} < {extent}" for x, extent in zip(inner, extents, strict=True))
        space = f"[amount] -> [{', '.join(('x0', *inner))}]"
        shape = ("[]", *("[]" if isinstance(step, int) else f".{step}" for step in way))
        for among, exact in ((whole, True), (ends, False))[: 1 + by_bytes]:
            region = f"{{ {space} : {among}{within} }}"
            yield SummaryAccess(parameter, variable, shape, kind, number, region, exact, bytewise=by_bytes)


def _bytes_of(parameter: int, kind: Literal["read", "write"], element: Type) -> tuple[SummaryAccess, ...]:
    """Accesses of as many bytes as an argument says, behind a pointer to elements: of whole elements (for
    elements that are arrays, of all of theirs), and of the one that ends in between; none where the size of
    an element is unknown."""
    extents: list[int] = []
    while isinstance(element, Array):
        if not isinstance(element.extent, Constant):
            return ()
        extents.append(int(element.extent.value))
        element = element.element
    if not isinstance(element, (Integer, Floating)) or element.bits > 64:
        return ()
    size = prod(extents) * max(element.bits // 8, 1)
    inner = [f"x{k + 1}" for k in range(len(extents))]
    within = "".join(f" and 0 <= {x} < {extent}" for x, extent in zip(inner, extents, strict=True))
    space = f"[size] -> [{', '.join(('x0', *inner))}]"
    whole = f"{{ {space} : 0 <= x0 and {size}x0 + {size} <= size{within} }}"
    rest = f"{{ {space} : 0 <= x0 and {size}x0 < size and {size}x0 + {size} > size{within} }}"
    name = "to" if parameter == 0 else "from"
    variable = Variable(name, name, Pointer(element), "parameter")
    shape = ("[]",) * (len(extents) + 1)
    return (
        SummaryAccess(parameter, variable, shape, kind, element, whole, True, bytewise=True),
        SummaryAccess(parameter, variable, shape, kind, element, rest, False, bytewise=True),
    )
