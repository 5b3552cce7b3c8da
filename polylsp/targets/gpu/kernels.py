"""The text of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polylsp.core.language import PYTHON
from polylsp.emit.affine_bounds import ShadowedError
from polylsp.ir.effects import effects, places_in
from polylsp.ir.program import Floating, Index, Read, Variable, subexpressions
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.blocking import Blocking
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.compute import Frame
from polylsp.targets.gpu.cooperation import Target, target_of, total_of
from polylsp.targets.gpu.cuda_expressions import Words
from polylsp.targets.gpu.cuda_statements import INDENT, folded, words_of, wrapped
from polylsp.targets.gpu.device_names import Fresh, dimension_names
from polylsp.targets.gpu.emission_context import Setting
from polylsp.targets.gpu.kernel_body import Draft, Task, drafted
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import Axis, Kernel, sets_of
from polylsp.targets.gpu.region import Region, names_declared
from polylsp.targets.gpu.sum_kernels import Split, Sum, Total


@dataclass(frozen=True, eq=False)
class Written:
    """Text of a kernel. `counters` are those of the host, of which it takes `passed`; it takes `scalars` by
    value and `buffers`. `plain`: all its counters are the user's, and `int`s there. The partial sums of its
    blocks are added to an element of the device, a `target`, by the kernel of a `total`. `unaligned`: why its
    threads do not load vectors, where they might. `index` is the name of its index type, if it is a template
    over one."""

    name: str
    counters: tuple[str, ...]
    passed: tuple[str, ...]
    scalars: tuple[Variable, ...]
    buffers: tuple[Buffer, ...]
    frame: Frame
    lines: tuple[str, ...]
    plain: bool
    total: Total | None = None
    target: Target | None = None
    unaligned: str = ""
    index: str = ""

    @property
    def splits(self) -> list[Split]:
        """Sums that its threads share, in parts of it."""
        return [part.split for part in self.frame.blocking.parts if part.split is not None]

    @property
    def rounds(self) -> bool:
        """True if it adds up numbers whose sum depends on the order."""
        own = [(split.combining, split.kept.memory) for split in self.splits]
        if self.total is not None and self.target is not None:
            own.append((self.total.combining, self.target.buffer.memory))
        return any(one.rounds and isinstance(memory.element, Floating) for one, memory in own)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Dimensions of threads, `x` first."""
        return self.frame.blocking.axes


def written(setting: Setting, kernel: Kernel, name: str, summed: Sum | None) -> Written:
    """A kernel in CUDA C++, of which all that it does may be a sum; raises `Unwritable`."""
    leaves = [setting.leaves[each] for each in _tuples(kernel.domain)]
    counters = dimension_names(
        setting.region, leaves, _on(kernel.outer, kernel), setting.words, setting.fresh
    )
    total = total_of(setting, summed, name.rpartition("_kernel")[0]) if summed is not None else None
    made = _drafted(Task(setting, kernel, summed, total), leaves, counters)
    found = made.mentioned
    return _with_text(
        setting,
        leaves,
        made.lines,
        Written(
            name,
            tuple(counters),
            tuple(each for each in (*setting.slab, *counters) if each in found),
            _named(setting, leaves, found),
            _buffers(setting, leaves, found),
            made.frame,
            (),
            made.is_plain and _ints(setting.words).issuperset((*counters, *made.moving)),
            total,
            target_of(setting, made.frame.launch, summed, counters) if summed is not None else None,
            made.unaligned,
        ),
    )


def _drafted(task: Task, leaves: list[Leaf], counters: Sequence[str]) -> Draft:
    """Body of a kernel, where loops have the names of the user's counters if they can."""
    setting, kernel = task.setting, task.kernel
    # Local names of a kernel do not concern the others.
    fresh = Fresh({*setting.fresh.used})
    names = dimension_names(setting.region, leaves, _on(kernel.schedule, kernel), setting.words, fresh)
    names = [fresh.name(f"{each}_") if each in counters else each for each in names]
    try:
        return drafted(task, counters, names, fresh)
    except ShadowedError:
        fresh = Fresh({*setting.fresh.used})
        return drafted(task, counters, [fresh.name(f"c{k}") for k in range(len(names))], fresh)


