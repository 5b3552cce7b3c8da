"""Declarations: types, sizes, scopes, initialisers, storage."""

from __future__ import annotations

from textwrap import dedent

import pytest
from lowering import lower_body, lower_text, show, show_variable

PARAMETERS = [
    ("double *a", "double*"),
    ("double * restrict a", "double* restrict"),
    ("double a[]", "double[]"),
    ("double a[restrict static 10]", "double[10]"),
    ("int n, double a[n][n + 1]", "double[n][(n + 1)]"),
    ("int n, double (*a)[n]", "double[n]*"),
    ("double **a", "double**"),
    ("double *a[4]", "double*[4]"),
    ("unsigned char a", "uchar"),
    ("unsigned a", "uint"),
    ("long long unsigned int a", "ulong"),
    ("short a", "short"),
    ("char a", "char"),
    ("_Bool a", "bool"),
    ("long double a", "float80"),
    ("const volatile int a", "int"),
    ("real a", "double"),
    ("vector a", "double[3]"),
    ("struct point *a", "struct point*"),
    ("union both a", "union both"),
    ("enum color a", "uint"),
    ("enum signed_color a", "int"),
    ("int (*a)(int)", "function*"),
    ("double _Complex a", "complex128"),
    ("_Complex a", "complex128"),
    ("float _Complex a", "complex64"),
]
BEFORE = """
    typedef double real; typedef double vector[3];
    struct point { double x, y; }; union both { int i; float f; };
    enum color { RED, GREEN }; enum signed_color { MINUS = -1 };
"""


@pytest.mark.parametrize(("declaration", "expected"), PARAMETERS)
def test_parameter(declaration: str, expected: str) -> None:
    function = lower_text(f"{BEFORE} void f({declaration}) {{ }}")["f"]
    assert function.problems == ()
    assert show_variable(function.parameters[-1]) == f"parameter a: {expected}"


def test_restrict_inside_brackets_is_kept() -> None:
    function = lower_text("void f(double a[restrict 10], double b[10]) { }")["f"]
    assert [getattr(v.type, "restrict", None) for v in function.parameters] == [True, False]


def test_old_style_definition() -> None:
    function = lower_text("main(argc, argv) char **argv; { argc = 1; }")["main"]
    assert [show_variable(v) for v in function.parameters] == [
        "parameter argc: int",
        "parameter argv: char**",
    ]
    assert show(function) == "argc = 1"


SIZES = [
    ("sizeof(char)", 1),
    ("sizeof(long double)", 16),
    ("sizeof(struct s)", 24),
    ("sizeof(union u)", 8),
    ("sizeof(double[3][2])", 48),
    ("sizeof(int *)", 8),
    ("sizeof g", 96),
    ("sizeof g[0]", 32),
    ("sizeof(struct s *)", 8),
    ("_Alignof(struct s)", 8),
]


@pytest.mark.parametrize(("text", "expected"), SIZES)
def test_size(text: str, expected: int) -> None:
    before = "struct s { char c; double d; short t; }; union u { int i; double d; }; double g[3][4];"
    assert show(lower_text(f"{before} int f(void) {{ return {text}; }}")["f"]) == f"return {expected}"


def test_a_size_that_is_not_constant_is_computed() -> None:
    assert lower_body("double v[n]; k = sizeof v;") == "double[n] v\nk = (int)((ulong)n * 8:ulong)"


MEMBERS = [
    ("q->x = 1;", "q[0].x = 1.0"),
    ("(*q).x = 1;", "q[0].x = 1.0"),
    ("q[i].v[j] = 1;", "q[i].v[j] = 1.0"),
    ("q->next->x = 1;", "q[0].next[0].x = 1.0"),
    ("q->inner = 1;", "q[0].#4.inner = 1"),
    ("g.x = q[i].x;", "g.x = q[i].x"),
    ("*q->v = 1;", "q[0].v[0] = 1.0"),
    ("q->bits = i;", "q[0].bits = (int3)i"),
]


@pytest.mark.parametrize(("text", "expected"), MEMBERS)
def test_member(text: str, expected: str) -> None:
    before = """
        struct s { double x; double v[3]; struct s *next; int bits : 3; union { int inner; float other; }; };
        struct s g; """
    assert show(lower_text(f"{before} void f(struct s *q, int i, int j) {{ {text} }}")["f"]) == expected


CONSTANTS = [
    ("const int w = 3 * 4; k = w + 1;", "int w\nw = 12\nk = 13"),
    ("static const double h = 0.5; a[0] = h;", "a[0] = 0.5"),
    ("enum { Q = 7, R }; k = R;", "k = 8"),
    ("k = LIMIT * 2;", "k = 20"),
    ("k = SIZE;", "k = 100"),
    ("const int w = i; k = w;", "int w\nw = i\nk = w"),
    ("static int count; count++;", "count += 1"),
    ("typedef float real; real t = 1; h = t;", "float t\nt = 1.0:float\nh = t"),
]


