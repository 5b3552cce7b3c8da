"""Host function that runs kernels from Python: parameters, launch loops, slabs and NumPy types.

Code without a form on the device raises `Unwritable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.emit.affine_bounds import is_mentioned, syntax_tree
from polylsp.emit.python_expressions import NotSimpleError, operator_of, text_of
from polylsp.frontends.python.kinds import dtype_name
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Floating, Integer, Variable
from polylsp.ir.verdict import Assumption
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.buffers import REAL, WHOLE, Buffer, factor
from polylsp.targets.gpu.cooperation import Target
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import wrapped
from polylsp.targets.gpu.device_names import Fresh, plain_names
from polylsp.targets.gpu.host_lines import (
    MOST_BLOCKS,
    MOST_SUMMED,
    NOT_THERE,
    by_letter,
    dated,
    host_counters,
)
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.launched import Launched
from polylsp.targets.gpu.mapping import Axis, spelled
from polylsp.targets.gpu.python_semantics import is_unlimited
from polylsp.targets.gpu.slabs import Slabs
from polylsp.targets.gpu.sum_kernels import BLOCKS

NAMES = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Host:
    """Host function. `parameters` are isl's in Python; `spelled` gives the names of the device in Python;
    `local` are its local names, which `fresh` separates from the user's."""

    launched: Launched
    parameters: Mapping[str, str]
    spelled: Mapping[str, str]
    fresh: Fresh
    local: dict[str, str] = field(default_factory=dict[str, str])

    def own(self, wanted: str) -> str:
        """A local name: the `wanted` one, or one like it."""
        if wanted not in self.local:
            self.local[wanted] = self.fresh.name(wanted)
        return self.local[wanted]

    def address(self, buffer: Buffer) -> str:
        """The name for where a buffer is on the device."""
        return self.own(f"{buffer.name}_there")

    @property
    def arrays(self) -> list[Buffer]:
        """The arrays that the caller has too, those that are written first."""
        own = [each for each in self.launched.memories.buffers if each.hosted and not each.scalar]
        return sorted(own, key=lambda each: not each.written)

    @property
    def gpu(self) -> str:
        """The name of the work on the device."""
        return self.own("gpu")

    @property
    def copies(self) -> list[Buffer]:
        """Copies on the device of arrays as they were before."""
        return [each for each in self.launched.memories.buffers if each.of]

    @property
    def moving(self) -> list[Buffer]:
        """Arrays that each slab transfers; without slabs, all."""
        slabs = self.launched.slabs
        if slabs is None:
            return self.arrays
        return [slabs.parts[b.variable.name].buffer for b in self.arrays if b.variable.name in slabs.parts]

    @property
    def staying(self) -> list[Buffer]:
        """Arrays that stay on the device while slabs come and go."""
        moving = {each.name for each in self.moving}
        return [each for each in self.arrays if each.name not in moving]

    @property
    def index(self) -> str:
        """Name of the index type of kernels, if one of them is a template over it."""
        return next((made.index for _, made in self.launched.kernels if made.index), "")

    @property
    def wide(self) -> list[Buffer]:
        """The arrays that may have more elements than an `int` counts."""
        return [each for each in self.arrays if each.variable.name in self.launched.setting.wide]

    @property
    def written(self) -> list[Buffer]:
        """Arrays whose elements change."""
        return [each for each in self.arrays if each.written]

    @property
    def numbers(self) -> list[Buffer]:
        """The numbers of the caller that kernels change."""
        return [each for each in self.launched.memories.buffers if each.hosted and each.scalar]

    @property
    def returned(self) -> list[Buffer]:
        """Numbers that the caller needs afterwards."""
        return [each for each in self.numbers if each.goes_out]


def host_of(found: Launched, known: Sequence[str]) -> Host:
    """Host function of some kernels, which checks the `known` conditions; raises `Unwritable`."""
    setting = found.setting
    texts = plain_names(found.region).parameters
    parameters = {name: text for name, text in texts.items() if name in setting.parameters}
    parameters |= {name: text for name, text in setting.parameters.items() if text in setting.slab}
    spelled = {setting.words.names[v.name]: v.source_name for v in variables_of(found)}
    names = {v.source_name for v in variables_of(found)} | {b.name for b in setting.buffers}
    names |= {word for each in known for word in NAMES.findall(each)}
    counters = {name for _, made in found.kernels for name in made.counters}
    slabs = found.slabs.called.all if found.slabs is not None else ()
    return Host(found, parameters, spelled, Fresh({*names, *counters, *slabs}))


def scalars(host: Host, lines: list[str]) -> list[Variable]:
    """The numbers that it takes, as the function's parameters stand: those of its kernels, and those that its
    `lines` name; raises `Unwritable`."""
    words = {word for line in lines for word in NAMES.findall(line)}
    found = {v for v in variables_of(host.launched) if v.source_name in words}
    found |= {b.variable for b in host.numbers}
    subject = host.launched.region.subject
    counters = {
        counter(subject, each.ordinal) for each in loops_in(subject.function.body) if each.step.statements
    }
    for each in found:
        # A name that counts the iterations of several loops has the value of the loop around.
        same = {v for v in subject.variables if v.source_name == each.source_name} - {each}
        if same - counters:
            raise Unwritable(f"More than one variable is called `{each.source_name}` here: rename one.")
    listed = host.launched.region.subject.function.parameters
    place = {v: k for k, v in enumerate(listed)}
    return sorted(found, key=lambda v: (place.get(v, len(place)), v.name))


