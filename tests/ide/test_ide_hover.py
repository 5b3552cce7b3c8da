from __future__ import annotations

import facts
import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.hints import Symbol, hint_tooltip, hints, symbols
from polylsp.ide.hover import Code, hover, linked, markdown


def at(source: Source, report, text: str, within: int = 3):
    return hover(source, report, source.text.index(text) + within)


def test_hover_tells_the_verdict_then_the_dependences_as_a_table() -> None:
    source, report = facts.recurrence()
    shown = at(source, report, "for (int i")
    assert shown is not None
    assert source.text[shown.span.start : shown.span.end] == "for (int i = 1; i < n; i++)"
    assert shown.markdown.splitlines()[2:5] == [
        "| dependence | from | to | distance | direction |",
        "| --- | --- | --- | --- | --- |",
        "| flow | write `a[i] = …`, line 5 | read `a[i - 1]`, line 5 | 1 | (<) |",
    ]
    assert shown.markdown.splitlines()[0].endswith("(for example i = 1 writes `a[1]`, i = 2 reads it).")
    assert "Example" not in shown.markdown, "the sentence has it"
    assert "No reordering of this nest was found that exposes parallelism." in shown.plain
    assert "`" not in shown.plain


def test_hover_covers_the_whole_header_and_nothing_else() -> None:
    source, report = facts.recurrence()
    start = source.text.index("for (int i")
    end = start + len("for (int i = 1; i < n; i++)")
    assert hover(source, report, start) and hover(source, report, end)
    assert hover(source, report, start - 1) is None
    assert hover(source, report, end + 1) is None
    assert hover(source, report, 10**6) is None


def test_hover_gives_band_transform_schedule_and_assumptions() -> None:
    source, report = facts.many()
    column = at(source, report, "for (int i = 1")
    assert column is not None
    assert (
        "Band: `i` and `j` can be interchanged and tiled; no dependence is carried by `j`." in column.markdown
    )
    assert "interchanged: `j` outside, `i` inside." in column.markdown
    assert "[j, i]" not in column.markdown, "isl's text is for `polylsp explain`"
    copy = at(source, report, "for (int i = 0")
    assert copy is not None and copy.markdown.endswith("This assumes that:\n\n- `x` and `y` do not overlap")


def test_a_bar_in_code_does_not_break_the_table() -> None:
    text = "void f(int *a) { for (int i = 0; i < 9; i++) a[i | 1] = a[i]; }"
    f = facts.function(text)
    dependence = facts.flow(f.access("a[i]", "read"), f.access("a[i | 1]", "write"))
    f.loop("for (int i = 0; i < 9; i++)", facts.sequential(dependence, {"i": 0}, {"i": 1}))
    shown = at(Source(text), facts.report(f), "for")
    assert shown is not None and "`a[i \\| 1] = …`" in shown.markdown


def test_hints_are_short_and_at_the_end_of_the_header() -> None:
    source, report = facts.many()
    everything = Span(0, len(source.text))
    shown = [
        (source.text[: h.offset].rsplit("\n", 1)[-1].strip(), h.label)
        for h in hints(source, report, everything, Settings(findings="all"))
    ]
    assert shown == [
        ("for (int i = 0; i < n; i++)", "parallel if no overlap"),
        ("for (int i = 0; i < n; i++)", "parallel"),
        ("for (int j = 0; j < n; j++)", "parallel"),
        ("for (int i = 0; i < n; i++)", "reduction(+: s)"),
        ("for (int k = 0; k < n; k++)", "parallel, private(t)"),
        ("for (int i = 1; i < n; i++)", "sequential: a[i - 1][j]"),
        ("for (int j = 0; j < n; j++)", "parallel"),
    ]


def test_hints_honour_range_and_settings() -> None:
    source, report = facts.many()
    everything = Span(0, len(source.text))
    column = source.text.index("void column")
    assert len(hints(source, report, Span(column, everything.end), Settings(findings="all"))) == 2
    assert hints(source, report, everything, Settings(inlay_hints=False)) == ()
    unknown = [h.label for h in hints(source, report, everything, Settings(hint_unknown=True))]
    assert [label for label in unknown if "unknown" in label] == [
        "unknown",
        "unknown: values distinct?",
    ]


