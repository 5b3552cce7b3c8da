from __future__ import annotations

from dataclasses import replace

import facts
import pytest

from polylsp.cli.explain import domain_words, explain_object, explain_parts
from polylsp.cli.model import model_lines, model_object
from polylsp.ide.hover import Bullets, Code, Table
from polylsp.ide.lookup import loop_on_line
from polylsp.ide.terminal import part_lines, plain_text
from polylsp.model.facts import NestModel, NestRelations

MODEL = NestModel(
    "[n] -> { : }",
    "[n] -> { S0[i, j] : 0 < i < n and 0 <= j < n }",
    NestRelations("S", "R", "MAY", "MUST", "FLOW", "FALSE"),
)


def modelled():
    """The nest of `column` in `facts.many`, with a model and all its dependences."""
    source, report = facts.many()
    placed = report.functions[3]
    loops = placed.answer.facts.loops
    carried = loops[0].verdict.carried  # type: ignore[union-attr]
    nests = (
        replace(placed.answer.facts.nests[0], model=MODEL, dependences=carried),
        placed.answer.facts.nests[1],
    )
    answer = replace(placed.answer, held=replace(placed.answer.facts, nests=nests))
    return source, replace(report, functions=(*report.functions[:3], replace(placed, answer=answer)))


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("[n] -> { S0[i] : 0 <= i < n }", ("`S0` runs for each i with 0 ≤ i < n",)),
        (
            "[n] -> { S0[i, j] : i >= 0; S1[] : n > 0; S2[] }",
            ("`S0` runs for each (i, j) with i ≥ 0", "`S1` runs once if n > 0", "`S2` runs once"),
        ),
        ("", ()),
        ("{ nonsense }", ()),
    ],
)
def test_a_domain_in_words(domain: str, words: tuple[str, ...]) -> None:
    assert domain_words(domain) == words


def test_explain_tells_domain_and_dependences_with_their_carriers() -> None:
    source, report = modelled()
    found = loop_on_line(source, report, 27)
    assert found is not None
    parts = list(explain_parts(source, *found))
    assert parts[0] == "Loop 1 of `column`, line 28: `for (int i = 1; i < n; i++)`"
    assert Code("Iteration domain, as isl text", MODEL.domain) in parts
    domain = Bullets("Iterations of the nest", ("`S0` runs for each (i, j) with 0 < i < n and 0 ≤ j < n",))
    assert domain in parts
    table = parts[-1]
    assert isinstance(table, Table)
    assert table.header[-1] == "carried by" and table.rows[0][-1] == "i"


def test_explain_as_lines_wraps_sentences_and_keeps_tables() -> None:
    source, report = modelled()
    found = loop_on_line(source, report, 27)
    assert found is not None
    for part in explain_parts(source, *found):
        lines = [plain_text(line) for line in part_lines(part, 80)]
        if isinstance(part, str):
            assert all(len(line) <= 80 for line in lines)
            assert " ".join(lines) == part
        elif isinstance(part, Table):
            assert len(lines) == 1 + len(part.rows)
        elif isinstance(part, Bullets):
            assert lines[0] == f"{part.heading}:" and lines[1].startswith("  - ")


def test_explain_as_json() -> None:
    source, report = modelled()
    found = explain_object(source, report, 27)
    assert found is not None
    assert found["loop"]["verdict"] == "sequential"
    assert found["nest"]["domain"] == MODEL.domain
    (dependence,) = found["nest"]["dependences"]
    assert dependence["source"] == {"text": "a[i][j]", "access": "write", "line": 29}
    assert dependence["carrier"] == 1 and dependence["directions"] == ["<", "="]
    assert explain_object(source, report, 0) is None


@pytest.mark.parametrize(
    ("line", "loop"), [(27, ("column", 1)), (28, ("column", 2)), (29, ("column", 2)), (14, ("dot", 1))]
)
def test_a_line_means_the_loop_that_starts_there_or_the_innermost_around(
    line: int, loop: tuple[str, int]
) -> None:
    found = loop_on_line(*modelled(), line)
    assert found is not None
    assert (found[0].answer.facts.name, found[1].ordinal) == loop


def test_the_model_of_every_nest() -> None:
    source, report = modelled()
    nests = model_object(source, report)["nests"]
    assert len(nests) == 5
    assert list(nests[3])[3:] == [
        "context", "domain", "schedule", "reads", "may_writes", "must_writes", "flow", "false",
    ]  # fmt: skip
    assert nests[3]["false"] == "FALSE"
    lines = [plain_text(line) for line in model_lines(source, report, 40)]
    assert "a.c:28: column, loops i and j" in lines
    assert "      S0[i, j] : 0 < i < n and 0 <= j < n" in lines
