"""Loops, branches, jumps and switches as statements of the model."""

from __future__ import annotations

from textwrap import dedent

import pytest
from lowering import loops, lower_body, lower_text

LOOPS = [
    ("for (i = 0; i < n; i++) a[i] = 0;", "i = 0\nfor#1(i) (i < n); i += 1\n  a[i] = 0.0"),
    ("for (; i < n; i += 2) ;", "for#1(i) (i < n); i += 2"),
    ("for (;;) break;", "for#1(None) true\n  break"),
    ("for (i = n; i-- > 0;) ;", "i = n\nfor#1(i) ((i + 1) > 0)\n  ~ i -= 1"),
    ("for (i = 0, j = n; i < j; i++, j--) ;", "i = 0\nj = n\nfor#1(i) (i < j); i += 1; j -= 1"),
    ("for (i = 0; j < n; i++, j++) ;", "i = 0\nfor#1(j) (j < n); i += 1; j += 1"),
    ("for (i = 0; i != n; i = i + 3) ;", "i = 0\nfor#1(i) (i != n); i = (i + 3)"),
    ("while (n--) ;", "while#1(n) ((n + 1) != 0)\n  ~ n -= 1"),
    ("while (i < n) { a[i] = 0; i += 2; }", "while#1(i) (i < n)\n  a[i] = 0.0\n  i += 2"),
    ("while (1) ;", "while#1(None) true"),
    ("do { i++; } while (i < n);", "do#1(i) (i < n)\n  i += 1"),
    ("do { i++; } while (0);", "{\n  i += 1\n}"),
    ("do { if (i) break; } while (0);", "do#1(None) 0\n  if (i != 0)\n    break"),
    ("while ((k = use()) != 0) ;", "while#1(k) (k != 0)\n  ~ k = use!()"),
]


@pytest.mark.parametrize(("text", "expected"), LOOPS)
def test_loop(text: str, expected: str) -> None:
    assert lower_body(text) == expected


def test_a_header_that_declares_has_a_scope() -> None:
    shown = lower_body("for (int i = 0; i < n; i++) { int i = 3; a[i] = 0; } a[i] = 1;")
    assert shown == dedent("""\
        {
          int i@2
          i@2 = 0
          for#1(i) (i@2 < n); i@2 += 1
            int i@3
            i@3 = 3
            a[i@3] = 0.0
        }
        a[i] = 1.0""")


def test_sites_of_loops() -> None:
    body = "{ for (i = 0; i < n; i++) while (k) do a[i] = (k--); while (k > 0); return; }"
    function = lower_text(f"void f(int n, double *a, int i, int k) {body}")["f"]
    tokens = _tokens(f"void f(int n, double *a, int i, int k) {body}")
    spelled = [
        (" ".join(tokens[loop.header.first : loop.header.last + 1]), tokens[loop.site.last])
        for loop in loops(function)
    ]
    assert spelled == [("for ( i = 0 ; i < n ; i ++ )", ";"), ("while ( k )", ";"), ("do", ";")]
    ends = {loop.site.last for loop in loops(function)}
    assert ends == {len(tokens) - 4}
    assert tokens[function.name_site.first] == "f"


BRANCHES = [
    ("if (i) k = 1; else k = 2;", "if (i != 0)\n  k = 1\nelse\n  k = 2"),
    ("if (i < 0) k = 1; else if (i > 3) k = 2;", "if (i < 0)\n  k = 1\nelse\n  if (i > 3)\n    k = 2"),
    ("if (0) k = 1; else k = 2;", "{\n  k = 2\n}"),
    ("if (0) for (;;) ;", "if 0\n  for#1(None) true"),
    ("return;", "return"),
    ("{ int t = 1; a[0] = t; }", "{\n  int t\n  t = 1\n  a[0] = (double)t\n}"),
]


@pytest.mark.parametrize(("text", "expected"), BRANCHES)
def test_branch(text: str, expected: str) -> None:
    assert lower_body(text) == expected


SWITCHES = [
    (
        "switch (k) { case 1: a[0] = 1; break; case 2: case 3: { a[1] = 2; break; } default: a[2] = 3; }",
        """\
        if (k == 1)
          a[0] = 1.0
        else
          if ((k == 2) || (k == 3))
            {
              a[1] = 2.0
            }
          else
            a[2] = 3.0""",
    ),
    (
        "switch (k) { default: a[0] = 1; break; case 2: a[1] = 2; break; }",
        "if (k == 2)\n  a[1] = 2.0\nelse\n  a[0] = 1.0",
    ),
    (
        "while (n) switch (i + 1) { case 1: continue; case 2: return; }",
        """\
        while#1(None) (n != 0)
          int value@@1
          value@@1 = (i + 1)
          if (value@@1 == 1)
            continue
          else
            if (value@@1 == 2)
              return""",
    ),
    ("switch (k) { }", ""),
]


@pytest.mark.parametrize(("text", "expected"), SWITCHES)
def test_switch(text: str, expected: str) -> None:
    assert lower_body(text) == dedent(expected)


REFUSED = [
    (
        "switch (k) { case 1: if (i) { if (k) break; } a[0] = 1; }",
        "a `break` of this `switch` stands inside another statement",
    ),
    ("switch (k) { int t; case 1: t = 1; }", "this `switch` is not a plain list"),
    ("switch (k) case 1: a[0] = 1;", "this `switch` is not a plain list"),
    ("switch (k) { case 1: while (n) { case 2: n--; } }", "`case` label of this `switch` stands inside"),
    ("end: a[0] = 1; goto end;", "`goto end` jumps out of the structure"),
    ("again: i++; goto again;", "a `goto` jumps to the label `again` here"),
]


@pytest.mark.parametrize(("text", "expected"), REFUSED)
def test_refused(text: str, expected: str) -> None:
    assert expected in lower_body(text)


def test_a_label_that_nothing_jumps_to_is_ignored() -> None:
    assert lower_body("unused: i++;") == "i += 1"


def test_loops_of_refused_code_are_kept_and_numbered() -> None:
    shown = lower_body(
        "for (i = 0; i < n; i++) ; switch (k) { case 1: while (n) n--; case 2: do k--; while (k); } for (;;);"
    )
    assert [line.strip().split("(")[0] for line in shown.splitlines() if "#" in line] == [
        "for#1",
        "while#2",
        "do#3",
        "for#4",
    ]


def test_a_loop_with_a_refused_header_stands() -> None:
    shown = lower_body("for (i = 0; i < missing; i++) a[i] = 0;")
    assert shown == dedent("""\
        i = 0
        for#1(None) true
          ~ UNSUPPORTED unsupported-type: `missing` is not declared
          a[i] = 0.0""")


def _tokens(text: str) -> tuple[str, ...]:
    from polylsp.frontends.c.tokens import tokenize

    return tokenize(text).texts
