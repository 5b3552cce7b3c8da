"""Functions that do not parse: the right token is named, and their loops are still found."""

from __future__ import annotations

import pytest
from lowering import loops

from polylsp.frontends.c.lower.function import lower
from polylsp.frontends.c.tokens import tokenize
from polylsp.model.program import Function

LOOP = "for (int i = 0; i < n; i++)"

ERRORS = [
    (f"void f(int n, int *a) {{ {LOOP} a[i] = 1 }}", "1", "expected `;` after `1`"),
    (f"void f(int n, int *a) {{ {LOOP} {{ a[i] = 1; ", "{", "this `{` is never closed"),
    (f"void f(int n, int *a) {{ {LOOP[:-1]} {{ a[i] = 1; }} }}", "(", "this `(` is never closed"),
    (f"void f(int n, real *a) {{ {LOOP} ; }}", "real", "`real` is used as a type but is not declared"),
    (f"void f(int n) {{ real *a; {LOOP} ; foo bar; }}", "foo", "`foo` is used as a type but is not declared"),
    (f"void f(int n) {{ real a; {LOOP} ; }}", "real", "`real` is used as a type but is not declared"),
    (f"void f(int n) {{ else {LOOP} ; }}", "else", "syntax error at `else`"),
    (f"void f(int n) {{ n = @; {LOOP} ; }}", "@", "syntax error at `@`"),
    (f'void f(int n) {{ {LOOP} ; puts("abc);\n }}', '"abc);', "this string or character is never closed"),
    (f"void f(int n) {{ n = 1 +; {LOOP} ; }}", "+", "syntax error at `+`"),
]


@pytest.mark.parametrize(("text", "at", "message"), ERRORS)
def test_syntax_error(text: str, at: str, message: str) -> None:
    function, tokens = _lower(text)
    (problem,) = function.problems
    assert problem.code == "syntax-error"
    assert (tokens[problem.site.first], problem.message) == (at, message)
    (loop,) = loops(function)
    assert (loop.kind, loop.iterator, loop.condition) == ("for", "i", None)
    assert tokens[loop.header.first] == "for"
    assert (function.name, tokens[function.name_site.first]) == ("f", "f")


def test_nested_loops_of_broken_code() -> None:
    function, tokens = _lower(
        "void f(int n) { int = 3; while (n) { do { n--; } while (n > 3); for (;;) ; } }"
    )
    outlines = [
        (loop.ordinal, loop.kind, " ".join(tokens[loop.header.first : loop.header.last + 1]))
        for loop in loops(function)
    ]
    assert outlines == [(1, "while", "while ( n )"), (2, "do", "do"), (3, "for", "for ( ; ; )")]


DEEP = [
    "void f(int a) { a = " + "(" * 3000 + "1" + ")" * 3000 + "; }",
    "void f(int a) { a = " + "+".join(["a"] * 5000) + "; }",
    "void f(int a) { " + "{" * 3000 + "}" * 3000 + " }",
    "void f(int a) { " + "while (a) " * 3000 + "; }",
    "void f(int a) { " + "if (a) ; else " * 3000 + "; }",
]


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_is_a_budget_not_a_crash(text: str) -> None:
    function, _ = _lower(text)
    assert [problem.code for problem in function.problems] == ["budget"]


HALF_TYPED = (
    "int f(int n, double *a) { for (int i = 0; i < n; i++) { if (a[i] > 0) a[i] = g(a[i], 'c', \"s\"); } }"
)


@pytest.mark.parametrize("length", range(len(tokenize(HALF_TYPED).texts)))
def test_half_typed(length: int) -> None:
    tokens = tokenize(HALF_TYPED).texts[:length]
    function = lower(tokens, ())
    assert function.problems
    for problem in function.problems:
        assert 0 <= problem.site.first <= problem.site.last < max(1, length)
    assert len(loops(function)) == ("for" in tokens)


def _lower(text: str) -> tuple[Function, tuple[str, ...]]:
    tokens = tokenize(text).texts
    return lower(tokens, ()), tokens
