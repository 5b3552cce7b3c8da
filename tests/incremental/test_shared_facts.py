"""Functions share facts where these do not rest on what differs, and there alone."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import pytest

from polylsp.core.settings import Settings
from polylsp.engine import decisions, queries
from polylsp.ir.program import Constant, Integer, Site
from polylsp.model.facts import FunctionFacts

SCALED = "void {name}(int n, double *x) {{ for (int i = 0; i < n; i++) x[i] = {number} * x[i] + 1; }}\n"


def facts_of(text: str) -> list[FunctionFacts]:
    """The facts of the functions of a text, without what depends on the run."""
    found = queries.analyse("a.c", text, Settings(cache=False)).functions
    return [replace(each.answer.facts, seconds=(), operations=0) for each in found]


def test_functions_that_differ_in_a_factor_share_their_facts(counted: list[str]) -> None:
    text = "".join(SCALED.format(name=f"f{k}", number=f"{k}.5") for k in range(6))
    found = facts_of(text)
    assert counted == ["f0", "f1"]
    assert [each.name for each in found] == [f"f{k}" for k in range(6)]
    assert {repr(replace(each, name="")) for each in found} == {repr(replace(found[0], name=""))}


def test_functions_that_store_other_numbers_as_data_share_their_facts(counted: list[str]) -> None:
    body = "x[0] = {number}; for (int i = 0; i < n; i++) y[i] += x[0];"
    stores = f"void {{name}}(int n, int *x, int *y) {{{{ {body} }}}}\n"
    found = facts_of("".join(stores.format(name=f"f{k}", number=k + 3) for k in range(5)))
    assert counted == ["f0", "f1"]
    assert {repr(replace(each, name="")) for each in found} == {repr(replace(found[0], name=""))}


@pytest.mark.parametrize(
    ("template", "numbers"),
    [
        ("int at[1]; at[0] = {}; for (int i = 0; i < 4; i++) x[i] = x[at[0]];", (1, 5, 2)),
        ("int at[2]; at[1] = {}; int k = at[1]; for (int i = 0; i < 4; i++) x[i] = x[k];", (1, 5, 2)),
        ("int at[1], *p = at; at[0] = {}; for (int i = 0; i < 4; i++) x[i] = x[*p];", (1, 5, 2)),
        ("for (int i = 0; i < n; i++) x[i] = x[i + {}];", (1, 2, 3)),
        ("for (int i = 8; i < n; i++) x[i] = x[i - {}];", (1, 4, 8)),
        ("for (int i = {}; i < 2; i++) x[0] = x[i];", (5, 0, 1)),
        ("for (int i = 0; i < n; i++) if (i == {}) x[i] = x[0];", (3, 7, 0)),
        ("double t[{}]; for (int i = 0; i < 4; i++) t[i] = x[i];", (4, 3, 2)),
        ("int k = 0; for (int i = 0; i < n; i++) {{ x[k] = 0; k += {}; }}", (1, 2, 3)),
    ],
)
def test_a_number_that_facts_rest_on_is_not_shared(
    template: str, numbers: tuple[int, ...], counted: list[str]
) -> None:
    texts = [template.format(number) for number in numbers for _ in range(2)]
    text = "".join(f"void g{k}(int n, double *x) {{ {body} }}\n" for k, body in enumerate(texts))
    together = facts_of(text)
    alone: list[FunctionFacts] = []
    for k, body in enumerate(texts):
        decisions._shapes.clear()
        alone += facts_of(f"void g{k}(int n, double *x) {{ {body} }}\n")
    assert together == alone
    assert len({repr(replace(each, name="")) for each in together}) > 1


def test_facts_are_not_shared_across_functions_of_other_types(counted: list[str]) -> None:
    scaled = "".join(SCALED.format(name=f"f{k}", number=f"{k}.5") for k in range(3)).replace("double", "T")
    facts_of(f"typedef double T;\n{scaled}")
    facts_of(f"typedef float T;\n{scaled}")
    assert counted == ["f0", "f1", "f0"]


def test_facts_are_not_shared_across_other_effects_of_a_callee(counted: list[str]) -> None:
    calls = "void {name}(int n, double *x) {{ for (int i = 0; i < n; i++) x[i] = step(x, i); }}\n"
    callers = "".join(calls.format(name=f"f{k}") for k in range(3))
    pure = facts_of("static double step(double *x, int i) { return 2.0 * x[i]; }\n" + callers)
    impure = facts_of("static double step(double *x, int i) { x[0] = 1; return 2.0; }\n" + callers)
    assert [type(each.loops[0].verdict).__name__ for each in pure[1:]] == ["Parallel"] * 3
    assert "Parallel" not in [type(each.loops[0].verdict).__name__ for each in impure[1:]]


def test_a_constant_notes_every_use_of_its_value() -> None:
    number, site = Integer(32, True), Site(0, 0)
    uses = (
        lambda each: each.value,
        lambda each: each == Constant(1, number, site),
        lambda each: Constant(1, number, site) == each,
        hash,
        repr,
        lambda each: replace(each, site=Site(1, 1)),
    )
    for use in uses:
        read: set[int] = set()
        use(decisions._ObservedConstant(1, number, site, 5, read))  # pyright: ignore[reportPrivateUsage]
        assert read == {5}


def test_shapes_are_forgotten(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "_SHAPES", 2)
    bodies = ("x[i] = 1.5;", "x[i] += 1.5;", "x[i] = x[i] * 1.5;", "x[i] = 1.5 - x[i];")
    text = "".join(
        f"void f{k}(int n, double *x) {{ for (int i = 0; i < n; i++) {body} }}\n"
        for k, body in enumerate(bodies)
    )
    facts_of(text)
    assert isinstance(decisions._shapes, OrderedDict)
    assert len(decisions._shapes) == 2
