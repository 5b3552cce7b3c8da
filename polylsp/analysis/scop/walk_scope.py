"""Point of the symbolic walk: enclosing loops, reaching iterations, scalar values, and writes.

Includes the join of values where two paths meet: values that differ become a choice by the
condition, or unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.symbolic_value import (
    AllOf,
    Atom,
    Compare,
    Condition,
    NotAffineError,
    Notation,
    Poly,
    Symbol,
    choice,
    condition_symbols,
    negate,
)
from polylsp.analysis.scop.walk_state import (
    ANYWHERE,
    At,
    Contents,
    Entry,
    Environment,
    Member,
    Opaque,
    Parameters,
    PointerValue,
    Value,
    pretty,
)
from polylsp.core.query import by_identity
from polylsp.ir.effects import Effects, may_alias_types, pointers_followed
from polylsp.ir.pointer_flow import PointerFlow, may_be_copied
from polylsp.ir.program import (
    Array,
    Field,
    Integer,
    Loop,
    Place,
    Pointer,
    Presumption,
    Rejection,
    Site,
    Type,
    Variable,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import Assumption
from polylsp.poly.budget import parsed_set
from polylsp.poly.scop import BoundCondition, Guard, UntakenBranch


@dataclass(frozen=True, slots=True)
class Detail:
    """Limits of the precision of a walk: the cases (`Poly.cases`) of a value, those of a condition or of a
    value that depends on one, and the convex pieces of the iterations that reach a point. Values beyond these
    are unknown: a condition that may hold or not, a value of one of several ways."""

    cases: int
    branches: int
    pieces: int

    def follows(self, *iterations: isl.Set) -> bool:
        """True if sets of iterations have few enough pieces."""
        return all(each.n_basic_set() <= self.pieces for each in iterations)


FULL = Detail(1000, 1000, 1 << 30)
"""For nests whose branches isl can follow."""

COARSE = Detail(8, 2, 3)
"""For nests that took too many operations otherwise: single comparisons are still followed."""


@dataclass
class Frame:
    """A loop around the point. `dimension` is the isl name of its iterator, `step` its increment per round;
    `domain` are its iterations and those around it; `obstacles` are reasons why its verdict must stay
    unknown; at the parameter values in `undefined` its counter overflows; `thread_bound`: why its iterations
    must stay on one thread; `conditions` are assumptions in terms of parameters, `untaken` branches in it
    that are presumed not to be taken; `even` are the unique names of variables to which each round adds the
    same amount; `start` is the value of the iterator in the first round, where it has one; `least` are values
    that variables have at least in it, by unique names; `progress` is the step of a loop whose step is a
    parameter, up or down, and the assumption that it is positive: `dimension` counts rounds there."""

    loop: Loop
    dimension: str
    shown: str
    step: int
    domain: isl.Set | None = None
    obstacles: list[Rejection] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    undefined: isl.Set | None = None
    thread_bound: Rejection | None = None
    conditions: list[BoundCondition] = field(default_factory=list)
    untaken: list[UntakenBranch] = field(default_factory=list)
    even: frozenset[str] = frozenset()
    start: Poly | None = None
    least: Mapping[str, Poly] = field(default_factory=dict[str, Poly])
    progress: tuple[Poly, Assumption] | None = None

    def assume(self, assumption: Assumption) -> None:
        """Record an assumption of the loop's verdict."""
        if assumption not in self.assumptions:
            self.assumptions.append(assumption)


