"""Estimated sizes of tiles, and distribution of their elements over the threads that copy them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited, applied
from polylsp.targets.gpu.shared_memory import Crew, Rounds, rounds
from tests.codegen.editing import assert_same

from .device import Device, Program

# --- Sizes -------------------------------------------------------------------------------

PRODUCT = """#include <stdio.h>
enum {{ N = 139, M = 37 }};
static {type} a[N][M], b[M][N], c[N][N];
static void multiply(int n, int m, {type} a[restrict n][m], {type} b[restrict m][n], {type} c[restrict n][n])
{{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < m; l++)
                c[i][j] += {term};
}}
int main(void)
{{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            a[i][j] = (3 * i + 5 * j) % 13, b[j][i] = (i + 2 * j) % 9;
    multiply(N, M, a, b, c);
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += (1 + (i + 3 * j) % 19) * c[i][j];
    printf("%.9e\\n", sum);
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("type_", "term", "has"),
    [
        ("float", "a[i][l] * b[l][j]", ("own_c[8][8]", "shared_b[16][128]", "__launch_bounds__(256, 2)")),
        ("int", "a[i][l] * b[l][j]", ("own_c[8][8]", "#pragma unroll 4\n")),
        # 64 values of 64 bits would leave room for one block, which waits for its copies.
        ("double", "a[i][l] * b[l][j]", ("own_c[4][4]", "__launch_bounds__(256, 3)")),
        # Of four tiles, a thread has twice as many elements at hand.
        ("double", "a[i][l] * b[l][j] + a[j][l] * b[l][i]", ("own_c[4][4]", "__launch_bounds__(256, 2)")),
    ],
    ids=["32 bits", "whole numbers", "64 bits", "two products"],
)
def test_tiles_are_as_large_as_pays(type_: str, term: str, has: tuple[str, ...], device: Device) -> None:
    _, answer = _asked(type_, term)
    (created,) = answer.created
    for wanted in has:
        assert wanted in created.text, created.text
    assert device.compiled(created.text, "sm_75") == ""


def test_large_tiles_compute_the_same(program: Program) -> None:
    text, answer = _asked("float", "a[i][l] * b[l][j]")
    (created,) = answer.created
    built = program.build(applied(text, answer.replacements), {created.name: created.text})
    assert program.calls(built) > 0
    assert_same(program.output(program.build(text, {})), program.output(built))


def _asked(type_: str, term: str) -> tuple[str, Edited]:
    """A program with a product, and its kernels."""
    text = PRODUCT.format(type=type_, term=term)
    settings = Settings(offload_threshold=0)
    start = next(p for p in analyse("a.c", text, settings, schedules=False).functions).start
    answer = edit("a.c", text, settings, Ask("cuda", "multiply", start, 1))
    assert isinstance(answer, Edited), answer
    return text, answer


# --- Copies ------------------------------------------------------------------------------

SIDE = 16


@pytest.mark.parametrize("threads", [32, 256, 1024])
@pytest.mark.parametrize(
    "sizes", [(16, 64), (64, 16), (34, 34), (34, 37), (10, 10, 34), (1, 64, 16), (300,), (3, 512)]
)
def test_each_element_is_copied_once(sizes: tuple[int, ...], threads: int) -> None:
    found = rounds(sizes, Crew(threads, "thread", "e", SIDE, "ty", "tx"))
    elements = [each for one in found for each in _elements(one, threads)]
    assert sorted(elements) == list(product(*map(range, sizes)))


def _elements(one: Rounds, threads: int) -> Iterator[tuple[int, ...]]:
    """Elements in the text of some rounds, for each round and thread."""
    head = re.fullmatch(r"for \(int e = 0; e < (\d+); e \+= (\d+)\)", one.head)
    steps = range(0, int(head[1]), int(head[2])) if head is not None else range(1)
    assert len(steps) == one.count
    for e, thread in product(steps, range(threads)):
        known = {"e": e, "thread": thread, "tx": thread % SIDE, "ty": thread // SIDE}
        if not one.when or eval(one.when, known):
            yield tuple(eval(place.replace("/", "//"), known) for place in one.places)


def test_threads_stay_in_their_column() -> None:
    first, last, halo = rounds((34, 34), Crew(256, "thread", "e", 32, "ty", "tx"))
    assert first.places == ("e + ty", "tx")
    assert (last.when, last.places) == ("ty < 2", ("32 + ty", "tx"))
    assert (halo.when, halo.places) == ("thread < 68", ("thread / 2", "32 + thread % 2"))