def variables_of(found: Launched) -> Iterator[Variable]:
    """The numbers that kernels and their launches may need."""
    scalars = (v for _, made in found.kernels for v in made.scalars)
    seen = dict.fromkeys((*found.setting.variables.values(), *scalars))
    for each in seen:
        if not each.source_name.isidentifier() and ".shape[" not in each.source_name:
            raise Unwritable(f"`{each.source_name}` belongs to an object: give it a name of its own first.")
        yield each


def listed(items: Sequence[str]) -> str:
    """Items of a tuple, as they stand between its parentheses."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)


def closing(items: Sequence[str]) -> str:
    """The end of a tuple."""
    return ",)" if len(items) == 1 else ")"


# --------------------------------------------------------------------------------------------------
# Types of the device as NumPy calls them.
# --------------------------------------------------------------------------------------------------


def number_text(variable: Variable) -> str:
    """NumPy's type of a number that a kernel takes."""
    of_type = variable.type
    assert isinstance(of_type, (Integer, Floating))
    return "int32" if is_unlimited(of_type) else dtype_name(of_type)


def element_text(buffer: Buffer) -> str:
    """NumPy's type of a buffer's elements; `real` for those that are `float64` or `float32`, and `whole` for
    those that are `int64` or `int32`."""
    if buffer.words in (REAL, WHOLE):
        return buffer.words.lower()
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    return dtype_name(element)


def is_checked(found: Launched, assumption: Assumption) -> bool:
    """True if the host function makes sure that an assumption holds."""
    given = {each.name for each in found.memories.buffers if each.hosted and not each.scalar}
    known = bool(assumption.subjects) and given.issuperset(assumption.subjects)
    stated = assumption.is_of_array or assumption.kind == "no-overlap"
    return (known and stated) or assumption.kind == "in-bounds"


def itemsize(buffer: Buffer) -> int:
    """Size of an element in bytes."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    return max(8, element.bits) // 8


# --------------------------------------------------------------------------------------------------
# Loops of the host around the kernels, and the text of each launch, in Python.
# --------------------------------------------------------------------------------------------------


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
    gpu, grid = host.gpu, host.own("grid")
    yield from _grid(host, kernel, counters)
    arguments = [f"{gpu}.int32({counters.get(name, name)})" for name in kernel.passed]
    strides = host.launched.setting.words.strides
    arguments += [
        f"{gpu}.{'index' if v.name in strides else number_text(v)}({v.source_name})" for v in kernel.scalars
    ]
    arguments += [host.address(b) for b in kernel.buffers]
    arguments += [host.own(kernel.total.scratch)] if kernel.total is not None else []
    block = shaped(list(map(str, kernel.frame.blocking.threads)))
    yield from wrapped(f"{gpu}.launch(", [f'"{kernel.name}"', grid, block, *arguments], ")")
    if kernel.total is not None and kernel.target is not None:
        count = " * ".join(f"{grid}[{k}]" for k in range(len(kernel.axes)))
        own = [f"{gpu}.int32({count})", host.own(kernel.total.scratch), _target(host, kernel, counters)]
        called = [f'"{kernel.total.kernel}"', "(1,)", f"({BLOCKS},)"]
        yield from wrapped(f"{gpu}.launch(", [*called, *own], ")")


def shaped(numbers: Sequence[str]) -> str:
    """A tuple of the sizes that are not one at its end."""
    last = max((k for k, each in enumerate(numbers) if each != "1"), default=0)
    return f"({listed(numbers[: last + 1] or ['1'])})"


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
        limit = "" if most == MOST_BLOCKS else f", {most}"
        return f"{host.gpu}.blocks({text_of(extent, atoms)}, {axis.tile}{limit})"

    counts = by_letter(kernel.axes, count) or ["1"]
    yield f"{host.own('grid')} = ({listed(counts)})"


def _target(host: Host, kernel: Written, counters: dict[str, str]) -> str:
    """The address of the element that a sum goes to."""
    target = kernel.target
    assert target is not None
    start = host.address(target.buffer)
    if target.number in ("", "0"):
        return start
    text = _number(host, target, counters)
    return f"{host.gpu}.offset({start}, {itemsize(target.buffer)} * ({text}))"


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


# --------------------------------------------------------------------------------------------------
# The loop of the host over slabs, where the device has no room for all of the arrays, in Python.
# --------------------------------------------------------------------------------------------------


def slab_loop(host: Host, slabs: Slabs, body: Sequence[str]) -> Iterator[str]:
    """Loop that runs a `body` for each slab."""
    called = slabs.called
    names = dict.fromkeys(host.launched.region.subject.known(each).iterator for each in slabs.loops)
    parts = [slabs.parts[b.variable.name].room for b in host.moving]
    needed = " + ".join(f"{host.gpu}.taken({b.name}, {b.count})" for b in parts)
    yield f"# All iterations of {', '.join(f'`{name}`' for name in names)} at once, if there is room."
    ends = [slabs.low, slabs.behind, slabs.count, f"lambda {called.size}: {needed}"]
    yield from wrapped(f"for {called.first}, {called.end} in {host.gpu}.slabs(", ends, "):")
    yield from (f"{_INDENT}{line}" if line else "" for line in body)