@pytest.mark.parametrize(("text", "expected"), CONSTANTS)
def test_constants_of_the_scope_are_known(text: str, expected: str) -> None:
    before = "enum { LIMIT = 10 }; static const int SIZE = 100; "
    function = lower_text(f"{before} void f(int i, int k, double *a, float h) {{ {text} }}")["f"]
    assert show(function) == expected


INITIALISERS = [
    ("int v[3] = {1, 2};", ["int[3] v", "v[2] = 0", "v[0] = 1", "v[1] = 2"]),
    ("int v[] = {[2] = 5, 6};", ["int[4:long] v", "v[0] = 0", "v[1] = 0", "v[2] = 5", "v[3] = 6"]),
    ("int v[2][2] = {1, 2, 3, 4};", ["int[2][2] v", *(f"v[{k // 2}][{k % 2}] = {k + 1}" for k in range(4))]),
    ("int w[2][2] = {{1}, {2}};", ["int[2][2] w", "w[0][1] = 0", "w[1][1] = 0",
                                   "w[0][0] = 1", "w[1][0] = 2"]),
    ("double v[100] = {0};", ["double[100] v", "memset!(&v[0], 0, 800:ulong)"]),
    ("double v[100] = {0, 2};", ["double[100] v", "memset!(&v[0], 0, 800:ulong)", "v[1] = 2.0"]),
    ('char v[3] = "a";', ["char[3] v", "v[2] = 0:char", "v[0] = 97:char", "v[1] = 0:char"]),
    ("struct p v = {.y = 1};", ["struct p v", "v.x = 0.0", "v.y = 1.0"]),
    ("struct p v = q[1];", ["struct p v", "v.x = q[1].x", "v.y = q[1].y"]),
    ("*q = (struct p){1, 2};", ["struct p value@@1", "value@@1.x = 1.0", "value@@1.y = 2.0",
                                 "q[0].x = value@@1.x", "q[0].y = value@@1.y"]),
    ("struct p v = make();", ["struct p v", "v = make!()"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), INITIALISERS)
def test_initialiser(text: str, expected: list[str]) -> None:
    before = "struct p { double x, y; }; struct p make(void); "
    assert show(lower_text(f"{before} void f(struct p *q) {{ {text} }}")["f"]).splitlines() == expected


ESCAPES = [
    ("int x; use(&x);", True),
    ("int x, *p = &x;", True),
    ("int x; scan(&x + 0);", True),
    ("int x; keep = &x;", True),
    ("int x; *&x = 1;", False),
    ("int x; x = 1;", False),
    ("int x[10]; use(x);", True),
    ("int x[10]; int *p = x; p[1] = 2;", False),
    ("int x[10]; int *p = x; use(p);", True),
    ("int x[10]; int *p = x; q->keep = p + 1;", True),
    ('int x; printf("%p", &x); scanf("%d", &x);', False),
]


@pytest.mark.parametrize(("text", "expected"), ESCAPES)
def test_escape(text: str, expected: bool) -> None:
    before = "struct s { int *keep; }; int *keep; void use(int *), scan(int *); "
    function = lower_text(f"{before} void f(struct s *q) {{ {text} }}")["f"]
    assert ("escapes" in show(function)) == expected


VOLATILE = [
    ("volatile int v; v = 1;", "`v` is `volatile`"),
    ("k = *port;", "`port` is `volatile`"),
    ("k = q->flag;", "`flag` is `volatile`"),
    ("k = *(volatile int *) p;", "makes the access `volatile`"),
    ("k = state;", "`state` is `volatile`"),
]


@pytest.mark.parametrize(("text", "expected"), VOLATILE)
def test_volatile_is_refused(text: str, expected: str) -> None:
    before = (
        "struct s { volatile int flag; }; extern volatile int *port; typedef volatile int reg; reg state; "
    )
    shown = show(lower_text(f"{before} void f(int k, int *p, struct s *q) {{ {text} }}")["f"])
    assert "UNSUPPORTED volatile: " in shown
    assert expected in shown


def test_an_unknown_structure_is_refused_by_member() -> None:
    shown = lower_body("struct unknown *u; k = u->x;")
    assert (
        "UNSUPPORTED unsupported-type: the members of `u` are not known, so `.x` cannot be followed" in shown
    )


def test_shadowed_names_are_told_apart() -> None:
    assert lower_body("{ int i = 3; a[i] = 1; } { double i = 3; a[0] = i; } a[i] = 2;") == dedent("""\
        {
          int i@2
          i@2 = 3
          a[i@2] = 1.0
        }
        {
          double i@3
          i@3 = 3.0
          a[0] = i@3
        }
        a[i] = 2.0""")
