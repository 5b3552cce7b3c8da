"""Places and pointers to evaluated paths: which memory, by a base and the steps into it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.inlining import inlined
from polylsp.analysis.scop.symbolic_value import ZERO, Compare, Poly, Symbol, choice, modulo, negate
from polylsp.analysis.scop.walk_scope import Detail, Frame, Scope, either_pointer, may_touch
from polylsp.analysis.scop.walk_state import (
    ANYWHERE,
    At,
    Base,
    Contents,
    Environment,
    Member,
    Opaque,
    PointerValue,
    Value,
)
from polylsp.ir.effects import Effects, effects, element_of, may_be_compatible
from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Complex,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    Loop,
    OtherType,
    Place,
    Pointer,
    Read,
    Rejection,
    Select,
    Site,
    Struct,
    Type,
    Variable,
)
from polylsp.ir.verdict import Assumption, ReductionOperator
from polylsp.poly.scop import AddressRead, ByAddress, Guard, Reached

ValueOf = Callable[[Expr, Scope], Value]
_SCALARS = (Integer, Floating, Complex, Struct)


@dataclass(frozen=True, slots=True)
class Path:
    """Memory: steps from a base. `followed` are the numbers of the steps that follow a pointer found in
    memory, apart from the base's; `loose`: a pointer to a first row may go on beyond it; `taken` is that of
    the pointer that leads there, `None` where the variable is named; `loaded`: the way to the place, from the
    variable that it begins with, follows a pointer in memory; `recast`: through a pointer to another type;
    `partial`: it is a part of a union, which the steps lead to as a whole."""

    base: Base
    steps: tuple[At | Member, ...]
    followed: frozenset[int] = frozenset()
    loose: bool = False
    taken: frozenset[int] | None = field(default=None, compare=False)
    loaded: bool = field(default=False, compare=False)
    recast: bool = field(default=False, compare=False)
    partial: bool = field(default=False, compare=False)

    @property
    def shape(self) -> tuple[str, ...]:
        """The steps without their subscripts; paths of different shape name different objects."""
        return tuple("[]" if isinstance(s, At) else f".{s.name}" for s in self.steps)

    @property
    def members(self) -> frozenset[tuple[str, str]]:
        """The structures after the last pointer step, by name, each with the member that the memory is in."""
        last = max(self.followed, default=-1)
        return frozenset((s.of, s.name) for s in self.steps[last + 1 :] if isinstance(s, Member) and s.of)

    @property
    def subscripts(self) -> tuple[Poly | Opaque, ...]:
        """The subscripts, in order."""
        return tuple(s.index for s in self.steps if isinstance(s, At))


def resolve(place: Place, scope: Scope, value_of: ValueOf) -> Path | Opaque:
    """The memory that a place names here."""
    of_type = place.variable.type
    pointer = None
    if place.steps and is_pointer_like(place.variable):
        pointer = pointer_in(place.variable, scope)
        if isinstance(pointer, Opaque):
            return pointer
        steps = list(pointer.steps)
        base = pointer.base
    else:
        steps, base = [], Base(place.variable.name, place.variable)
    followed = set(pointer.followed) if pointer is not None else set[int]()
    loose = loaded = partial = False
    for number, step in enumerate(place.steps):
        if isinstance(of_type, Struct) and of_type.union:
            steps.append(Member("*"))
            of_type = step.type if isinstance(step, Field) else None
            if not _follows(place.steps[number + 1 :], of_type):
                partial = number + 1 < len(place.steps) or (isinstance(step, Field) and step.partial)
                break
            if not isinstance(of_type, Pointer) or _sets_unions(scope):
                return _reinterpreted(place.site, place.variable)
            continue
        if isinstance(step, Field):
            struct = of_type.name if isinstance(of_type, Struct) else ""
            steps.append(Member(step.name, struct, step.type))
            of_type = step.type
            continue
        index = _element(step, scope, value_of)
        if isinstance(index, PointerValue):
            return _reinterpreted(place.site, place.variable)
        is_variable = number > 0 and not steps and isinstance(of_type, Pointer)
        if isinstance(of_type, Pointer) and (number > 0 or pointer is None):
            if sets_pointers(scope.effects, of_type):
                return _reinterpreted(place.site, place.variable)
            loaded = True
            if is_variable:
                pointer = _pointer_at(base, place.site, scope)
                if isinstance(pointer, Opaque):
                    return pointer
                base, steps, followed = pointer.base, list(pointer.steps), set(pointer.followed)
        if pointer is not None and (number == 0 or is_variable):
            steps[-1] = _shifted(steps[-1], index)
            if steps[-1].sole:
                if steps.pop() != At(ZERO):
                    return beyond_object(place.site, place.variable)
            else:
                loose = _leaves_row(base, steps, scope, value_of)
        else:
            if isinstance(of_type, Pointer):
                followed.add(len(steps))
            steps.append(At(index))
        of_type = element_of(of_type)
    taken = None if pointer is None else pointer.taken
    recast = pointer is not None and pointer.recast
    return Path(base, tuple(steps), frozenset(followed), loose, taken, loaded, recast, partial)


def _element(step: Index, scope: Scope, value_of: ValueOf) -> Value:
    """Element that a subscript names; a negative one counts from the end where the language defines it so."""
    index = value_of(step.subscript, scope)
    if isinstance(index, Opaque):
        return index if step.wraps is None else index.changed()
    if step.wraps is None:
        return _offset(index, step.subscript.type, scope) if isinstance(index, Poly) else index
    if not isinstance(index, Poly) or scope.never_negative(index):
        return index
    assumed = scope.natural_by_progress(index)
    if assumed is not None:
        for each in assumed:
            scope.assume(each)
        return index
    extent = value_of(step.wraps, scope)
    if not isinstance(extent, Poly):
        return extent
    inside = Compare(">=", index)
    constant = index.as_constant
    return index + extent if constant is not None else choice(inside, index, index + extent)


def _offset(index: Poly, of_type: Type, scope: Scope) -> Poly:
    """Distance that a subscript of a type goes from the start: an unsigned one that wrapped around goes back,
    as addresses wrap around too."""
    if not isinstance(of_type, Integer) or of_type.bits != 64 or of_type.signed:
        return index
    least = modulo(index, 1 << 64)
    if all(isinstance(atom, Symbol) for monomial, _ in least.terms for atom in monomial):
        return least
    # A remainder depends on the value that wrapped around.
    back = Compare(">=", index - (1 << 63))
    return index if scope.always(negate(back)) else choice(back, index - (1 << 64), index)


def resolve_pointer(expression: Expr, scope: Scope, value_of: ValueOf) -> PointerValue | Opaque:
    """Target of a pointer expression."""
    match expression:
        case AddressOf(place):
            if not place.steps and isinstance(place.variable.type, Pointer):
                base = Base(f"&{place.variable.name}", place.variable)
                return PointerValue(base, (At(ZERO, sole=True),), taken=loops_around(scope))
            path = resolve(place, scope, value_of)
            if isinstance(path, Opaque):
                return path
            ends_in_element = bool(path.steps) and isinstance(path.steps[-1], At)
            steps = path.steps if ends_in_element else (*path.steps, At(ZERO, sole=True))
            taken = loops_around(scope) if path.taken is None else path.taken
            return PointerValue(path.base, steps, path.followed, taken, path.recast)
        case Read(place) if not place.steps:
            return pointer_in(place.variable, scope)
        case Read(place):
            return _loaded(place, scope, value_of)
        case Binary("+" | "-" as operator, left, right) if isinstance(left.type, Pointer):
            return _moved(left, right, 1 if operator == "+" else -1, scope, value_of)
        case Binary("+", left, right) if isinstance(right.type, Pointer):
            return _moved(right, left, 1, scope, value_of)
        case Cast(operand, Pointer(to)) if isinstance(operand.type, Pointer):
            inner = resolve_pointer(operand, scope, value_of)
            return seen_as(inner, operand.type.to, to, expression.site, scope)
        case Select(_, then, otherwise):
            first, second = (resolve_pointer(each, scope, value_of) for each in (then, otherwise))
            either = either_pointer(None, "pointer", first, second, expression.site, scope)
            return either if either is not None else _reinterpreted(expression.site, None)
        case Call() if (returned := inlined(expression, scope.calls)) is not None:
            # By way of its parameters alone: the function need not name a variable of the file elsewhere.
            return resolve_pointer(returned, scope, value_of)
        case _:
            return _reinterpreted(expression.site, None)


def address_read(pointer: Variable, site: Site, scope: Scope) -> AddressRead | None:
    """The use of the value of a pointer variable that has the address of a variable; `None` if it has not."""
    value = scope.environment.get(pointer.name)
    if not isinstance(value, PointerValue) or value.followed:
        return None
    reached = reached_by_address(Path(value.base, value.steps, taken=value.taken), pointer)
    return reached and AddressRead(value.base.variable.name, reached, loops_around(scope), site)


def loops_around(scope: Scope) -> frozenset[int]:
    """The ordinals of the loops around a point of the walk."""
    return frozenset(frame.loop.ordinal for frame in scope.frames)


def reached_by_address(path: Path, pointer: Variable) -> ByAddress | None:
    """Address through which a path reaches a variable's storage; `None` where the variable is named, or the
    memory is the target of a pointer's value."""
    addressed = path.base.name.startswith("&") or not is_pointer_like(path.base.variable)
    if path.taken is None or path.base.fresh or not addressed:
        return None
    return ByAddress(pointer.source_name, path.taken)


