"""Members of structures as variables of their own: `p[i].r.x` as `p_r_x[i]`, `d->x[i]` as `d_x[i]`, `q->n` as
`q_n`. What makes kernels sees arrays of numbers and numbers; the caller hands over where these are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import islpy as isl

from polylsp.core.language import C
from polylsp.emit.subject import Member, Subject
from polylsp.ir.effects import Rewriter, places_in, walk
from polylsp.ir.program import (
    Array,
    Assign,
    Constant,
    Declare,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Struct,
    Type,
    Variable,
    innermost,
    shape_of,
    within,
)
from polylsp.ir.spelling import is_zero
from polylsp.model.action import Answer, Declined
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access, Memory, Scop
from polylsp.targets.gpu.device_names import RESERVED, Fresh

_Key = tuple[str, tuple[str, ...]]
"""A variable's unique name, and the steps to the last member: `[]` and `.x`."""

_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, eq=False)
class _Found:
    """The variable that stands for a member, the first steps of the member's memory that it stands for
    (`fixed`; `own` of them are steps of its places), and whether one subscript chooses among structures. A
    local pointer that leads to the member stands for it by itself, and is no `member`."""

    variable: Variable
    fixed: int
    chooses: bool
    member: Member | None
    own: int = 0


def with_members(subject: Subject, ordinal: int = 0) -> Subject:
    """The function with variables in the place of members, as far as these can be told apart in the outermost
    loop around a loop (0: in all of the function); itself where there are none."""
    if subject.language != C.name:
        return subject
    site = _around(subject, ordinal)
    return _with(subject, _aliases(subject, site), site)


def modelled_around(subject: Subject, ordinal: int) -> LoopFacts:
    """The outermost loop around a loop that has a model, or the loop itself."""
    facts = subject.known(ordinal)
    return next((each for each in subject.around(ordinal) if subject.nest(each.ordinal) is not None), facts)


def _around(subject: Subject, ordinal: int) -> Site | None:
    """Site of the outermost loop around a loop, as far as there is a model, and of the function's body
    (`None`) around no loop (0)."""
    return modelled_around(subject, ordinal).site if ordinal else None


def _with(
    subject: Subject, aliases: Mapping[str, Place], site: Site | None, pointers: bool = False
) -> Subject:
    """The function with variables in the place of members, or of those alone to which local pointers lead;
    what uses members in other ways outside of a site does not matter."""
    leading = {each.site for each in aliases.values()}
    places = [each for each in places_in(subject.function.body) if each.site not in leading]
    if pointers and site is not None:
        # Places elsewhere keep their names, by which they may lead to the member.
        places = [each for each in places if within(each.site, site)]
    by_key: dict[_Key, list[Place]] = {}
    for each in places:
        key = _key(each, aliases)
        if key is not None:
            by_key.setdefault(key, []).append(each)
    fresh = Fresh({*re.findall(r"\w+", subject.text), *RESERVED})
    made_of = partial(_pointer, aliases) if pointers else partial(_found, subject, aliases, fresh)
    found = {key: made for key, own in by_key.items() if (made := made_of(own))}
    count = 0
    while count != len(found):
        count = len(found)
        found = {
            key: made
            for key, made in found.items()
            if _is_whole(subject, key, made, places, by_key, found, aliases, site)
        }
    if not found:
        return subject
    body = _Members(found, aliases).block(subject.function.body)
    nests = tuple(replace(each, scop=_scop(each.scop, found)) for each in subject.nests)
    members = {each.variable.source_name: each.member for each in found.values() if each.member is not None}
    return replace(subject, function=replace(subject.function, body=body), nests=nests, members=members)


def _aliases(subject: Subject, site: Site | None) -> dict[str, Place]:
    """The places that local pointers are set to, once and before a site (`None`: before all loops), by the
    pointers' unique names."""
    first = min((loop.site.first for loop in subject.facts.loops), default=0) if site is None else site.first
    found: dict[str, Place] = {}
    for variable in subject.variables:
        assigned = subject.assigned(variable) if isinstance(variable.type, Pointer) else []
        plain = variable.storage == "local" and not variable.escapes
        if plain and len(assigned) == 1 and assigned[0].operator is None and assigned[0].site.last < first:
            value = assigned[0].value
            if isinstance(value, Read) and any(isinstance(s, Field) for s in value.place.steps):
                found[variable.name] = value.place
    return found


