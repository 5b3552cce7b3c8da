"""Source spellings of values at a place: parameters, device variables, and macros for numbers.

A name must denote the same value or variable at the place of use. The model has only the present
value of a macro; an edit with the number would be wrong once compiled with `-DN=…`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from polylsp.core.language import PYTHON
from polylsp.emit.affine_bounds import PYTHON_CHOICE, Names
from polylsp.emit.c_pragmas import Stretch
from polylsp.emit.subject import Subject
from polylsp.frontends.c.environment import Expanded, expand
from polylsp.frontends.c.preprocessor_lines import whole_number
from polylsp.ir.effects import declared_in, effects, loops_in, nodes, places_in, walk
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Field,
    Floating,
    If,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Type,
    Unsupported,
    Variable,
    subexpressions,
    within,
)
from polylsp.ir.spelling import spell, spell_value
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access, Scop

_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_WORD = re.compile(r"\w+")
_SECTION = re.compile(r"\[[^\]]*:[^\]]*\]")
_LARGE = re.compile(r"[1-9]\d+")
_SMALL = 2


def named_constants(subject: Subject) -> dict[int, str]:
    """Macros that stand for a number in the headers of loops and the declarations of arrays, by their
    values: those whose name means this value beside any operator."""
    found: dict[int, str] = {}
    macros = {each.name for each in subject.macros}
    for value, text in _named_numbers(subject):
        expanded = expand(text, subject.macros) if text in macros and value not in found else None
        words = expanded.texts if isinstance(expanded, Expanded) else ()
        if text not in macros or whole_number(words) == value:
            found.setdefault(value, text)
    return found


def numbers_of_macros(subject: Subject) -> frozenset[int]:
    """Numbers in the headers of loops and the declarations of arrays that are written in macros."""
    return frozenset(value for value, _ in _named_numbers(subject))


def _named_numbers(subject: Subject) -> Iterator[tuple[int, str]]:
    """The numbers in headers and declarations that a name gives, with it."""
    local = {v.source_name for v in declared_in(subject.function.body)}
    for constant in _constants(subject):
        if isinstance(constant.value, int) and constant.value > _SMALL:
            text = subject.source(constant.site)
            if _NAME.fullmatch(text) and text not in local:
                yield constant.value, text


def literals(subject: Subject) -> frozenset[int]:
    """The numbers that stand in the function's text as whole subscripts (`b[3]`)."""
    words = [subject.token(k) for k in range(len(subject.starts))]
    between = zip(words, words[1:], words[2:], strict=False)
    return frozenset(int(n) for a, n, b in between if (a, b) == ("[", "]") and _NUMBER.fullmatch(n))


def settled_by_macros(subject: Subject, texts: Iterable[str]) -> tuple[str, ...]:
    """Computed numbers in the array sections of some directives, in a function that computes with macros:
    they may differ when the program is compiled with other values of these."""
    if not any(_is_named(subject, constant) for constant in _all_constants(subject)):
        return ()
    own = set(_WORD.findall(subject.text[subject.start : subject.start + subject.ends[-1]]))
    found = (
        number for text in texts for section in _SECTION.findall(text) for number in _WORD.findall(section)
    )
    return tuple(dict.fromkeys(n for n in found if _LARGE.fullmatch(n) and n not in own))


def _all_constants(subject: Subject) -> Iterator[Constant]:
    for statement in walk(subject.function.body):
        for node in nodes(statement):
            if isinstance(node, Constant):
                yield node


def _is_named(subject: Subject, constant: Constant) -> bool:
    """True if a number comes out of a macro, or is the value of a name."""
    large = isinstance(constant.value, int) and constant.value > _SMALL
    return large and not subject.source(constant.site)[:1].isdigit()


def _constants(subject: Subject) -> Iterator[Constant]:
    declared = [s.variable for s in walk(subject.function.body) if isinstance(s, Declare)]
    variables = (*subject.function.parameters, *declared)
    values = [*(each for one in variables for each in extents_of(one.type)), *_bounds(subject)]
    for value in values:
        for node in subexpressions(value):
            if isinstance(node, Constant):
                yield node