def is_scalar_storage(base: Base) -> bool:
    """True if the base is a variable's storage, not an array and not the target of a pointer."""
    return not base.fresh and (base.name.startswith("&") or isinstance(base.variable.type, _SCALARS))


def _pointer_at(base: Base, site: Site, scope: Scope) -> PointerValue | Opaque:
    """Target of a pointer variable that is read through its address."""
    object_to_pointer_seen(base, site, scope)
    return pointer_in(base.variable, scope)


def object_to_pointer_seen(base: Base, site: Site, scope: Scope) -> None:
    """Let loops around a read of a pointer variable through a pointer to it stay unknown where they assign
    it: such assignments are no accesses, since the walk follows the variable's value."""
    variable = base.variable
    if not base.name.startswith("&") or variable.name not in scope.effects.scalars:
        return
    text = f"`{variable.source_name}` is read through a pointer and assigned by its name"
    rejection = Rejection("pointer-arithmetic", site, text, "read it by its name")
    for frame in scope.frames:
        if variable.name in effects(frame.loop).scalars and rejection not in frame.obstacles:
            frame.obstacles.append(rejection)


def sets_pointers(own: Effects, like: Type | None = None) -> bool:
    """True if statements with these effects change pointers in memory, or ones that may be the same object as
    one of the type `like`, so that places reached through them change."""
    set_there = (p.type for p in own.places if isinstance(p.type, Pointer))
    return any(like is None or may_be_compatible(each, like) for each in set_there)


