"""Races of OpenMP tasks with other tasks and with the code that creates them.

Only directives order tasks: one may run at any time until a wait (OpenMP 5.2, 12.5, 12.6 and
15.9.5). Only certain conflicts are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts
from polylsp.analysis.dependence.witness import witness
from polylsp.analysis.directives.constructs import Construct, Directed, is_restrained
from polylsp.analysis.directives.data_sharing import (
    TaskData,
    at_once,
    is_deferrable,
    is_kernel,
    leaves_to_chance,
    may_be_included,
    may_be_ordered,
    point_of,
)
from polylsp.analysis.directives.parallel_regions import (
    ParallelRegion,
    Part,
    flat,
    is_followed,
    region_around,
)
from polylsp.analysis.directives.races import (
    DataSharing,
    copied_by,
    listed,
    most_telling,
    nearer,
    proven_races,
)
from polylsp.analysis.directives.thread_order import keeps_no_order
from polylsp.analysis.directives.unordered import ModelOf, array_meeting, kind_of
from polylsp.analysis.scop.regions import Nest
from polylsp.ir.directive import (
    AnyDirective,
    Collapse,
    DefaultSharing,
    Directive,
    Lacking,
    Mend,
    OtherClause,
    Race,
    Sharing,
    UnknownClause,
    UnknownDirective,
    Unordered,
    UnorderedKind,
)
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.must_execute import always_run, first_read, named
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Block,
    Call,
    Declare,
    Expr,
    Floating,
    If,
    Integer,
    Jump,
    Loop,
    Read,
    Simple,
    Site,
    Statement,
    Unsupported,
    Variable,
    subexpressions,
    subscripts,
    within,
)
from polylsp.ir.verdict import Dependence, Witness

_TASKS = {("task",), ("taskloop",)}
_AROUND = {"single", "master", "masked", "for", "taskgroup", "critical"}
_BESIDE = {"task", "critical", "atomic", "simd"}
_HARMLESS = {"untied", "priority", "mergeable", "nogroup"}
_MOST = 120


def task_race(
    directed: Directed, directive: AnyDirective, model_of: Callable[[int], tuple[Nest, Conflicts] | None]
) -> Race | None:
    """Two tasks of one directive that race, if some surely do."""
    for found in _constructs(directed, directive):
        model = model_of(found.loop.ordinal)
        if model is not None:
            shown = next(_races(model[1], DataSharing(directed, found)), None)
            if shown is not None:
                return Race(shown)
    return None


def _races(conflicts: Conflicts, sharing: DataSharing) -> Iterator[Witness]:
    """The races of tasks that iterations of the loops of a construct make."""
    directive, grain = sharing.construct.directive, _grain(sharing.construct.directive)
    for ordinal in (loop.ordinal for loop in sharing.construct.loops):
        if conflicts.scop.loops[ordinal].obstacles or directive.site is None:
            return
        for memory in conflicts.written_in(ordinal):
            inside = (c for c in conflicts.carried(memory, ordinal) if _is_inside(c, directive.site))
            carried = inside if grain == 1 else (_in_two_tasks(conflicts, c, ordinal, grain) for c in inside)
            proven = tuple(proven_races(conflicts, sharing, islice(carried, _MOST), ordinal))
            shown = witness(conflicts, most_telling(conflicts, proven, ordinal), ordinal) if proven else None
            if shown is not None:
                yield shown


def _grain(directive: Directive) -> int:
    """The largest number of iterations of one task: less than twice the `grainsize` (OpenMP 5.2, 12.6.1)."""
    given = (c.text for c in directive.clauses if isinstance(c, OtherClause) and c.name == "grainsize")
    return next((max(2 * int(text) - 1, 1) for text in given), 1)


def _in_two_tasks(conflicts: Conflicts, conflict: Conflict, ordinal: int, grain: int) -> Conflict:
    """The pairs of a conflict whose iterations are no part of one task."""
    depth = conflicts.statement(conflict.source).loops.index(ordinal)
    near = nearer(conflict.relation, depth, grain * abs(conflicts.scop.loops[ordinal].step))
    return replace(conflict, relation=conflict.relation.subtract(near))


def _constructs(directed: Directed, directive: AnyDirective) -> Iterator[Construct]:
    """The loops whose iterations make tasks, the innermost first, where nothing in them waits for these."""
    if isinstance(directive, UnknownDirective) or directive.words not in _TASKS or directive.site is None:
        return
    if is_restrained(directive) or not all(_is_harmless(clause) for clause in directive.clauses):
        return
    if may_be_included(directed, directive.site):
        return
    for loops in _loops_of(directed, directive):
        found = _construct(directed, directive, loops)
        if found is not None:
            yield found


def _construct(directed: Directed, directive: Directive, loops: tuple[Loop, ...]) -> Construct | None:
    assert directive.site is not None
    region, loop = region_around(directed, directive.site), loops[0]
    if region is None or not within(loop.site, region.site):
        return None
    around = [d for d in region.holding(directive.site) if d is not directive]
    beside = [d for d in region.inside if loop.header.last < d.at <= loop.site.last and d not in around]
    if any(d.words[0] not in _AROUND for d in around):
        return None
    if any(d.words[0] not in _BESIDE for d in beside if d is not directive):
        return None
    if any(d.site is not None and _goes_around(loop, d.site) for d in around):
        return None
    keeping = tuple(d for d in region.inside if d not in around or d.words[0] in ("single", "for"))
    found = Construct(directive, loops, "threads", region.directive, False, keeping)
    return found if _counts_alone(region, loop) else None


def _is_harmless(clause: object) -> bool:
    """True if a clause leaves it to chance when tasks run."""
    if isinstance(clause, OtherClause):
        return clause.name in _HARMLESS or (clause.name == "grainsize" and clause.text.isdecimal())
    return isinstance(clause, (Sharing, DefaultSharing, Collapse))


def _loops_of(directed: Directed, directive: Directive) -> Iterator[tuple[Loop, ...]]:
    """The loops after the directive whose iterations make the tasks, or each loop around it that does."""
    site = directive.site
    if directive.words == ("taskloop",):
        handed = directed.handed_out(directive)
        counts = [c.count for c in directive.clauses if isinstance(c, Collapse)] or [1]
        if len(handed) == counts[0]:
            yield handed
    elif site is not None:
        yield from ((one,) for one in reversed(directed.loops) if _goes_around(one, site))


def _goes_around(loop: Loop, site: Site) -> bool:
    return within(site, loop.site) and site.first > loop.header.last


def _counts_alone(region: ParallelRegion, loop: Loop) -> bool:
    """True if all integers and pointers that the loop changes, and that decide its control flow, belong to
    one thread, so that each task sees those of its iteration."""
    shared = effects(loop).scalars - {v.name for v in region.own_variables}
    numbers = {v.name for v in effects(loop).variables if isinstance(v.type, (Floating, Integer))}
    return shared <= numbers and shared.isdisjoint(_deciding(loop))


def _deciding(loop: Loop) -> set[str]:
    """The variables that conditions and subscripts in a loop read."""
    found: list[Expr] = []
    for statement in walk(loop):
        found += [s.condition for s in (statement,) if isinstance(s, (If, Loop)) and s.condition is not None]
        if isinstance(statement, Assign):
            found += subscripts(statement.target)
        for node in nodes(statement):
            found += subscripts(node.place) if isinstance(node, (Read, AddressOf)) else ()
    read = (node for each in found for node in subexpressions(each))
    return {node.place.variable.name for node in read if isinstance(node, Read)}


def _is_inside(conflict: Conflict, site: Site) -> bool:
    return within(conflict.source.site, site) and within(conflict.sink.site, site)


# --------------------------------------------------------------------------------------------------
# Conflicts of a task with its creator, and with the creator's other tasks, before a wait: a task
# may run at any time until then (OpenMP 5.2, 12.5 and 15.9.5).
# --------------------------------------------------------------------------------------------------


_EXCLUSIVE = {"critical", "atomic"}
_END = 1 << 30


def deferred_finding(
    directed: Directed, directive: AnyDirective, model_of: ModelOf, serial: bool
) -> Unordered | None:
    """Certain conflict of a task with code that may run at the same time, if there is one. `serial`: one
    thread runs the function, and its tasks outside of parallel regions at once."""
    task = _part(directed, directive) if isinstance(directive, Directive) else None
    if task is None or task.directive is None or not is_deferrable(task.directive):
        return None
    if not leaves_to_chance(task.directive) or _is_beside_data(directed, task.directive):
        return None
    if may_be_included(directed, task.site):
        return None
    region = region_around(directed, task.site)
    if region is None and not is_followed(directed):
        return None
    if region is None and serial and not is_kernel(task.directive):
        return None
    again = _again(directed, task, model_of)
    for later in (*((again,) if again is not None else ()), *_later(directed, task.directive)):
        data = TaskData(directed, region, later.tasks)
        shown = _meeting(data, task, later.part)
        if shown is None and (region is not None or is_kernel(task.directive)):
            shown = array_meeting(_sharing(directed, region, later), task, later.part, model_of, data.reaches)
        if shown is not None:
            return Unordered(later.kind, shown)
    return None


def _again(directed: Directed, task: Part, model_of: ModelOf) -> _Later | None:
    """The task that the next iteration of a loop around a task makes, where no code in the loop waits for the
    first one, and the loop has no model of their effects."""
    assert task.directive is not None
    loop = next((one for one in reversed(directed.loops) if within(task.site, one.site)), None)
    if loop is None or task.directive.words != ("task",):
        return None
    model = model_of(loop.ordinal)
    if model is not None and not model[1].scop.loops[loop.ordinal].obstacles:
        return None
    inside = [d for d in directed.function.directives if loop.site.first < d.at <= loop.site.last]
    known = all(isinstance(d, Directive) and d.words[0] in (*_EXCLUSIVE, "task") for d in inside)
    always = any(within(s.site, task.site) for s in always_run(loop.body))
    goes_on = all(keeps_no_order(call, directed.calls) for call in effects(loop).calls)
    depends = may_be_ordered(directed, task.directive, task.directive)
    if not (known and always and goes_on) or depends:
        return None
    return _Later("tasks", task, (task.directive,))


def _sharing(directed: Directed, region: ParallelRegion | None, later: _Later) -> DataSharing:
    """The copies of variables that the tasks have through which a later part sees them."""
    first = later.tasks[0]
    around = region.directive if region is not None else None
    known = [d for d in directed.function.directives if isinstance(d, Directive)]
    inside = tuple(d for d in known if d is not first and (around is None or d.pragma > around.pragma))
    return DataSharing(directed, Construct(first, (), "threads", around, False, inside))


def _is_beside_data(directed: Directed, task: Directive) -> bool:
    """True if a kernel's data may be on the device before it: then they are not copied back."""
    known = (d for d in directed.function.directives if isinstance(d, Directive))
    return is_kernel(task) and any(d.words[0] == "target" and not is_kernel(d) for d in known)


