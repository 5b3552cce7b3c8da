"""Macro expansion of one function: what comes out, and where each token points."""

from __future__ import annotations

import pytest

from polylsp.core.query import recording
from polylsp.frontends.c.environment import Expanded, Unexpandable, expand, used_macros
from polylsp.frontends.c.macros import Macro, macro
from polylsp.frontends.c.preprocessor_lines import whole_number
from polylsp.frontends.c.tokens import words


def table(*definitions: str) -> dict[str, Macro]:
    made = [macro(definition) for definition in definitions]
    return {known.name: known for known in made if known is not None}


def expanded(text: str, *definitions: str) -> Expanded:
    made = expand(text, used_macros(text, table(*definitions)))
    assert isinstance(made, Expanded), made
    assert len(made.texts) == len(made.starts) == len(made.ends)
    assert list(made.starts) == sorted(made.starts)
    return made


def shown(text: str, *definitions: str) -> str:
    return " ".join(expanded(text, *definitions).texts)


def failure(text: str, *definitions: str) -> Unexpandable:
    made = expand(text, used_macros(text, table(*definitions)))
    assert isinstance(made, Unexpandable), made
    return made


@pytest.mark.parametrize(
    ("text", "definitions", "result"),
    [
        ("A(i, j)", ["A(i,j) a[(i)*n+(j)]"], "a [ ( i ) * n + ( j ) ]"),
        ("FOR(i, N)", ["FOR(i,n) for (i = 0; i < (n); i++)", "N 10"], "for ( i = 0 ; i < ( 10 ) ; i ++ )"),
        ("S(a+ b\n  c)", ["S(x) #x"], '"a+ b c"'),
        (r'S("q\n")', ["S(x) #x"], r'"\"q\\n\""'),
        ("XS(N)", ["S(x) #x", "XS(x) S(x)", "N 3"], '"3"'),
        ("CAT(x, 1) CAT(, y) CAT(x,)", ["CAT(a,b) a##b"], "x1 y x"),
        ("CAT(N, 1)", ["CAT(a,b) a##b", "N 3"], "N1"),
        ("LOG(f) LOG(f, 1, 2)", ["LOG(a, ...) p(a, ##__VA_ARGS__)"], "p ( f ) p ( f , 1 , 2 )"),
        ("V(1, 2)", ["V(...) g(__VA_ARGS__)"], "g ( 1 , 2 )"),
        ("V(1, 2) V()", ["V(r...) g(r)"], "g ( 1 , 2 ) g ( )"),
        ("V(1, 2) V(1)", ["V(a, ...) g(a __VA_OPT__(,) __VA_ARGS__)"], "g ( 1 , 2 ) g ( 1 )"),
        ("X", ["X Y", "Y X"], "X"),
        ("F(1)", ["F G", "G(x) [x]"], "[ 1 ]"),
        ("F (1)", ["F(x) <x>"], "< 1 >"),
        ("F + 1", ["F(x) <x>"], "F + 1"),
        ("F(1", ["F(x) <x>"], "F ( 1"),
        ("F()", ["F(x) <x>"], "< >"),
        ("F((a, b), c)", ["F(x, y) y x"], "c ( a , b )"),
        ("G(F)(3)", ["G(x) x", "F(x) <x>"], "< 3 >"),
        # The example of C11 6.10.3.5.
        (
            "g(x+(3,4)-w) | h 5) & m(f)^m(m);",
            ["x 2", "f(a) f(x * (a))", "g f", "z z[0]", "h g(~", "m(a) a(w)", "w 0,1", "t(a) a"],
            "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , 1 ) ;",
        ),
    ],
)
def test_macros_expand_as_the_standard_says(text: str, definitions: list[str], result: str):
    assert shown(text, *definitions) == result


def test_a_token_out_of_a_macro_points_at_the_whole_use():
    text = "x = A(i,\n  j + 1) + y;"
    made = expanded(text, "A(i,j) a[i][j]")
    spans = {text[start:end] for start, end in zip(made.starts, made.ends, strict=True)}
    assert spans == {"x", "=", "A(i,\n  j + 1)", "+", "y", ";"}


