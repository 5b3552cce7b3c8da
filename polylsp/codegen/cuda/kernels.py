"""The text of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.codegen.cuda.axes import Axis, axes_of, chosen, values_of
from polylsp.codegen.cuda.blocking import blocking, uncut
from polylsp.codegen.cuda.body import added_up, body
from polylsp.codegen.cuda.expressions import Unwritable, Words, element_text
from polylsp.codegen.cuda.frame import Frame
from polylsp.codegen.cuda.instances import WORD
from polylsp.codegen.cuda.launch import Launch, atoms, launch_of, sets_of
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import Buffer
from polylsp.codegen.cuda.naming import Fresh, dimension_names
from polylsp.codegen.cuda.references import references, subscripts_at, texts
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.statements import INDENT, type_words
from polylsp.codegen.cuda.sums import Sum
from polylsp.codegen.cuda.tiles import STRIP
from polylsp.codegen.cuda.totals import Total
from polylsp.codegen.transform.leaves import counter
from polylsp.model.program import Variable


@dataclass(frozen=True, eq=False)
class Written:
    """A kernel's text. `counters` are those of the host, of which it takes `passed`; it takes `scalars` by
    value and `buffers`. `plain`: all its counters are the user's. What its blocks find is added to an element
    of the device, `target` in C as the host knows it, by the kernel of a `total`."""

    name: str
    counters: tuple[str, ...]
    passed: tuple[str, ...]
    scalars: tuple[Variable, ...]
    buffers: tuple[Buffer, ...]
    frame: Frame
    lines: tuple[str, ...]
    plain: bool
    total: Total | None = None
    target: str = ""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Its dimensions of threads, `x` first."""
        return self.frame.blocking.axes


def written(setting: Setting, kernel: Kernel, name: str, summed: Sum | None) -> Written:
    """A kernel in CUDA C++, of which all that it does may be a sum; raises `Unwritable`."""
    leaves = [setting.leaves[each] for each in _tuples(kernel.domain)]
    words = setting.words
    counters = dimension_names(setting.region, leaves, _on(kernel.outer, kernel), words.names, setting.fresh)
    # What a kernel calls its own variables does not concern the others.
    fresh = Fresh({*setting.fresh.used})
    names = dimension_names(setting.region, leaves, _on(kernel.schedule, kernel), words.names, fresh)
    names = [fresh.name(f"{each}_") if each in counters else each for each in names]
    launch = launch_of(kernel, setting.region.context, setting.parameters)
    total = _total(setting, summed, name.rpartition("_kernel")[0]) if summed is not None else None
    frame = _frame(setting, kernel, launch, counters, names, fresh, summed)
    partial = total.scratch if total is not None else ""
    if summed is not None and total is not None:
        lines = added_up(frame, summed, total, partial)
    else:
        lines = body(frame, {b.variable.name: b.words for b in setting.buffers})
    ends = [end for axis in frame.axes for end in (axis.first, axis.end)]
    found = {word for line in (*lines, *ends) for word in WORD.findall(line)}
    moving = [names[k] for k in range(len(names)) if not values_of(launch.order, k).is_singleton()]
    made = Written(
        name,
        tuple(counters),
        tuple(each for each in counters if each in found),
        _named(setting, leaves, found),
        tuple(b for b in setting.buffers if words.names[b.variable.name] in found),
        frame,
        (),
        not frame.is_cut and {*words.names.values()}.issuperset((*counters, *moving)),
        total,
        _target(setting, launch, summed, counters) if summed is not None else "",
    )
    bounds = f"__launch_bounds__({prod(a.threads for a in frame.axes)}) " if frame.is_cut else ""
    head = wrapped(f"__global__ void {bounds}{name}(", _parameters(made, words, partial), ")")
    text = (f"// {_comment(setting, leaves)}", *head, "{", *(f"{INDENT}{line}" for line in lines), "}")
    return replace(made, lines=text)


