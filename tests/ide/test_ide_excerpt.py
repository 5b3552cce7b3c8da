from __future__ import annotations

import facts
import pytest

from polylsp.core.text import Source, Span
from polylsp.ide.excerpt import access_excerpt, element, evaluate, excerpt


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a[i - 1]", {"i": 2}, "a[1]"),
        ("a[i][2*j + n]", {"i": 1, "j": 3, "n": 4}, "a[1][10]"),
        ("p.x[-i / 2]", {"i": 3}, "p.x[-1]"),
        ("a[-i % 2]", {"i": 3}, "a[-1]"),
        ("s", {}, "s"),
        ("a[idx[i]]", {"i": 1}, None),
        ("a[i - k]", {"i": 0, "k": 4294967295}, None),
        ("a[m]", {"i": 1}, None),
        ("a[i / 0]", {"i": 1}, None),
        ("a[f(i)]", {"i": 1}, None),
        ("a[i +]", {"i": 1}, None),
    ],
)
def test_element(text: str, values: dict[str, int], expected: str | None) -> None:
    assert element(text, values) == expected


def test_evaluate_never_raises_on_odd_text() -> None:
    assert evaluate("(" * 500, {}) is None
    assert evaluate("1 if x else 2", {}) is None


def test_excerpt_is_one_line_without_comments_and_cut() -> None:
    source = Source("a[ i /* row */ ]\n  [j] // column\n + b")
    assert excerpt(source, Span(0, len(source.text))) == "a[ i ] [j] + b"
    assert excerpt(Source("a[i // 2]"), Span(0, 9)) == "a[i // 2]"
    assert excerpt(Source("x" * 100), Span(0, 100)) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("x[i] = 1;", "x[i] = …"),
        ("x[i] += 1;", "x[i] += …"),
        ("x[i] <<= 1;", "x[i] <<= …"),
        ("x[i]++;", "x[i]++"),
        ("x[i] == 1;", "x[i]"),
        ("++x[i];", "x[i]"),
    ],
)
def test_a_written_access_shows_how_it_is_assigned(statement: str, shown: str) -> None:
    text = f"void f(int i, int *x) {{ {statement} }}"
    f = facts.function(text)
    assert access_excerpt(Source(text), f.placed(), f.access("x[i]", "write")) == shown
    assert access_excerpt(Source(text), f.placed(), f.access("x[i]", "read")) == "x[i]"