def extents_of(of_type: Type) -> Iterator[Expr]:
    """The numbers of elements that a type of arrays and pointers names, outermost first."""
    while isinstance(of_type, (Array, Pointer)):
        if isinstance(of_type, Array) and of_type.extent is not None:
            yield of_type.extent
        of_type = of_type.element if isinstance(of_type, Array) else of_type.to


def _bounds(subject: Subject) -> Iterator[Expr]:
    for statement in walk(subject.function.body):
        if isinstance(statement, Loop):
            if statement.condition is not None:
                yield statement.condition
            yield from (s.value for s in statement.step.statements if isinstance(s, Assign))


# --------------------------------------------------------------------------------------------------
# Values that can be written in C at a place: the model's parameters, and constants of declarations.
# --------------------------------------------------------------------------------------------------


_CONVERTED = re.compile(r"\([a-z _]+\)([A-Za-z_]\w*)")
_LENGTH = re.compile(r"([A-Za-z_]\w*)\.shape\[\d+\]")


def names_at(subject: Subject, scop: Scop, site: Site) -> Names:
    """The spelling in C, just before `site`, of each parameter (isl name) that stands for the value which
    a variable surely holds there, and of numbers that are written as macros."""
    # A generated variable goes by the text of its value.
    named = [v for v in subject.variables if v.source_name.isidentifier()]
    settled = {v.source_name: v for v in named if is_settled(subject, v, site)}
    computed = _computed(subject, settled)
    found: dict[str, str] = {}
    members = _members(subject, site)
    sources = [v.source_name for v in subject.variables]
    every = subject.facts.loops
    loops = [each for each in every if within(site, each.site) or within(each.site, site)]
    root = next((each for each in loops if each.ordinal in scop.held), None)
    begun = next((each for each in loops if each.ordinal in scop.valued and within(each.site, site)), root)
    held = {} if root is None else scop.held[root.ordinal]
    valued = {} if begun is None else scop.valued[begun.ordinal]
    if subject.language == PYTHON.name:
        held, valued = {}, {}
    kept = [v for v in named if v.source_name in valued or v.source_name in held.values()]
    single = [v for v in kept if sources.count(v.source_name) == 1]
    visible = {v.source_name for v in single if root and _is_set(subject, v, site, root.site)}
    held = {symbol: name for symbol, name in held.items() if name in visible}
    for name, text in scop.parameters.items():
        if text in members:
            found[name] = text
            continue
        if text in computed:
            found[name] = computed[text]
            continue
        if name in held:
            found[name] = held[name]
            continue
        variable = _leaf(settled, text)
        # An input of the function is what its name says only if nothing is assigned to it.
        if variable is not None and (name in scop.derived or not subject.assigned(variable)):
            found[name] = text
        length = _LENGTH.fullmatch(text) if subject.language == PYTHON.name else None
        if length is not None and length[1] in settled:
            found[name] = text
    for name, factors in scop.products.items():
        if all(factor in found for factor in factors):
            found[name] = " * ".join(found[factor] for factor in factors)
    if subject.language == PYTHON.name:
        return Names(found, choice=PYTHON_CHOICE)
    known = (v for v in single if begun and _is_set(subject, v, site, begun.site))
    values = {v.source_name: valued[v.source_name] for v in known if v.source_name in valued}
    return Names(found, named_constants(subject), literals(subject), values=values)


def _is_set(subject: Subject, variable: Variable, site: Site, loop: Site) -> bool:
    """True if code at the beginning of a site may name a variable, which has the value by then that it has
    before a loop in the site, or around it."""
    anew = any(site.first <= each.site.first < loop.first for each in subject.assigned(variable))
    return not anew and _is_visible(subject, variable, site)


