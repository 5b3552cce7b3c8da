"""Directives from pragmas to values, and the statement that each governs."""

from __future__ import annotations

import pytest

from polylsp.frontends.c.environment import Expanded, expand, used_macros
from polylsp.frontends.c.macros import Macro, macro
from polylsp.frontends.c.pragmas import directives_in, pragma_spans
from polylsp.ir.directive import (
    AnyDirective,
    Collapse,
    Condition,
    DefaultSharing,
    Directive,
    Item,
    Limit,
    Ordered,
    OtherClause,
    ReductionClause,
    Safelen,
    Schedule,
    Sharing,
    Transfer,
    UnknownClause,
    UnknownDirective,
)
from polylsp.ir.program import Site


def read(text: str, *definitions: str) -> tuple[Expanded, tuple[AnyDirective, ...]]:
    table: dict[str, Macro] = {known.name: known for known in map(macro, definitions) if known is not None}
    made = expand(text, used_macros(text, table))
    assert isinstance(made, Expanded), made
    return made, directives_in(made, table)


def one(pragma: str, *definitions: str) -> AnyDirective:
    _, (found,) = read(f"void f(void) {{\n#pragma {pragma}\nfor (;;) ;\n}}", *definitions)
    return found


def governed(body: str) -> str:
    """The statement that the only directive of a body governs."""
    made, (found,) = read(f"void f(void) {{ {body} }}")
    return " ".join(made.texts[found.site.first : found.site.last + 1]) if found.site else "nothing"


@pytest.mark.parametrize(
    ("pragma", "words"),
    [
        ("omp parallel for", "parallel for"),
        ("omp   for  nowait", "for"),
        ("omp for ordered", "for"),
        ("omp parallel for simd", "parallel for simd"),
        ("omp target teams distribute parallel for simd", "target teams distribute parallel for simd"),
        ("omp teams loop", "teams loop"),
        ("omp parallel masked taskloop simd", "parallel masked taskloop simd"),
        ("omp cancellation point", "cancellation point"),
        ("omp atomic capture", "atomic"),
        ("acc parallel loop wait(1)", "parallel loop"),
        ("acc kernels", "kernels"),
        ("acc exit data", "exit data"),
    ],
)
def test_the_longest_name_is_the_directives(pragma: str, words: str) -> None:
    found = one(pragma)
    assert isinstance(found, Directive)
    assert found.words == tuple(words.split())
    assert not any(isinstance(clause, UnknownClause) for clause in found.clauses)


@pytest.mark.parametrize(
    ("written", "clause"),
    [
        ("private(a, b)", Sharing("private", (Item("a", "a"), Item("b", "b")))),
        ("lastprivate(conditional: x)", Sharing("lastprivate", (Item("x", "x"),), conditional=True)),
        ("linear(k)", Sharing("linear", (Item("k", "k"),), 1)),
        ("linear(k : 2)", Sharing("linear", (Item("k", "k"),), 2)),
        ("linear(val(k) : -2)", Sharing("linear", (Item("k", "k"),), -2)),
        ("linear(k, m : step(3), val)", Sharing("linear", (Item("k", "k"), Item("m", "m")), 3)),
        ("linear(k : val)", Sharing("linear", (Item("k", "k"),), 1)),
        ("linear(k : n)", Sharing("linear", (Item("k", "k"),))),
        ("reduction(+ : s, t[0:n])", ReductionClause("+", (Item("s", "s"), Item("t", "t[0:n]")))),
        ("reduction(&&:ok)", ReductionClause("&&", (Item("ok", "ok"),))),
        ("reduction(inscan, + : s)", ReductionClause("inscan,+", (Item("s", "s"),))),
        ("default(none)", DefaultSharing("none")),
        ("collapse(2)", Collapse(2)),
        ("collapse(n)", Collapse(None)),
        ("ordered", Ordered()),
        ("ordered(2)", Ordered(2)),
        ("schedule(static)", Schedule("static")),
        ("schedule(monotonic: dynamic, n / 4)", Schedule("dynamic", "n / 4")),
        ("safelen(0x10)", Safelen(16)),
        ("if(n > 10)", Condition("n > 10")),
        ("if(parallel: a ? b : c)", Condition("a ? b : c")),
        ("num_threads(4)", Limit("num_threads", "4")),
        ("map(tofrom: a[0:n])", Transfer("map", (Item("a", "a[0:n]"),), "both")),
        ("map(a[0:n])", Transfer("map", (Item("a", "a[0:n]"),), "both")),
        ("map(from: a)", Transfer("map", (Item("a", "a"),), "out")),
        ("map(alloc: a)", Transfer("map", (Item("a", "a"),), "none")),
        ("map(always, to: a)", Transfer("map", (Item("a", "a"),))),
        ("is_device_ptr(a)", Transfer("is_device_ptr", (Item("a", "a"),))),
        ("nowait", OtherClause("nowait")),
        ("proc_bind(close)", OtherClause("proc_bind", "close")),
        ("novel(3)", UnknownClause("novel")),
        ("private", UnknownClause("private")),
    ],
)
def test_clauses(written: str, clause: object) -> None:
    found = one(f"omp parallel for {written}")
    assert isinstance(found, Directive)
    assert found.clauses == (clause,)


