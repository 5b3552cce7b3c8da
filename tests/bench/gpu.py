"""Kernels on paper: `python -m tests.bench.gpu [--kernels NAME…] [--size 192]`, which needs no GPU.

For each kernel of the PolyBench samples what NVIDIA's compiler says (registers, shared memory, spills), and
how many threads of a multiprocessor that leaves busy; and, counted by isl at one size, the bytes that it
moves over those that a launch has to move at least, and its operations for each byte that it moves: as if
nothing stayed in a cache, in sectors of 32 bytes for each access of a warp. The data are as large as the
device at most. Then how long it took to generate the code of each sample, from its text on.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import islpy as isl
from rich.console import Console
from rich.table import Table

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, rewritten, subject_of
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Binary, Floating, Integer, Site, Statement, subexpressions
from polylsp.model.action import Declined
from polylsp.model.kernel_report import Compiled, Resources, occupancy
from polylsp.server.kernel_compiler import compiler_word
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.coalescing import Reference, Sides, sectors
from polylsp.targets.gpu.cuda import Made, edit, made_of, making
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.launched import device_code, side_of
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import Kernel, maps_of, sets_of
from polylsp.targets.gpu.preparation import simplified

SAMPLES = Path(__file__).parents[2] / "samples/polybench/c"
STEPS = 4
"""Trip count of loops over time."""

ARCHITECTURE = 90
MEDIAN_GOAL, MOST_GOAL, ALL_GOAL = 0.25, 3.0, 11.0
"""Seconds to generate code in, of 30 samples."""

# --- Counted -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """Bytes that a kernel moves and those that it has to, and operations, in all launches."""

    moved: float
    least: int
    operations: int


@dataclass(frozen=True)
class _Seen:
    """An access from the points of all launches, to elements of some bytes; so many threads of a warp differ
    along each of the `sides`."""

    site: Site
    relation: isl.Map
    width: int
    sides: Sides


def counted(one: Made, kernel: Kernel, text: Written, size: int) -> Counted:
    """A kernel at one size."""
    own = {each.get_tuple_name(): each for each in sets_of(kernel.domain)}
    order = kernel.outer.flat_range_product(kernel.schedule).intersect_domain(kernel.domain)
    orders = {each.get_tuple_name(isl.dim_type.in_): each for each in maps_of(order)}
    setting = one.host.setting
    shared = [
        (leaf, a)
        for leaf, a in setting.shared
        if leaf.name in own and a.memory.shape and a.memory.variable.name not in setting.private
    ]
    seen = [
        (leaf, a, orders[leaf.name].reverse().apply_range(of_leaf(leaf, a.relation))) for leaf, a in shared
    ]
    elements: dict[tuple[str, str], isl.Map] = {}
    for _, access, relation in seen:
        key = (access.memory.name, access.kind)
        launches = relation.apply_domain(_onto(relation.domain(), list(range(kernel.counters)), {}))
        elements[key] = elements[key].union(launches) if key in elements else launches
    widths = {a.memory.name: _width(a.memory.element) for _, a in shared}
    least = sum(_count(each.wrap(), size) * widths[name] for (name, _), each in elements.items())
    sides = {leaf.name: _sides(kernel, text, leaf) for leaf, _, _ in seen}
    located = [_Seen(a.site, r, widths[a.memory.name], sides[leaf.name]) for leaf, a, r in seen]
    moved = _moved(kernel, text, located, size)
    passes = {n: _count(own[n], size) for n in own if n}
    for leaf, _, relation in seen:
        passes[leaf.name] = max(passes[leaf.name], _count(relation.wrap(), size))
    operations = sum(passes[n] * _operations(setting.leaves[n].statements) for n in passes)
    return Counted(moved, least, operations)


def _moved(kernel: Kernel, text: Written, seen: list[_Seen], size: int) -> float:
    blocking, outer = text.frame.blocking, kernel.counters
    kept = [*blocking.kept, *(k for part in blocking.parts for k in part.kept)]
    kept = [each for each in kept if each.memory.variable.name not in text.frame.private]
    tiles = [(part.strip, tile) for part in blocking.parts for tile in part.tiles]
    hidden = {r.access.site for k in kept for r in k.references} | {
        r.access.site for _, t in tiles for r in t.references
    }
    total = 0.0
    for one in seen:
        if one.site not in hidden:
            factor = sectors(one.relation, one.width, one.sides) / one.width if text.axes else 1.0
            # Accesses in an inner loop count for each element.
            total += _count(one.relation.wrap(), size) * one.width * factor
    for each in kept:
        points = _points(seen, each.references)
        where = [outer + axis.dimension for axis in blocking.axes]
        keep = list(range(outer)) + where
        written = any(r.access.kind == "write" for r in each.references)
        total += (
            _count(points.apply(_onto(points, keep, {})), size)
            * (each.loads + written)
            * _width(each.memory.element)
        )
    for strip, tile in tiles:
        points = _points(seen, tile.references)
        cut = {outer + axis.dimension: axis.tile for axis in blocking.axes}
        cut |= {outer + strip.dimension: strip.size} if strip is not None else {}
        copies = _count(points.apply(_onto(points, [*range(outer), *cut], cut)), size)
        total += copies * prod(tile.sizes) * _width(tile.memory.element)
    return total


def _points(seen: list[_Seen], references: tuple[Reference, ...]) -> isl.Set:
    sites = {r.access.site for r in references}
    first, *rest = [one.relation.domain() for one in seen if one.site in sites]
    for each in rest:
        first = first.union(each)
    return first


def _onto(points: isl.Set, keep: list[int], cut: dict[int, int]) -> isl.Map:
    names = [f"d{k}" for k in range(points.dim(isl.dim_type.set))]
    shown = [f"floor({names[k]}/{cut[k]})" if k in cut else names[k] for k in keep]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(shown)}] }}")


def _sides(kernel: Kernel, text: Written, leaf: Leaf) -> Sides:
    """Arrangement of the threads of a warp where they run a leaf."""
    lanes = text.frame.blocking.lanes
    if not text.axes:
        return ()
    if lanes is not None and lanes.letter == "y":
        for part in text.frame.blocking.parts:
            if part.split is not None and leaf.name in part.segment.leaves:
                x, y = text.axes[0], part.split.dimension
                return ((kernel.counters + x.dimension, x.threads), (kernel.counters + y, 32 // x.threads))
    return ((kernel.counters + side_of(text, leaf), 32),)


def _count(values: isl.Set, size: int) -> int:
    """Number of elements, with every size the same."""
    fixed = values
    for k in range(values.dim(isl.dim_type.param)):
        name = values.get_dim_name(isl.dim_type.param, k) or ""
        fixed = fixed.fix_val(
            isl.dim_type.param, k, isl.Val(STEPS if "step" in name or name == "tmax" else size)
        )
    return fixed.project_out(isl.dim_type.param, 0, fixed.dim(isl.dim_type.param)).count_val().to_python()


def _width(element: object) -> int:
    assert isinstance(element, (Integer, Floating))
    return element.bits // 8


def _operations(statements: tuple[Statement, ...]) -> int:
    """Operations on floating numbers in statements, those in loops once."""
    values = [e for s in walk(*statements) for e in expressions(s)]
    updates = sum(getattr(s, "operator", None) is not None for s in walk(*statements))
    return updates + sum(
        isinstance(node, Binary) and isinstance(node.type, Floating)
        for v in values
        for node in subexpressions(v)
    )


# --- Shown -------------------------------------------------------------------------------


def rows(file: Path, size: int) -> Iterator[tuple[str, ...]]:
    """A row for each kernel of a sample."""
    text, settings = file.read_text(encoding="utf-8"), Settings(offload_threshold=0, cuda_slabs=False)
    for placed in analyse(str(file), text, settings, schedules=False).functions:
        name = placed.answer.facts.name
        if not name.startswith("kernel_"):
            continue
        subject = subject_of(str(file), text, settings, name, placed.start)
        assert subject is not None
        reading = rewritten(str(file), settings, name, placed.start)
        found = made_of(simplified(subject), making(subject, settings, reading))
        if isinstance(found, Declined):
            yield (f"{file.stem}: {found.reason}", *[""] * 7)
            continue
        for reason in found[1]:
            yield (f"{file.stem}: {reason}", *[""] * 7)
        for one in found[0]:
            said = compiler_word(device_code(one.launched), (ARCHITECTURE,))
            assert isinstance(said, Compiled), said
            taken = {each.kernel: each for each in said.resources}
            for kernel, written in one.host.kernels:
                yield _row(file.stem, one, kernel, written, taken[written.name], size)


def _row(
    sample: str, one: Made, kernel: Kernel, written: Written, known: Resources, size: int
) -> tuple[str, ...]:
    threads = prod(written.frame.blocking.threads)
    count = counted(one, kernel, written, size)
    return (
        f"{sample} {written.name.rpartition('_kernel')[2]}",
        str(threads),
        str(known.registers),
        str(known.shared),
        str(known.spilled),
        f"{occupancy(known, threads):.0%}",
        f"{count.moved / count.least:.1f}" if count.least else "",
        f"{count.operations / count.moved:.2f}" if count.moved else "",
    )


def generating(file: Path) -> float:
    """The seconds that it takes to generate the code for a sample, with all settings as they are."""
    text, settings = file.read_text(encoding="utf-8"), Settings(offload_threshold=0)
    placed = next(
        each
        for each in analyse(str(file), text, settings, schedules=False).functions
        if each.answer.facts.name.startswith("kernel_")
    )
    began = time.perf_counter()
    name = placed.answer.facts.name
    subject = subject_of(str(file), text, settings, name, placed.start)
    assert subject is not None
    edit(subject, 0, settings, rewritten(str(file), settings, name, placed.start))
    return time.perf_counter() - began


def main() -> None:
    """Print the table, and the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", nargs="*", default=[])
    parser.add_argument("--size", type=int, default=192)
    asked = parser.parse_args()
    heads = (
        "kernel",
        "threads",
        "registers",
        "shared",
        "spilled",
        "occupancy",
        "moved / least",
        "flops / byte",
    )
    table = Table(*heads, title=f"Kernels on paper (sm_{ARCHITECTURE}, sizes of {asked.size})")
    files = [f for f in sorted(SAMPLES.glob("*.c")) if not asked.kernels or f.stem in asked.kernels]
    taken = {file.stem: generating(file) for file in files}
    for file in files:
        for row in rows(file, asked.size):
            table.add_row(*row)
    Console(width=120).print(table)
    slowest = max(taken, key=lambda name: taken[name])
    print(
        f"generated in {sum(taken.values()):.1f} s, all {len(taken)} (goal {ALL_GOAL:g});"
        f" median {statistics.median(taken.values()):.2f} s (goal {MEDIAN_GOAL:g}),"
        f" {slowest} {taken[slowest]:.2f} s (goal {MOST_GOAL:g})"
    )


if __name__ == "__main__":
    main()
