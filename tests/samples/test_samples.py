"""Every sample builds without a warning, runs clean and computes what it says it computes."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from building import SANITIZERS, WARNINGS
from polybench_sizes import ODD_SIZES, default_sizes

try:
    import polybench_reference
except ModuleNotFoundError as missing:  # numpy, which nothing but the references needs
    if missing.name != "numpy" or os.environ.get("CI"):
        raise
    polybench_reference = None

REFERENCES = polybench_reference.KERNELS if polybench_reference else {}

SAMPLES = Path(__file__).parents[2] / "samples"
POLYBENCH = sorted(path.stem for path in (SAMPLES / "polybench" / "c").glob("*.c"))
PROGRAMS = sorted(path.stem for path in (SAMPLES / "programs").glob("*.c") if path.stem != "broken")


def test_there_are_thirty_kernels_and_ten_programs() -> None:
    assert len(POLYBENCH) == 30
    assert len(PROGRAMS) + 1 == 10


@pytest.mark.parametrize("name", POLYBENCH)
def test_a_kernel_agrees_with_its_reference(name: str, printed: Callable[..., str]) -> None:
    assert_agrees(name, default_sizes(polybench(name)), printed(polybench(name)))


@pytest.mark.parametrize("name", POLYBENCH)
def test_a_kernel_stays_inside_its_arrays_at_other_sizes(name: str, printed: Callable[..., str]) -> None:
    sizes = ODD_SIZES.get(name, {"N": 13})
    assert sizes.keys() == default_sizes(polybench(name)).keys()
    assert_agrees(name, sizes, printed(polybench(name), sizes, SANITIZERS))


@pytest.mark.parametrize("name", POLYBENCH)
def test_the_sizes_in_a_kernels_header_are_its_sizes(name: str) -> None:
    source = polybench(name)
    table = re.findall(r"^ \* (\w+) +(\d+) +(\d+) +(\d+) +(\d+)$", source.read_text(), re.MULTILINE)
    assert {row[0]: int(row[1]) for row in table} == default_sizes(source)
    for row in table:
        assert sorted(map(int, row[1:])) == list(map(int, row[1:]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_stays_inside_its_arrays_and_always_says_the_same(
    name: str, printed: Callable[..., str]
) -> None:
    optimised = values(printed(program(name)))
    checked = values(printed(program(name), options=("-O1", *SANITIZERS)))
    assert "checksum" in optimised
    assert checked.keys() == optimised.keys()
    for key in optimised:
        assert same(checked[key], optimised[key]), key


def test_broken_does_not_compile(gcc: str) -> None:
    command = [gcc, "-std=c99", "-fsyntax-only", str(program("broken"))]
    assert subprocess.run(command, capture_output=True).returncode != 0


def test_every_good_function_of_broken_compiles_alone(gcc: str) -> None:
    text = program("broken").read_text()
    head = text[: text.index("/* Before anything is wrong. */")]
    good = re.findall(r"^\w+ good_.*?^}\n", text, re.MULTILINE | re.DOTALL)
    assert len(good) == len(re.findall(r"^\w+ good_", text, re.MULTILINE)) >= 6
    command = [gcc, *WARNINGS, "-fsyntax-only", "-x", "c", "-"]
    built = subprocess.run(command, input=head + "\n".join(good), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.c")), ids=lambda path: path.stem)
def test_the_readme_names_every_sample(path: Path) -> None:
    assert f"`{path.name}`" in (SAMPLES / "README.md").read_text()


@pytest.mark.parametrize("name", [*PROGRAMS, "broken"])
def test_a_program_is_of_a_readable_length(name: str) -> None:
    assert 60 <= len(program(name).read_text().splitlines()) <= 200


# Each program against a property, or a separate recomputation.


def test_cfd_step_sets_the_fluid_in_motion_and_stays_stable(printed: Callable[..., str]) -> None:
    few = values(printed(program("cfd_step"), {"STEPS": 10}))
    many = values(printed(program("cfd_step"), {"STEPS": 40}))
    # The lid moves at 1 over a cavity of side 1: more motion with time, less than a rigid one would have.
    assert 0 < float(few["energy"]) < float(many["energy"]) < 0.5
    assert 0 < float(many["change"]) < float(few["change"])


def test_image_filters_agree_with_a_pixel_by_pixel_recomputation(printed: Callable[..., str]) -> None:
    w, h, channels = 13, 9, 3
    got = values(printed(program("image_filters"), {"W": w, "H": h}))
    image = {
        (x, y, c): (x * x + 3 * y * (c + 1) + 40 * c) % 256
        for y in range(h)
        for x in range(w)
        for c in range(channels)
    }

    def blurred(x: int, y: int, c: int) -> int:
        window = [(xx, yy) for yy in range(y - 2, y + 3) for xx in range(x - 2, x + 3)]
        seen = [image[xx, yy, c] for xx, yy in window if (xx, yy, c) in image]
        return (sum(seen) + len(seen) // 2) // len(seen)

    blur = {key: blurred(*key) for key in image}
    flip = {(w - 1 - x, y, c): int(255 * (v / 255) ** (1 / 2.2) + 0.5) for (x, y, c), v in blur.items()}
    assert int(got["blurred"]) == flat_sum(blur[key] for key in image)
    assert int(got["flipped"]) == flat_sum(flip[key] for key in image)

    gray = {
        (x, y): (77 * flip[x, y, 0] + 150 * flip[x, y, 1] + 29 * flip[x, y, 2]) // 256
        for y in range(h)
        for x in range(w)
    }
    mask = {(dx, dy): dx * (2 - abs(dy)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)}

    def edge(x: int, y: int) -> int:
        if not (0 < x < w - 1 and 0 < y < h - 1):
            return 0
        gx = sum(m * gray[x + dx, y + dy] for (dx, dy), m in mask.items())
        gy = sum(m * gray[x + dy, y + dx] for (dx, dy), m in mask.items())
        return min(255, abs(gx) + abs(gy))

    edges = [edge(x, y) for x, y in gray]
    cut = (min(edges) + max(edges)) // 2
    binary = [255 if e > cut else 0 for e in edges]
    assert int(got["cut"]) == cut
    assert int(got["white"]) == binary.count(255) > 0
    assert int(got["checksum"]) == flat_sum(edges) + flat_sum(binary)


@pytest.mark.parametrize("size", [(48, 24), (31, 17)])
def test_lbm_step_conserves_mass_but_moves_it(size: tuple[int, int], printed: Callable[..., str]) -> None:
    runs = [
        values(printed(program("lbm_step"), {"NX": size[0], "NY": size[1], "STEPS": steps}))
        for steps in (5, 50)
    ]
    for run in runs:
        assert float(run["mass_after"]) == pytest.approx(float(run["mass_before"]), rel=1e-11)
    assert runs[0]["checksum"] != runs[1]["checksum"]


@pytest.mark.parametrize("grid", [7, 20])
def test_spmv_solves_the_system(grid: int, printed: Callable[..., str]) -> None:
    got = values(printed(program("spmv"), {"GRID": grid}))
    assert 0 < int(got["iterations"]) < 200
    assert float(got["residual"]) < 1e-9
    assert float(got["asymmetry"]) < 1e-12
    assert float(got["checksum"]) == pytest.approx(flat_sum(poisson(grid)), rel=1e-9)


def test_nbody_conserves_energy_and_momentum(printed: Callable[..., str]) -> None:
    got = values(printed(program("nbody")))
    assert float(got["energy_before"]) < 0
    assert float(got["energy_after"]) == pytest.approx(float(got["energy_before"]), rel=1e-4)
    assert got["energy_after"] != got["energy_before"]
    assert abs(float(got["momentum"])) < 1e-14
    assert float(got["difference"]) < 1e-12  # between the two ways of summing the forces


def test_histogram_agrees_with_python(printed: Callable[..., str]) -> None:
    count, bins = 777, 64
    got = values(printed(program("histogram"), {"SAMPLES": count}))
    sample, state = [], 7
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        sample.append(((state >> 26) + ((state >> 16) & 63)) // 2)
    histogram = [sample.count(b) for b in range(bins)]
    cumulative = [sum(histogram[: b + 1]) / count for b in range(bins)]
    equalised = [int(cumulative[s] * (bins - 1) + 0.5) for s in sample]
    assert got["total"] == str(count)
    assert (got["differ"], got["disorder"]) == ("0", "0")
    assert int(got["fullest"]) == histogram.index(max(histogram))
    assert float(got["cumulative"]) == pytest.approx(1.0)
    assert float(got["checksum"]) == flat_sum(
        e + 2 * s for e, s in zip(equalised, sorted(sample), strict=True)
    )


@pytest.mark.parametrize("length", [17, 60])
def test_dynamic_programming_agrees_with_the_recursions(length: int, printed: Callable[..., str]) -> None:
    got = values(printed(program("dynamic_programming"), {"LENGTH": length}))
    a, b = got["a"], got["b"]
    assert len(a) == len(b) == length

    @cache
    def lcs(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        if a[i - 1] == b[j - 1]:
            return 1 + lcs(i - 1, j - 1)
        return max(lcs(i - 1, j), lcs(i, j - 1))

    @cache
    def edits(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        changed = edits(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(changed, edits(i - 1, j) + 1, edits(i, j - 1) + 1)

    items = [(3 + i * 7 % 17, 10 + i * 13 % 29) for i in range(20)]
    worth = {0: 0}  # the most value of any choice of each total weight
    for weight, value in items:
        for taken, best in list(worth.items()):
            if taken + weight <= 100:
                worth[taken + weight] = max(worth.get(taken + weight, 0), best + value)
    assert int(got["lcs"]) == int(got["recovered"]) == len(got["common"]) == lcs(length, length) > 0
    assert is_subsequence(got["common"], a)
    assert is_subsequence(got["common"], b)
    assert int(got["knapsack"]) == int(got["knapsack_in_place"]) == max(worth.values())
    assert int(got["edit_distance"]) == edits(length, length)
    table = (lcs(i, j) for i in range(length + 1) for j in range(length + 1))
    assert int(got["checksum"]) == flat_sum(table)


@pytest.mark.parametrize("n", [9, 64, 65, 1000])
def test_prefix_sum_agrees_with_python(n: int, printed: Callable[..., str]) -> None:
    got = values(printed(program("prefix_sum"), {"N": n}))
    data = [(i * 37 + i * i % 11) % 41 - 15 for i in range(n)]
    positive = [d for d in data if d > 0]
    assert int(got["total"]) == sum(data)
    assert int(got["differ"]) == 0  # between the ways of computing the same
    assert int(got["kept"]) == len(positive)
    assert int(got["checksum"]) == flat_sum(sum(data[: i + 1]) for i in range(n)) + flat_sum(positive)


@pytest.mark.parametrize("n", [11, 50])
def test_floyd_warshall_agrees_with_a_search_from_every_vertex(n: int, printed: Callable[..., str]) -> None:
    got = values(printed(program("floyd_warshall"), {"VERTICES": n}))

    def linked(i: int, j: int) -> int:
        length = (i * 17 + j * 31) % 23
        return length if i != j and 0 < length < 4 and (i % 10 != 9 or j % 10 == 9) else 0

    def distances(start: int) -> list[float]:
        dist = [math.inf] * n
        dist[start] = 0
        for _ in range(n):  # Bellman and Ford
            for i in range(n):
                for j in range(n):
                    if linked(i, j):
                        dist[j] = min(dist[j], dist[i] + linked(i, j))
        return dist

    dist = [distances(i) for i in range(n)]
    found = [d for row in dist for d in row if d < math.inf]
    means = [
        sum(others) / len(others) if (others := [d for d in row if 0 < d < math.inf]) else math.inf
        for row in dist
    ]
    assert int(got["reachable"]) == len(found) < n * n
    assert int(got["differ"]) == 0
    assert int(got["diameter"]) == max(found)
    assert int(got["central"]) == means.index(min(means))
    assert int(got["checksum"]) == flat_sum(d if d < math.inf else 0 for row in dist for d in row)


def assert_agrees(name: str, sizes: Mapping[str, int], output: str) -> None:
    if not REFERENCES:
        pytest.skip("numpy is not installed: the kernels have nothing to be compared with")
    tolerance = 1e-6 if name == "deriche" else 1e-10  # deriche computes in float
    title, checksum = output.split()
    assert title == name
    assert float(checksum) == pytest.approx(REFERENCES[name](**sizes), rel=tolerance)


def polybench(name: str) -> Path:
    return SAMPLES / "polybench" / "c" / f"{name}.c"


def program(name: str) -> Path:
    return SAMPLES / "programs" / f"{name}.c"


def values(output: str) -> dict[str, str]:
    """Return the lines of a program's output, each a name and a value."""
    return dict(line.split() for line in output.splitlines())


def same(one: str, other: str) -> bool:
    """True if two values agree: words exactly, figures up to rounding by another optimisation."""
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        return one == other


def flat_sum(elements: Iterable[float]) -> float:
    """Return the checksum of a sequence: each element times its index modulo 7, plus 1."""
    return sum(element * (i % 7 + 1) for i, element in enumerate(elements))


def is_subsequence(short: str, long: str) -> bool:
    remaining = iter(long)
    return all(letter in remaining for letter in short)


def poisson(grid: int) -> list[float]:
    """Solve the five-point Poisson problem of spmv.c by Gauss-Seidel with over-relaxation."""
    omega = 2 / (1 + math.sin(math.pi / (grid + 1)))
    x = [[0.0] * (grid + 2) for _ in range(grid + 2)]
    for _ in range(12 * grid + 40):
        for i in range(1, grid + 1):
            for j in range(1, grid + 1):
                b = 1 + ((i - 1) * grid + j - 1) % 5
                relaxed = (b + x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]) / 4
                x[i][j] += omega * (relaxed - x[i][j])
    return [x[i][j] for i in range(1, grid + 1) for j in range(1, grid + 1)]