def _part(directed: Directed, directive: Directive) -> Part | None:
    """Code of a task."""
    kind = directive.words[0]
    if (kind not in ("task", "taskloop") and not is_kernel(directive)) or directive.site is None:
        return None
    site = directive.site
    body = tuple(s for s in _list_around(directed.function.body, site) if within(s.site, site))
    return Part("one", site, body, directive) if body else None


# --- What may run at the same time -------------------------------------------------------


@dataclass(frozen=True)
class _Later:
    """Code later in the text. `tasks` are those through which it and the first task see a variable."""

    kind: UnorderedKind
    part: Part
    tasks: tuple[Directive, ...]


def _later(directed: Directed, task: Directive) -> Iterator[_Later]:
    """Code after a task, up to a wait for it. The creating task need not wait for it; a wait for the creator
    alone does not cover it."""
    chain = (task,)
    while True:
        around = _around(directed, chain[-1])
        follower = _Follower(directed, chain, around)
        yield from follower.found()
        if follower.is_over or around is None or around.words != ("task",) or not leaves_to_chance(around):
            return
        chain = (*chain, around)


@dataclass
class _Follower:
    """Traversal of the code after the last task of a chain, inside the directive around it. `is_over`: the
    first task is waited for, or the code after it need not run."""

    directed: Directed
    chain: tuple[Directive, ...]
    around: Directive | None
    is_over: bool = False

    def found(self) -> Iterator[_Later]:
        """All of it, in order."""
        over = _site(self.chain[-1]).last
        for at, event in self._events():
            if self.is_over:
                return
            if at <= over:
                continue
            if event.site is not None and not isinstance(event, Declare):
                over = event.site.last  # What a declaration assigns stands at the same tokens.
            yield from self._directed(event) if isinstance(event, Directive) else self._plain(event)
        if not self.is_over:
            for statement in self._step():
                yield _Later("task", Part("one", statement.site, (statement,)), self.chain)

    def _step(self) -> tuple[Simple, ...]:
        """The step of the innermost loop around the last task of the chain, which follows its body."""
        site = _site(self.chain[-1])
        around = [one for one in self.directed.loops if _goes_around(one, site)]
        loop = around[-1] if around else None
        inside = self.around is None or (loop is not None and within(loop.site, _site(self.around)))
        if loop is None or not inside:
            return ()
        after = (d for d in self.directed.function.directives if site.last < d.at <= loop.site.last)
        return () if any(d.site is None for d in after) else tuple(flat(loop.step.statements))

    def _directed(self, directive: Directive) -> Iterator[_Later]:
        if directive.words[0] in _EXCLUSIVE and directive.site is not None:
            body = _list_around(self.directed.function.body, directive.site)
            for each in (s for s in body if within(s.site, _site(directive))):
                yield from self._plain(each)
        elif directive.words == ("taskwait",):
            if directive.clauses and len(self.chain) == 1:
                self.is_over = may_be_ordered(self.directed, self.chain[0], directive)
            else:
                self.is_over = len(self.chain) == 1 or bool(directive.clauses)
        elif directive.words[0] not in ("task", "taskloop") and not is_kernel(directive):
            self.is_over = True
        elif may_be_ordered(self.directed, self.chain[0], directive):
            # Who waits for a task that waits for the first one, waits for both.
            self.is_over = at_once(directive) is not None or not is_deferrable(directive)
        else:
            known = at_once(directive) or directive
            part = _part(self.directed, directive) if leaves_to_chance(known) else None
            if part is not None:
                kind: UnorderedKind = "tasks" if known is directive else "task"
                yield _Later(kind, part, (*self.chain, directive))

    def _plain(self, statement: Simple) -> Iterator[_Later]:
        site = statement.site
        inside = [d for d in self.directed.function.directives if site.first < d.at <= site.last]
        known = all(isinstance(d, Directive) and d.words[0] in _EXCLUSIVE for d in inside)
        if not known or not all(self._goes_on(call) for call in effects(statement).calls):
            self.is_over = True
            return
        yield _Later("task", Part("one", statement.site, (statement,)), self.chain)
        self.is_over = any(isinstance(s, (Jump, Unsupported)) for s in walk(statement))

    def _goes_on(self, call: Call) -> bool:
        """True if a call waits for no task: a recursive one makes tasks alone."""
        function = self.directed.function
        recursive = call.function == function.name and all(
            isinstance(d, Directive) and d.words[0] in (*_EXCLUSIVE, "task") for d in function.directives
        )
        return recursive or keeps_no_order(call, self.directed.calls)

    def _events(self) -> list[tuple[int, Directive | Simple]]:
        """The directives and statements between the task and the end of the enclosing statement."""
        first, last = _site(self.chain[-1]).last, _END if self.around is None else _site(self.around).last
        listed = _list_around(self.directed.function.body, _site(self.chain[-1]))
        until = min(last, max((s.site.last for s in listed), default=first))
        known = [d for d in self.directed.function.directives if isinstance(d, Directive)]
        events: list[tuple[int, Directive | Simple]] = [(d.at, d) for d in known]
        events += [(s.site.first, s) for s in listed]
        # A directive comes before the statement that it stands before.
        return sorted(
            (e for e in events if first < e[0] <= until),
            key=lambda e: (e[0], not isinstance(e[1], Directive)),
        )


