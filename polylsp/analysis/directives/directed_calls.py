"""Code of functions with directives in the place of calls of them inside parallel regions.

A barrier, a task or a critical section in a called function belongs to the region of the caller (orphaned
constructs: OpenMP 5.2, 1.2.2). With the callee's statements and directives in the place of the call, the
checks of regions see both. Tokens of a callee are numbered after those of the call, and findings are
translated back to the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.directive import (
    AnyDirective,
    Clause,
    ConditionalRace,
    Directive,
    DirectiveFacts,
    EveryThread,
    Finding,
    Item,
    OtherClause,
    Race,
    Unordered,
)
from polylsp.ir.effects import declared_in, effects, loops_in, nodes, places_in, walk
from polylsp.ir.program import (
    NOWHERE,
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Function,
    Index,
    Integer,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Struct,
    Type,
    Unsupported,
    Variable,
    subexpressions,
    within,
)
from polylsp.ir.spelling import is_zero
from polylsp.ir.verdict import AccessPoint, Witness

_MOST = 300
"""Statements of a callee that may take the place of a call."""

_APART = {"parallel", "target", "teams", "threadprivate", "declare", "data", "requires"}
_MARK = "__of_"
_MARKED = re.compile(rf"{_MARK}\w+")
_WORD = re.compile(r"[A-Za-z_]\w*")


def directed_body(function: Function, calls: Calls) -> Function | None:
    """The function, with the code of its own directed callees, if it has directives and its code may take the
    place of a call."""
    if not function.directives and not any(c.function in calls.bodies for c in effects(function.body).calls):
        return None
    whole = Site(0, _end(function))
    expanded = _expanded(function, calls, (whole,))
    function = function if expanded is None else expanded.function
    known = [d for d in function.directives if isinstance(d, Directive)]
    plain = all(d.family == "omp" and _APART.isdisjoint(d.words) for d in known)
    if not known or len(known) < len(function.directives) or not plain or function.problems:
        return None
    every, called = list(walk(function.body)), {c.function for c in effects(function.body).calls}
    last = function.body.statements[-1:]
    leaves = any(isinstance(s, Jump) and s.kind == "return" and s not in last for s in every)
    unknown = any(isinstance(s, Unsupported) for s in every)
    if leaves or unknown or len(every) > _MOST or function.name in called:
        return None
    own = {v.source_name for v in _own_variables(function)}
    texts = (c.text for d in known for c in d.clauses if isinstance(c, OtherClause))
    if any(not own.isdisjoint(_WORD.findall(text)) for text in texts):
        return None  # A `depend` on an element behind a parameter has another name in the caller.
    return None if any(isinstance(v.type, Struct) for v in function.parameters) else function


def with_callees(function: Function, calls: Calls) -> Expanded | None:
    """The function with the code of directed callees in its parallel regions; `None` where none is called
    there."""
    regions = [d.site for d in function.directives if isinstance(d, Directive) and "parallel" in d.words]
    return _expanded(function, calls, tuple(site for site in regions if site is not None))


@dataclass(frozen=True)
class _Inserted:
    """The code of one callee: its call, the statement of that, the last token before it, the number of its
    tokens, and the variables of the file that it names."""

    callee: Function
    call: Call
    statement: Evaluate | Assign
    after: int
    size: int

    @cached_property
    def outer(self) -> frozenset[str]:
        """Source names of the variables that the callee knows itself."""
        return frozenset(v.source_name for v in effects(self.callee.body).variables)


@dataclass(frozen=True)
class Expanded:
    """A function with the code of callees, the numbers of its pragmas before (-1 for those of callees), and
    each piece of code inserted."""

    function: Function
    pragmas: tuple[int, ...]
    pieces: tuple[_Inserted, ...]

    def with_findings(
        self, own: Sequence[DirectiveFacts], more: Sequence[DirectiveFacts]
    ) -> tuple[DirectiveFacts, ...]:
        """The facts of the function's directives, with the findings in the expanded function for those that
        have none: their own, and those of the callees' directives for the parallel region of the call."""
        found: dict[int, list[Finding]] = {}
        for facts, pragma, directive in zip(more, self.pragmas, self.function.directives, strict=True):
            at = pragma if pragma >= 0 else self._region(directive)
            found.setdefault(at, []).extend(
                each for one in facts.findings if (each := self._translated(one, pragma >= 0)) is not None
            )
        return tuple(
            replace(each, findings=each.findings or tuple(found.get(each.pragma, ())[:1])) for each in own
        )

    def _region(self, directive: AnyDirective) -> int:
        """The number of the pragma of the parallel region around a callee's directive."""
        at = Site(directive.at, directive.at)
        around = [
            pragma
            for pragma, each in zip(self.pragmas, self.function.directives, strict=True)
            if pragma >= 0 and isinstance(each, Directive) and "parallel" in each.words
            if each.site is not None and within(at, each.site)
        ]
        return around[-1] if around else -1

    def _translated(self, finding: Finding, is_own: bool) -> Finding | None:
        """A finding at places of the function as it is written; `None` if both of its places are in one
        callee, whose own check reports it, or if it changes a pragma of the callee."""
        match finding:
            case Race(witness) | Unordered(_, witness):
                source, sink = witness.dependence.source, witness.dependence.sink
                of = [self._piece(end.site) for end in (source, sink)]
                if of[0] is not None and of[0] == of[1] and _is_known_there(finding, of[0], source.variable):
                    return None
                return replace(finding, witness=self._witness(witness))
            case EveryThread(access) | ConditionalRace(_, access):
                return replace(finding, access=self._point(access)) if is_own else None
            case _:
                access = finding.access
                inside = self._piece(access.site) is not None
                return None if inside or not is_own else replace(finding, access=self._point(access))

    def _witness(self, witness: Witness) -> Witness:
        dependence = witness.dependence
        source, sink = self._point(dependence.source), self._point(dependence.sink)
        carrier = 0 if self._is_of_callee(dependence.carrier) else dependence.carrier
        shown = replace(witness, dependence=replace(dependence, source=source, sink=sink, carrier=carrier))
        marked = any(_MARK in name for name, _ in (*witness.source_iteration, *witness.sink_iteration))
        return replace(shown, source_iteration=(), sink_iteration=()) if marked else shown

    def _is_of_callee(self, ordinal: int) -> bool:
        loops = (loop for loop in loops_in(self.function.body) if loop.ordinal == ordinal)
        return any(self._piece(loop.site) is not None for loop in loops)

    def _point(self, access: AccessPoint) -> AccessPoint:
        variable, text = (_MARKED.sub("", each) for each in (access.variable, access.text))
        return replace(access, variable=variable, text=text, site=self._before(access.site))

    def _piece(self, site: Site) -> _Inserted | None:
        found = (p for p in self.pieces if self._start(p) <= site.first < self._start(p) + p.size)
        return next(found, None)

    def _start(self, piece: _Inserted) -> int:
        return _shifted(piece.after, self.pieces, piece) + 1

    def _before(self, site: Site) -> Site:
        piece = self._piece(site)
        if piece is not None:
            return piece.call.site
        ends = [sum(p.size for p in self.pieces if self._start(p) <= t) for t in (site.first, site.last)]
        return replace(site, first=site.first - ends[0], last=site.last - ends[1])


