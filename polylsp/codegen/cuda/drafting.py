"""Bodies of kernels: the blocking of their iterations, and the lines for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.codegen.cuda.alignment import Placed, placed
from polylsp.codegen.cuda.axes import abreast, axes_of, chosen, values_of
from polylsp.codegen.cuda.blocking import Blocking, blocking, uncut
from polylsp.codegen.cuda.body import added_up, body
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.frame import Frame
from polylsp.codegen.cuda.launch import Launch, atoms, launch_of
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.naming import Fresh
from polylsp.codegen.cuda.references import Reference, references
from polylsp.codegen.cuda.scalar_expansion import all_kept
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.sizes import sizes_of, with_blocks
from polylsp.codegen.cuda.sums import Sum
from polylsp.codegen.cuda.tiles import STRIP
from polylsp.codegen.cuda.totals import Total
from polylsp.codegen.cuda.vectors import Vectors, vectors_of
from polylsp.codegen.shadowing import WORD
from polylsp.model.action import Declined
from polylsp.model.scop import Memory


@dataclass(frozen=True, eq=False)
class Task:
    """A kernel to write; it may be one sum, of which a `total` is generated."""

    setting: Setting
    kernel: Kernel
    summed: Sum | None
    total: Total | None


@dataclass(frozen=True, eq=False)
class Draft:
    """The lines, and the `names` of the loops in them. `unaligned`: why its threads do not load neighbouring
    elements at once, where they might."""

    frame: Frame
    lines: Sequence[str]
    names: Sequence[str]
    unaligned: str = ""

    @property
    def mentioned(self) -> set[str]:
        """The words in the lines, and in the expressions for the number of blocks."""
        ends = [end for axis in self.frame.axes for end in (axis.first, axis.end)]
        return {word for line in (*self.lines, *ends) for word in WORD.findall(line)}

    @property
    def moving(self) -> list[str]:
        """The names of the loops that have more than one value."""
        order = self.frame.launch.order
        return [name for k, name in enumerate(self.names) if not values_of(order, k).is_singleton()]

    @property
    def is_plain(self) -> bool:
        """True if counters are used unchanged, except, in vectors, for the values of a block."""
        return not self.frame.is_cut or self.frame.blocking.vectors is not None


def drafted(task: Task, counters: Sequence[str], names: Sequence[str], fresh: Fresh) -> Draft:
    """A kernel whose loops have these names, and those of the host around it too; raises `Unwritable`, and
    `ShadowedError` where loops need other names."""
    setting, kernel, summed = task.setting, task.kernel, task.summed
    private = frozenset(setting.private)
    launch = launch_of(kernel, setting.region.context, setting.parameters, private)
    known = {**setting.parameters, **atoms("__h", counters)}
    found = references(launch, setting.region.scop, setting.copied)
    picked = chosen(range(kernel.parallel) if summed is None else summed.loops, [each.seen for each in found])
    sizes = sizes_of(setting.settings)
    axes = with_blocks(sizes, axes_of(launch, picked, names, known))
    alone = _frame(setting, launch, uncut(launch, axes), known, names, fresh)
    own = [each for each in found if each.access.memory.variable.name in private]
    if summed is not None and task.total is not None and not own:
        return Draft(alone, added_up(alone, summed, task.total, task.total.scratch), names)
    choice, unaligned = _wide(setting, launch, blocking(launch, axes, found, sizes), found)
    cut = _frame(setting, launch, choice, known, names, fresh)
    if not all_kept(own, cut.blocking.kept):
        raise Unwritable("A number of each iteration has no place on the device.")
    return Draft(*_body(setting, cut, alone), names, unaligned)


def _wide(
    setting: Setting, launch: Launch, choice: Blocking, found: Sequence[Reference]
) -> tuple[Blocking, str]:
    """Blocking, with vectors where these pay; and the reason against them, where elements are not aligned."""
    if not setting.settings.cuda_vectors or not choice.is_streaming:
        return choice, ""

    def place(memory: Memory, width: int) -> Placed | Declined:
        return placed(setting, memory, width)

    made = vectors_of(launch, choice.axes, [part.segment for part in choice.parts], found, place)
    if not isinstance(made, Vectors):
        return choice, made.reason if made is not None else ""
    x, *others = choice.axes
    return replace(choice, axes=(abreast(x, made.width, made.first), *others), vectors=made), ""


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
    """Names of the parts of a kernel."""
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