def _sets_unions(scope: Scope) -> bool:
    """True if the nest changes members of unions, which may be pointers by another name."""
    return any(_in_union(place) for place in scope.effects.places)


def _in_union(place: Place) -> bool:
    """True if a place is inside of a union."""
    of_type: Type | None = place.variable.type
    inside = False
    for step in place.steps:
        inside = not isinstance(of_type, Pointer) and (inside or _is_union(of_type))
        of_type = step.type if isinstance(step, Field) else element_of(of_type)
    return inside or _is_union(of_type)


def _is_union(of_type: Type | None) -> bool:
    return isinstance(of_type, Struct) and of_type.union


def _follows(steps: tuple[Index | Field, ...], of_type: Type | None) -> bool:
    """True if one of the steps into an object of that type follows a pointer."""
    for step in steps:
        if isinstance(of_type, Pointer):
            return True
        of_type = step.type if isinstance(step, Field) else element_of(of_type)
    return False


def _leaves_row(base: Base, steps: list[At | Member], scope: Scope, value_of: ValueOf) -> bool:
    """True if a pointer derived from the start of an array may have left the first row."""
    indices = [s.index for s in steps if isinstance(s, At)]
    if len(indices) < 2 or len(indices) < len(steps) or any(i != ZERO for i in indices[:-1]):
        return False
    of_type: Type | None = base.variable.type
    for _ in range(len(indices) - 1):
        of_type = element_of(of_type)
    extent = (
        value_of(of_type.extent, scope) if isinstance(of_type, Array) and of_type.extent is not None else None
    )
    last = indices[-1]
    if not isinstance(extent, Poly) or not isinstance(last, Poly):
        return True
    return not (scope.never_negative(last) and scope.never_negative(extent - last - 1))