def _key(place: Place, aliases: Mapping[str, Place]) -> _Key | None:
    """The member that a place leads to, or into; `None` if to none."""
    name, steps = place.variable.name, place.steps
    while name in aliases and steps:
        name, steps = aliases[name].variable.name, (*aliases[name].steps, *steps)
    last = max((k for k, step in enumerate(steps) if isinstance(step, Field)), default=-1)
    return (name, shape_of(steps[: last + 1])) if last >= 0 else None


def _own(place: Place) -> int:
    """The number of steps of a place to its own last member."""
    return max((k + 1 for k, step in enumerate(place.steps) if isinstance(step, Field)), default=0)


# --- Which members -----------------------------------------------------------------------


def _pointer(aliases: Mapping[str, Place], own: list[Place]) -> _Found | None:
    """The local pointer by which some places lead to a member: to one that a pointer there leads to, or to
    one of the structures that it leads to; `None` if there is none."""
    root = own[0].variable
    if any(each.variable != root for each in own):
        return None
    is_struct = isinstance(root.type, Pointer) and isinstance(root.type.to, Struct)
    before = _steps_before(root, aliases) if is_struct else _led(root, aliases)
    plain = all(_own(each) or (len(each.steps) == 1 and not is_struct) for each in own)
    # Behind a pointer in the structure there is memory that the local pointer does not lead to.
    on = any(isinstance(s, Field) and _is_cell(s.type) for each in own for s in each.steps)
    if not before or not plain or on or not all(is_plain(root, each.steps) for each in own):
        return None
    return _Found(root, before, False, None)


def _found(subject: Subject, aliases: Mapping[str, Place], fresh: Fresh, own: list[Place]) -> _Found | None:
    """The variable for a member that some places lead to; `None` if one cannot stand for it."""
    root, steps = own[0].variable, own[0].steps[: _own(own[0])]
    if any(each.variable != root or shape_of(each.steps[: _own(each)]) != shape_of(steps) for each in own):
        return None
    if not steps:
        led = _led(root, aliases)
        plain = all(len(each.steps) == 1 for each in own) and led is not None
        return _Found(root, led, False, None) if plain and led is not None else None
    last = steps[-1]
    if not isinstance(last, Field) or not is_plain(root, steps) or not _is_steady(subject, root, steps):
        return None
    numbers, before = _numbers(last.type), _steps_before(root, aliases)
    chosen = [k for k, s in enumerate(steps) if isinstance(s, Index) and not all(is_first(p, k) for p in own)]
    if numbers is None or before is None or len(chosen) > 1:
        return None
    element, extents, is_led = numbers
    if any(
        len(p.steps) - len(steps) not in (len(extents), 0) or not _ends_in_index(p, len(steps)) for p in own
    ):
        return None
    # A member behind another subscript, or behind a pointer, is in no structure of the array itself.
    if chosen and (is_led or any(isinstance(step, Index) for step in steps[chosen[0] + 1 :])):
        return None
    fixed = chosen[0] if chosen else len(steps)
    words = [root.source_name, *(s.name for s in steps if isinstance(s, Field))]
    name = fresh.name("_".join(words))
    of_type: Type = element
    for extent in reversed(extents):
        of_type = Array(of_type, extent)
    if chosen:
        of_type = Array(of_type, root.type.extent if isinstance(root.type, Array) and not fixed else None)
    is_pointed = is_led or isinstance(root.type, Pointer) or any(isinstance(s, Index) for s in steps[:fixed])
    storage = root.storage
    if is_pointed:
        storage = "parameter" if isinstance(of_type, Array) else "global"
    const = root.const and not is_pointed
    variable = replace(
        root, name=name, source_name=name, type=of_type, storage=storage, bytes=None, const=const
    )
    member = _member_of_each(root, steps, fixed, len(extents)) if chosen else Member(written(root, steps))
    return _Found(variable, before + fixed, bool(chosen), member, fixed)


