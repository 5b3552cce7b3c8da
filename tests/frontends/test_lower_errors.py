"""Functions that do not parse: the right token is named, and their loops are still found."""

from __future__ import annotations

import pytest
from lowering import loops

from polylsp.frontends.c.functions import lower
from polylsp.frontends.c.tokens import tokenize
from polylsp.ir.program import Function

LOOP = "for (int i = 0; i < n; i++)"

ERRORS = [
    (f"void f(int n, int *a) {{ {LOOP} a[i] = 1 }}", "1", "expected `;` after `1`"),
    (f"void f(int n, int *a) {{ {LOOP} {{ a[i] = 1; ", "{", "this `{` is never closed"),
    (
        f"void f(int n, int *a) {{ {LOOP[:-1]} {{ a[i] = 1; }} }}",
        "++",
        "expected `)` after `++` to close `for (`",
    ),
    (f"void f(int n) {{ else {LOOP} ; }}", "else", "this `else` has no `if`"),
    (f"void f(int n) {{ n = @; {LOOP} ; }}", "@", "`@` has no meaning in C"),
    (f'void f(int n) {{ {LOOP} ; puts("abc);\n }}', '"abc);', "this string or character is never closed"),
    (f"void f(int n) {{ n = 1 +; {LOOP} ; }}", ";", "expected an expression before `;`"),
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


UNDECLARED_TYPES = [
    (f"void f(int n, real *a) {{ {LOOP} ; }}", "real"),
    (f"void f(int n) {{ real *a; {LOOP} ; foo bar; }}", "foo"),
    (f"void f(int n) {{ real a; {LOOP} ; }}", "real"),
]


@pytest.mark.parametrize(("text", "name"), UNDECLARED_TYPES)
def test_undeclared_type_leaves_the_function_readable(text: str, name: str) -> None:
    function, tokens = _lower(text)
    problem = function.problems[0]
    assert problem.code == "syntax-error"
    assert tokens[problem.site.first] == name
    assert problem.message == f"`{name}` is used as a type but is not declared"
    (loop,) = loops(function)
    assert loop.condition is not None
    assert not function.unreadable


STATEMENTS = [
    ("a[i] = @;@", "expected an expression before `;`"),
    ("a[i] @=@", "expected an expression after `=`"),
    ("x = (a[i] + @;@", "expected an expression before `;`"),
    ("x = 3 * @)@;", "this `)` closes nothing"),
    ("x = @08@;", "`08` is not a valid number"),
    ("x @=@ int;", "expected an expression after `=`"),
    ("a[@]@ = 3;", "expected an expression before `]`"),
    ("a[i = @3@;", "expected `]` after `3` to close `a[`"),
    ("a[i]@]@ = 3;", "this `]` closes nothing"),
    ("g(a, @,@ b);", "expected an expression before `,`"),
    ("g(a, @b@;", "expected `)` after `b` to close `g(`"),
    ("g@(@;", "expected `)` after `(` to close `g(`"),
    ("a[i] = b[i@]@ b[i] = 0;", "expected `;` after `]`"),
    ("a[i] = @1@ }", "expected `;` after `1`"),
    ("@return@", "expected `;` after `return`"),
    ("int @y@", "expected `;` after `y`"),
    ("int @=@ 3;", "expected a name before `=`"),
    ("@double@", "expected a name after `double`"),
    ("int x, @;@", "expected a name before `;`"),
    ("int q[2] = {1, @2@;", "expected `}` after `2` to close `{`"),
    ("p->@;@", "expected the name of a member before `;`"),
    ("goto @;@", "expected a name before `;`"),
    ("x = y ? @z@;", "expected `:` after `z`"),
    ("for (i = 0; i < n; i@++@", "expected `)` after `++` to close `for (`"),
    ("for (i = 0; i @<@", "expected an expression after `<`"),
    ("for (i = 0; i < @n@ if (x) y = 1;", "expected `;` after `n`"),
    ("for (i = @0@ while (x) y = 1;", "expected `;` after `0`"),
    ("for (i = 0; i < @n@) x = 1;", "expected `;` after `n`"),
    ("for (i = 0, i < n@)@ x = 1;", "a `for` has two `;` between its parentheses"),
    ("@for@ i = 0; i < n; i++) x = 1;", "expected `(` after `for`"),
    ("for (i = 0; i < n; i++@)@", "expected a statement after `)`"),
    ("for (i = 0; i < n; i++)@)@ x = 1;", "this `)` closes nothing"),
    ("if (@x@ { a[i] = 1; }", "expected `)` after `x` to close `if (`"),
    ("@if@ x { a[i] = 1; }", "expected `(` after `if`"),
    ("if (x) y = @1@ else y = 2;", "expected `;` after `1`"),
    ("if (x) { y = 1@;@ else y = 2;", "expected `}` after `;` to close `{`"),
    ("if (x) { y = 1; }; @else@ y = 2;", "this `else` has no `if`"),
    ("while (@)@ x = 1;", "expected an expression before `)`"),
    ("do x++@;@", "expected `while (...)` after `;`"),
    ("do x++; while (x < 3@)@", "expected `;` after `)`"),
    ("switch (x) { case @3@ x = 1; }", "expected `:` after `3`"),
    ("@x@ y;", "expected `;` after `x`"),
    ("@real@ z;", "`real` is used as a type but is not declared"),
    ("x = (@real@ *) y;", "`real` is used as a type but is not declared"),
]


@pytest.mark.parametrize(("statement", "message"), STATEMENTS)
def test_what_is_missing_is_named_where_it_is_missing(statement: str, message: str) -> None:
    """The place is between the marks."""
    before, at, after = statement.split("@")
    header = "void f(int n, int i, int x, int y, int z, double *a, double *b, struct s *p) {\n"
    function, tokens = _lower(f"{header}{before} {at} {after}\n}}")
    (problem,) = function.problems
    assert (problem.message, problem.site.first) == (message, len(tokenize(header + before).texts))
    assert tokens[problem.site.first] == at


@pytest.mark.parametrize("text", ["int (f) { while (1) ; }", "int f(void);"])
def test_what_defines_no_function_is_told_by_its_header(text: str) -> None:
    function, _ = _lower(text)
    (problem,) = function.problems
    assert (problem.message, problem.site.first) == ("this does not define a function", 0)


def test_a_brace_that_is_missing_in_the_middle_is_told_by_the_one_that_stays_open() -> None:
    function, tokens = _lower("void f(int n) { while (n) { n--; }")
    (problem,) = function.problems
    assert (problem.message, tokens.index("{")) == ("this `{` is never closed", problem.site.first)


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
