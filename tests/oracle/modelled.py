"""Compares a nest's model with a run: the iterations of statements, and the value-based flow
dependences between them.

The model is isl text; here, and only here, islpy is used, to put numbers for its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.oracle.arguments import extents
from tests.oracle.claims import ModelClaim
from tests.oracle.evidence import Evidence, Refutation, flows, shown
from tests.oracle.machine import Event, Machine
from tests.oracle.nests import (
    Assign,
    Binary,
    Choice,
    Declare,
    Element,
    Evaluate,
    For,
    Function,
    If,
    Inputs,
    Linear,
    Name,
    Node,
    Program,
    Slice,
    Statement,
    While,
    children,
    loops,
    walk,
)

Instance = tuple[int, tuple[int, ...]]
"""A statement (its number in source order) and its iteration: the counters' values, outermost first."""

Domain = set[Instance]
Flow = set[tuple[Instance, Instance]]


def model_refutations(found: Evidence, models: list[ModelClaim]) -> list[Refutation] | None:
    """Differences between the iterations or the flow of the kernel's model and those of a run; `None` if they
    cannot be compared: the kernel is not one nest, or depends on data."""
    kernel = found.program.kernel
    own = [model for model in models if model.function == kernel.name]
    if len(own) != 1 or len(own[0].loops) != len(loops(kernel)) or written_perhaps(own[0]):
        return None
    memories = memory_names(own[0])
    if memories != data_names(found.program):
        return None
    # Where an integer has a closed form, reading it is no access.
    if memories & {s.name for s in walk(kernel) if isinstance(s, Declare) and s.type in ("int", "unsigned")}:
        return None
    numbers = statement_numbers(found.program, memories)
    if not numbers or _never_stores(found):
        return None
    always = {numbers[uid] for uid in _sure(found.program.kernel, memories) if uid in numbers}
    for run in found.runs:
        values = dict(run.inputs.parameters) | _shapes(found.program, run.inputs)
        domain, flow = instances(own[0].domain, values), instantiated(own[0].flow, values)
        if domain is None or flow is None:
            return None
        # What is returned after the nest may be a statement of the model or not.
        last = max(numbers.values())
        true = executed(run, numbers)
        domain = {i for i in domain if i[0] <= last and (i[0] in always or i in true)}
        flow = {(a, b) for a, b in flow if b[0] <= last}
        text = _other("domain", true, domain) or _other("flow", enumerated(run, numbers), flow)
        if text:
            return [Refutation(kernel.name, 0, "model", f"{text}with {shown(run.inputs)}")]
    return []


def _never_stores(found: Evidence) -> bool:
    """True if an array statement stores nothing in any run: its first step, a separate statement with a
    temporary, is then invisible in the model."""
    ran = {event.uid for run in found.runs for event in run.trace}
    targets = (node.target for node in walk(found.program.kernel) if isinstance(node, Assign))
    return any(_is_part(target) and target.uid not in ran for target in targets)


def _is_part(node: Node) -> bool:
    return isinstance(node, Element) and any(isinstance(s, Slice) for s in node.subscripts)


def _shapes(program: Program, inputs: Inputs) -> dict[str, int]:
    """The parameters by which a model in Python knows the extents of arrays."""
    found = extents(program, inputs)
    return {f"{name}_shape_{d}": n for name, shape in found.items() for d, n in enumerate(shape)}


def memory_names(model: ModelClaim) -> set[str]:
    """The variables that the model keeps in memory, rather than knowing their values."""
    import islpy as isl

    names: set[str] = set()
    for text in (model.reads, model.must_writes):
        isl.UnionMap(text).foreach_map(lambda m: names.add(m.get_tuple_name(isl.dim_type.out)))
    return names


def written_perhaps(model: ModelClaim) -> bool:
    """True if some write is not a must-write."""
    import islpy as isl

    return not isl.UnionMap(model.may_writes).is_empty()


def data_names(program: Program) -> set[str]:
    """Arrays and floating-point scalars of a program. Integer scalars may have closed forms, and then nothing
    flows through them."""
    arrays = {node.array for node in walk(program.kernel) if isinstance(node, Element | Linear)}
    floating = {d.name for d in walk(program) if isinstance(d, Declare) and d.type == "double"}
    return arrays | {
        node.name for node in walk(program.kernel) if isinstance(node, Name) and node.name in floating
    }


def _other(what: str, true: Domain | Flow, claimed: Domain | Flow) -> str | None:
    """Difference of two sets."""
    if true == claimed:
        return None
    return f"{what}: {_listed('missing', true - claimed)}{_listed('not there', claimed - true)}"