def _member_of_each(root: Variable, steps: tuple[Index | Field, ...], chosen: int, depth: int) -> Member:
    """A member of the structures of an array, among which the subscript number `chosen` chooses; the member
    is an array of `depth` dimensions."""
    base = written(root, steps[:chosen])
    first = written(root, (*steps[:chosen], _FIRST, *steps[chosen + 1 :]))
    zeros = "[0]" * depth
    size, rows = f"sizeof({base}[0])", first if depth else ""
    return Member(written(root, steps), f"&{first}{zeros}", size, base, depth, rows)


def _steps_before(root: Variable, aliases: Mapping[str, Place]) -> int | None:
    """The number of steps to where a local pointer leads, all of them fixed; `None` if some are not."""
    count, name = 0, root.name
    while name in aliases:
        place = aliases[name]
        if not all(is_first(place, k) for k, s in enumerate(place.steps) if isinstance(s, Index)):
            return None
        count, name = count + len(place.steps), place.variable.name
    return count


def _led(root: Variable, aliases: Mapping[str, Place]) -> int | None:
    """The same of a pointer to numbers."""
    of_type = root.type.to if isinstance(root.type, Pointer) else root.type
    return _steps_before(root, aliases) if isinstance(of_type, (Integer, Floating)) else None


_FIRST = Index(Constant(0, Integer(32, True), Site(0, 0)))


def is_plain(root: Variable, steps: tuple[Index | Field, ...]) -> bool:
    """True if there is no union on the way, and no bit-field at its end."""
    types = [root.type, *(s.type for s in steps if isinstance(s, Field))]
    inner = [innermost(each) for each in types if each is not None]
    unions = any(isinstance(each, Struct) and each.union for each in inner)
    bit_field = any(isinstance(s, Field) and s.bit_field for s in steps)
    return not unions and not bit_field and not root.per_thread and len(inner) == len(types)


def _is_steady(subject: Subject, root: Variable, steps: tuple[Index | Field, ...]) -> bool:
    """True if the pointers on the way lead to the same place at all times at which loops use it."""
    loops = [loop.site for loop in subject.facts.loops if loop.depth == 1]
    first = min((loop.first for loop in loops), default=0)
    if isinstance(root.type, Pointer):
        assigned = subject.assigned(root)
        if root.storage != "local" and assigned:
            return False
        late = len(assigned) != 1 or assigned[0].site.last >= first
        if root.storage == "local" and (late or root.escapes):
            return False
    fields = (k + 1 for k, step in enumerate(steps) if isinstance(step, Field) and _is_cell(step.type))
    cells = [shape_of(steps[:count]) for count in fields]
    for statement in walk(subject.function.body):
        # A pointer that is set before all loops, as where its memory is allocated, leads to one place there.
        late = isinstance(statement, Assign) and statement.site.last >= first
        if late and isinstance(statement, Assign) and isinstance(statement.target.type, Pointer):
            target = statement.target
            if target.variable.name == root.name and shape_of(target.steps) in cells:
                return False
    return True


def _is_cell(of_type: Type | None) -> bool:
    return isinstance(of_type, Pointer)


def is_first(place: Place, number: int) -> bool:
    """True if a step of a place is the subscript zero."""
    step = place.steps[number]
    return isinstance(step, Index) and is_zero(step.subscript)


def _ends_in_index(place: Place, count: int) -> bool:
    return all(isinstance(step, Index) for step in place.steps[count:])


