"""Compares a nest's model with a run: the value-based flow dependences between statements.

The model is isl text; here, and only here, islpy is used, to put numbers for its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

from .claims import ModelClaim
from .dependences import flows
from .evidence import Evidence, Refutation, shown
from .machine import Event, Machine
from .nests import (
    Assign,
    Declare,
    Element,
    Evaluate,
    For,
    Function,
    If,
    Linear,
    Name,
    Node,
    Program,
    Statement,
    While,
    loops,
    walk,
)

Instance = tuple[int, tuple[int, ...]]
"""A statement (its number in source order) and its iteration: the counters' values, outermost first."""

Flow = set[tuple[Instance, Instance]]


def model_refutations(found: Evidence, models: list[ModelClaim]) -> list[Refutation] | None:
    """Where the flow of the kernel's model is not that of a run; `None` if they cannot be compared:
    the kernel is not one nest, or something in it is only known when the program runs."""
    kernel = found.program.kernel
    own = [model for model in models if model.function == kernel.name]
    if len(own) != 1 or len(own[0].loops) != len(loops(kernel)) or written_perhaps(own[0]):
        return None
    memories = memory_names(own[0])
    if memories != data_names(found.program):
        return None
    # Where the value of an integer is known in closed form, reading it is no access.
    if memories & {s.name for s in walk(kernel) if isinstance(s, Declare) and s.type in ("int", "unsigned")}:
        return None
    numbers = statement_numbers(found.program, memories)
    for run in found.runs:
        claimed = instantiated(own[0].flow, dict(run.inputs.parameters))
        if claimed is None:
            return None
        true = enumerated(run, numbers)
        # What is returned after the nest may be a statement of the model or not.
        claimed = {(a, b) for a, b in claimed if b[0] <= max(numbers.values())}
        if claimed != true:
            text = f"{_listed('missing', true - claimed)}{_listed('not there', claimed - true)}"
            return [Refutation(kernel.name, 0, "model", f"flow: {text}with {shown(run.inputs)}")]
    return []


def memory_names(model: ModelClaim) -> set[str]:
    """The variables that the model keeps in memory, rather than knowing their values."""
    import islpy as isl

    names: set[str] = set()
    for text in (model.reads, model.must_writes):
        isl.UnionMap(text).foreach_map(lambda m: names.add(m.get_tuple_name(isl.dim_type.out)))
    return names


def written_perhaps(model: ModelClaim) -> bool:
    """Whether some write is not sure to happen."""
    import islpy as isl

    return not isl.UnionMap(model.may_writes).is_empty()


def data_names(program: Program) -> set[str]:
    """The arrays and floating-point scalars of a program. Integer scalars may be known by value, and
    then nothing flows through them."""
    arrays = {node.array for node in walk(program.kernel) if isinstance(node, Element | Linear)}
    floating = {d.name for d in walk(program) if isinstance(d, Declare) and d.type == "double"}
    return arrays | {
        node.name for node in walk(program.kernel) if isinstance(node, Name) and node.name in floating
    }


def _listed(word: str, flow: Flow) -> str:
    if not flow:
        return ""
    (a, i), (b, j) = min(flow)
    return f"{word} S{a}{list(i)} -> S{b}{list(j)} ({len(flow)} of them), "


def enumerated(run: Machine, numbers: dict[int, int]) -> Flow:
    """The flow dependences of a run between statements that handle data."""

    def instance(event: Event) -> Instance:
        return numbers[event.uid], tuple(round_.value for round_ in event.stack)

    return {
        (instance(source), instance(sink))
        for source, sink in flows(run)
        if source.uid in numbers and sink.uid in numbers
    }


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


def instantiated(text: str, parameters: dict[str, int]) -> Flow | None:
    """The pairs of a union map at given parameters; `None` if it has others."""
    import islpy as isl

    union = isl.UnionMap(text)
    space = union.get_space()
    names = [space.get_dim_name(isl.dim_type.param, k) for k in range(space.dim(isl.dim_type.param))]
    if not set(names) <= parameters.keys():
        return None
    equations = " and ".join(f"{name} = {parameters[name]}" for name in names) or "1 = 1"
    union = union.intersect_params(isl.Set(f"[{', '.join(names)}] -> {{ : {equations} }}"))
    found: Flow = set()

    def collect(pairs: isl.Map) -> None:
        ends = [int(pairs.get_tuple_name(kind)[1:]) for kind in (isl.dim_type.in_, isl.dim_type.out)]
        split = pairs.dim(isl.dim_type.in_)

        def add(point: isl.Point) -> None:
            count = point.get_space().dim(isl.dim_type.set)
            values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count)]
            found.add(((ends[0], tuple(values[:split])), (ends[1], tuple(values[split:]))))

        pairs.wrap().project_out(isl.dim_type.param, 0, pairs.dim(isl.dim_type.param)).foreach_point(add)

    union.foreach_map(collect)
    return found