@dataclass
class Scope:
    """Point of the walk. `active` are the iterations of the frames that reach this point."""

    parameters: Parameters
    environment: Environment
    effects: Effects
    active: isl.Set
    frames: list[Frame] = field(default_factory=list)
    guards: tuple[Guard, ...] = ()
    position: list[int] = field(default_factory=lambda: [0])
    types: dict[str, Type] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    detail: Detail = FULL
    assumed: list[Assumption] = field(default_factory=list)
    """All assumptions so far: those of a call outside of any loop have no frame that keeps them."""
    presumed: list[Presumption] = field(default_factory=list)
    """All presumptions so far."""
    refused: list[Rejection] = field(default_factory=list)
    """Calls for which loops and callers stay unknown."""
    contents: Mapping[str, Contents] = field(default_factory=dict[str, Contents])
    """Arrays with known elements, by the bases of paths to them."""
    recast: bool = False
    """A structure was reached by a pointer that was converted from one to another type."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The isl names of the iterators around the point, outermost first."""
        return tuple(f.dimension for f in self.frames)

    def assume(self, assumption: Assumption) -> None:
        """Let every loop around the point rest on `assumption`."""
        if assumption not in self.assumed:
            self.assumed.append(assumption)
        for frame in self.frames:
            if assumption not in frame.assumptions:
                frame.assumptions.append(assumption)

    def presume(self, presumed: Presumption, *, in_callee: bool = False) -> None:
        """Let every loop around the start of a branch, here or in a function that is called, rest on its not
        being taken; those that stand in the branch (`unhelped`) stay unknown."""
        if presumed.unhelped:
            for frame in self.frames:
                if frame.loop.ordinal in presumed.unhelped:
                    frame.obstacles.append(presumed.otherwise)
            return
        if self.active.is_empty():
            return
        self.presumed.append(presumed)
        self.assume(Assumption("not-taken", (), presumed.sentence, presumed.guard))
        if not (in_callee or self.guards):
            branch = UntakenBranch(self.active.params(), presumed.otherwise)
            for frame in self.frames:
                frame.untaken.append(branch)

    def refuse(self, rejection: Rejection) -> None:
        """Let every loop around the point stay unknown, and the function for its callers."""
        self.refused.append(rejection)
        for frame in self.frames:
            frame.obstacles.append(rejection)

    def object_to(self, opaque: Opaque) -> None:
        """Record an unknown pointer as an obstacle of every loop around the access."""
        for frame in self.frames:
            if opaque.rejection not in frame.obstacles:
                frame.obstacles.append(opaque.rejection)

    def where(self, condition: Condition) -> isl.Set:
        """The active iterations at which `condition` holds. Raises NotAffineError."""
        return self.active.intersect(self.set_of(AllOf((condition, *self.naturals(condition)))))

    def set_of(self, condition: Condition) -> isl.Set:
        """The iterations of the frames at which `condition` holds. Raises NotAffineError."""
        return set_of(self.dimensions, condition, self.parameters)

    def always(self, condition: Condition) -> bool:
        """True if `condition` is proven at every active iteration."""
        try:
            fails = self.set_of(AllOf((negate(condition), *self.naturals(condition))))
        except NotAffineError:
            return False
        return bool(self.active.intersect(fails).is_empty())

    def naturals(self, condition: Condition) -> list[Condition]:
        """Conditions that the unsigned parameters in a condition are not negative."""
        names = sorted(condition_symbols(condition))
        return [Compare(">=", Poly.atom(Symbol(n))) for n in names if self._is_natural(n)]

    def never_negative(self, value: Poly) -> bool:
        """True if `value >= 0` is proven at every active iteration."""
        if all(c >= 0 and all(self._known_natural(a) for a in m) for m, c in value.terms):
            return True
        return self.always(Compare(">=", value))

    def natural_by_progress(self, value: Poly) -> list[Assumption] | None:
        """Assumptions on steps under which `value >= 0` at every active iteration, if it is a sum of
        multiples of what such steps add up to and of what is proven not to be negative; `None` for others."""
        assumed: list[Assumption] = []
        for frame in self.frames:
            if frame.progress is None:
                continue
            step, positive = frame.progress
            passed = step * Poly.atom(Symbol(frame.dimension))
            monomial, size = passed.terms[0]
            times = dict(value.terms).get(monomial, 0) // size
            if times > 0:
                value -= passed * times
                assumed.append(positive)
        return assumed if self.never_negative(value) else None

    def _known_natural(self, atom: Atom) -> bool:
        return isinstance(atom, Symbol) and self._is_natural(atom.name)

    def _is_natural(self, name: str) -> bool:
        of_type = self.parameters.types.get(name)
        return isinstance(of_type, Integer) and not of_type.signed


def set_of(dimensions: tuple[str, ...], condition: Condition, parameters: Parameters) -> isl.Set:
    """`{ [dimensions] : condition }`, with the parameters' value ranges by type."""
    notation = Notation(frozenset(dimensions))
    formula = notation.condition(condition)
    return parsed_set(f"{header(notation, parameters)}{{ [{', '.join(dimensions)}] : {formula} }}")


def header(notation: Notation, parameters: Parameters) -> str:
    """Parameter list in front of an isl set; registers products with the parameters. Of one with other
    factors than parameters nothing is known but that it is one value."""
    for name, monomial in notation.composed.items():
        parameters.texts[name] = pretty(Poly.of({monomial: 1}), parameters)
        parameters.derived.add(name)
    for name, factors in notation.products.items():
        parameters.products[name] = factors
        if name not in parameters.texts:
            parameters.texts[name] = " * ".join(parameters.texts.get(f, f) for f in factors)
            types = [parameters.types.get(f) for f in factors]
            if all(isinstance(t, Integer) and not t.signed for t in types):
                parameters.types[name] = Integer(64, False)
    names = sorted(notation.parameters)
    return f"[{', '.join(names)}] -> " if names else ""