def _is_visible(subject: Subject, variable: Variable, site: Site) -> bool:
    """True if code at a site may name a variable: it is declared before, in a block around the site, or
    outside of the function's body."""
    for block in (s for s in walk(subject.function.body) if isinstance(s, Block)):
        for number, statement in enumerate(block.statements):
            if isinstance(statement, Declare) and statement.variable == variable:
                behind = walk(*block.statements[number + 1 :])
                starts = (s.site for s in behind if isinstance(s, (Loop, Assign, Evaluate)))
                return any(each.first <= site.first <= each.last for each in starts)
    return True


def _members(subject: Subject, site: Site) -> set[str]:
    """Members of structures (`d->n`), as the source writes them, with one value in all of the function."""
    own, comes_to = subject.effects, _coming_to(subject, site)
    places = [each for each in places_in(subject.function.body) if _is_member(each)]
    calls = [call for call in own.calls if comes_to(call.site)]
    if subject.members or any(may_store(subject, call, p.type) for call in calls for p in places[:1]):
        return set()
    stored = [each for each in own.places if comes_to(each.site)]
    if any(_may_be(each, member.type) for each in stored for member in places[:1]):
        return set()
    return {spell(Read(p)) for p in places if is_settled(subject, p.variable, site)}


def _is_member(place: Place) -> bool:
    """True if a place is a whole number in a structure that no subscript chooses."""
    steps = [s.subscript for s in place.steps if isinstance(s, Index)]
    fixed = all(isinstance(each, Constant) and each.value == 0 for each in steps)
    is_last = bool(place.steps) and isinstance(place.steps[-1], Field)
    return is_last and fixed and isinstance(place.type, Integer)


def _leaf(settled: Mapping[str, Variable], text: str) -> Variable | None:
    """The variable whose value a text is, as it stands or converted."""
    if converted := _CONVERTED.fullmatch(text):
        return settled.get(converted[1])
    variable = settled.get(text)
    return variable if variable is not None and isinstance(variable.type, Integer) else None


def _computed(subject: Subject, settled: Mapping[str, Variable]) -> dict[str, str]:
    """Texts that are conversions of settled variables, and the variables that were set to their values."""
    found: dict[str, str] = {}
    for name, variable in settled.items():
        for assign in subject.assigned(variable) if variable.storage == "local" else ():
            text, leaves = spell_value(assign.value), tuple(subexpressions(assign.value))
            plain = not any(isinstance(each, (AddressOf, Call)) for each in leaves)
            reads = [each.place for each in leaves if isinstance(each, Read)]
            kept = all(not p.steps and settled.get(p.variable.source_name) == p.variable for p in reads)
            if text.startswith("(") and assign.operator is None and plain and kept:
                found.setdefault(text, name)
    return found


def written(subject: Subject, value: Expr, site: Site, names: Names) -> str | None:
    """A value of a declaration in C, if it is the same just before `site`, with `names` for numbers."""
    for node in subexpressions(value):
        if isinstance(node, (AddressOf, Call)):
            return None
        if isinstance(node, Read) and (
            node.place.steps or not is_settled(subject, node.place.variable, site)
        ):
            return None
    if isinstance(value, Constant) and isinstance(value.value, int):
        return names.number(value.value)
    return spell(value)


def declared_sizes(subject: Subject) -> frozenset[str]:
    """The variables that are sizes in the declarations of the function's parameters, and never change."""
    found: set[str] = set()
    for parameter in subject.function.parameters:
        of_type: Type = parameter.type
        while isinstance(of_type, (Array, Pointer)):
            extent = of_type.extent if isinstance(of_type, Array) else None
            if isinstance(extent, Read) and extent.place.variable in subject.function.parameters:
                found.add(extent.place.variable.source_name)
            of_type = of_type.element if isinstance(of_type, Array) else of_type.to
    return frozenset(found)