def _with_text(setting: Setting, leaves: list[Leaf], lines: Sequence[str], made: Written) -> Written:
    """A kernel with these lines between its braces."""
    words, frame = setting.words, made.frame
    parameters = _parameters(made, words)
    if frame.is_cut:
        head = [_bounded(frame.blocking), *wrapped(f"{made.name}(", parameters, ")")]
    else:
        head = wrapped(f"__global__ void {made.name}(", parameters, ")")
    plain = [_without_conversions(line, made, words) for line in lines]
    text = (f"// {_comment(setting, leaves)}", *head, "{", *_folded(plain), "}")
    counts = any(each.name in words.strides for each in made.scalars)
    return replace(made, lines=text, index=words.index if counts else "")


def _bounded(choice: Blocking) -> str:
    """The first words of a kernel whose blocks have this many threads, and shall share a multiprocessor."""
    together = f", {choice.at_once}" if choice.at_once > 1 else ""
    return f"__global__ void __launch_bounds__({prod(choice.threads)}{together})"


def _ints(words: Words) -> set[str]:
    """The user's names, but for those that are `int`s on the device alone."""
    return {*words.names.values()} - {words.names[each] for each in words.narrow}


def _without_conversions(line: str, kernel: Written, words: Words) -> str:
    """A line without conversions to `int` of scalars that are one in the kernel."""
    for each in kernel.scalars:
        if each.name in words.narrow:
            line = re.sub(rf"\(int\){words.names[each.name]}\b", words.names[each.name], line)
    return line


def _folded(lines: Sequence[str]) -> Iterator[str]:
    """The lines between the braces of a kernel."""
    for line in lines:
        yield from folded(f"{INDENT}{line}")


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
        inside = {v.name for v in leaf.own} | names_declared(leaf.statements)
        inside |= {counter(setting.region.subject, o).name for o in leaf.loops}
        for variable in effects(*leaf.statements).variables:
            if variable.name not in inside:
                read[setting.words.names[variable.name]] = variable
        # Lengths that negative subscripts count from.
        steps = (step for place in places_in(*leaf.statements) for step in place.steps)
        lengths = (step.wraps for step in steps if isinstance(step, Index) and step.wraps is not None)
        for one in (part for length in lengths for part in subexpressions(length)):
            if isinstance(one, Read) and one.place.variable.name not in inside:
                read[setting.words.names[one.place.variable.name]] = one.place.variable
    moved = {b.variable.name for b in setting.buffers}
    found = {v for name, v in read.items() if name in words and v.name not in moved}
    return tuple(sorted(found, key=lambda v: _order(setting.region, v)))


def _buffers(setting: Setting, leaves: list[Leaf], words: set[str]) -> tuple[Buffer, ...]:
    """The buffers that a kernel takes, written where it writes them itself."""
    own = {leaf.name for leaf in leaves}
    written = {a.memory.variable.name for leaf, a in setting.shared if leaf.name in own and a.kind == "write"}
    found = (b for b in setting.buffers if setting.words.names[b.variable.name] in words)
    return tuple(replace(b, written=b.variable.name in written) for b in found)


def _order(region: Region, variable: Variable) -> tuple[int, str]:
    """As the function's parameters stand."""
    listed = region.subject.function.parameters
    return (listed.index(variable) if variable in listed else len(listed), variable.name)


def _comment(setting: Setting, leaves: list[Leaf]) -> str:
    """Comment on the loops that a kernel came from."""
    subject = setting.region.subject
    ordinals = sorted({ordinal for leaf in leaves for ordinal in leaf.loops})
    if subject.language == PYTHON.name:
        # Lines move as the kernel is put before them.
        names = dict.fromkeys(f"`{subject.known(o).iterator}`" for o in ordinals)
        return f"The loop{'s' if len(names) > 1 else ''} {', '.join(names)}."
    loops = [
        f"`{subject.known(o).iterator}` (line {subject.line_number(subject.known(o).site)})" for o in ordinals
    ]
    return f"The loop{'s' if len(loops) > 1 else ''} {', '.join(loops)}."


def _parameters(kernel: Written, words: Words) -> list[str]:
    """Parameter list of a kernel."""
    found = [f"int {name}" for name in kernel.passed]
    found += [f"{words_of(v, words)} {words.names[v.name]}" for v in kernel.scalars]
    found += [
        f"{'' if b.written else 'const '}{b.words} *__restrict__ {words.names[b.variable.name]}"
        for b in kernel.buffers
    ]
    total = kernel.total
    return [*found, f"{total.words} *__restrict__ {total.scratch}"] if total is not None else found