def may_touch(variable: Variable, reached: Type, scope: Scope, followed: bool = True) -> tuple[str, ...]:
    """The spellings of the pointers through which the nest may write the memory of `variable`, whose
    elements have type `reached`; C's rules on types are believed. `followed`: the way there follows pointers
    in memory."""
    lent = variable.name in scope.parameters.addresses.lent and not isinstance(variable.type, Pointer)
    given = variable.storage == "parameter" and isinstance(variable.type, (Pointer, Array))
    exposed = (variable.escapes and not lent) or variable.storage in ("global", "static")
    if not (exposed or given):
        return ()
    # A scalar, or a pointer itself and not its target.
    is_scalar = not isinstance(variable.type, (Pointer, Array)) or (reached == variable.type and not given)
    found: dict[str, None] = {}
    for place in scope.effects.places:
        if not may_alias_types(place.type, reached):
            continue
        pointer = _pointer_followed(place)
        other = place.variable.name != variable.name or len(pointer) > len(place.variable.source_name)
        if not pointer or not other or pointer in found:
            continue
        # Of what calls write, the types of members are not always there.
        untyped = any(isinstance(step, Field) and step.type is None for step in place.steps)
        is_loaded = untyped or pointer != place.variable.source_name
        if not (is_loaded or is_scalar) and _allocated_apart(place.variable, variable, followed, scope):
            continue
        if is_loaded or not is_scalar or may_lead_to(place.variable, variable, scope):
            found[pointer] = None
    return tuple(found)


def _allocated_apart(pointer: Variable, other: Variable, followed: bool, scope: Scope) -> bool:
    """True if a pointer leads to an allocation throughout the nest, and another one does not lead there, nor,
    if it is `followed`, pointers in memory."""
    value = scope.environment.get(pointer.name)
    if not isinstance(value, PointerValue) or not value.base.fresh or pointer.name in scope.effects.scalars:
        return False
    sources = scope.parameters.addresses.flow.sources(other.name, *(("*",) if followed else ()))
    return not may_be_copied(value.base.variable, sources)


def may_lead_to(pointer: Variable, variable: Variable, scope: Scope) -> bool:
    """True if a pointer that the nest uses may lead to a variable that it names: not one that is computed
    from `restrict` parameters, other objects and allocations alone, nor, where the variable is the call's,
    one without its address."""
    value = scope.environment.get(pointer.name)
    if isinstance(value, PointerValue) and not value.followed and pointer.name not in scope.effects.scalars:
        # The nest has the pointer that was set before it.
        base, pointer = value.base, value.base.variable
        if base.fresh or base.name.startswith("&") or not _is_pointer(pointer):
            return not base.fresh and pointer.name == variable.name
    flow = scope.parameters.addresses.flow
    sources = flow.sources(pointer.name)
    named = {each.name: each for each in (pointer, *scope.effects.variables)}
    begins = [each for each in sources if not each.startswith("&") and each != "*"]
    of_call = variable.storage in ("local", "parameter")
    if f"&{variable.name}" in sources or ("*" in sources and not of_call):
        return True
    return any(name not in named or _begins_open(named[name], flow, of_call) for name in begins)


def _begins_open(pointer: Variable, flow: PointerFlow, of_call: bool) -> bool:
    """True if a pointer may lead to a variable of the call, or with static storage, by the value that it has
    at first, or by assignments that are not in the flow."""
    if pointer.storage == "parameter":
        promised = isinstance(pointer.type, (Pointer, Array)) and pointer.type.restrict
        return not of_call and not promised
    return pointer.name not in flow.set_to


def _is_pointer(variable: Variable) -> bool:
    is_given = isinstance(variable.type, Array) and variable.storage == "parameter"
    return isinstance(variable.type, Pointer) or is_given


@by_identity()
def _pointer_followed(place: Place) -> str:
    """The last pointer on the way to a place, as it is spelled; empty if there is none. That of a place is
    remembered: each read of a nest asks for those of all its writes."""
    found = ""
    if isinstance(place.variable.type, Pointer) or place.variable.storage == "parameter":
        found = place.variable.source_name
    for way in pointers_followed(place):
        found = spell_place(way)
    return found


# --------------------------------------------------------------------------------------------------
# Join of the values of variables where two paths through a program meet.
# --------------------------------------------------------------------------------------------------