def pointer_in(variable: Variable, scope: Scope) -> PointerValue | Opaque:
    """Target of a pointer variable, or of an array parameter, at this point."""
    value = scope.environment.get(variable.name)
    if isinstance(value, (PointerValue, Opaque)):
        return value
    return PointerValue(Base(variable.name, variable), (At(ZERO),))


def invariant_place(place: Place, scope: Scope, value_of: ValueOf) -> Hashable | None:
    """Identity of the value of a place, if the nest cannot change it; otherwise `None`."""
    if not place.steps:
        return _invariant_variable(place.variable, scope)
    if place.variable.name in scope.effects.scalars and not is_pointer_like(place.variable):
        return None
    path = resolve(place, scope, value_of)
    if isinstance(path, Opaque) or any(isinstance(s, Opaque) for s in path.subscripts):
        return None
    dimensions = frozenset(scope.dimensions)
    subscripts = tuple(s for s in path.subscripts if isinstance(s, Poly))
    if any(not s.symbols.isdisjoint(dimensions) for s in subscripts) or is_written(place, scope):
        return None
    for writer in may_touch(place.variable, place.type, scope, bool(path.followed)):
        scope.assume(no_overlap(writer, path_text(path.base, path.shape)))
    return (path.base.name, path.shape, subscripts)


def no_overlap(first: str, second: str) -> Assumption:
    """The assumption that the memories that two spellings lead to do not overlap."""
    a, b = sorted((first, second))
    return Assumption("no-overlap", (a, b), f"`{a}` and `{b}` do not overlap")


def path_text(base: Base, shape: tuple[str, ...]) -> str:
    """The object as the user would name it: `a`, `p.x`, `p->x`."""
    fields = "".join(s for s in shape if s != "[]")
    if isinstance(base.variable.type, Pointer) and isinstance(base.variable.type.to, Struct) and fields:
        fields = "->" + fields[1:]
    return base.variable.source_name + fields


def _invariant_variable(variable: Variable, scope: Scope) -> Hashable | None:
    value = scope.environment.get(variable.name)
    if isinstance(value, Opaque):
        return None
    if isinstance(value, Poly):
        return ("value", value) if value.symbols.isdisjoint(scope.dimensions) else None
    changed = variable.name in scope.effects.scalars
    if value is None and changed and not isinstance(variable.type, Integer):
        return None
    if variable.storage != "parameter" or variable.escapes:
        for writer in may_touch(variable, variable.type, scope):
            scope.assume(no_overlap(writer, variable.source_name))
    return ("entry", variable.name) if value is None else ("pointer", value)


def is_written(place: Place, scope: Scope) -> bool:
    """True if the nest writes a place of the same variable that may be this one; the memory that a pointer
    there leads to does not count."""
    return any(
        other.variable.name == place.variable.name
        and len(other.steps) <= len(place.steps)
        and not _differ_in_field(other, place)
        for other in scope.effects.places
    )


def _differ_in_field(left: Place, right: Place) -> bool:
    """True if two places of one variable are in different members of a structure."""
    for a, b in zip(left.steps, right.steps, strict=False):
        if isinstance(a, Field) and isinstance(b, Field) and a.name != b.name:
            return True
        if type(a) is not type(b):
            return False
    return False


def _loaded(place: Place, scope: Scope, value_of: ValueOf) -> PointerValue | Opaque:
    """A pointer read from memory: a row of `double **`, a pointer member."""
    path = resolve(place, scope, value_of)
    if isinstance(path, Opaque):
        return path
    if is_written(place, scope) or sets_pointers(scope.effects, place.type):
        return _reinterpreted(place.site, place.variable)
    if not path.steps:
        return _pointer_at(path.base, place.site, scope)
    followed = path.followed | {len(path.steps)}
    return PointerValue(path.base, (*path.steps, At(ZERO)), followed, recast=path.recast)