def _frame(
    setting: Setting,
    kernel: Kernel,
    launch: Launch,
    counters: Sequence[str],
    names: Sequence[str],
    fresh: Fresh,
    summed: Sum | None,
) -> Frame:
    """How the kernel is cut, and what its parts are called."""
    known = {**setting.parameters, **atoms("__h", counters)}
    found = references(launch, setting.region.scop, setting.shared)
    able = range(kernel.parallel) if summed is None else summed.loops
    axes = axes_of(launch, chosen(able, [each.seen for each in found]), names, known)
    choice = blocking(launch, axes, found) if summed is None else uncut(launch, axes)
    known_as = {**known, **{axis.parameter: axis.name for axis in choice.axes}}
    known_as |= {f"__d{number}": names[k] for number, k in enumerate(choice.left)}
    if not choice.tiled:
        return Frame(setting.words, setting.leaves, launch, choice, known_as, {}, {}, "", "", (), fresh)
    known_as |= {axis.base: fresh.name(f"{axis.name}0") for axis in choice.axes}
    strips = [part.strip.dimension for part in choice.parts if part.strip is not None]
    known_as |= {STRIP: fresh.name(f"{names[strips[0]]}0")} if strips else {}
    place = {axis.letter: fresh.name(f"t{axis.letter}") for axis in choice.axes}
    step = {axis.letter: fresh.name(n) for axis, n in zip(choice.axes, "qpr", strict=False)}
    linear = fresh.name("thread") if len(choice.axes) > 1 else place["x"]
    number, *subscripts = (fresh.name(each) for each in ("e", "plane", "row", "column"))
    words, leaves = setting.words, setting.leaves
    return Frame(words, leaves, launch, choice, known_as, place, step, linear, number, subscripts, fresh)


def _on(order: isl.UnionMap, kernel: Kernel) -> isl.UnionMap:
    return order.intersect_domain(kernel.domain)


def _tuples(domain: isl.UnionSet) -> list[str]:
    """The leaves that a set has instances of, in source order."""
    found = [each.get_tuple_name() or "" for each in sets_of(domain)]
    return sorted(found, key=lambda name: tuple(int(part) for part in name[1:].split("_")))


def _named(setting: Setting, leaves: list[Leaf], words: set[str]) -> tuple[Variable, ...]:
    """The scalars that a kernel takes by value."""
    read: dict[str, Variable] = dict(setting.variables)
    for leaf in leaves:
        inside = {v.name for v in leaf.own} | declared_in(leaf.statements)
        inside |= {counter(setting.region.subject, o).name for o in leaf.loops}
        for variable in effects(*leaf.statements).variables:
            if variable.name not in inside:
                read[setting.words.names[variable.name]] = variable
    moved = {b.variable.name for b in setting.buffers}
    found = {v for name, v in read.items() if name in words and v.name not in moved}
    return tuple(sorted(found, key=lambda v: _order(setting.region, v)))


def _order(region: Region, variable: Variable) -> tuple[int, str]:
    """As the function's parameters stand."""
    listed = region.subject.function.parameters
    return (listed.index(variable) if variable in listed else len(listed), variable.name)


def _comment(setting: Setting, leaves: list[Leaf]) -> str:
    """Which loops a kernel came from."""
    subject = setting.region.subject
    ordinals = sorted({ordinal for leaf in leaves for ordinal in leaf.loops})
    loops = [
        f"`{subject.known(o).iterator}` (line {subject.line_number(subject.known(o).site)})" for o in ordinals
    ]
    return f"The loop{'s' if len(loops) > 1 else ''} {', '.join(loops)}."


def _total(setting: Setting, summed: Sum, file: str) -> Total:
    """The kernel that adds to an element of this type: one is enough for all sums of a file."""
    words = next(b.words for b in setting.buffers if b.memory is summed.memory)
    found = [t for t in setting.totals if (t.words, t.operator) == (words, summed.operator)]
    if not found:
        name = setting.fresh.name(f"{file}_total")
        found.append(Total(name, setting.fresh.name("block_sums"), words, summed.operator))
        setting.totals.append(found[0])
    return found[0]


def _target(setting: Setting, launch: Launch, summed: Sum, counters: Sequence[str]) -> str:
    """The element that a sum goes to, on the device, as the host writes its address."""
    (buffer,) = (b for b in setting.buffers if b.memory is summed.memory)
    if buffer.scalar:
        return f"device_{buffer.name}"
    found = subscripts_at(summed.element, [f"__h{k}" for k in range(len(counters))])
    if found is None:
        raise Unwritable(f"An element of `{buffer.name}` cannot be written down.")
    shown = texts(found, launch.context, {**setting.parameters, **atoms("__h", counters)})
    first = shown[0] if shown[0].isalnum() or len(shown) == 1 else f"({shown[0]})"
    text = element_text("", buffer.inner, [first, *shown[1:]])[1:-1]
    text = f"{text} - {buffer.offset}" if buffer.offset else text
    return f"device_{buffer.name}" if text == "0" else f"device_{buffer.name} + ({text})"


def _parameters(kernel: Written, words: Words, partial: str) -> list[str]:
    """What stands between the parentheses of a kernel's header."""
    found = [f"int {name}" for name in kernel.passed]
    found += [f"{type_words(v)} {words.names[v.name]}" for v in kernel.scalars]
    found += [
        f"{'' if b.written else 'const '}{b.words} *__restrict__ {words.names[b.variable.name]}"
        for b in kernel.buffers
    ]
    return [*found, f"{kernel.total.words} *__restrict__ {partial}"] if kernel.total is not None else found
