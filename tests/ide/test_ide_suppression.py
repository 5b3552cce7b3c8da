from __future__ import annotations

import pytest

from polylsp.core.text import Source
from polylsp.ide.diagnostics import EVERYTHING, is_suppressed, suppressed, suppressing
from polylsp.model.action import applied


def lines(text: str) -> dict[int, set[str]]:
    return {line: set(codes) for line, codes in suppressed(Source(text)).items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x;", {}),
        ("// polylsp: ignore a", {0: {"a"}}),
        ("// polylsp: ignore a\nx;\ny;", {0: {"a"}, 1: {"a"}}),
        ("// polylsp: ignore a\r\nx;\r\ny;", {0: {"a"}, 1: {"a"}}),
        ("// polylsp: ignore a\rx;\ry;", {0: {"a"}, 1: {"a"}}),
        ("//polylsp:ignore\nx;", {0: {EVERYTHING}, 1: {EVERYTHING}}),
        ("// polylsp: ignore a\n// polylsp: ignore b\nx;", {0: {"a"}, 1: {"a", "b"}, 2: {"a", "b"}}),
        ("/* polylsp: ignore a */ \\\nx;", {0: {"a"}, 1: {"a"}}),
        ("/* polylsp: ignore a */ x; /* polylsp: ignore b */\ny;", {0: {"a", "b"}}),
        ("x; // polylsp: ignore a\ny;", {0: {"a"}}),
        ("// polylsp: ignore a\n#pragma x \\\n y \\\n z\nx;\ny;", {k: {"a"} for k in range(5)}),
        ("// polylsp: ignore A", {}),
        ("// polylsp: ignore a b", {}),
        ("// polylsp: ignore a,", {}),
        ('\'"\' "// polylsp: ignore"', {}),
        ("/* polylsp: ignore", {}),
    ],
)
def test_reading(text: str, found: dict[int, set[str]]) -> None:
    assert lines(text) == found


def test_no_comment_no_work() -> None:
    assert not is_suppressed(suppressed(Source("polylsp")), 0, "a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  ^x;", "  // polylsp: ignore a\n  x;"),
        ("\ty; ^x;\r\n", "\t// polylsp: ignore a\r\n\ty; x;\r\n"),
        ("// polylsp: ignore b\n^x;", "// polylsp: ignore b, a\nx;"),
        ("^x; /* polylsp: ignore b -- so */", "x; /* polylsp: ignore b, a -- so */"),
        ("#define y \\\n  ^x;", "#define y \\\n  /* polylsp: ignore a */ x;"),
        ("/*\n*/ ^x;", "/*\n*/ /* polylsp: ignore a */ x;"),
        ("/**/\n^x;", "/**/\n// polylsp: ignore a\nx;"),
    ],
)
def test_writing(before: str, after: str) -> None:
    offset = before.index("^")
    text = before.replace("^", "")
    result = applied(text, (suppressing(Source(text), offset, "a"),))
    assert result == after
    source = Source(result)
    assert is_suppressed(suppressed(source), source.line_of(result.index("x;")), "a")


def test_a_second_code_is_added_not_the_same_one_twice() -> None:
    text = "x;"
    for code in ("a", "b", "c"):
        text = applied(text, (suppressing(Source(text), text.index("x;"), code),))
    assert text == "// polylsp: ignore a, b, c\nx;"