def _is_known_there(finding: Race | Unordered, piece: _Inserted, variable: str) -> bool:
    """True if the check of a callee alone has a finding both of whose ends lie in it."""
    if isinstance(finding, Unordered):
        return finding.kind in ("task", "tasks")
    return variable in piece.outer or _MARK in variable


def _shifted(token: int, pieces: Sequence[_Inserted], before: _Inserted | None = None) -> int:
    """The number of a token after the insertion of the pieces, or of those before one."""
    earlier = pieces if before is None else pieces[: pieces.index(before)]
    return token + sum(p.size for p in earlier if p.after < token or before is not None)


def _expanded(function: Function, calls: Calls, regions: tuple[Site, ...]) -> Expanded | None:
    if not calls.bodies or function.problems:
        return None
    pieces = tuple(_pieces(function, calls, regions))
    if not pieces:
        return None
    inserted = {id(p.statement): p for p in pieces}
    caller = _Moved(lambda s: _after_insertion(s, pieces))
    directives: list[tuple[int, int, AnyDirective]] = [
        (d.at, d.pragma, d) for d in (_directive(caller, each) for each in function.directives)
    ]
    ordinal = max((loop.ordinal for loop in loops_in(function.body)), default=0)
    codes: dict[int, Block] = {}
    for number, piece in enumerate(pieces):
        insertion = _Insertion(
            function, calls, piece, number, _shifted(piece.after, pieces, piece) + 1, ordinal
        )
        codes[id(piece.statement)] = insertion.code(caller)
        directives += [(d.at, -1, d) for d in insertion.directives()]
        ordinal += max((loop.ordinal for loop in loops_in(piece.callee.body)), default=0)
    body = replace(caller, inserted={k: codes[k] for k in inserted}).of(function.body)
    ordered = sorted(directives, key=lambda each: each[0])
    numbered = tuple(replace(d, pragma=k) for k, (_, _, d) in enumerate(ordered))
    private = function.per_thread.union(*(p.callee.per_thread for p in pieces))
    made = replace(function, body=body, directives=numbered, per_thread=private)
    return Expanded(made, tuple(pragma for _, pragma, _ in ordered), pieces)


