"""The text of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.codegen.cuda.adding import Target, target_of, total_of
from polylsp.codegen.cuda.alignment import Placed, placed
from polylsp.codegen.cuda.axes import Axis, abreast, axes_of, chosen, values_of
from polylsp.codegen.cuda.blocking import Blocking, blocking, uncut
from polylsp.codegen.cuda.body import added_up, body
from polylsp.codegen.cuda.expressions import Unwritable, Words
from polylsp.codegen.cuda.frame import Frame
from polylsp.codegen.cuda.lanes import Split
from polylsp.codegen.cuda.launch import Launch, atoms, launch_of, sets_of
from polylsp.codegen.cuda.layout import folded, wrapped
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import Buffer
from polylsp.codegen.cuda.naming import Fresh, dimension_names
from polylsp.codegen.cuda.references import Reference, references
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.scalar_expansion import all_kept
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.sizes import sizes_of, with_blocks
from polylsp.codegen.cuda.statements import INDENT, words_of
from polylsp.codegen.cuda.sums import Sum
from polylsp.codegen.cuda.tiles import STRIP
from polylsp.codegen.cuda.totals import Total
from polylsp.codegen.cuda.vectors import Vectors, vectors_of
from polylsp.codegen.shadowing import WORD, ShadowedError
from polylsp.codegen.transform.leaves import counter
from polylsp.language import PYTHON
from polylsp.model.action import Declined
from polylsp.model.program import Floating, Variable
from polylsp.model.scop import Memory


@dataclass(frozen=True, eq=False)
class Written:
    """A kernel's text. `counters` are those of the host, of which it takes `passed`; it takes `scalars` by
    value and `buffers`. `plain`: all its counters are the user's, and `int`s there. What its blocks find is
    added to an element of the device, a `target`, by the kernel of a `total`. `unaligned`: why its threads
    do not load neighbouring elements at once, where they might. `index` is what it calls the type in which
    it counts elements, if there is one for it to be made with."""

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
        """What its threads add up together, in parts of it."""
        return [part.split for part in self.frame.blocking.parts if part.split is not None]

    @property
    def rounds(self) -> bool:
        """Whether it adds up numbers whose sum depends on the order."""
        own = [(split.combining, split.kept.memory) for split in self.splits]
        if self.total is not None and self.target is not None:
            own.append((self.total.combining, self.target.buffer.memory))
        return any(one.rounds and isinstance(memory.element, Floating) for one, memory in own)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Its dimensions of threads, `x` first."""
        return self.frame.blocking.axes


def written(setting: Setting, kernel: Kernel, name: str, summed: Sum | None) -> Written:
    """A kernel in CUDA C++, of which all that it does may be a sum; raises `Unwritable`."""
    leaves = [setting.leaves[each] for each in _tuples(kernel.domain)]
    words = setting.words
    counters = dimension_names(setting.region, leaves, _on(kernel.outer, kernel), words, setting.fresh)
    # What a kernel calls its own variables does not concern the others.
    fresh = Fresh({*setting.fresh.used})
    names = dimension_names(setting.region, leaves, _on(kernel.schedule, kernel), words, fresh)
    names = [fresh.name(f"{each}_") if each in counters else each for each in names]
    try:
        return _named_so(setting, kernel, name, summed, (counters, names), fresh)
    except ShadowedError:
        fresh = Fresh({*setting.fresh.used})
        names = [fresh.name(f"c{k}") for k in range(len(names))]
        return _named_so(setting, kernel, name, summed, (counters, names), fresh)


def _named_so(
    setting: Setting,
    kernel: Kernel,
    name: str,
    summed: Sum | None,
    called: tuple[Sequence[str], Sequence[str]],
    fresh: Fresh,
) -> Written:
    """The same, by the names of the host's counters and of its own."""
    leaves, words = [setting.leaves[each] for each in _tuples(kernel.domain)], setting.words
    counters, names = called
    private = frozenset(setting.private)
    launch = launch_of(kernel, setting.region.context, setting.parameters, private)
    total = total_of(setting, summed, name.rpartition("_kernel")[0]) if summed is not None else None
    partial = total.scratch if total is not None else ""
    known = {**setting.parameters, **atoms("__h", counters)}
    found_here = references(launch, setting.region.scop, setting.copied)
    able = range(kernel.parallel) if summed is None else summed.loops
    sizes = sizes_of(setting.settings)
    picked = chosen(able, [each.seen for each in found_here])
    axes = with_blocks(sizes, axes_of(launch, picked, names, known))
    alone = _frame(setting, launch, uncut(launch, axes), known, names, fresh)
    own = [each for each in found_here if each.access.memory.variable.name in private]
    unaligned = ""
    if summed is not None and total is not None and not own:
        frame, lines = alone, added_up(alone, summed, total, partial)
    else:
        choice = blocking(launch, axes, found_here, sizes)
        choice, unaligned = _wide(setting, launch, choice, found_here)
        cut = _frame(setting, launch, choice, known, names, fresh)
        if not all_kept(own, cut.blocking.kept):
            raise Unwritable("A number of each iteration has no place on the device.")
        frame, lines = _body(setting, cut, alone)
    ends = [end for axis in frame.axes for end in (axis.first, axis.end)]
    found = {word for line in (*lines, *ends) for word in WORD.findall(line)}
    moving = [names[k] for k in range(len(names)) if not values_of(launch.order, k).is_singleton()]
    # In vectors too, nothing is added to counters but the values of a block.
    is_plain = not frame.is_cut or frame.blocking.vectors is not None
    made = Written(
        name,
        tuple(counters),
        tuple(each for each in (*setting.slab, *counters) if each in found),
        _named(setting, leaves, found),
        _buffers(setting, leaves, found),
        frame,
        (),
        is_plain and _ints(words).issuperset((*counters, *moving)),
        total,
        target_of(setting, launch, summed, counters) if summed is not None else None,
        unaligned,
    )
    parameters = _parameters(made, words, partial)
    if frame.is_cut:
        head = [_bounded(frame.blocking), *wrapped(f"{name}(", parameters, ")")]
    else:
        head = wrapped(f"__global__ void {name}(", parameters, ")")
    plain = [_without_conversions(line, made, words) for line in lines]
    text = (f"// {_comment(setting, leaves)}", *head, "{", *_folded(plain), "}")
    counts = any(each.name in words.strides for each in made.scalars)
    return replace(made, lines=text, index=words.index if counts else "")


