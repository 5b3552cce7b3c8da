"""Lowering of each form of C expression."""

from __future__ import annotations

from textwrap import dedent

import pytest
from lowering import lower_body, lower_text, show

PARAMETERS = "int n, double *a, double *b, int i, int j, int k, int *p, float *h, unsigned u, unsigned char c"

SIMPLE = [
    ("a[i] = b[i + 1];", "a[i] = b[(i + 1)]"),
    ("*a = *(b + i);", "a[0] = b[i]"),
    ("i[a] = 2;", "a[i] = 2.0"),
    ("*(a + i + 1) = 0;", "a[((long)i + 1:long)] = 0.0"),
    ("*(a - i) = 0;", "a[(0:long - (long)i)] = 0.0"),
    ("(&a[3])[i] = 0;", "a[(3:long + (long)i)] = 0.0"),
    ("*&a[i] = 0;", "a[i] = 0.0"),
    ("p = p + 3;", "p = (p + 3)"),
    ("p += i;", "p += i"),
    ("k = p - &p[i];", "k = (int)(p - &p[i])"),
    ("k = p == 0;", "k = (p == NULL)"),
    ("a[i] += b[i];", "a[i] += b[i]"),
    ("a[i] += k;", "a[i] += (double)k"),
    ("k += a[i];", "k += a[i]"),
    ("k <<= 2;", "k <<= 2"),
    ("i++;", "i += 1"),
    ("--a[i];", "a[i] -= 1.0"),
    ("p++;", "p += 1"),
    ("a[0] = -i;", "a[0] = (double)-i"),
    ("k = !i;", "k = !(i != 0)"),
    ("k = ~i + +j;", "k = (~i + j)"),
    ("k = 2 * 3 + 1 << 1;", "k = 14"),
    ("k = 7 / -2; ", "k = -3"),
    ("k = -7 % 4;", "k = -3"),
    ("k = 1 / 0;", "k = (1 / 0)"),
    ("k = 2147483647 + 1;", "k = (2147483647 + 1)"),
    ("u = 0u - 1;", "u = 4294967295:uint"),
    ("k = 'a' + '\\n' + '\\0';", "k = 107"),
    ("k = 0x1F + 010 + 0b11;", "k = 42"),
    ("a[0] = 1e3 + 0x1p-1;", "a[0] = (1000.0 + 0.5)"),
    ("k = (char) 300;", "k = 44"),
    ("k = (_Bool) 300;", "k = 1"),
    ("k = i > 0 ? i : -i;", "k = ((i > 0) ? i : -i)"),
    ("a[i] = i < j && j < n || !k;", "a[i] = (double)(((i < j) && (j < n)) || !(k != 0))"),
    ("k = (i, j);", "k = j"),
    ("a[i] = sqrt(b[i]) + fabs(b[j]);", "a[i] = (sqrt(b[i]) + fabs(b[j]))"),
    ("a[i] = __builtin_sqrt(2);", "a[i] = sqrt(2)"),
    ("h[i] = a[i];", "h[i] = (float)a[i]"),
    ("h[i] *= 2;", "h[i] *= 2.0:float"),
    ('k = sizeof(int) + sizeof a[0] + sizeof a + sizeof "abc";', "k = 24"),
]

CONVERSIONS = [
    ("a[u - 1] = 0;", "a[(u - 1:uint)] = 0.0"),
    ("a[i + u] = 0;", "a[((uint)i + u)] = 0.0"),
    ("c = c + 1;", "c = (uchar)((int)c + 1)"),
    ("c += 1;", "c += 1"),
    ("k = c < i;", "k = ((int)c < i)"),
    ("k = u < i;", "k = (u < (uint)i)"),
    ("k = a[0] < h[0];", "k = (a[0] < (double)h[0])"),
    ("u = i;", "u = (uint)i"),
    ("k = i * 2L > 3;", "k = (((long)i * 2:long) > 3:long)"),
]

