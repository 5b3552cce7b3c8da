"""Tuning: other settings are tried, and what is fastest is used by the next edit of the same code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polylsp.cli import measure
from polylsp.cli.output import Exit
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.measurement_view import code_name
from polylsp.measuring import stored_figures
from polylsp.measuring.remote import Step
from polylsp.measuring.trials import best_of, searched
from polylsp.model.measurement import Figure, Form, Measurement, NoPlan, Plan, Rung, Times, Tuned, Variant

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
    others = {"tile_sizes": "16", "collapse": "1", "unroll_factors": "3"}
    monkeypatch.setattr(measure, "CANDIDATES", tuple((each,) for each in others.items()))
    Path("a.c").write_text(PRODUCT)
    ran = polylsp("tune", "a.c:4", "--set", "n=40", "--format", "json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    forms = [(each["form"], each["parameters"]) for each in found["targets"] if each["matches"]]
    assert sorted(forms, key=str) == [
        ("directives", {"collapse": "1"}),
        ("directives", {}),
        ("restructured", {"tile_sizes": "16"}),
        ("restructured", {"unroll_factors": "3"}),
        ("restructured", {}),
    ], found
    best, kept = found["best"], stored_figures.load_settings("a.c").get("product", ())
    wanted = [(best["form"], best["parameters"])] if best and best["parameters"] else []
    assert all(each in [(one.form, dict(one.parameters)) for one in kept] for each in wanted)
    assert all(one.parameters and one.speedup > 1 for one in kept)


def test_an_edit_is_made_as_tuning_found_until_the_code_changes(polylsp) -> None:
    Path("a.c").write_text(PRODUCT)
    plain = polylsp("offload", "a.c:4", "--transform", "restructure")
    code = code_of("a.c")
    stored_figures.save_settings("a.c", {"product": (entry("restructured", ("tile_sizes", "16"), code),)})
    made = polylsp("offload", "a.c:4", "--transform", "restructure")
    assert made.out != plain.out and "Made with `tile_sizes` 16, which tuning found" in made.err
    assert polylsp("offload", "a.c:4", "--target", "openmp").err == ""
    Path("a.c").write_text(PRODUCT.replace("+=", "-="))
    changed = polylsp("offload", "a.c:4", "--transform", "restructure")
    assert "tuning found" not in changed.err and changed.status == 0


def entry(form: Form, setting: tuple[str, str], code: str = "code") -> Tuned:
    return Tuned("product", code, "openmp", form, (setting,), 2.0, (("n", 40),), 0.0)


def test_each_edit_heeds_what_was_found_for_its_form(polylsp) -> None:
    Path("a.c").write_text(PRODUCT)
    code = code_of("a.c")
    found = entry("directives", ("collapse", "1"), code), entry("restructured", ("unroll_factors", "3"), code)
    assert "collapse(2)" in polylsp("offload", "a.c:4", "--target", "openmp").out
    stored_figures.save_settings("a.c", {"product": found})
    made = polylsp("offload", "a.c:4", "--target", "openmp")
    assert "collapse" not in made.out and "Made with `collapse` 1, which tuning found" in made.err
    for transform in ("restructure", "unroll-and-jam"):
        made = polylsp("offload", "a.c:4", "--transform", transform)
        assert "i += 3" in made.out and "Made with `unroll_factors` 3" in made.err
    assert "tuning found" not in polylsp("offload", "a.c:4", "--target", "openacc").err
    mine = polylsp("offload", "a.c:4", "--target", "openmp", "--setting", "collapse=2")
    assert "collapse(2)" in mine.out and "tuning found" not in mine.err


def test_sizes_of_tiles_that_are_set_say_all_that_the_cache_would() -> None:
    found = {"product": (entry("restructured", ("cache_kb", "64")),)}

    def heeded(settings: Settings) -> tuple[tuple[str, str], ...]:
        return stored_figures.parameters_for(found, "tile", "product", "code", settings)

    assert heeded(Settings()) == (("cache_kb", "64"),)
    assert heeded(Settings(tile_sizes=(8,))) == heeded(Settings(cache_kb=512)) == ()


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
        (
            "def f(a):\n    s = 0.0\n    for i in range(len(a)):\n        s += a[i]\n    return s\n",
            "nothing to tune in `f`",
        ),
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


def plan(*texts: str) -> Plan:
    variants = tuple(Variant("openmp", "restructured", text) for text in texts)
    rung = Rung((), 1, ())
    return Plan("a.c", "f", 1, "", "", (), (), (), (rung,), rung, variants, (), True)


def test_what_is_kept_is_surely_faster_too() -> None:
    found = [figure(0.5, "faster", "8"), figure(0.2, "no difference", "16"), figure(0.3, "faster", "32")]
    kept = [each.parameters for each in stored_figures.worth_keeping(plan("a"), "code", found)]
    assert kept == [(("tile_sizes", "32"),)] and not stored_figures.worth_keeping(
        plan("a"), "code", found[1:2]
    )


def test_versions_that_are_the_same_are_tried_once() -> None:
    found = searched(plan("a", "b"), [plan("b"), plan("c"), plan("a")])
    assert isinstance(found, Plan) and [each.text for each in found.variants] == ["a", "b", "c"]
    assert found.is_search and searched(plan("a"), [plan("a"), NoPlan("None.")]) == NoPlan(
        "There is nothing to tune in `f`: other settings make the same of it, or nothing."
    )


def test_what_was_found_stays_when_the_search_is_interrupted(
    polylsp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_plan: Plan, _settings: Settings, observe: Callable[[Step], None]) -> None:
        observe(Step(50, "3 versions tried", figure(0.5, "faster", "16")))
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "CANDIDATES", ((("tile_sizes", "16"),),))
    monkeypatch.setattr(measure, "carried_out", interrupted)
    Path("a.c").write_text(PRODUCT)
    assert polylsp("tune", "a.c:4").status == Exit.INTERRUPTED
    assert [each.parameters for each in stored_figures.load_settings("a.c")["product"]] == [
        (("tile_sizes", "16"),)
    ]


def test_what_was_found_is_forgotten_when_nothing_is_faster_any_more(
    polylsp, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = Times(1.0, 1.0, 1.0, 5)
    found = Measurement("product", 1, (), times, (figure(2.0, "slower", "16"),), (), "gcc", "", 2, 0.0)
    monkeypatch.setattr(measure, "CANDIDATES", ((("tile_sizes", "16"),),))
    monkeypatch.setattr(measure, "carried_out", lambda *_: found)
    Path("a.c").write_text(PRODUCT)
    known = entry("restructured", ("tile_sizes", "8"))
    stored_figures.save_settings("a.c", {"product": (known,), "other": (replace(known, function="other"),)})
    ran = polylsp("tune", "a.c:4")
    assert ran.status == 0 and "No version is faster than the original." in ran.out
    assert stored_figures.load_settings("a.c").keys() == {"other"}
