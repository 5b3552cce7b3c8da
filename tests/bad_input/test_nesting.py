"""Code that nests deeper than any stack: each function alone, and at every depth in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hostile import between, function

LOOP = "for (int i = 0; i < n; i++) "


def _alternatives(count: int) -> str:
    return "".join(f"if (i == {k}) a[i] = 1; else " for k in range(count))


DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda depth: f"{LOOP} a[i] = {'(' * depth}1{')' * depth};",
    "signs": lambda depth: f"{LOOP} a[i] = {'- ' * depth}1;",
    "terms": lambda depth: f"{LOOP} a[i] = {'a[i] + ' * depth}1;",
    "blocks": lambda depth: f"{LOOP} {'{' * depth} a[i] = 1; {'}' * depth}",
    "conditions": lambda depth: f"{LOOP} {'if (n > i)' * depth} a[i] = 1;",
    "alternatives": lambda depth: f"{LOOP} {_alternatives(depth)} ;",
    "conjunctions": lambda depth: f"{LOOP} if (i{' && i > 1' * depth}) a[i] = 1;",
    "commas": lambda depth: f"double x; {LOOP} x = 1{', x = i' * depth};",
    "subscripts": lambda depth: f"int *b; {LOOP} {'b[' * depth}i{']' * depth} = 0;",
    "ternaries": lambda depth: f"{LOOP} a[i] = {'n > i ? 1.0 : ' * depth} 0.0;",
    "casts": lambda depth: f"{LOOP} a[i] = {'(double)' * depth} i;",
    "calls": lambda depth: f"{LOOP} a[i] = {'sqrt(' * depth}2.0{')' * depth};",
    "pointers": lambda depth: f"double {'*' * depth}p; {LOOP} a[i] = 0;",
    "statements": lambda depth: f"double x; {LOOP} {{ {'x = i; ' * depth} }}",
}


DEPTHS = [60, 110, 150, 240, 330, 420, 510, 700, 1000]
FLAT = ("commas", "statements")
"""Shapes that are long more than deep: their analysis takes long before any stack ends."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("shape", "depth"),
    [(shape, depth) for shape in DEEP for depth in DEPTHS if shape not in FLAT or depth <= 240],
)
def test_whatever_the_depth(check, shape: str, depth: int) -> None:
    """Recursion limits differ between interpreters, and are reached in a different step each time."""
    found = check("#include <math.h>\n" + function(DEEP[shape](depth)))
    assert found.keeps_the_good_ones()
    (verdict,) = found.verdicts("odd")
    if verdict == "budget":
        said = " ".join(found.messages("budget", "not-analyzable"))
        limits = ("too deeply to be analysed", "was given up after", "took too long")
        assert any(limit in said for limit in limits)


@pytest.mark.sweep
@pytest.mark.parametrize("shape", sorted(DEEP.keys() - {"statements"}))
def test_endlessly(check, shape: str) -> None:
    found = check("#include <math.h>\n" + function(DEEP[shape](20_000 if shape != "alternatives" else 5_000)))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") in (["budget"], ["syntax-error"], ["parallel"])


@pytest.mark.parametrize(
    "trouble",
    [
        f"int {'(' * 5000}x{')' * 5000};",
        f"int x{'[1]' * 2000} = {'{' * 2000}1{'}' * 2000};",
        f"#if {'(' * 5000}1{')' * 5000}\n#endif",
        f"#if {'!' * 5000}1\n#endif",
        "#if 1\n" * 5000 + "#endif\n" * 5000,
        "struct a { " * 1000 + "int x; " + "} b; " * 1000,
        f"int x = {'(' * 5000}1{')' * 5000};",
        f"int f({'int (*g)(' * 1000}{')' * 1000});",
    ],
)
def test_outside_functions(check, trouble: str) -> None:
    assert check(between(trouble)).keeps_the_good_ones()


def test_a_nest_of_twelve_loops(check) -> None:
    header = "".join(f"for (int i{k} = 1; i{k} < 4; i{k}++)\n" for k in range(12))
    here, before = "".join(f"[i{k}]" for k in range(12)), "".join(f"[i{k} - 1]" for k in range(12))
    found = check(function(f"{header}    a{here} = a{before};", f"double a{'[4]' * 12}"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["sequential", *["parallel"] * 11]


def test_a_triangular_nest_of_twelve_loops(check) -> None:
    header = "".join(f"for (int i{k + 1} = i{k}; i{k + 1} < n; i{k + 1}++)\n" for k in range(12))
    found = check(
        function(f"int i0 = 0;\n{header}    a[i1] += {' + '.join(f'i{k + 1}' for k in range(12))};")
    )
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["parallel", *["reduction"] * 11]
