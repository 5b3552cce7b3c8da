"""Products of matrices in tiles: what is printed stays the same, to the last digit."""

from __future__ import annotations

import re
from textwrap import indent

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Answer, Ask, Declined, Edited, applied
from tests.codegen.editing import outputs

# Each name tells how sums are written in the text of the edited function.
PRODUCTS = {
    "plain": "i=0:n j=0:m k=0:l | a[i][k] * b[k][j]",
    "scaled": "i=0:n j=0:m k=0:l | s * a[i][k] * b[k][j]",
    "transposed": "i=0:n j=0:m k=0:l | a[k][i] * b[j][k]",
    "negated": "i=1:n-1 j=2:m k=1:l | -a[i][k] * b[k - 1][j + 1]",
    "terms innermost last": "k=0:l i=0:n j=0:m | a[i][k] * b[k][j]",
    "both sides": "i=0:n j=0:m k=0:l | s * (a[i][k] * b[k][j] + b[i][k] * a[k][j])",
    "below the diagonal": "i=0:n j=0:i+1 k=0:l | s * a[i][k] * a[j][k]",
    "above the diagonal": "i=0:n j=i:m k=0:l | a[k][i] * a[k][j]",
    "strictly above": "i=0:n j=i+1:m k=0:l | a[k][i] * b[k][j]",
    "terms behind the row": "i=0:n j=0:m k=i+1:n | a[k][i] * b[k][j]",
    "terms before the row": "i=0:n j=0:m k=0:i | a[i][k] * b[k][j]",
    "in place, rows to come": "i=0:n j=0:m k=i+1:n | a[k][i] * c[k][j]",
    "in place, rows done": "i=0:n j=0:m k=0:i | a[i][k] * c[k][j]",
}

# What stands in the loop over the rows, `i`.
ELIMINATIONS = {
    "triangles": """        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                c[i][j] -= c[i][k] * c[k][j];
            c[i][j] /= c[j][j] + 3;
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                c[i][j] -= c[i][k] * c[k][j];""",
    "one triangle": """        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                c[i][j] -= c[i][k] * c[j][k];
            c[i][j] /= c[j][j] + 2;
        }
        for (int k = 0; k < i; k++)
            c[i][i] -= c[i][k] * c[i][k];
        c[i][i] = c[i][i] * s + 1;""",
    "sums in a variable": """        double t;
        for (int j = 0; j < i; j++) {
            t = c[i][j];
            for (int k = 0; k < j; k++)
                t -= c[i][k] * c[k][j];
            c[i][j] = t / (c[j][j] + 3);
        }
        for (int j = i; j < n; j++) {
            t = c[i][j];
            for (int k = 0; k < i; k++)
                t -= c[i][k] * c[k][j];
            c[i][j] = t;
        }""",
    "diagonal kept": """        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                c[i][j] -= c[i][k] * a[k][k] * c[j][k];
            c[i][j] *= s;
        }""",
}

# What stands in the loops over the rows and columns, `i` and `j`.
SUMS = {
    "scaled onto": """double t = 0;
            for (int k = 0; k < l; k++)
                t += a[i][k] * b[k][j];
            c[i][j] = s * c[i][j] + t;""",
    "terms before the row": """double t = 0.5;
            for (int k = 0; k < i; k++)
                t -= a[i][k] * b[k][j];
            c[i][j] = c[i][j] - t;""",
    "half of a symmetric matrix": """double t = 0;
            for (int k = 0; k < i; k++) {
                c[k][j] += s * a[i][k] * b[i][j];
                t += a[i][k] * b[k][j];
            }
            c[i][j] = s * c[i][j] + a[i][i] * b[i][j] + t;""",
    "two sums": """double t = 0;
            double u = 1;
            for (int k = 0; k < l; k++) {
                t += a[i][k] * b[k][j];
                u += b[i][k] * a[k][j];
            }
            c[i][j] += t * u;""",
}

# The same, where the element is set to the sum.
IN_PLACE = {
    "rows of both": """double t = c[i][j];
            for (int k = 0; k < l; k++)
                t += a[i][k] * b[j][k];
            c[i][j] = t * s;""",
    "rows done": """double t;
            t = c[i][j];
            for (int k = 0; k < i; k++)
                t -= a[i][k] * c[k][j];
            c[i][j] = t;""",
}

# The same, where whole rows of sums are set and read.
SCRATCH = {
    "rows of its own": """double t[N];
for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) {
        t[j] = s;
        for (int k = 0; k < l; k++)
            t[j] += a[i][k] * b[k][j];
    }
    for (int j = 0; j < m; j++)
        c[i][j] -= t[j];
}""",
    "the last row": """double t[N] = {s};
for (int i = 0; i < 2; i++)
    for (int h = 2; h < n; h++) {
        for (int j = 0; j < m; j++) {
            t[j] = 0;
            for (int k = 0; k < m; k++)
                t[j] += c[h][k] * b[k][j];
        }
        for (int j = 0; j < m; j++)
            c[h][j] = t[j];
    }
for (int j = 0; j < m; j++)
    c[0][j] = t[j];""",
}