def _site(directive: Directive) -> Site:
    assert directive.site is not None
    return directive.site


def _around(directed: Directed, directive: Directive) -> Directive | None:
    """The directive whose statement holds another one, the innermost."""
    found = [
        d
        for d in directed.function.directives
        if isinstance(d, Directive) and d.pragma < directive.pragma and d.site is not None
    ]
    return next((d for d in reversed(found) if within(_site(directive), _site(d))), None)


def _list_around(block: Block, site: Site) -> list[Simple]:
    """The statements that follow each other and of which some lie at a site."""
    listed = list(flat(block.statements))
    for each in listed:
        inner = _blocks(each) if not within(each.site, site) else ()
        if each.site.first <= site.first and site.last <= each.site.last + 1:
            for one in inner:
                found = _list_around(one, site)
                if any(within(s.site, site) for s in found):
                    return found
    return listed


def _blocks(statement: Statement) -> tuple[Block, ...]:
    if isinstance(statement, If):
        return (statement.then, statement.otherwise)
    return (statement.body,) if isinstance(statement, Loop) else ()


# --- Results that stay in the copies of a task ---------------------------------------------


def lost_result(directed: Directed, directive: AnyDirective) -> Lacking | None:
    """The variable that a task sets in a copy of its own, though it is read next after the task alone."""
    task = _part(directed, directive) if isinstance(directive, Directive) else None
    if task is None or task.directive is None or task.directive.words != ("task",):
        return None
    # A task that may be merged into its creator has no copies then (OpenMP 5.2, 12.5).
    if any(isinstance(c, UnknownClause) or c == OtherClause("mergeable") for c in task.directive.clauses):
        return None
    after = [s for s in _list_around(directed.function.body, task.site) if s.site.first > task.site.last]
    for statement in always_run(Block(task.statements)):
        variable = statement.target.variable if isinstance(statement, Assign) else None
        if variable is None or not _is_only_set(task, variable) or variable.escapes:
            continue
        clause = _copying(directed, task.directive, variable)
        read = first_read(tuple(after), variable) if clause is not None else None
        if clause is not None and read is not None:
            name = variable.source_name
            moved = (name, clause) if clause else ("", "")
            return Lacking("result", name, point_of(read.place, "read"), Mend(f"shared({name})", *moved))
    return None