def _numbers(of_type: Type | None) -> tuple[Type, tuple[Expr | None, ...], bool] | None:
    """The numbers in a member: their type, the extents of an array of them, and whether a pointer leads there
    (then the first extent is not known)."""
    extents: list[Expr | None] = []
    is_led = isinstance(of_type, Pointer)
    if isinstance(of_type, Pointer):
        extents.append(None)
        of_type = of_type.to
    while isinstance(of_type, Array):
        if not isinstance(of_type.extent, Constant):
            return None
        extents.append(of_type.extent)
        of_type = of_type.element
    if isinstance(of_type, Floating) or (isinstance(of_type, Integer) and of_type.bits in _BITS):
        return of_type, tuple(extents), is_led
    return None


def written(root: Variable, steps: tuple[Index | Field, ...]) -> str:
    """A place as the source writes it, with zero for its subscripts."""
    text = root.source_name
    for number, step in enumerate(steps):
        if isinstance(step, Field):
            before = steps[number - 1] if number else None
            arrow = text.endswith("[0]") and isinstance(before, Index)
            text = f"{text.removesuffix('[0]')}->{step.name}" if arrow else f"{text}.{step.name}"
        else:
            text += "[0]"
    return text


def _is_whole(
    subject: Subject,
    key: _Key,
    made: _Found,
    places: list[Place],
    by_key: Mapping[_Key, list[Place]],
    found: Mapping[_Key, _Found],
    aliases: Mapping[str, Place],
    site: Site | None,
) -> bool:
    """True if all that the models know of a member, within a site, is said by places of it; and of a variable
    of the function that holds structures, whether it is used by its members alone."""
    sites = {each.site for each in by_key[key]}
    # A structure that is copied as a whole is several places, which have one site.
    others = [own for other, own in by_key.items() if other != key and not _is_same(found.get(other), made)]
    if any(each.site in sites for own in others for each in own):
        return False
    for nest in subject.nests:
        for access in nest.scop.accesses:
            if _memory_key(access.memory) != key:
                continue
            if site is not None and not within(nest.scop.statements[access.statement].site, site):
                continue
            is_cell = isinstance(access.memory.element, Pointer) and access.kind == "read"
            if not (access.site in sites or is_cell) or not _is_simple(access, made):
                return False
    root = next((each.variable for each in by_key[key] if each.variable.name == key[0]), None)
    if root is None or root.storage != "local" or isinstance(root.type, Pointer):
        return True
    return all(_key(each, aliases) in found for each in places if each.variable == root)


def _is_same(other: _Found | None, made: _Found) -> bool:
    """True if one pointer leads to two members."""
    return other is not None and other.member is None and other.variable == made.variable


def _memory_key(memory: Memory) -> _Key:
    last = max((k for k, step in enumerate(memory.shape) if step != "[]"), default=-1)
    return memory.variable.name, memory.shape[: last + 1]


def _is_simple(access: Access, made: _Found) -> bool:
    """True if a place leads to the elements that the model says, the first of each fixed subscript."""
    memory = access.memory
    last = len(_memory_key(memory)[1])
    # In `p[y * n + x].r` or `d->x[y * n + x]` the last subscript stands for rows and columns.
    split = len(memory.strides or memory.inner_strides or (None,)) - 1
    if split and memory.shape[made.fixed :].count("[]") != 1:
        return False
    if memory.dimensions != memory.scoped + memory.shape.count("[]") + split:
        return False
    if isinstance(memory.element, Pointer):
        return len(memory.shape) == last
    fixed = memory.shape[: made.fixed].count("[]")
    rows = access.relation.range()
    return all(
        rows.plain_get_val_if_fixed(isl.dim_type.set, memory.scoped + k).is_zero() for k in range(fixed)
    )


# --- The program and its model -----------------------------------------------------------


@dataclass(frozen=True)
class _Members(Rewriter):
    """Statements with variables in the place of members."""

    found: Mapping[_Key, _Found]
    aliases: Mapping[str, Place]

    def declared(self, declare: Declare) -> Iterator[Statement]:
        """A declaration; that of a structure is that of its members."""
        variable = declare.variable
        own = [made for (name, _), made in self.found.items() if name == variable.name]
        if own and not isinstance(variable.type, (Array, Pointer)):
            yield from (Declare(made.variable, declare.site) for made in own)
        else:
            yield declare
            yield from (
                Declare(made.variable, declare.site) for made in own if made.variable.storage == "local"
            )

    def placed(self, place: Place, steps: tuple[Index | Field, ...]) -> Place:
        """A place, whose steps have been rewritten."""
        key = _key(place, self.aliases)
        made = self.found.get(key) if key is not None else None
        if made is None or made.member is None:
            return replace(place, steps=steps)
        chosen = (steps[made.own],) if made.chooses else ()
        return replace(place, variable=made.variable, steps=(*chosen, *steps[_own(place) :]))