def _pieces(function: Function, calls: Calls, regions: tuple[Site, ...]) -> Iterator[_Inserted]:
    for statement in sorted(walk(function.body), key=lambda s: 0 if isinstance(s, Block) else s.site.last):
        if not isinstance(statement, (Evaluate, Assign)) or not isinstance(statement.value, Call):
            continue
        if isinstance(statement, Assign) and (statement.operator is not None or statement.target.steps):
            continue
        call, site = statement.value, statement.site
        callee = calls.bodies.get(call.function)
        if callee is None or not any(within(site, region) for region in regions):
            continue
        returns = [s.value for s in callee.body.statements[-1:] if isinstance(s, Jump)]
        has_value = bool(returns) and returns[0] is not None
        if len(callee.parameters) == len(call.arguments) and (has_value or isinstance(statement, Evaluate)):
            yield _Inserted(callee, call, statement, site.last, _end(callee) + 1)


def _end(function: Function) -> int:
    """The last token of a function that a statement or directive is about."""
    sites = [s.site.last for s in walk(function.body) if not isinstance(s, Block)]
    ends = [d.site.last if d.site is not None else d.at for d in function.directives]
    return max([*sites, *ends, 0])


def _after_insertion(site: Site, pieces: Sequence[_Inserted]) -> Site:
    """A site of the caller; one that ends with a call has the code inserted for it."""
    first = _shifted(site.first, pieces)
    return replace(site, first=first, last=site.last + sum(p.size for p in pieces if p.after <= site.last))


def _own_variables(function: Function) -> set[Variable]:
    return declared_in(function.body) | set(function.parameters)


# --- Code of a callee, in terms of the caller ----------------------------------------------


@dataclass(frozen=True)
class _Moved:
    """Rewriting of code: its sites, its variables, and the values of parameters. `inserted` are statements,
    by identity, in whose place other code stands."""

    site: Callable[[Site], Site]
    variables: Mapping[Variable, Variable] | None = None
    values: Mapping[Variable, Expr] | None = None
    inserted: Mapping[int, Block] | None = None
    ordinals: int = 0

    def of(self, node: Any) -> Any:
        """A part of a program."""
        if isinstance(node, Site):
            return node if node == NOWHERE else self.site(node)
        if isinstance(node, tuple):
            return tuple(self.of(each) for each in node)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(node, Variable):
            return (self.variables or {}).get(node, node)
        if isinstance(node, Read) and not node.place.steps and node.place.variable in (self.values or {}):
            return _at((self.values or {})[node.place.variable], self.site(node.site))
        if isinstance(node, Place) and node.steps and node.variable in (self.values or {}):
            return self._behind(node, (self.values or {})[node.variable])
        if self.inserted and id(node) in self.inserted:
            return self.inserted[id(node)]
        if not hasattr(node, "__dataclass_fields__"):
            return node
        made = type(node)(**{f.name: self.of(getattr(node, f.name)) for f in fields(node)})
        if isinstance(node, Declare):
            # A declaration stands before the call that gives its variable a value, at the same tokens.
            ends = [self.site(Site(token, token)).first for token in (node.site.first, node.site.last)]
            return replace(made, site=Site(ends[0], ends[1], node.site.part))
        if isinstance(made, Loop):
            names = {v.source_name: w.source_name for v, w in (self.variables or {}).items()}
            iterator = names.get(made.iterator or "", made.iterator)
            return replace(made, ordinal=made.ordinal + self.ordinals, iterator=iterator)
        return made

    def _behind(self, place: Place, value: Expr) -> Place:
        """The place behind a pointer parameter, by its argument."""
        site, (first, *steps) = self.site(place.site), self.of(place.steps)
        given = _at(value, site)
        of_type: Type = self.of(place.type)
        if isinstance(given, Read):
            return Place(given.place.variable, (first, *steps), of_type, site)
        assert isinstance(given, AddressOf) and isinstance(first, Index)
        *outer, last = given.place.steps or (None,)
        if not isinstance(last, Index):
            return Place(given.place.variable, (*given.place.steps, *steps), of_type, site)
        at = first.subscript
        if not is_zero(last.subscript):
            at = Binary("+", last.subscript, at, _INT, site)
        return Place(given.place.variable, (*outer, replace(first, subscript=at), *steps), of_type, site)


