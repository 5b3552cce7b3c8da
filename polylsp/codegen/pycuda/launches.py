"""Loops of the host around the kernels, and the text of each launch, in Python."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polylsp.codegen.cuda.adding import Target
from polylsp.codegen.cuda.axes import Axis
from polylsp.codegen.cuda.buffers import factor
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.kernels import Written
from polylsp.codegen.cuda.launch import spelled
from polylsp.codegen.cuda.launches import (
    MOST_BLOCKS,
    MOST_SUMMED,
    NOT_THERE,
    by_letter,
    dated,
    host_counters,
)
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.totals import BLOCKS
from polylsp.codegen.pycuda.host import NAMES, Host
from polylsp.codegen.pycuda.types import itemsize, number_text
from polylsp.codegen.python_expression import NotSimpleError, operator_of, text_of
from polylsp.codegen.syntax_tree import is_mentioned, syntax_tree

_INDENT = "    "
_NODE, _OPERATION = isl.ast_node_type, isl.ast_expr_op_type


def launches(host: Host) -> list[str]:
    """The loops of the host around the kernels, in order; raises `Unwritable`."""
    kernels, setting = host.launched.kernels, host.launched.setting
    context = spelled(setting.parameters, setting.region.context.params())
    names = host_counters(kernels, host.fresh)
    atoms = {**host.parameters, **{f"__d{k}": name for k, name in enumerate(names)}}
    inside = [f"__d{k}" for k in range(len(names))]
    by_name = {kernel.name: made for kernel, made in kernels}
    try:
        return list(_lines(host, syntax_tree(dated(kernels), inside, context), atoms, by_name))
    except NotSimpleError:
        raise Unwritable("The order of the kernels has no simple form in Python.") from None


def _lines(
    host: Host, node: isl.AstNode, atoms: dict[str, str], kernels: dict[str, Written]
) -> Iterator[str]:
    kind = node.get_type()
    if kind == _NODE.user:
        call = node.user_get_expr()
        values = [text_of(call.get_op_arg(k), atoms) for k in range(1, call.get_op_n_arg())]
        yield from _launch(host, kernels[call.get_op_arg(0).id_get_id().get_name()], values)
    elif kind == _NODE.block:
        children = node.block_get_children()
        for number in range(children.n_ast_node()):
            yield from _lines(host, children.get_at(number), atoms, kernels)
    elif kind == _NODE["for_"]:
        yield from _for(host, node, atoms, kernels)
    elif kind == _NODE["if_"]:
        yield f"if {text_of(node.if_get_cond(), atoms)}:"
        yield from _indented(_lines(host, node.if_get_then_node(), atoms, kernels))
        if node.if_has_else_node():
            yield "else:"
            yield from _indented(_lines(host, node.if_get_else_node(), atoms, kernels))
    else:
        yield from _lines(host, node.mark_get_node(), atoms, kernels)


def _for(host: Host, node: isl.AstNode, atoms: dict[str, str], kernels: dict[str, Written]) -> Iterator[str]:
    iterator = node.for_get_iterator().id_get_id().get_name()
    first = text_of(node.for_get_init(), atoms)
    if node.for_is_degenerate():
        if is_mentioned(node):
            yield f"{atoms.get(iterator, iterator)} = {first}"
        yield from _lines(host, node.for_get_body(), atoms, kernels)
        return
    condition, step = node.for_get_cond(), text_of(node.for_get_inc(), atoms)
    operation = operator_of(condition)
    if operation not in (_OPERATION.lt, _OPERATION.le):
        raise NotSimpleError
    bound = text_of(condition.get_op_arg(1), atoms, int(operation == _OPERATION.le))
    ends = (
        [bound] if first == "0" and step == "1" else [first, bound] if step == "1" else [first, bound, step]
    )
    yield f"for {atoms.get(iterator, iterator)} in range({', '.join(ends)}):"
    yield from _indented(_lines(host, node.for_get_body(), atoms, kernels))


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"{_INDENT}{line}" for line in lines)


def _launch(host: Host, kernel: Written, values: list[str]) -> Iterator[str]:
    counters = dict(zip(kernel.counters, values, strict=True))
    lines = _launched(host, kernel, counters)
    if kernel.target is not None and kernel.target.at_times:
        yield f"# {NOT_THERE}"
        yield f"if {_is_there(host, kernel.target, counters)}:"
        lines = _indented(lines)
    yield from lines


def _launched(host: Host, kernel: Written, counters: dict[str, str]) -> Iterator[str]:
    """The launch of a kernel, and of the one that adds the sums of its blocks to an element."""
    numpy, grid = host.own("np"), host.own("grid")
    yield from _grid(host, kernel, counters)
    arguments = [f"{numpy}.int32({counters.get(name, name)})" for name in kernel.passed]
    strides = host.launched.setting.words.strides
    arguments += [
        f"{host.own('index') if v.name in strides else f'{numpy}.{number_text(v)}'}({v.source_name})"
        for v in kernel.scalars
    ]
    arguments += [host.address(b) for b in kernel.buffers]
    arguments += [host.own(kernel.total.scratch)] if kernel.total is not None else []
    block = ", ".join([*map(str, kernel.frame.blocking.threads), "1", "1", "1"][:3])
    yield from wrapped(f"{host.own(kernel.name)}(", [*arguments, f"block=({block})", f"grid={grid}"], ")")
    if kernel.total is not None and kernel.target is not None:
        count = " * ".join(f"{grid}[{k}]" for k in range(len(kernel.axes)))
        own = [f"{numpy}.int32({count})", host.own(kernel.total.scratch), _target(host, kernel, counters)]
        shape = [f"block=({BLOCKS}, 1, 1)", "grid=(1, 1)"]
        yield from wrapped(f"{host.own(kernel.total.kernel)}(", [*own, *shape], ")")


def _grid(host: Host, kernel: Written, counters: dict[str, str]) -> Iterator[str]:
    """Number of blocks along each axis."""
    frame = kernel.frame
    inside = {f"__h{k}": _grouped(counters[name]) for k, name in enumerate(kernel.counters)}
    atoms = {**host.parameters, **inside}
    build = isl.AstBuild.from_context(frame.launch.context)
    most = MOST_BLOCKS if kernel.total is None else MOST_SUMMED[len(kernel.axes)]

    def count(axis: Axis) -> str:
        low, high = axis.ends
        extent = build.expr_from_pw_aff(high.sub(low).add_constant_val(isl.Val(1)))
        return f"{host.own('blocks')}({text_of(extent, atoms)}, {axis.tile}, {most})"

    counts = by_letter(kernel.axes, count)
    yield f"{host.own('grid')} = ({', '.join([*counts, '1', '1'][: max(2, len(counts))])})"


def _target(host: Host, kernel: Written, counters: dict[str, str]) -> str:
    """The address of the element that a sum goes to."""
    target = kernel.target
    assert target is not None
    start = host.address(target.buffer)
    if target.number in ("", "0"):
        return start
    text = _number(host, target, counters)
    return f"{start} + {host.own('np')}.uintp({itemsize(target.buffer)} * ({text}))"


def _number(host: Host, target: Target, counters: dict[str, str]) -> str:
    """The number of the element in its array."""
    if not set(target.number) <= _PLAIN:
        raise Unwritable("The element that a sum goes to has no simple form in Python.")
    words = {**host.spelled, **{name: _grouped(value) for name, value in counters.items()}}
    return NAMES.sub(lambda found: words.get(found[0], found[0]), target.number)


def _is_there(host: Host, target: Target, counters: dict[str, str]) -> str:
    """Condition that the device has the element: its number is one of the rows there."""
    buffer = target.buffer
    first, behind = (" * ".join([factor(row), *buffer.inner]) for row in (buffer.first, buffer.end))
    return f"{first} <= {_number(host, target, counters)} < {behind}"


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789 +-*()")


def _grouped(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"