def test_a_use_that_takes_its_arguments_from_the_text_covers_them():
    text = "F(1) + 2"
    made = expanded(text, "F G", "G(x) [x]")
    assert [text[start:end] for start, end in zip(made.starts, made.ends, strict=True)][:3] == ["F(1)"] * 3


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("double *__restrict__ a __attribute__((aligned(16)));", "double * restrict a ;"),
        ("__extension__ __inline__ __const int x;", "inline const int x ;"),
        ("{ __asm__ volatile (\"nop\" : : \"r\"(x)); }", "{ __polylsp_asm ( ) ; }"),
        ("register int x asm(\"eax\");", "register int x ;"),
        ("if (__builtin_expect(!!(x), 0)) y;", "if ( ( ! ! ( x ) ) ) y ;"),
        ("p = __builtin_assume_aligned(q, 32);", "p = ( q ) ;"),
        ("__builtin_unreachable();", "__builtin_unreachable ( ) ;"),
        ("__typeof__(int) x; typeof(y) z;", "int x ; __polylsp_typeof z ;"),
        ("[[maybe_unused]] int x; a[b[0]];", "int x ; a [ b [ 0 ] ] ;"),
        ("_Static_assert(sizeof(int) == 4, \"x\"); y;", "y ;"),
        ("_Alignas(64) static __thread double b[4];", "static _Thread_local double b [ 4 ] ;"),
        ("z = __alignof__(int); __signed__ char c;", "z = _Alignof ( int ) ; signed char c ;"),
        ("_Float128 q; _Float64 d;", "long double q ; double d ;"),
        ("y = __builtin_sqrt(x) + __builtin_fabsf(x);", "y = sqrt ( x ) + fabsf ( x ) ;"),
        ("puts(__func__);", 'puts ( "" ) ;'),
        ("a<:0:> = 1;", "a [ 0 ] = 1 ;"),
        ("L\"wide\" L'x' u8\"s\" 0x1p-3 1e+5f .5", "L\"wide\" L'x' u8\"s\" 0x1p-3 1e+5f .5"),
        ("a /* c */ b // d\n c \\\n d", "a b c d"),
    ],
)  # fmt: skip
def test_gnu_spellings_become_plain_c(text: str, result: str):
    assert shown(text) == result


def test_pragmas_are_collected_with_the_token_they_stand_before():
    text = 'void f(void) {\n#pragma omp parallel \\\n  for\n  for (;;) ;\n  _Pragma("omp simd") P g();\n}'
    made = expanded(text, 'P _Pragma("unroll")')
    assert [(pragma.text.split(), made.texts[pragma.token]) for pragma in made.pragmas] == [
        (["omp", "parallel", "for"], "for"),
        (["omp", "simd"], "g"),
        (["unroll"], "g"),
    ]
    span = made.pragmas[0].span
    assert text[span.start : span.end] == "#pragma omp parallel \\\n  for"
    assert not any(text.startswith("#") for text in made.texts)


def test_directives_in_a_body_are_followed():
    text = (
        "{\n#ifdef FAST\n a;\n#elif N > 2\n b;\n#else\n c;\n#endif\n"
        "#define K 7\n d = K;\n#undef K\n e = K;\n}"
    )
    assert shown(text) == "{ c ; d = 7 ; e = K ; }"
    assert shown(text, "N 3") == "{ b ; d = 7 ; e = K ; }"
    assert shown(text, "N 3", "FAST") == "{ a ; d = 7 ; e = K ; }"


def test_a_directive_inside_a_comment_is_a_comment():
    assert shown("{ /*\n#if 1\n*/ a; }") == "{ a ; }"


def test_tokens_after_a_directive_point_at_their_source():
    text = "{\n#if 1\n  abc;\n#endif\n}"
    made = expanded(text)
    assert [text[start:end] for start, end in zip(made.starts, made.ends, strict=True)] == [
        "{",
        "abc",
        ";",
        "}",
    ]