def _moved(pointer: Expr, offset: Expr, sign: int, scope: Scope, value_of: ValueOf) -> PointerValue | Opaque:
    start = resolve_pointer(pointer, scope, value_of)
    by = value_of(offset, scope)
    if isinstance(start, Opaque) or isinstance(by, PointerValue):
        return start if isinstance(start, Opaque) else _reinterpreted(pointer.site, None)
    moved = by * sign if isinstance(by, Poly) else by if sign > 0 else by.changed()
    last = _shifted(start.steps[-1], moved)
    return replace(start, steps=(*start.steps[:-1], last))


def _shifted(step: At | Member, by: Poly | Opaque) -> At:
    assert isinstance(step, At)
    if isinstance(step.index, Opaque):
        return replace(step, index=step.index.plus(by) if isinstance(by, Poly) else step.index.changed())
    if isinstance(by, Opaque):
        return replace(step, index=by.plus(step.index))
    return replace(step, index=step.index + by)


def is_pointer_like(variable: Variable) -> bool:
    """True for a variable that leads to memory, and is not that memory: a pointer, an array parameter."""
    if isinstance(variable.type, Pointer):
        return True
    return isinstance(variable.type, Array) and variable.storage == "parameter"


def _has_lengths(variable: Variable) -> bool:
    """True for an array, other than a parameter of one dimension without a length, which is a pointer."""
    own = variable.type
    if not isinstance(own, Array):
        return False
    return variable.storage != "parameter" or own.extent is not None or isinstance(own.element, Array)


def seen_as(
    pointer: PointerValue | Opaque, old: Type, new: Type, site: Site, scope: Scope
) -> PointerValue | Opaque:
    """The target of a pointer that is converted to a pointer to another type: the same object, whose elements
    are counted in the sizes of the new type."""
    if isinstance(pointer, Opaque) or same_layout(old, new):
        return pointer
    at_start = pointer.steps[-1] == At(ZERO)
    inside = pointer.steps[max(pointer.followed, default=-1) + 1 :]
    is_part = any(isinstance(each, Member) for each in inside)
    if is_part and (isinstance(new, Struct) or not (at_start or isinstance(new, OtherType))):
        # From a member, a pointer may lead back to the structure around it.
        return _another_view(site)
    if isinstance(old, OtherType) or isinstance(new, OtherType):
        if at_start:
            return pointer
    elif any(isinstance(each, Array | Complex) or _is_union(each) for each in (old, new)):
        # A real number may be a part of a complex one.
        return _another_view(site)
    declared = _has_lengths(pointer.base.variable) and not pointer.base.fresh
    if declared or is_scalar_storage(pointer.base):
        # Its dimensions count elements of the declared type.
        return _another_view(site)
    last, own = pointer.steps[-1], pointer.steps[max(pointer.followed, default=0) :]
    if not is_part and len(own) > 1:
        # The lengths of rows count elements of the old type.
        return _another_view(site)
    if isinstance(old, Struct) or isinstance(new, Struct):
        scope.recast = True
    if at_start:
        return replace(pointer, recast=True)
    index = _recounted(last.index, old, new) if isinstance(last, At) else None
    if index is None:
        text = "which element this is depends on the sizes of two types"
        index = Opaque(len(scope.frames), Rejection("may-alias", site, text, "use one type for the memory"))
    return replace(pointer, steps=(*pointer.steps[:-1], At(index)), recast=True)


def _recounted(index: Poly | Opaque, old: Type, new: Type) -> Poly | None:
    """A number of elements of one type as a number of elements of another; `None` where it is no whole one,
    or a size is unknown."""
    sizes = [each.bits if isinstance(each, (Integer, Floating)) else 0 for each in (old, new)]
    if isinstance(index, Opaque) or not all(size in (8, 16, 32, 64) for size in sizes):
        return None
    scale = Fraction(*sizes)
    terms = [(monomial, coefficient * scale) for monomial, coefficient in index.terms]
    if any(coefficient.denominator != 1 for _, coefficient in terms):
        return None
    return Poly(tuple((monomial, coefficient.numerator) for monomial, coefficient in terms))


def same_layout(left: Type, right: Type) -> bool:
    """True if stepping through the two types counts the same elements."""
    if left == right:
        return True
    return isinstance(left, Integer) and isinstance(right, Integer) and left.bits == right.bits