EFFECTS = [
    ("a[i++] = b[--j];", "j -= 1\na[i] = b[j]\ni += 1"),
    ("i = j = 0;", "j = 0\ni = 0"),
    ("a[i] = b[j] = c;", "b[j] = (double)c\na[i] = b[j]"),
    ("i = 1, j = 2;", "i = 1\nj = 2"),
    ("k = (i++, i);", "i += 1\nk = i"),
    ("i > 0 && j++;", "if (i > 0)\n  j += 1"),
    ("i > 0 || j++;", "if (i > 0)\nelse\n  j += 1"),
    ("i > 0 ? j++ : k++;", "if (i > 0)\n  j += 1\nelse\n  k += 1"),
    ("*p++ = 0;", "p[0] = 0\np += 1"),
    ("*++p = 0;", "p += 1\np[0] = 0"),
    ("if (i++ < 3) k = 1;", "i += 1\nif ((i - 1) < 3)\n  k = 1"),
    ("if (c-- > 3) k = 1;", "c -= 1\nif ((int)(uchar)((int)c + 1) > 3)\n  k = 1"),
    ("k = use(i++);", "i += 1\nk = use!((i - 1))"),
    ("a[i] = 1 + use(j);", "int use@@1\nuse@@1 = use!(j)\na[i] = (double)(1 + use@@1)"),
    ("a[i] += use(j);", "int use@@1\nuse@@1 = use!(j)\na[i] += (double)use@@1"),
    ("use(use(1));", "int use@@1\nuse@@1 = use!(1)\nuse!(use@@1)"),
    ("(void) use(1);", "use!(1)"),
    ("(void) 0; i; i + 1; fabs(2); (void) -fabs(2);", ""),
    # These may set `errno`.
    ("sqrt(2); (void) -sqrt(3);", "sqrt(2)\nsqrt(3)"),
]

SEQUENCED = [
    (
        "k = i > 0 && use(j);",
        """\
        int value@@1
        value@@1 = (i > 0)
        if (value@@1 != 0)
          int use@@1
          use@@1 = use!(j)
          value@@1 = (use@@1 != 0)
        k = (value@@1 != 0)""",
    ),
    (
        "k = i > 0 ? j : use(j);",
        """\
        int value@@1
        if (i > 0)
          value@@1 = j
        else
          int use@@1
          use@@1 = use!(j)
          value@@1 = use@@1
        k = value@@1""",
    ),
    (
        "((float *) a)[i] = 1;",
        """\
        float* pointer@@1
        pointer@@1 = (float*)a
        pointer@@1[i] = 1.0:float""",
    ),
]

OPEN_ORDER = [
    "a[i] = i++;",
    "i = i++;",
    "a[i++] = i;",
    "k = i++ + i++;",
    "k = i + (i = 3);",
    "k = get(&j) + j;",
]

REFUSED = [
    ("a[i] = missing;", "unsupported-type: `missing` is not declared"),
    ("__polylsp_asm();", "unsupported-statement: inline assembly is not analysed"),
    ("k = *i;", "unsupported-type: `i` is used as a pointer or an array, but is neither here"),
    ("f = 0;", "unsupported-statement"),
    ("k = -p;", "unsupported-statement: `-` is applied to something that is no number: `-p`"),
]


@pytest.mark.parametrize(("text", "expected"), SIMPLE + CONVERSIONS + EFFECTS)
def test_expression(text: str, expected: str) -> None:
    assert lower_body(text, PARAMETERS) == expected


@pytest.mark.parametrize(("text", "expected"), SEQUENCED)
def test_effects_happen_only_where_c_evaluates_them(text: str, expected: str) -> None:
    assert lower_body(text, PARAMETERS) == dedent(expected)


@pytest.mark.parametrize("text", OPEN_ORDER)
def test_an_open_order_that_matters_is_refused(text: str) -> None:
    shown = lower_body(text, PARAMETERS)
    assert "C leaves the order open" in shown


@pytest.mark.parametrize(("text", "expected"), REFUSED)
def test_refused(text: str, expected: str) -> None:
    assert f"UNSUPPORTED {expected}" in lower_body(text, PARAMETERS)


CALLS = [
    ("double g(double) __attribute__((const));", "a[0] = g(1) + 1;", "a[0] = (g(1.0) + 1.0)"),
    ("double g(double) __attribute__((pure));", "a[0] = g(1);", "a[0] = g?(1.0)"),
    ("double g(double);", "a[0] = g(1);", "a[0] = g!(1.0)"),
    ("double g();", "a[0] = g(1.0f);", "a[0] = g!(1.0)"),
    ("int printf(const char *, ...);", 'printf("%d", i);', 'printf!(<"%d">, i)'),
    ("extern int (*g)(int);", "i = g(1);", "i = *g!(1)"),
    ("extern int (*g)(int);", "i = (*g)(1);", "i = *g!(1)"),
    ("void *malloc(unsigned long);", "a = malloc(8);", "a = malloc!(8:ulong)"),
    ("void *malloc(unsigned long);", "a = (double *) malloc(8);", "a = malloc!(8:ulong)"),
]


@pytest.mark.parametrize(("before", "text", "expected"), CALLS)
def test_call(before: str, text: str, expected: str) -> None:
    function = lower_text(f"{before} void f({PARAMETERS}) {{ {text} }}")["f"]
    assert show(function) == expected


def test_a_function_of_the_file_is_not_the_librarys() -> None:
    source = "double counted; double hypot(double x, double y) { return counted++; } "
    function = lower_text(source + "void f(double *a) { a[0] = hypot(1, 2); }")["f"]
    assert show(function) == "a[0] = hypot!(1.0, 2.0)"