def unknown_value(place: Place, depth: int) -> Opaque:
    """A value that only a run of the program determines."""
    text = f"the value of `{place.variable.source_name}` is only known when the program runs"
    return Opaque(depth, Rejection("data-dependent-value", place.site, text))


def one_of_several(name: str, site: Site, depth: int = ANYWHERE) -> Opaque:
    """Value of a variable that depends on the path: a pointer leads to memory that has another name too."""
    text = f"the value of `{name}` depends on which way the program takes"
    return Opaque(depth, Rejection("data-dependent-value", site, text))


def leads_away(value: Value | None, name: str) -> bool:
    """True if the value of a variable of that name is a pointer that may lead to memory of another name."""
    if isinstance(value, Opaque):
        return value.depth == ANYWHERE
    if not isinstance(value, PointerValue):
        return False
    return value.base.variable.name != name or value.base.fresh


def merged(
    then: Environment,
    otherwise: Environment,
    condition: Condition | None,
    site: Site,
    scope: Scope,
) -> Environment:
    """The values after two ways came together: those that differ are a choice by the `condition`, unless that
    is too large to be followed."""
    depth = len(scope.frames)
    result: Environment = {}
    for name in then.keys() | otherwise.keys():
        a, b = then.get(name), otherwise.get(name)
        if a == b and a is not None:
            result[name] = a
        elif (either := _choice(condition, a, b, scope)) is not None:
            result[name] = either
        elif condition is not None and (element := chosen_element(condition, a, b, scope)) is not None:
            result[name] = element
        elif (pointer := either_pointer(condition, name, a, b, site, scope)) is not None:
            result[name] = pointer
        else:
            anywhere = isinstance(a, PointerValue) or isinstance(b, PointerValue)
            result[name] = one_of_several(name.split("@")[0], site, ANYWHERE if anywhere else depth)
    return result


def _choice(
    condition: Condition | None, then: Value | None, otherwise: Value | None, scope: Scope
) -> Poly | None:
    if condition is None or not isinstance(then, Poly) or not isinstance(otherwise, Poly):
        return None
    found = choice(condition, then, otherwise)
    return found if found.cases <= scope.detail.branches else None


def chosen_element(
    condition: Condition, then: Value | None, otherwise: Value | None, scope: Scope
) -> Opaque | None:
    """The value of `p ? p[k] : k`, of which `p` has the elements if it leads anywhere: of a condition on
    parameters that chooses an element of an array or its subscript. `None` for other choices."""
    element, number, without = then, otherwise, negate(condition)
    if not isinstance(element, Opaque):
        element, number, without = otherwise, then, condition
    entry = element.entry if isinstance(element, Opaque) else None
    if not isinstance(element, Opaque) or entry is None or entry.subscripts != (number,):
        return None
    plain = entry == Entry(entry.base, entry.shape, entry.subscripts)
    fixed = condition_symbols(condition).isdisjoint(scope.dimensions)
    return replace(element, entry=replace(entry, unless=without)) if plain and fixed else None


def either_pointer(
    condition: Condition | None,
    name: str,
    then: Value | None,
    otherwise: Value | None,
    site: Site,
    scope: Scope,
) -> PointerValue | None:
    """A pointer to one of two elements of the same object whose paths differ in subscripts alone; `None` for
    other values. A subscript without a closed form is a parameter outside of loops."""
    if not isinstance(then, PointerValue) or not isinstance(otherwise, PointerValue):
        return None
    same = then.base == otherwise.base and then.followed == otherwise.followed
    if not same or len(then.steps) != len(otherwise.steps):
        return None
    steps: list[At | Member] = []
    for number, (a, b) in enumerate(zip(then.steps, otherwise.steps, strict=True)):
        if a == b:
            steps.append(a)
        elif isinstance(a, At) and isinstance(b, At):
            index = _subscript(condition, (name, number, site), a.index, b.index, scope)
            steps.append(At(index, a.sole or b.sole))
        else:
            return None
    taken, recast = then.taken | otherwise.taken, then.recast or otherwise.recast
    return PointerValue(then.base, tuple(steps), then.followed, taken, recast)


def _subscript(
    condition: Condition | None,
    key: tuple[str, int, Site],
    then: Poly | Opaque,
    otherwise: Poly | Opaque,
    scope: Scope,
) -> Poly | Opaque:
    found = _choice(condition, then, otherwise, scope)
    if found is not None:
        return found
    name, _, site = key
    source = name.split("@")[0]
    known = isinstance(then, Poly) and isinstance(otherwise, Poly)
    if known and not scope.frames:
        return scope.parameters.computed(key, source, Integer(64, True), f"{source}_index")
    return one_of_several(source, site, len(scope.frames))