_INT = Integer(32, True)


def _at(value: Any, site: Site) -> Any:
    return _Moved(lambda _: site).of(value)


def _directive(moved: _Moved, directive: AnyDirective) -> AnyDirective:
    """A directive of the caller, or of a callee, at its new place."""
    at, site = Site(directive.at, directive.at), directive.site
    return replace(directive, at=moved.site(at).first, site=None if site is None else moved.site(site))


@dataclass(frozen=True)
class _Insertion:
    """The code of a callee for one call, `number` among those of the caller; its first token is number
    `start`, and the ordinals of its loops come after `ordinal`."""

    caller: Function
    calls: Calls
    piece: _Inserted
    number: int
    start: int
    ordinal: int

    def code(self, caller: _Moved) -> Block:
        """The statements of the callee."""
        piece, moved = self.piece, self._moved
        site = caller.of(piece.call.site)
        site = Site(site.first, self.start - 1)
        copies: list[Statement] = []
        for parameter, argument in zip(piece.callee.parameters, piece.call.arguments, strict=True):
            if parameter in self._values:
                continue
            own = self._variables[parameter]
            copies.append(Declare(own, site))
            copies.append(Assign(Place(own, (), own.type, site), None, caller.of(argument), site))
        body = piece.callee.body.statements
        returned = body[-1] if body and isinstance(body[-1], Jump) else None
        result = list(moved.of(body if returned is None else body[:-1]))
        if isinstance(piece.statement, Assign) and returned is not None:
            last = moved.site(returned.site)
            target = _at(piece.statement.target, last)
            result.append(Assign(target, None, moved.of(returned.value), last))
        return Block((*copies, *result))

    def directives(self) -> Iterator[Directive]:
        """The directives of the callee."""
        names = {v.source_name: w.source_name for v, w in self._variables.items()}
        for each in self.piece.callee.directives:
            assert isinstance(each, Directive)
            moved = _directive(self._moved, each)
            clauses = tuple(_renamed(clause, names) for clause in each.clauses)
            yield replace(moved, clauses=clauses) if isinstance(moved, Directive) else each

    @property
    def _moved(self) -> _Moved:
        def site(one: Site) -> Site:
            return replace(one, first=one.first + self.start, last=one.last + self.start)

        return _Moved(site, self._variables, self._values, ordinals=self.ordinal)

    @cached_property
    def _variables(self) -> dict[Variable, Variable]:
        """The callee's variables, under names that differ from those of the caller and of other callees."""
        callee, own = self.piece.callee, _own_variables(self.piece.callee)
        hidden = {v.source_name for v in _own_variables(self.caller)}
        found: dict[Variable, Variable] = {}
        for each in effects(callee.body).variables | own:
            if each.storage == "static":
                name = each.name if "@static" in each.name else f"{each.name}@static@{callee.name}"
                found[each] = replace(each, name=name, source_name=f"{each.source_name}{_MARK}{callee.name}")
            elif each in own:
                name = f"{each.name}@{callee.name}@{self.number}"
                mark = f"{each.source_name}{_MARK}{callee.name}_{self.number}"
                found[each] = replace(
                    each, name=name, source_name=mark, storage="local", type=_as_pointer(each)
                )
            else:
                seen = self.calls.as_named_here(each, effects(self.caller.body).variables)
                is_hidden = each.source_name in hidden
                mark = f"{each.source_name}{_MARK}file" if is_hidden else each.source_name
                found[each] = replace(seen, source_name=mark)
        return found

    @cached_property
    def _values(self) -> dict[Variable, Expr]:
        """The parameters that stand for their arguments: the callee leaves them as they are, and the region
        the variables of the arguments."""
        callee, call = self.piece.callee, self.piece.call
        clauses = (c for d in callee.directives if isinstance(d, Directive) for c in d.clauses)
        items = {item.name for clause in clauses for item in _items(clause)}
        changed = effects(callee.body).scalars
        every = (n for s in walk(callee.body) for n in nodes(s) if isinstance(n, AddressOf))
        taken = {n.place.variable for n in every if not n.place.steps}
        found: dict[Variable, Expr] = {}
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            is_left = parameter.name not in changed and parameter not in taken and not parameter.escapes
            if is_left and parameter.source_name not in items and self._stays(parameter, argument):
                found[parameter] = argument
        return found

    def _stays(self, parameter: Variable, argument: Expr) -> bool:
        """True if an argument has one value in all of the caller's code."""
        changed = self._changed
        read = [n.place for n in subexpressions(argument) if isinstance(n, Read)]
        plain = all(not p.steps and p.variable.storage in ("local", "parameter") for p in read)
        if not plain or any(p.variable.escapes or p.variable.name in changed for p in read):
            return False
        match argument:
            case Constant():
                return True
            case Read(Place(_, ())):
                return _bare(argument.type) == _bare(_as_pointer(parameter))
            case AddressOf(Place(variable, steps)):
                is_element = bool(steps) and isinstance(steps[-1], Index)
                fits = isinstance(variable.type, Array) if is_element else parameter not in self._moved_from
                return fits and _bare(argument.type) == _bare(_as_pointer(parameter))
            case _:
                return False

    @cached_property
    def _moved_from(self) -> set[Variable]:
        """The parameters behind which the callee accesses, or may access, more than one element."""
        found: set[Variable] = set()
        for place in places_in(self.piece.callee.body):
            first = place.steps[0] if place.steps else None
            if not (isinstance(first, Index) and is_zero(first.subscript)):
                found.add(place.variable)
        return found

    @cached_property
    def _changed(self) -> frozenset[str]:
        """The variables that parallel regions of the caller set, in which the code may run later."""
        site = self.piece.statement.site
        known = (d for d in self.caller.directives if isinstance(d, Directive) and "parallel" in d.words)
        around = [d.site for d in known if d.site is not None and within(site, d.site)]
        inside = (s for s in walk(self.caller.body) if isinstance(s, (Assign, Loop)))
        region = [s for s in inside if not around or within(s.site, around[0])]
        return frozenset(effects(*region).scalars) if region else frozenset()


def _as_pointer(variable: Variable) -> Type:
    """The type of a parameter, which is a pointer where it is declared as an array."""
    if variable.storage == "parameter" and isinstance(variable.type, Array):
        return Pointer(variable.type.element)
    return variable.type


def _bare(of_type: Type) -> Type:
    """A type without places and promises."""
    of_type = replace(of_type, restrict=False) if isinstance(of_type, Pointer) else of_type
    bare: Type = _at(of_type, NOWHERE)
    return bare


def _items(clause: Clause) -> tuple[Item, ...]:
    items: tuple[Item, ...] = getattr(clause, "items", ())
    return items


def _renamed(clause: Clause, names: Mapping[str, str]) -> Clause:
    items = _items(clause)
    if not items:
        return clause

    def renamed(text: str) -> str:
        return _WORD.sub(lambda m: names.get(m[0], m[0]), text)

    changed: Any = replace(clause, items=tuple(Item(renamed(i.name), renamed(i.text)) for i in items))  # type: ignore[call-arg]
    return changed