def test_the_tooltip_is_the_hover() -> None:
    source, report = facts.many()
    shown = at(source, report, "for (int i = 1")
    assert shown is not None
    assert hint_tooltip(source, report, "column", 1) == shown.markdown
    assert hint_tooltip(source, report, "gone", 1) == ""


def test_symbols_nest_as_the_loops_do() -> None:
    def told(symbol: Symbol):
        return (symbol.kind, symbol.name, symbol.detail, [told(child) for child in symbol.children])

    _, report = facts.many()
    assert [told(symbol) for symbol in symbols(report)][1:] == [
        ("function", "add", "2 loops", [("nest", "for i", "parallel", [("loop", "for j", "parallel", [])])]),
        (
            "function",
            "dot",
            "3 loops",
            [
                (
                    "nest",
                    "nest i, k",
                    "",
                    [("loop", "for i", "reduction(+: s)", []), ("loop", "for k", "parallel, private(t)", [])],
                ),
                ("loop", "while", "unknown", []),
            ],
        ),
        (
            "function",
            "column",
            "3 loops",
            [
                ("nest", "for i", "sequential", [("loop", "for j", "parallel", [])]),
                ("nest", "for k", "unknown: values distinct?", []),
            ],
        ),
    ]


def test_a_symbol_holds_its_selection_and_its_children() -> None:
    def inside(outer: Span, inner: Span) -> bool:
        return outer.start <= inner.start and inner.end <= outer.end

    def check(symbol: Symbol) -> None:
        assert inside(symbol.span, symbol.selection)
        for child in symbol.children:
            assert inside(symbol.span, child.span)
            check(child)

    for _, report in (facts.recurrence(), facts.many()):
        for symbol in symbols(report):
            check(symbol)


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("`a[i] < n` is read.", "`a[i] < n` is read."),
        ("<script>alert(1)</script>", r"\<script>alert(1)\</script>"),
        ("see [here](http://evil) or www.evil", r"see [here]\(http\://evil) or www\.evil"),
        ('the string `"`<img src=x>`"` is', r'the string `"`\<img src=x>`"` is'),
        ("one ` alone <b>", r"one \` alone \<b>"),
        ("a\\`b`", r"a\\`b`"),
        ("``x``", "` `x` `"),
    ],
)
def test_what_a_name_says_is_no_markup(part: str, shown: str) -> None:
    assert markdown([part]) == shown


def test_code_is_fenced_by_more_backticks_than_it_holds() -> None:
    assert markdown([Code("Schedule", "a ```` b")]) == "Schedule:\n\n`````text\na ```` b\n`````"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("i = 1 writes u[2][1], i = 2 reads it.", "i = 1 writes `u[2][1]`, i = 2 reads it."),
        ("it writes g->u[i + 1] (or s.a[0]).", "it writes `g->u[i + 1]` (or `s.a[0]`)."),
        ("a[1] is read", "`a[1]` is read"),
        # Code beside it would run into it; a link of the source stays text; a list is no element.
        ("`x`a[1]`y`", "`x`a[1]`y`"),
        ("see a[1](http://evil) there", "see a[1]\\(http\\://evil) there"),
        ("order [1] is kept", "order [1] is kept"),
    ],
)
def test_array_elements_are_code_outside_of_code(text: str, shown: str) -> None:
    """Editors take brackets for links: Neovim shows `u[2][1]` as `u2`."""
    assert markdown([text]) == shown


def test_a_link_stands_below_the_first_sentence() -> None:
    source, report = facts.recurrence()
    found = at(source, report, "for (int i")
    assert found is not None
    lines = linked(found, "Do `i` [now]", "command:x?%5B%5D").markdown.split("\n\n")
    assert lines[0] == found.markdown.split("\n\n")[0]
    assert lines[1] == "[Do `i` [now\\]](command:x?%5B%5D)"
    assert lines[2:] == found.markdown.split("\n\n")[1:]