def test_line_ends_do_not_shift_positions():
    text = "{\r\n#define M \\\r\n  x\r\n  M;\r\n}"
    made = expanded(text)
    assert " ".join(made.texts) == "{ x ; }"
    assert text[made.starts[1] : made.ends[1]] == "M"


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("{ a; /* b }", "syntax-error", "/*"),
        ("{ x = ({ for (;;) ; 1; }); }", "unsupported-statement", "({"),
        ('{\n#include "body.inc"\n}', "unsupported-statement", '#include "body.inc"'),
        ("{\n#if A\n}", "syntax-error", "#if A"),
        ("{\n#error no\n}", "syntax-error", "#error no"),
    ],
)
def test_what_cannot_be_expanded_is_a_value_with_a_place(text: str, code: str, at: str):
    found = failure(text)
    assert found.code == code
    assert text[found.span.start : found.span.end] == at
    assert found.message


def test_macro_bombs_end():
    doubling = ["X0 x"] + [f"X{k + 1} X{k} X{k}" for k in range(40)]
    found = failure("{ X40; }", *doubling)
    assert found.code == "budget"
    assert "X40" in found.message
    assert failure("F(" * 500 + ")" * 500, "F(x) x x").code == "budget"
    assert failure("B(1)", "A(x) x x x x x x x x", "B(x) A(A(A(A(A(A(A(A(x))))))))").code == "budget"


def test_only_the_macros_that_a_text_can_reach_are_used():
    known = table("A B", "B 1", "C 2", "D(x) x##A", "E A")
    assert [one.name for one in used_macros("A + x", known)] == ["A", "B"]
    assert [one.name for one in used_macros("C", known)] == ["C"]
    assert used_macros("nothing", known) == ()


def test_macros_reached_by_pasting_are_used():
    assert shown("CAT(X, Y)", "CAT(a,b) a##b", "XY 7", "OTHER 1") == "7"
    assert shown("CAT(X, 1)", "CAT(a,b) a##b", "X1 7") == "7"


def test_an_unrelated_macro_does_not_run_the_expansion_again():
    text = "{ unrelated_probe = A; }"
    expand(text, used_macros(text, table("A 1")))
    with recording() as ran:
        expand(text, used_macros(text, table("A 1", "Z 2")))
        assert ran == []
        expand(text, used_macros(text, table("A 2")))
    assert [name for name, _ in ran] == ["expand"]


def test_words_of_a_text():
    assert words("a1 = b(c);") == {"a1", "b", "c"}


ODD = [
    "",
    "\0",
    "{" * 5000,
    '"',
    "'",
    "\\",
    "#",
    "##",
    "#pragma",
    "é = ü;",
    "@`$",
    "1..2...3",
    "F(\n#if 1\n)\n#endif\n",
]


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text[:12]))
def test_no_text_is_too_odd(text: str):
    assert isinstance(expand(text, tuple(table("F(x) x").values())), (Expanded, Unexpandable))


@pytest.mark.parametrize("definition", ["", "1", "F(", "(x)", "F(x"])
def test_a_malformed_definition_is_no_macro(definition: str):
    assert macro(definition) is None


NUMBERS = {
    "16": 16, "0x10u": 16, "020": 16, "(4 + 3 * 4)": 16, "4 * 4": 16, "-16": -16, "(1 << 4 | 3 % 2)": 17,
    "(-7 / 2)": -3, "(7 % 4)": 3, "OTHER": 8, "2 * OTHER": 16, "FIRST(OTHER, n)": 8, "(OTHER - 1)": 7,
    "4 + 4": None, "SUM * 2": None, "(n + 16)": None, "16.0": None, "[16]": None, "(16": None,
    "(16 / 0)": None,
    "for (int i = 0; i < 16; i++)": None, "f(16)": None, "N": None, "": None, "(3, 16)": None,
    "n = 16": None,
}  # fmt: skip


@pytest.mark.parametrize(("body", "number"), NUMBERS.items())
def test_number_that_a_macro_means_beside_any_operator(body: str, number: int | None) -> None:
    others = ("OTHER (2 * 4)", "SUM 1 + 1", "FIRST(x, y) x")
    assert whole_number(expanded("N", f"N {body}", *others).texts) == number
