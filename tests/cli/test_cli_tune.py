"""Tuning: other sizes of tiles are tried, and what is fastest is used by the next edit of the same code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from polylsp.cli import tune
from polylsp.cli.exits import Exit
from polylsp.ide.measuring import code_name
from polylsp.model.measurement import Figure, Measurement, Plan, Rung, Times, Tuned, Variant
from polylsp.pipeline import analyse
from polylsp.runtime import tuned
from polylsp.runtime.process import Step
from polylsp.runtime.search import best_of, searched
from polylsp.settings import Settings
from polylsp.text import Source

LOOP = "    for (int i = 0; i < n; i++)"
PRODUCT = """
static void product(int n, double c[restrict n][n], double a[restrict n][n], double b[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
}
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_versions_are_compared_and_the_fastest_one_is_used_from_then_on(
    polylsp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "CANDIDATES", ((("tile_sizes", "16"),),))
    Path("a.c").write_text(PRODUCT)
    ran = polylsp("tune", "a.c:4", "--set", "n=40", "--format", "json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    forms = [(each["form"], each["parameters"]) for each in found["targets"] if each["matches"]]
    assert sorted(forms, key=str) == [
        ("directives", {}),
        ("restructured", {"tile_sizes": "16"}),
        ("restructured", {}),
    ]
    best = found["best"]
    kept = tuned.load("a.c")
    assert kept.keys() == ({"product"} if best else set())


def test_an_edit_is_made_as_tuning_found_until_the_code_changes(polylsp) -> None:
    Path("a.c").write_text(PRODUCT)
    plain = polylsp("offload", "a.c:4", "--transform", "restructure")
    code = code_of("a.c")
    entry = Tuned("product", code, (("tile_sizes", "16"),), 2.0, (("n", 40),), 0.0)
    tuned.save("a.c", {"product": entry})
    made = polylsp("offload", "a.c:4", "--transform", "restructure")
    assert made.out != plain.out and "Made with `tile_sizes` 16, which tuning found" in made.err
    assert polylsp("offload", "a.c:4", "--target", "openmp").err == ""
    Path("a.c").write_text(PRODUCT.replace("+=", "-="))
    changed = polylsp("offload", "a.c:4", "--transform", "restructure")
    assert "tuning found" not in changed.err and changed.status == 0


def code_of(path: str) -> str:
    text = Path(path).read_text()
    report = analyse(path, text, Settings(), schedules=False)
    return code_name(Source(text), report, report.functions[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "void f(int n, double *a)\n{\n    for (int i = 0; i < n; i++) a[i] = 0.0;\n}\n",
            "nothing to tune in `f`",
        ),
        (
            "int main(void)\n{\n    for (int i = 0; i < 9; i++) ;\n    return 0;\n}\n",
            "`main` is the program itself",
        ),
        ("def f(a):\n\n    for i in range(len(a)):\n        a[i] = 0.0\n", "nothing to tune in `f`"),
    ],
)
def test_what_cannot_be_tuned(polylsp, text: str, words: str) -> None:
    name = "a.c" if "{" in text else "a.py"
    Path(name).write_text(text)
    ran = polylsp("tune", f"{name}:3")
    assert ran.status == 2 and words in ran.err and ran.out == ""


def figure(median: float, outcome: str, sizes: str) -> Figure:
    times = Times(median, median, median, 5)
    return Figure(
        "openmp", "restructured", times, 1 / median, 0.0, 9.0, outcome, 0.0, (("tile_sizes", sizes),)
    )


def test_the_best_is_the_fastest_of_those_that_are_surely_faster() -> None:
    found = [figure(0.5, "faster", "8"), figure(0.2, "no difference", "16"), figure(0.3, "faster", "32")]
    assert best_of(found) == found[2] and best_of(found[1:2]) is None


def test_versions_that_are_the_same_are_tried_once() -> None:
    def plan(*texts: str) -> Plan:
        variants = tuple(Variant("openmp", "restructured", text) for text in texts)
        rung = Rung((), 1, ())
        return Plan("a.c", "f", 1, "", "", (), (), (), (rung,), rung, variants, (), True)

    found = searched(plan("a", "b"), [plan("b"), plan("c"), plan("a")])
    assert [each.text for each in found.variants] == ["a", "b", "c"] and found.is_search


def test_what_was_found_stays_when_the_search_is_interrupted(
    polylsp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_plan: Plan, _settings: Settings, observe: Callable[[Step], None]) -> None:
        observe(Step(50, "3 versions tried", figure(0.5, "faster", "16")))
        raise KeyboardInterrupt

    monkeypatch.setattr(tune, "CANDIDATES", ((("tile_sizes", "16"),),))
    monkeypatch.setattr(tune, "carried_out", interrupted)
    Path("a.c").write_text(PRODUCT)
    assert polylsp("tune", "a.c:4").status == Exit.INTERRUPTED
    assert tuned.load("a.c")["product"].parameters == (("tile_sizes", "16"),)


def test_what_was_found_is_forgotten_when_nothing_is_faster_any_more(
    polylsp, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = Times(1.0, 1.0, 1.0, 5)
    found = Measurement("product", 1, (), times, (figure(2.0, "slower", "16"),), (), "gcc", "", 2, 0.0)
    monkeypatch.setattr(tune, "CANDIDATES", ((("tile_sizes", "16"),),))
    monkeypatch.setattr(tune, "carried_out", lambda *_: found)
    Path("a.c").write_text(PRODUCT)
    others = {name: Tuned(name, "code", (), 2.0, (), 0.0) for name in ("product", "other")}
    tuned.save("a.c", others)
    ran = polylsp("tune", "a.c:4")
    assert ran.status == 0 and "No version is faster than the original." in ran.out
    assert tuned.load("a.c").keys() == {"other"}