@pytest.mark.parametrize(
    ("written", "flow"),
    [
        ("copy(a)", "both"),
        ("pcopyin(a)", "in"),
        ("present_or_copyout(a)", "out"),
        ("create(a)", "none"),
        ("copyout(zero: a)", None),
        ("present(a)", None),
    ],
)
def test_which_way_clauses_of_openacc_move(written: str, flow: object) -> None:
    found = one(f"acc parallel loop {written}")
    assert isinstance(found, Directive)
    (clause,) = found.clauses
    assert isinstance(clause, Transfer) and clause.flow == flow


def test_commas_between_clauses_mean_nothing_and_names_are_told_from_arguments() -> None:
    found = one("acc parallel loop gang, vector copyin(a[0:n]) reduction(max:m) seq")
    assert isinstance(found, Directive)
    assert found.clauses == (
        OtherClause("gang"),
        OtherClause("vector"),
        Transfer("copyin", (Item("a", "a[0:n]"),), "in"),
        ReductionClause("max", (Item("m", "m"),)),
        OtherClause("seq"),
    )
    named = one("omp critical(door) hint(1)")
    assert isinstance(named, Directive)
    assert (named.argument, named.clauses) == ("door", (OtherClause("hint", "1"),))


def test_macros_in_a_directive_are_expanded() -> None:
    found = one("omp parallel for OPTIONS", "OPTIONS private(TMP) collapse(N)", "TMP t", "N 2")
    assert isinstance(found, Directive)
    assert found.clauses == (Sharing("private", (Item("t", "t"),)), Collapse(2))


def test_what_is_not_known_is_a_value_and_other_pragmas_are_none() -> None:
    assert one("omp someday for") == UnknownDirective("omp", "someday for", 0, 6, Site(6, 11))
    assert one("acc") == UnknownDirective("acc", "", 0, 6, Site(6, 11))
    assert one("omp parallel for private(a")
    text = "void f(void) {\n#pragma GCC ivdep\n#pragma once upon a time\n#pragma ompx for\nfor (;;) ;\n}"
    assert read(text)[1] == ()


@pytest.mark.parametrize(
    ("body", "statement"),
    [
        (
            "\n#pragma omp for\nfor (i = 0; i < n; i++) a[i] = f(i); x = 1;",
            "for ( i = 0 ; i < n ; i ++ ) a [ i ] = f ( i ) ;",
        ),
        ("\n#pragma omp parallel\n{ a; { b; } } c;", "{ a ; { b ; } }"),
        ("\n#pragma omp atomic\nx += g(y); z;", "x += g ( y ) ;"),
        (
            "\n#pragma omp task\nif (a) b; else if (c) d; else e; f;",
            "if ( a ) b ; else if ( c ) d ; else e ;",
        ),
        ("\n#pragma omp task\nif (a) while (b) c; d;", "if ( a ) while ( b ) c ;"),
        ("\n#pragma omp single\ndo { a; } while (b); c;", "do { a ; } while ( b ) ;"),
        ("\n#pragma omp single\nhere: a; b;", "here : a ;"),
        ("\n#pragma omp barrier\na;", "nothing"),
        ("a;\n#pragma omp parallel\n", "nothing"),
    ],
)
def test_the_statement_that_a_directive_governs(body: str, statement: str) -> None:
    assert governed(body) == statement


def test_a_pragma_ends_before_the_comments_that_follow_it() -> None:
    text = 'void f(void) {\n#pragma omp for \\\n nowait /* a */ // b\n for (;;) ;\n _Pragma("omp simd") g();}'
    made, _ = read(text)
    spans = pragma_spans(text, made.pragmas)
    assert [text[s.start : s.end] for s in spans] == ["#pragma omp for \\\n nowait", '_Pragma("omp simd")']