def _another_view(site: Site) -> Opaque:
    text = "this pointer sees memory as another type, so what is written may be anything the loop uses"
    return Opaque(ANYWHERE, Rejection("may-alias", site, text, "use one type for the memory"))


def beyond_object(site: Site, pointer: Variable | None) -> Opaque:
    """The target of a pointer to one object (a variable, a member of a structure) that is moved beyond it."""
    name = f"`{pointer.source_name}`" if pointer is not None else "this pointer"
    text = f"{name} points to one object, and is used as a pointer into an array"
    return Opaque(ANYWHERE, Rejection("pointer-arithmetic", site, text, "access the other objects by name"))


def _reinterpreted(site: Site, variable: Variable | None) -> Opaque:
    name = f"`{variable.source_name}`" if variable is not None else "this pointer"
    text = f"where {name} points cannot be told"
    return Opaque(ANYWHERE, Rejection("pointer-arithmetic", site, text, "index the array directly"))


# --------------------------------------------------------------------------------------------------
# Raw accesses and statements of a region, as the walk finds them, before memory is given isl shape.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CallRegion:
    """Elements that a call touches around the path of an argument: `{ [arguments] -> [x] }`, and the
    arguments' values (`None` where unknown)."""

    elements: isl.Map
    arguments: tuple[Poly | None, ...]


@dataclass
class RawAccess:
    """An access by path. `exact`: it surely happens at that path when its statement runs. The `region` of a
    call is added to the last subscripts; `where`, if given, holds the iterations of the statement in which
    the access may happen; `extents` are the sizes of the dimensions of its subscripts, where declared;
    `reached` as in `Access`; `assumed`: the assumptions for reassociating its update; `neighbour`: a
    bit-field beside the one that the text names, which is written with it; `bytewise`: it accesses
    characters, whatever the type of the pointer; `called`: a called function makes it;
    `passed_as`: the type of the structures to which the argument of that call leads, if it has their name."""

    path: Path
    kind: Literal["read", "write"]
    site: Site
    type: Type
    variable: Variable
    text: str
    exact: bool = True
    update: ReductionOperator | None = None
    region: CallRegion | None = None
    where: isl.Set | None = None
    extents: tuple[Poly | None, ...] = ()
    reached: Reached = None
    assumed: tuple[Assumption, ...] = ()
    neighbour: bool = False
    bytewise: bool = False
    called: bool = False
    passed_as: str = ""


@dataclass
class RawStatement:
    """A statement with the loops around it and the iterations that reach it. `role` tells statements
    of the source from tests of conditions and from points where two ways come together."""

    frames: tuple[Frame, ...]
    domain: isl.Set
    guards: tuple[Guard, ...]
    position: tuple[int, ...]
    site: Site
    accesses: list[RawAccess]
    role: Literal["statement", "test", "join"] = "statement"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The isl names of the iterators around the statement, outermost first."""
        return tuple(f.dimension for f in self.frames)


@dataclass
class LoopEntry:
    """The state just before a loop, from which it can be walked again alone; `inherited` are assumptions of
    loops around its nest, `epoch` is the one of its nest's parameters; not `trusted`: the nest changes
    variables in ways that the walk does not follow, so that their values may be others. `detail` are the
    limits of the walk of its nest."""

    loop: Loop
    environment: Environment
    active: isl.Set
    frames: tuple[Frame, ...]
    epoch: int
    detail: Detail
    contents: Mapping[str, Contents]
    inherited: tuple[Assumption, ...] = ()
    trusted: bool = True


@dataclass
class Region:
    """The outcome of a walk. `declared` maps variables, and allocations, to the number of loops around their
    scope; `lost_pointers`: something was accessed through a pointer that could not be followed;
    `tainted`: why none of it can be decided; `address_reads`: uses of pointers to variables."""

    statements: list[RawStatement] = field(default_factory=list)
    frames: dict[int, Frame] = field(default_factory=dict)
    entries: dict[int, LoopEntry] = field(default_factory=dict)
    declared: dict[str, int] = field(default_factory=dict)
    lost_pointers: bool = False
    tainted: list[Rejection] = field(default_factory=list)
    address_reads: list[AddressRead] = field(default_factory=list)
