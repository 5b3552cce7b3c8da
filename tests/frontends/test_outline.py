"""The outline: items whatever the text looks like, and the same items after an edit."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polylsp.core.source_files import decode
from polylsp.frontends.c.outline import Outline, common_prefix, common_suffix, outline


def kinds(text: str) -> list[str]:
    """Each item as `kind` or, for a function, its name with `()`."""
    return [f"{item.name}()" if item.kind == "function" else item.kind for item in outline(text).items]


def functions(text: str) -> dict[str, str]:
    return {item.name: item.text for item in outline(text).items if item.kind == "function"}


def check_cover(text: str, made: Outline) -> None:
    """Items are in order, do not overlap, and are exact cuts of the text."""
    at = 0
    for item, start in zip(made.items, made.starts, strict=True):
        assert start >= at
        assert text[start : start + len(item.text)] == item.text
        assert item.text
        at = start + len(item.text)


def test_declarations_functions_and_directives_are_told_apart():
    text = (
        "#include <a.h>\nint a;\nint f(int x) { return x; }\nstruct S { int a; } s;\nint t[] = { 1, {2} };\n"
    )
    assert kinds(text) == ["directive", "declaration", "f()", "declaration", "declaration"]


def test_a_comment_above_a_function_belongs_to_no_item():
    made = outline("/* what f does */\nint f(void) { return 1; }")
    assert made.starts == (18,)
    assert made.items[0].text == "int f(void) { return 1; }"


def test_the_body_starts_at_its_brace():
    item = outline("int f(int a[3])\n{\n}\n").items[0]
    assert item.text[item.body] == "{"
    assert item.body == 16


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("int f(int x)", "f"),
        ("static inline double *f(int x, double (*g)(double))", "f"),
        ("int (*f(int a))(int)", "f"),
        ("EXPORT(int) f(int x)", "f"),
        ("__attribute__((noinline)) static void f(int a)", "f"),
        ("int f(int a) __attribute__((pure))", "f"),
        ("struct S f(struct S *s)", "f"),
        ("static int\nf (int a)\n", "f"),
        ("main(argc, argv) int argc; char **argv;", "main"),
        ("double f(a, n)\n  double *a; /* data; */\n  int n;\n", "f"),
        ("f()", "f"),
        ("TEST(f)", "TEST"),
    ],
)
def test_headers_of_every_style_open_a_function(header: str, name: str):
    made = outline(f"int before;\n{header} {{ return 0; }}\nint after;\n")
    assert [item.kind for item in made.items] == ["declaration", "function", "declaration"]
    assert made.items[1].name == name


def test_aggregates_and_initialisers_are_not_functions():
    text = (
        "struct __attribute__((packed)) X { int a; };\n"
        "typedef struct { int (*f)(int); } T;\n"
        "enum { A = F(1), B };\n"
        "int t[N(2)] = { [0] = G(1) };\n"
        "struct S s = (struct S) { 1 };\n"
    )
    assert kinds(text) == ["declaration"] * 5


def test_an_extern_c_block_is_transparent():
    assert kinds('extern "C" {\nint f(int a) { return a; }\n}\n') == ["declaration", "f()", "stray"]


def test_braces_in_strings_comments_characters_and_macros_do_not_count():
    text = (
        "void f(void) { s = \"}}{\\\"{\"; c = '{'; d = '\\''; /* } */ // }\n}\n"
        "#define M(a) { \\\n  } }\n"
        "void g(void) { }\n"
    )
    assert kinds(text) == ["f()", "directive", "g()"]


def test_branches_of_a_conditional_that_each_open_the_brace():
    text = "#ifdef A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return a;\n}\nint g(void) { }\n"
    assert kinds(text) == ["f()", "g()"]
    assert outline(text).items[0].skeleton.split() == [
        "#ifdef", "A", "int", "f(int", "a);", "#else", "int", "f(long", "a);", "#endif",
    ]  # fmt: skip


def test_branches_inside_a_body_that_each_open_a_brace():
    text = "void f(int x) {\n#if A\n  if (x) {\n#else\n  if (!x) {\n#endif\n  }\n}\nint q;\n"
    assert kinds(text) == ["f()", "declaration"]


def test_branches_that_each_close_the_function():
    text = "int f(void)\n#if A\n{ return 1; }\n#else\n{ return 2; }\n#endif\nint z;\n"
    assert kinds(text) == ["f()", "declaration"]


def test_the_skeleton_has_the_signature_and_the_directives_of_the_body_alone():
    text = "int f(int a) {\n  x = 1;\n#define N 4\n#pragma omp parallel\n#ifdef D\n  g();\n#endif\n}\n"
    assert outline(text).items[0].skeleton.split("\n") == [
        "int f(int a);", "#define N 4", "", "#ifdef D", "", "#endif", "",
    ]  # fmt: skip


def test_an_old_style_skeleton_is_a_prototype_without_parameters():
    assert outline("main(argc, argv) char **argv; { }").items[0].skeleton == "int main();"
    assert outline("double f(a) double *a; { }").items[0].skeleton == "double f();"


BROKEN = {
    "half-typed for": "  for (i = 0; i <\n}\n",
    "missing brace": "  if (a) {\n    b();\n}\n",
    "no brace at all": "  if (a) {\n    for (;;) {\n",
    "surplus brace": "  if (a) {\n  }}\n  b();\n}\n",
    "unclosed parenthesis": "  f(a, (b;\n}\n",
    "unterminated string": '  s = "abc;\n}\n',
    "unterminated character": "  c = '{;\n}\n",
    "unterminated comment": "  a(); /* oops\n}\n",
    "else without if": "  a();\n#else\n  b();\n}\n",
    "if without endif": "#if X\n  a();\n}\n",
    "stray hash": "  #\n}\n",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_function_leaves_its_neighbours_alone(body: str):
    before = "int before(int n)\n{\n  return n;\n}"
    after = "static double after(double *a, int n) {\n  /* sum */\n  for (;;) { }\n}"
    found = functions(f"{before}\n\nvoid broken(int a) {{\n{body}\n{after}\n")
    assert found["before"] == before
    assert found["after"] == after
    assert "broken" in found


@pytest.mark.parametrize(
    "line",
    [
        "void f(int n, double",
        "int x",
        "struct S {\n  int a;",
        "x = (",
        "typedef struct {",
        "int a[] = {",
        "}",
    ],
)
def test_an_unfinished_line_between_functions_leaves_them_alone(line: str):
    one, two = "void one(void)\n{\n  a();\n}", "void two(void)\n{\n  b();\n}"
    found = functions(f"{one}\n{line}\n\n{two}\n")
    assert found["one"] == one
    assert found["two"] == two


def test_a_structure_without_its_semicolon_is_still_declared():
    made = outline("struct S { int a; }\nvoid f(void) {\n}\n")
    assert [item.kind for item in made.items] == ["declaration", "function"]
    assert made.items[0].skeleton == "struct S { int a; };"


def test_code_in_column_zero_is_not_cut():
    text = "int f(int n)\n{\nfor (i = 0; i < n; i++)\n{\ng(i);\n}\nif (n) {\nh(n);\n}\nreturn n;\n}\nint z;\n"
    assert kinds(text) == ["f()", "declaration"]


def test_functions_on_one_line_are_told_apart():
    assert kinds("int f(void) { return 1; } int g(void) { return 2; }") == ["f()", "g()"]


def test_line_ends_of_every_kind_and_odd_characters():
    unix = "#define A \\\n  1\nint f(int a)\n{\n  return A; // x\n}\nint b;\n"
    for end in ("\r\n", "\r"):
        text = unix.replace("\n", end)
        made = outline(text)
        check_cover(text, made)
        assert kinds(text) == ["directive", "f()", "declaration"]
    assert kinds("\f\vint a;\0\n\tint f(void) {\0}\n") == ["declaration", "f()"]


ODD = [
    "", "{", "}" * 2000, "{" * 2000, "(" * 2000, "#", "#if", '"', "'", "/*", "//", "\\", "int x",
    "a" * 1_000_000, "int a[] = {" + "1," * 200_000 + "};", "/" + "*" * 100_000,
    "#define X " + "\\\n" * 5000, "f(" * 3000 + ") {",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=lambda text: f"{text[:10]}-{len(text)}")
def test_no_text_is_too_odd(text: str):
    check_cover(text, outline(text))


def test_a_hundred_thousand_lines():
    one = "static void f(int n, double *a)\n{\n  int i;\n  for (i = 0; i < n; i++)\n    a[i] = 1;\n}\n"
    made = outline(one * 16_000)
    assert len(made.items) == 16_000


PIECES = [
    "int f(int n)\n{\n  return n;\n}\n", "void g(void) {\n", "}\n", "{", "}", "(", ")", ";", '"', "'",
    "/*", "*/", "//", "\n", "#if A\n", "#else\n", "#endif\n", "#define M(x) \\\n", "int x;\n",
    "struct S {", "= {", "main(a) int a;", "  for (i = 0; i <\n", "\r\n", "\r", " ", 'extern "C" {\n', "x",
    "\\\n", "static int\nk(int a)\n{\n  b();\n}\n",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(max_examples=400, deadline=None)
@given(texts, texts, st.floats(0, 1), st.floats(0, 1))
@example("int a;\r\nint b;\r\n", "", 0.4, 0.5)
def test_an_outline_after_an_edit_is_the_outline_from_scratch(
    text: str, insert: str, start: float, end: float
):
    first, last = sorted((int(start * len(text)), int(end * len(text))))
    edited = text[:first] + insert + text[last:]
    assert outline(edited, (text, outline(text))) == outline(edited)
    check_cover(edited, outline(edited))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(PIECES)), min_size=1, max_size=15))
def test_many_edits_in_a_row_do_not_drift(edits: list[tuple[float, str]]):
    text = PIECES[0] * 5 + "int x;\n" + PIECES[-1]
    made = outline(text)
    for where, piece in edits:
        at = int(where * len(text))
        edited = text[:at] + piece + text[at:]
        made = outline(edited, (text, made))
        text = edited
    assert made == outline(text)


def test_an_edit_keeps_all_other_items():
    text = "".join(f"int f{k}(int n)\n{{\n  return n + {k};\n}}\n\n" for k in range(200))
    at = text.index("n + 100")
    edited = text[:at] + "2 * " + text[at:]
    before, after = outline(text), outline(edited, (text, outline(text)))
    changed = [k for k, (old, new) in enumerate(zip(before.items, after.items, strict=True)) if old != new]
    assert changed == [100]
    first = outline(text)
    again = outline(edited, (text, first))
    assert sum(old is not new for old, new in zip(first.items, again.items, strict=True)) <= 3


def test_typing_a_comment_between_functions_changes_no_item():
    text = "int f(void) { return 1; }\n\nint g(void) { return 2; }\n"
    edited = text.replace("\n\n", "\n/* more } about g */\n")
    first = outline(text)
    assert outline(edited, (text, first)).items == first.items


@given(st.text("ab\n", max_size=60), st.text("ab\n", max_size=60))
def test_common_ends_are_as_long_as_can_be(one: str, other: str):
    prefix = common_prefix(one, other)
    assert one[:prefix] == other[:prefix]
    assert prefix == min(len(one), len(other)) or one[prefix] != other[prefix]
    suffix = common_suffix(one, other, prefix)
    assert one[len(one) - suffix :] == other[len(other) - suffix :]
    if suffix < min(len(one), len(other)) - prefix:
        assert one[len(one) - suffix - 1] != other[len(other) - suffix - 1]


def test_long_common_ends():
    one = "a" * 10_000 + "b" + "c" * 20_000
    other = "a" * 10_000 + "xyz" + "c" * 20_000
    assert common_prefix(one, other) == 10_000
    assert common_suffix(one, other, 10_000) == 20_000


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é".encode(), "é"),
        (b"\xef\xbb\xbfint", "int"),
        (b"caf\xe9", "café"),
        ("é".encode("utf-16"), "é"),
        (b"a\0b", "a\0b"),
    ],
)
def test_bytes_in_any_encoding_become_text(data: bytes, text: str):
    assert decode(data) == text