_PROGRAM = """#include <stdio.h>
enum {{ N = 40 }};
static void kernel(int n, int m, int l, {type} s, {type} c[restrict N][N],
                   {type} a[restrict N][N], {type} b[restrict N][N])
{{
{loops}
}}
int main(void)
{{
    static const int sizes[][3] = {{{{1, 1, 1}}, {{8, 8, 8}}, {{9, 17, 5}},
                                   {{23, 30, 26}}, {{0, 3, 3}}, {{16, 24, 31}}}};
    static {type} c[N][N], a[N][N], b[N][N];
    for (int t = 0; t < 6; t++) {{
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {{
                a[i][j] = ({type})((i * 7 + j * 3) % 11 - 4) / 64;
                b[i][j] = ({type})((i * 5 + j) % 13 - 6) / 32;
                c[i][j] = ({type})((i + j * 2) % 9) / 16;
            }}
        kernel(sizes[t][0], sizes[t][1], sizes[t][2], ({type})0.3, c, a, b);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                printf("%a ", (double)c[i][j]);
        printf("\\n");
    }}
    return 0;
}}
"""


def _elimination(body: str) -> str:
    unused = "    (void)m, (void)l, (void)a, (void)b, (void)s;"
    loops = f"    for (int i = 0; i < n; i++) {{\n{body}\n    }}\n{unused}"
    return _PROGRAM.format(loops=loops, type="double")


def _sum(body: str) -> str:
    nest = f"for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) {{\n{body}\n}}"
    return _PROGRAM.format(loops=indent(f"{nest}\n(void)l, (void)s;", "    "), type="double")


def _flat(text: str) -> str:
    """The program with matrices in one dimension each."""
    kernel, main, rest = text.partition("int main(void)")
    kernel = re.sub(r"\[restrict N\]\[N\]", "", re.sub(r"(double )([abc]\[res)", r"\1*restrict \2", kernel))
    for name, width in (("a", "l"), ("b", "m"), ("c", "m")):
        kernel = re.sub(rf"\b{name}\[(\w+)\]\[(\w+)\]", rf"{name}[\1 * {width} + \2]", kernel)
    return kernel + main + rest.replace("c, a, b)", "*c, *a, *b)")


def _program(product: str, number: str = "double") -> str:
    bounds, _, value = product.partition(" | ")
    lines: list[str] = []
    for depth, each in enumerate(bounds.split()):
        name, _, limits = each.partition("=")
        first, _, last = limits.partition(":")
        lines.append("    " * (depth + 1) + f"for (int {name} = {first}; {name} < {last}; {name}++)")
    lines.append("    " * 4 + f"c[i][j] += {value};")
    return _PROGRAM.format(loops="\n".join(lines), type=number)


def _restructured(text: str, sizes: tuple[int, ...], factors: tuple[int, ...] = ()) -> str:
    answer = _answer(text, sizes, "restructure", factors)
    assert isinstance(answer, Edited), answer
    return applied(text, answer.replacements)


def _answer(
    text: str,
    sizes: tuple[int, ...],
    action: ActionName = "restructure",
    factors: tuple[int, ...] = (),
    ordinal: int = 1,
) -> Answer:
    settings = Settings(parallel_threshold=0, tile_sizes=sizes, unroll_factors=factors)
    report = analyse("product.c", text, settings, schedules=False)
    kernel = next(p for p in report.functions if p.answer.facts.name == "kernel")
    return edit("product.c", text, settings, Ask(action, "kernel", kernel.start, ordinal))


@pytest.mark.sweep(7)
@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_stay_in_registers_and_are_the_same(name: str) -> None:
    number = "float" if name == "transposed" else "double"
    text = _program(PRODUCTS[name], number)
    _compare(text)


def test_matrices_in_one_dimension_have_tiles_too() -> None:
    assert "a[(i + 7) * l + k]" in _compare(_flat(_program(PRODUCTS["below the diagonal"])))
    assert "a[(i + 7) * l + k]" in _compare(_flat(_sum(SUMS["scaled onto"])))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ELIMINATIONS)
def test_terms_are_taken_in_blocks(name: str) -> None:
    assert "kk += 9" in _compare(_elimination(ELIMINATIONS[name]))


def test_names_do_not_decide_what_is_taken_in_blocks() -> None:
    text = _elimination(ELIMINATIONS["triangles"])
    renamed = re.sub(r"\bc\b", "c_part_turn", text)
    assert _restructured(renamed, (9,)) == re.sub(r"\bc(?=\b|_)", "c_part_turn", _restructured(text, (9,)))