def _is_only_set(task: Part, variable: Variable) -> bool:
    """True if all that a task does with a variable is to assign it."""
    assigned = sum(
        isinstance(s, Assign) and s.target.variable == variable and s.operator is None and not s.target.steps
        for s in walk(*task.statements)
    )
    return assigned == sum(each == variable for s in task.statements for each in named(s))


def _copying(directed: Directed, task: Directive, variable: Variable) -> str | None:
    """The clause by which a task surely has a copy of a variable from outside; empty where it has one without
    a clause, `None` where it may have none."""
    name = variable.source_name
    inside = (s for s in directed.declared if within(s.site, _site(task)))
    if variable.storage not in ("local", "parameter") or any(s.variable == variable for s in inside):
        return None
    clause = next((kind for kind in ("private", "firstprivate") if name in listed(task, kind)), None)
    if clause is not None:
        return clause
    if name in listed(task, "shared") or any(isinstance(c, DefaultSharing) for c in task.clauses):
        return None
    around = [d for d in directed.holding(_site(task)) if d is not task]
    if any(_AROUND.isdisjoint(d.words) and "parallel" not in d.words for d in around):
        return None
    regions = [d for d in around if "parallel" in d.words]
    declared = (s.site for s in directed.declared if s.variable == variable)
    own = regions and (
        any(within(site, _site(regions[-1])) for site in declared) or name in copied_by(regions[-1])
    )
    return "" if own or not regions else None


# --- Where they meet ---------------------------------------------------------------------


def _meeting(data: TaskData, first: Part, second: Part) -> Witness | None:
    """Accesses of one variable, one in each part, that surely happen with nothing to keep them apart."""
    for source, sink in product(data.accesses(first.statements), list(data.accesses(second.statements))):
        same = (source.variable, source.text) == (sink.variable, sink.text)
        if not same or "write" not in (source.kind, sink.kind):
            continue
        before, after = (_exclusions(data.directed, end.site) for end in (source, sink))
        if before.isdisjoint(after):
            return Witness(Dependence(kind_of(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def _exclusions(directed: Directed, site: Site) -> frozenset[tuple[str, str]]:
    return frozenset((d.words[0], d.argument) for d in directed.holding(site) if d.words[0] in _EXCLUSIVE)