def is_settled(subject: Subject, variable: Variable, site: Site) -> bool:
    """True if a variable has one value at `site`, and in all of the function after it was set: it is a
    parameter that is never assigned, or assigned once, before and in no loop, and its name is unique."""
    if [v.source_name for v in subject.variables].count(variable.source_name) != 1:
        return False
    if variable.storage in ("global", "static") or variable.escapes:
        return not _is_disturbed(subject, variable, site)
    assigned = subject.assigned(variable)
    if variable.storage == "parameter":
        return not assigned
    return len(assigned) == 1 and assigned[0].site.last < site.first and not _repeats(subject, assigned[0])


def _is_disturbed(subject: Subject, variable: Variable, site: Site) -> bool:
    """True if the function may change a variable that others can reach, before the end of `site` or of a loop
    around it."""
    own, comes_to = subject.effects, _coming_to(subject, site)
    calls = [call for call in own.calls if may_store(subject, call, variable.type)]
    changed = any(comes_to(each.site) for each in (*calls, *subject.assigned(variable)))
    stores = [each for each in own.places if comes_to(each.site) and _may_be(each, variable.type)]
    return changed or (bool(stores) and not _are_apart(subject, variable, stores))


def _coming_to(subject: Subject, site: Site) -> Callable[[Site], bool]:
    """Tells whether control may come from code to a site, or to the rest of it: not from behind it, and not
    from the other branch of a condition that is evaluated once."""
    last, body = horizon(subject, site), subject.function.body
    jumps = any(isinstance(s, Unsupported) for s in walk(body))
    others = [] if jumps else list(_not_taken(body, site))
    return lambda other: other.first <= last and not any(within(other, each) for each in others)


def _not_taken(statement: Statement, site: Site) -> Iterator[Site]:
    """The statements in branches that are not taken if control comes to a site."""
    match statement:
        case Block(statements):
            for each in statements:
                yield from _not_taken(each, site) if _holds(each, site) else ()
        case If(_, then, otherwise, _):
            for own, other in ((then, otherwise), (otherwise, then)):
                # A statement behind several labels of a `switch` stands in several branches.
                if _holds(own, site) and not _holds(other, site):
                    yield from (s.site for s in walk(other) if not isinstance(s, Block))
                    yield from _not_taken(own, site)
        case _:
            return


def _holds(statement: Statement, site: Site) -> bool:
    return any(within(site, s.site) for s in walk(statement) if not isinstance(s, Block))


def horizon(subject: Subject, site: Site) -> int:
    """The last token that control can come to before it has passed `site` for the last time."""
    if any(isinstance(s, Unsupported) for s in walk(subject.function.body)):
        return len(subject.starts)
    return max(site.last, *(loop.site.last for loop in subject.facts.loops if within(site, loop.site)), 0)


def _are_apart(subject: Subject, variable: Variable, stores: list[Place]) -> bool:
    """True if the loops around some stores rest on the assumption that these leave a variable alone, or if it
    is read before them only."""
    reads = [each.site for each in places_in(subject.function.body) if each.variable == variable]
    for place in stores:
        outer = next((s for s in loops_in(subject.function.body) if within(place.site, s.site)), None)
        unread = outer is not None and variable not in effects(outer).variables
        if outer is not None and unread and all(each.first < outer.site.last for each in reads):
            continue
        names = frozenset(_path(subject, each) for each in (place.variable, variable))
        around = [loop for loop in subject.facts.loops if within(place.site, loop.site) and loop.depth == 1]
        assumed = (a for loop in around for a in loop.terms.assumptions)
        if not any(a.kind == "no-overlap" and frozenset(a.subjects) == names for a in assumed):
            return False
    return True


def _path(subject: Subject, variable: Variable) -> str:
    """A variable as assumptions name it."""
    member = subject.members.get(variable.source_name)
    return member.text if member is not None else variable.source_name


def _may_be(place: Place, of_type: Type) -> bool:
    """True if a stored element may be a number of some type that others can reach: neither one of an array
    with a name of its own, nor a real number where the other is none (C11 6.5p7)."""
    is_named = isinstance(place.variable.type, Array) and place.variable.storage != "parameter"
    apart = isinstance(place.type, Floating) and isinstance(of_type, (Integer, Pointer))
    return not is_named and not apart