def _listed(word: str, elements: Domain | Flow) -> str:
    if not elements:
        return ""
    return f"{word} {min(elements)} ({len(elements)} of them), "


def executed(run: Machine, numbers: dict[int, int]) -> Domain:
    """The iterations of a run in which statements handled data."""
    return {_instance(event, numbers) for event in run.trace if event.uid in numbers}


def enumerated(run: Machine, numbers: dict[int, int]) -> Flow:
    """The flow dependences of a run between statements that handle data."""
    return {
        (_instance(source, numbers), _instance(sink, numbers))
        for source, sink in flows(run)
        if source.uid in numbers and sink.uid in numbers
    }


def _instance(event: Event, numbers: dict[int, int]) -> Instance:
    return numbers[event.uid], (*(round_.value for round_ in event.stack), *event.point)


def statement_numbers(program: Program, memories: set[str]) -> dict[int, int]:
    """The number of the statement that each access to one of the memories belongs to: statements
    that access none are none of the model's."""
    numbers: dict[int, int] = {}
    number = 0
    for statement in _statements(program.kernel):
        uids = [node.uid for node in walk(statement) if _is_data(node, memories)]
        if uids:
            numbers |= dict.fromkeys(uids, number)
            number += 1
    return numbers


def _sure(node: Node, memories: set[str]) -> Iterator[int]:
    """The accesses that no choice within an expression leaves out."""
    if _is_data(node, memories):
        yield node.uid
    match node:
        case Choice(condition=condition):
            inside: Iterable[Node] = (condition,)
        case Binary(operator="&&" | "||", left=left):
            inside = (left,)
        case _:
            inside = children(node)
    for each in inside:
        yield from _sure(each, memories)


def _is_data(node: Node, memories: set[str]) -> bool:
    match node:
        case Element() | Linear():
            return node.array in memories
        case Name(name=name):
            return name in memories
        case Declare(name=name, value=value):
            return name in memories and value is not None
        case _:
            return False


def _statements(function: Function) -> Iterator[Node]:
    """The simple statements in source order."""

    def visit(body: tuple[Statement, ...]) -> Iterator[Node]:
        for statement in body:
            match statement:
                case For() | While():
                    yield from visit(statement.body)
                case If(then=then, otherwise=otherwise):
                    yield from visit(then)
                    yield from visit(otherwise)
                case Assign() | Declare() | Evaluate():
                    yield statement
                case _:
                    pass

    yield from visit(function.body)


def instances(text: str, parameters: dict[str, int]) -> Domain | None:
    """The elements of a union set at given parameters; `None` if it has others."""
    import islpy as isl

    context = _context(isl.UnionSet(text).get_space(), parameters)
    if context is None:
        return None
    found: Domain = set()

    def collect(part: isl.Set) -> None:
        number = int(part.get_tuple_name()[1:])

        def add(point: isl.Point) -> None:
            found.add((number, _coordinates(point)))

        part.project_out(isl.dim_type.param, 0, part.dim(isl.dim_type.param)).foreach_point(add)

    isl.UnionSet(text).intersect_params(context).foreach_set(collect)
    return found


def _context(space: Any, parameters: dict[str, int]) -> Any:
    """The set in which a space's parameters have given values; `None` if it has others."""
    import islpy as isl

    names = [space.get_dim_name(isl.dim_type.param, k) for k in range(space.dim(isl.dim_type.param))]
    if not set(names) <= parameters.keys():
        return None
    equations = " and ".join(f"{name} = {parameters[name]}" for name in names) or "1 = 1"
    return isl.Set(f"[{', '.join(names)}] -> {{ : {equations} }}")


def _coordinates(point: Any) -> tuple[int, ...]:
    import islpy as isl

    count = point.get_space().dim(isl.dim_type.set)
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count))


def instantiated(text: str, parameters: dict[str, int]) -> Flow | None:
    """The pairs of a union map at given parameters; `None` if it has others."""
    import islpy as isl

    union = isl.UnionMap(text)
    context = _context(union.get_space(), parameters)
    if context is None:
        return None
    union = union.intersect_params(context)
    found: Flow = set()

    def collect(pairs: isl.Map) -> None:
        ends = [int(pairs.get_tuple_name(kind)[1:]) for kind in (isl.dim_type.in_, isl.dim_type.out)]
        split = pairs.dim(isl.dim_type.in_)

        def add(point: isl.Point) -> None:
            values = _coordinates(point)
            found.add(((ends[0], values[:split]), (ends[1], values[split:])))

        pairs.wrap().project_out(isl.dim_type.param, 0, pairs.dim(isl.dim_type.param)).foreach_point(add)

    union.foreach_map(collect)
    return found