def test_columns_right_of_a_block_are_taken_in_parallel() -> None:
    text = _restructured(_elimination(ELIMINATIONS["triangles"]), (9,))
    strips = (
        r"#pragma omp parallel for[^\n]*\n(?: *if[^\n]*\n)? *for \(int (\w+) = kk \+ 9; \1 < n; \1 \+= 9\)"
    )
    assert len(re.findall(strips, text)) == 2, text


@pytest.mark.sweep
@pytest.mark.parametrize("name", SUMS)
def test_sums_in_scalars_get_tiles(name: str) -> None:
    assert "[9][10]" in _compare(_sum(SUMS[name]))


@pytest.mark.parametrize("name", IN_PLACE)
def test_sums_in_scalars_are_held_in_place(name: str) -> None:
    assert "double t" not in _compare(_sum(IN_PLACE[name]))


@pytest.mark.parametrize("name", SCRATCH)
def test_rows_of_sums_get_copies(name: str) -> None:
    loops = indent(f"{SCRATCH[name]}\n(void)a, (void)l, (void)s;", "    ")
    made = _compare(_PROGRAM.format(loops=loops, type="double"))
    assert "ts[9][40]" in made
    assert ("if (i == 1 && hh + 9 >= n)" in made) == (name == "the last row")


def test_rows_that_may_be_long_have_versions() -> None:
    """Versions for long rows, which run where the matrices have so many columns."""
    loops = indent(f"{SCRATCH['rows of its own']}\n(void)a, (void)l, (void)s;", "    ")
    made = _compare(_PROGRAM.format(loops=loops, type="double").replace("N = 40", "N = 600"))
    assert "ts[9][512]" in made and "if (m <= 512) {" in made


def test_sums_of_what_is_written_in_their_tile_stay_as_they_are() -> None:
    before = SUMS["terms before the row"]
    rows, columns = before.replace("b[k][j]", "c[k][j]"), before.replace("a[i][k]", "c[i][k]")
    assert "[9][10]" not in _restructured(_sum(rows), (9, 10, 7))
    assert isinstance(_answer(_sum(columns), (9, 10, 7)), Declined)


def test_terms_that_need_later_columns_are_not_taken_in_blocks() -> None:
    body = ELIMINATIONS["triangles"].replace("c[i][k] *", "c[i][k + 1] *")
    assert "kk += 9" not in _restructured(_elimination(body), (9, 10, 7))


@pytest.mark.parametrize("name", ["scaled", "above the diagonal", "in place, rows done"])
def test_as_many_rows_run_together_as_the_user_wants(name: str) -> None:
    made = _compare(_program(PRODUCTS[name]), 5)
    assert "+= 8)" not in made


@pytest.mark.parametrize("factors", [(3, 5), (1, 2), (16,)])
def test_as_many_iterations_run_together_as_the_user_wants(factors: tuple[int, ...]) -> None:
    text = _program(PRODUCTS["terms innermost last"])
    answer = _answer(text, (), "unroll-and-jam", factors, ordinal=3)
    assert isinstance(answer, Edited), answer
    made = applied(text, answer.replacements)
    assert all((f" += {each})" in made) == (each > 1) for each in factors), made
    (wanted,), (found,) = outputs([text, made], "-fsanitize=undefined,address", "-fno-sanitize-recover")
    assert found == wanted


def test_where_the_user_wants_no_unrolling_there_is_none() -> None:
    text = _program(PRODUCTS["plain"])
    assert "+= 8)" in applied(text, _edited(text, ()).replacements)
    assert not re.search(r"\b[ijk] \+= ", applied(text, _edited(text, (1,)).replacements))


def _edited(text: str, factors: tuple[int, ...]) -> Edited:
    answer = _answer(text, (9, 10, 7), "restructure", factors)
    assert isinstance(answer, Edited), answer
    return answer


def _compare(text: str, rows: int = 0) -> str:
    """The restructured text, once it printed the same; with so many rows that run together, if that is a
    number."""
    # Tiles of ten columns, so that there are several, and a last one that is smaller.
    made = _restructured(text, (9, 10, 7), (rows,) if rows else ())
    assert f"+= {rows or 8})" in made, made
    flags = ("-fopenmp", "-fsanitize=undefined,address", "-fno-sanitize-recover")
    (wanted, _), found = outputs([text, made], *flags, threads=(1, 3))
    assert found == [wanted, wanted]
    ((optimised,),) = outputs([made], "-fopenmp", "-O3", threads=(2,))
    assert optimised == wanted
    return made


def test_what_a_tile_changes_is_not_copied_before() -> None:
    made = _restructured(_program(PRODUCTS["in place, rows done"]), (32, 32, 32))
    assert "c_tile" not in made
    assert "c_tile" in _restructured(_program(PRODUCTS["in place, rows to come"]), (32, 32, 32))