def _wide(
    setting: Setting, launch: Launch, choice: Blocking, found: Sequence[Reference]
) -> tuple[Blocking, str]:
    """The choice with vectors, where these pay; and why not, where elements are not aligned."""
    if not setting.settings.cuda_vectors or not choice.is_streaming:
        return choice, ""

    def place(memory: Memory, width: int) -> Placed | Declined:
        return placed(setting, memory, width)

    made = vectors_of(launch, choice.axes, [part.segment for part in choice.parts], found, place)
    if not isinstance(made, Vectors):
        return choice, made.reason if made is not None else ""
    x, *others = choice.axes
    return replace(choice, axes=(abreast(x, made.width, made.first), *others), vectors=made), ""


def _bounded(choice: Blocking) -> str:
    """The first words of a kernel whose blocks have this many threads, and shall share a multiprocessor."""
    together = f", {choice.at_once}" if choice.at_once > 1 else ""
    return f"__global__ void __launch_bounds__({prod(choice.threads)}{together})"


def _ints(words: Words) -> set[str]:
    """The user's names, but for those that are `int`s on the device alone."""
    return {*words.names.values()} - {words.names[each] for each in words.narrow}


def _without_conversions(line: str, kernel: Written, words: Words) -> str:
    """A line without conversions to `int` of what is one in the kernel."""
    for each in kernel.scalars:
        if each.name in words.narrow:
            line = re.sub(rf"\(int\){words.names[each.name]}\b", words.names[each.name], line)
    return line


def _folded(lines: Sequence[str]) -> Iterator[str]:
    """The lines between the braces of a kernel."""
    for line in lines:
        yield from folded(f"{INDENT}{line}")


def _body(setting: Setting, cut: Frame, uncut: Frame) -> tuple[Frame, list[str]]:
    """The lines of a kernel, as it is cut; without tiles and registers where these cannot be written."""
    types = {**setting.private, **{b.variable.name: b.words for b in setting.buffers}}
    try:
        return cut, body(cut, types)
    except Unwritable:
        if any(each.memory.variable.name in setting.private for each in cut.blocking.kept):
            raise
        return uncut, body(uncut, types)


def _frame(
    setting: Setting,
    launch: Launch,
    choice: Blocking,
    known: Mapping[str, str],
    names: Sequence[str],
    fresh: Fresh,
) -> Frame:
    """What the parts of a kernel are called."""
    known_as = {**known, **{axis.parameter: axis.name for axis in choice.axes}}
    known_as |= {f"__d{number}": names[k] for number, k in enumerate(choice.left)}
    words, leaves, private = setting.words, setting.leaves, frozenset(setting.private)
    if not choice.is_cut:
        return Frame(words, leaves, launch, choice, known_as, {}, {}, "", "", (), fresh, private)
    known_as |= {axis.base: fresh.name(f"{axis.name}0") for axis in choice.axes}
    strips = [part.strip.dimension for part in choice.parts if part.strip is not None]
    known_as |= {STRIP: fresh.name(f"{names[strips[0]]}0")} if strips else {}
    place = {axis.letter: fresh.name(f"t{axis.letter}") for axis in choice.axes}
    if choice.lanes is not None:
        place[choice.lanes.letter] = fresh.name(f"t{choice.lanes.letter}")
    step = {axis.letter: fresh.name(n) for axis, n in zip(choice.axes, "qpr", strict=False)}
    linear = fresh.name("thread") if len(choice.axes) > 1 else place["x"]
    number, *subscripts = (fresh.name(each) for each in ("e", "plane", "row", "column"))
    parts = (place, step, linear, number, subscripts)
    return Frame(words, leaves, launch, choice, known_as, *parts, fresh, private)


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
    """Which loops a kernel came from."""
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


def _parameters(kernel: Written, words: Words, partial: str) -> list[str]:
    """What stands between the parentheses of a kernel's header."""
    found = [f"int {name}" for name in kernel.passed]
    found += [f"{words_of(v, words)} {words.names[v.name]}" for v in kernel.scalars]
    found += [
        f"{'' if b.written else 'const '}{b.words} *__restrict__ {words.names[b.variable.name]}"
        for b in kernel.buffers
    ]
    return [*found, f"{kernel.total.words} *__restrict__ {partial}"] if kernel.total is not None else found
