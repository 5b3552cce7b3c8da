"""Brackets, quotes, comments and conditionals without their partners."""

from __future__ import annotations

import pytest
from hostile import FIRST, LAST, between, function

LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{LOOP} {{ a[i] = 0.0;", "7: This `{` is never closed."),
        (f"{LOOP}\n    a[i = 0.0;", "9: Expected `]` after `0.0` to close `a[`."),
        (f"{LOOP}\n    a[(i] = 0.0;", "9: Expected `)` after `i` to close `(`."),
        (f"{LOOP}\n    a[i)] = 0.0;", "9: This `)` closes nothing."),
        (f"{LOOP}\n    a[i] = 'x;", "9: This string or character is never closed."),
        (f'{LOOP}\n    a[i] = "x;', "9: This string or character is never closed."),
        (f"{LOOP}\n    a[i] = ;", "9: Expected an expression before `;`."),
        (f"{LOOP}\n    a[i] = 0.0", "9: Expected `;` after `0.0`."),
    ],
)
def test_in_a_function_it_costs_that_function(check, body: str, message: str) -> None:
    found = check(function(body))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["syntax-error"]
    (said,) = found.messages("syntax-error")
    assert said == message
    assert found.messages("not-analyzable") == [], "the loop's reason is said once, at its place"


def test_five_thousand_opening_braces(check) -> None:
    found = check(function("{" * 5000 + LOOP + " a[i] = 0.0;"))
    assert found.keeps_the_good_ones()
    (said,) = found.messages("budget", "syntax-error")
    assert "deeply" in said or "never closed" in said


@pytest.mark.parametrize(
    ("trouble", "named"),
    [
        ("}", "`}`"),
        (")", "`)`"),
        ("}" * 5000, "`}`"),
        ("{ int x; }", "`{`"),
        ("int y = 1; )", "`)`"),
        ('const char *s = "open;', "never closed"),
        ("int isn't = 0;", "never closed"),
    ],
)
def test_between_functions_it_is_pointed_out(check, trouble: str, named: str) -> None:
    found = check(between(trouble))
    assert found.keeps_the_good_ones()
    said = found.messages("syntax-error")
    assert len(said) == 1, "one thing is wrong, and it is said once"
    assert said[0].startswith("6: ")
    assert named in said[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{LOOP}\n    a[i] = 0.0; }}", "8: Expected an expression before `<`."),
        ("    a[0] = 1.0; /* a[1] = 2.0;", "8: This comment is never closed. Close it with `*/`."),
        ("    a[0] = 1.0;\n  #endif", "9: This conditional has no `#if`."),
        ("    a[0] = 1.0;\n  #else", "9: This conditional has no `#if`."),
        ("  #if 1\n    a[0] = 1.0;", "8: This conditional has no `#endif`."),
        ("#error not today", "8: `#error`: not today."),
    ],
)
def test_what_follows_from_an_error_in_a_function_is_not_said_of_the_file(check, body, message) -> None:
    found = check(function(body.replace("i < n", "< n")))
    assert found.verdicts("first") == ["parallel"]
    assert found.messages("syntax-error") == [message]


def test_a_brace_too_many_after_a_whole_function_is_not_hidden_by_an_earlier_error(check) -> None:
    broken = "void odd(int n)\n{\n    n = ;\n}\n"
    found = check(f"{FIRST}{broken}{LAST}}}\n")
    assert found.messages("syntax-error") == [
        "8: Expected an expression before `;`.",
        "15: This `}` closes nothing.",
    ]


def test_a_comment_that_is_never_closed_is_pointed_out(check) -> None:
    found = check(f"{FIRST}{LAST}/* {FIRST.replace('first', 'lost')}")
    assert found.keeps_the_good_ones()
    assert found.messages("syntax-error") == ["11: This comment is never closed."]


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("#endif", "This conditional has no `#if`."),
        ("#else", "This conditional has no `#if`."),
        ("#elif 1", "This conditional has no `#if`."),
        ("#if 1", "This conditional has no `#endif`."),
        ("#if\n#endif", "This `#if` has no condition."),
        ("#error not today", "`#error`: not today"),
        ("#include", "This `#include` names no file."),
    ],
)
def test_a_directive_that_makes_no_sense_is_pointed_out(check, trouble: str, message: str) -> None:
    found = check(FIRST + LAST + trouble + "\n")
    assert found.keeps_the_good_ones()
    assert found.messages("syntax-error") == [f"11: {message}"]