def _scop(scop: Scop, found: Mapping[_Key, _Found]) -> Scop:
    memories: dict[str, Memory] = {}
    accesses = tuple(_access(each, found, memories) for each in scop.accesses)
    texts = {
        made.member.text: made.variable.source_name for made in found.values() if made.member is not None
    }
    said = _replacing(texts)
    return replace(
        scop, accesses=accesses, parameters={name: said(text) for name, text in scop.parameters.items()}
    )


def _access(access: Access, found: Mapping[_Key, _Found], memories: dict[str, Memory]) -> Access:
    memory = access.memory
    key = _memory_key(memory)
    made = found.get(key)
    if made is None or not key[1] or isinstance(memory.element, Pointer) or not _is_simple(access, made):
        return access
    fixed = memory.shape[: made.fixed].count("[]")
    if memory.name not in memories:
        shape = tuple(s for s in memory.shape[made.fixed :] if s == "[]" or made.member is None)
        memories[memory.name] = _memory(memory, made, shape, fixed)
    relation = access.relation.project_out(isl.dim_type.out, memory.scoped, fixed)
    relation = relation.set_tuple_name(isl.dim_type.out, memory.name)
    return replace(access, memory=memories[memory.name], relation=relation)


def _memory(memory: Memory, made: _Found, shape: tuple[str, ...], fixed: int) -> Memory:
    """The memory of a member as that of a variable. A pointer that was loaded may lead anywhere."""
    count = memory.dimensions - fixed
    strides = memory.strides or memory.inner_strides
    own = replace(memory, variable=made.variable, shape=shape, dimensions=count, strides=strides)
    own = replace(own, inner_strides=())
    if not memory.follows_pointers:
        return own
    name = f"{made.variable.name} (loaded)"
    pointer = Variable(name, name, Pointer(memory.element), "local")
    return replace(own, followed=frozenset(), pointer=pointer, from_entry=False)


# --- In words ----------------------------------------------------------------------------


def _replacing(texts: Mapping[str, str]) -> Callable[[str], str]:
    """Puts some texts in the place of others, where these stand as a whole."""
    if not texts:
        return lambda text: text
    longest = sorted(texts, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.>])({'|'.join(map(re.escape, longest))})(?!\w)")
    return lambda text: pattern.sub(lambda match: texts[match[1]], text)


def with_led_pointers(subject: Subject, seen: Subject, ordinal: int = 0) -> Subject:
    """The function with models in which local pointers are what leads to the elements behind members: `x[i]`
    after `x = d->x`, as far as the outermost loop around a loop (0: all of the function) is concerned; `seen`
    is the function with subscripts in the place of pointers to rows."""
    site = _around(subject, ordinal)
    aliases = _aliases(subject, site)
    return replace(subject, nests=_with(seen, aliases, site, pointers=True).nests) if aliases else subject


def said(subject: Subject, answer: Answer) -> Answer:
    """An answer whose sentences have members as the source has them."""
    if isinstance(answer, Declined):
        return replace(answer, reason=as_written(subject, answer.reason))
    assumptions = (replace(a, sentence=as_written(subject, a.sentence)) for a in answer.assumptions)
    remarks = (as_written(subject, each) for each in answer.remarks)
    return replace(answer, assumptions=tuple(assumptions), remarks=tuple(remarks))


def as_written(subject: Subject, text: str) -> str:
    """A text with members as the source has them."""
    texts = {name: member.text for name, member in subject.members.items()}
    return _replacing(texts)(text)
