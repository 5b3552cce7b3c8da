from __future__ import annotations

import facts
import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.diagnostics import diagnostics
from polylsp.ide.terminal import Mark, Piece, file_lines, finding_lines, plain_text, sentence_lines, snippet


def shown(source: Source, report, width: int = 80) -> str:
    return "\n".join(plain_text(line).rstrip() for line in file_lines(source, report, Settings(), width))


def test_a_finding_as_a_compiler_would_show_it() -> None:
    assert (
        shown(*facts.recurrence())
        == """\
a.c:4:5: sequential-loop
    `i` cannot run in parallel: `a[i - 1]` on line 5 reads what `a[i] = …` on
    line 5 wrote one iteration earlier (for example i = 1 writes a[1], i = 2
    reads it).
   4 |     for (int i = 1; i < n; i++)
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
   5 |         a[i] = a[i - 1];
     |         ---- a is first written here
     |                -------- a is then read here

a.c: 1 loop: 1 sequential"""
    )


def test_a_gap_and_the_summary() -> None:
    text = shown(*facts.many())
    assert "  ...\n  30 |             a[i][j] = a[i - 1][j];" in text
    assert text.endswith("\na.c: 9 loops: 5 parallel, 1 reduction, 1 sequential, 2 unknown")


def test_a_file_without_loops() -> None:
    assert shown(Source(""), facts.report()) == "a.c: no loops"


def test_code_is_styled_and_never_broken_at_a_line_end() -> None:
    lines = list(sentence_lines("It says `a[i - 1] + b[i + 1]` there.", 22))
    assert [plain_text(line) for line in lines] == ["It says", "`a[i - 1] + b[i + 1]`", "there."]
    assert lines[1] == (Piece("a[i - 1] + b[i + 1]", "quote"),)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_fit_the_width(width: int) -> None:
    long = (
        "void f(int *a) { " + "/* a long comment */ " * 20 + "for (int i = 0; i < 9; i++) a[i] = a[i - 1]; }"
    )
    f = facts.function(long)
    dependence = facts.flow(f.access("a[i - 1]", "read"), f.access("a[i]", "write"))
    f.loop("for (int i = 0; i < 9; i++)", facts.sequential(dependence, {"i": 0}, {"i": 1}))
    source = Source(long)
    (finding,) = diagnostics(source, facts.report(f), Settings())
    rows = [plain_text(line) for line in finding_lines(source, "a.c", finding, width)]
    assert all(len(row) <= width for row in rows)
    assert any("for (int" in row for row in rows) and any("^^^" in row for row in rows)


def carets(text: str, marked: str) -> tuple[str, str]:
    at = text.index(marked)
    row, marks = snippet(Source(text), [Mark(Span(at, at + len(marked)), "", primary=True)], 80)
    return row.text, marks.text


@pytest.mark.parametrize(
    ("text", "row", "marks"),
    [
        ("\tx = y;", "    x = y;", "        ^"),
        ("/* 漢字 */ y", "/* 漢字 */ y", "           ^"),
        ("e\u0301 y", "e\u0301 y", "  ^"),
        ("\x1b[31m y", "\ufffd[31m y", "      ^"),
    ],
)
def test_carets_stand_under_what_they_mean(text: str, row: str, marks: str) -> None:
    assert carets(text, "y") == (row, marks)


def test_a_span_over_several_lines_is_marked_on_its_first() -> None:
    text = "for (int i = 0;\n     i < n; i++)\n"
    row, marks = snippet(Source(text), [Mark(Span(0, len(text) - 1), "", primary=True)], 80)
    assert (row.text, marks.text) == ("for (int i = 0;", "^" * 15)