def may_store(subject: Subject, call: Call, of_type: Type) -> bool:
    """True if a call may change a variable of some type that others can reach, an integer or a pointer at
    least: not one that stores real numbers alone (C11 6.5p7), or nothing."""
    found = subject.calls.of(call)
    if found is None or found.sets or not isinstance(of_type, (Integer, Pointer)):
        return True
    stored = (each for each in found.accesses if each.kind == "write")
    return any(each.bytewise or not isinstance(each.type, Floating) for each in stored)


def _repeats(subject: Subject, assign: Assign) -> bool:
    """True if an assignment stands in a loop."""
    return any(
        loop.site.first <= assign.site.first and assign.site.last <= loop.site.last
        for loop in subject.facts.loops
    )


# --------------------------------------------------------------------------------------------------
# Nameability of a device's variables in a clause: the name must denote the same variable where the
# clause stands as in the loops.
# --------------------------------------------------------------------------------------------------


def why_not_named(subject: Subject, region: Stretch, variable: Variable, accesses: list[Access]) -> str:
    """Reason why a clause before a region cannot name an array that is accessed in it; empty if it can."""
    name = variable.source_name
    if any(a.memory.follows_pointers for a in accesses):
        return (
            f"`{name}` leads to its elements by pointers in memory, which a device cannot follow: "
            "put them into one array."
        )
    if any(a.memory.recast for a in accesses):
        return f"`{name}` is used as elements of another type than it has: pass a pointer of that type."
    if any(isinstance(a.memory.element, Pointer) for a in accesses):
        return f"`{name}` holds pointers, which lead to memory of the host: use subscripts instead."
    if [v.source_name for v in subject.variables].count(name) != 1:
        return f"More than one variable is called `{name}` in `{subject.function.name}`: rename one."
    if _is_declared_in(subject, region, variable):
        return f"`{name}` is declared between the parallel loops: declare it before them."
    if isinstance(variable.type, Pointer) and not _is_steady(subject, region, variable, accesses):
        return f"The pointer `{name}` is set anew: use one that keeps its value for the parallel loops."
    return ""


def unnamed_pointer(subject: Subject, root: LoopFacts, named: set[str]) -> str:
    """A pointer or an array that a loop of the device uses from outside, and that no clause names: it has
    the host's address there. Empty if there is none."""
    loop = subject.loop(root.ordinal)
    inside = declared_in(loop)
    own = {*root.terms.private, *root.terms.lastprivate}
    found = (
        v.source_name
        for v in effects(loop).variables
        if isinstance(v.type, (Pointer, Array)) and v not in inside and v.source_name not in named | own
    )
    return min(found, default="")


def _is_declared_in(subject: Subject, region: Stretch, variable: Variable) -> bool:
    return any(
        isinstance(s, Declare) and s.variable == variable and region.holds(s.site)
        for s in walk(subject.function.body)
    )


def _is_steady(subject: Subject, region: Stretch, variable: Variable, accesses: list[Access]) -> bool:
    """True if subscripts count from the target of the pointer at the beginning of the region."""
    assigned = subject.assigned(variable)
    if all(a.memory.from_entry and not a.memory.fresh for a in accesses):
        return not assigned
    settled = {a.memory.settled for a in accesses}
    at_start = {loop.ordinal for loop in subject.facts.loops if loop.site == region.site}
    if settled <= at_start and variable.storage in ("local", "parameter") and not variable.escapes:
        return not any(within(each.site, region.site) for each in assigned)
    own = frozenset((variable.name,))
    if variable.storage in ("global", "static") and all(a.memory.via == own for a in accesses):
        # A function that is called elsewhere may set it anew.
        calls = any(region.holds(call.site) for call in subject.effects.calls)
        return not assigned and not calls and all(not a.memory.fresh for a in accesses)
    return len(assigned) == 1 and assigned[0].site.last < region.site.first
