"""Texts of many shapes, each of any size: `SHAPES[name](n)` has about `n` characters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

Shape = Callable[[int], str]

_ODD = "void odd(int n, double *a)\n{\n    int x, y, z;\n    "
_GOOD = "void good(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 0.0;\n}\n"
"""A function that stands after what is odd."""


def _repeated(piece: str, size: int) -> str:
    """A piece as often as necessary; `§` in it is a new number each time."""
    if "§" not in piece:
        return piece * max(1, size // len(piece))
    parts: list[str] = []
    length = 0
    for number in count():
        if length >= size and parts:
            return "".join(parts)
        parts.append(piece.replace("§", str(number)))
        length += len(parts[-1])
    raise AssertionError


def _file(piece: str, before: str = "", after: str = "") -> Shape:
    """Between functions of a file."""
    return lambda size: f"{before}{_repeated(piece, size)}{after}\n{_GOOD}"


def _inside(piece: str, before: str = "", after: str = "") -> Shape:
    """In a function."""
    return lambda size: f"{_ODD}{before}{_repeated(piece, size)}{after}\n}}\n{_GOOD}"


def _nested(opening: str, middle: str, closing: str, before: str = "", after: str = "") -> Shape:
    """In a function, one in the other."""

    def shape(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return f"{_ODD}{before}{opening * depth}{middle}{closing * depth}{after}\n}}\n{_GOOD}"

    return shape


def _outside(opening: str, middle: str, closing: str, before: str = "", after: str = "") -> Shape:
    """The same between functions."""

    def shape(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return f"{before}{opening * depth}{middle}{closing * depth}{after}\n{_GOOD}"

    return shape


C_SHAPES: dict[str, Shape] = {
    # Words, numbers, strings, comments and what stands between them.
    "a long word before a header": lambda n: f"{'x' * n} f(int n)\n{{\n    n++;\n}}\n{_GOOD}",
    "a long word after a header": lambda n: f"int f(int n) {'x' * n} {{ }}\n{_GOOD}",
    "a long word": _file("x", "int ", ";"),
    "a long word on a line of its own": lambda n: f"{'x' * n}\n{_GOOD}",
    "a long word in column 0 of a function": _inside("x", "\n", ";"),
    "many words": _file("word "),
    "many words in a function": _inside("word "),
    "many words, each on a line": _file("word\n"),
    "many words, each on a line of a function": _inside("word\n"),
    "many stars": _file("*", "int ", "p;"),
    "stars and words": _file("x * ", "", ";"),
    "many stars in a function": _inside("*", "x = ", "p;"),
    "digits": _file("1", "int x = ", ";"),
    "a number with letters and points": _file("1.e+", "double x = ", ";"),
    "digits in a function": _inside("1", "x = ", ";"),
    "blanks": _file(" "),
    "tabs": _file("\t", "int x;"),
    "blanks before a line end": _file(" ", "int x;", "\n"),
    "blank lines": _file("\n"),
    "blank lines in a header": _file("\n", "int f(int n)", "{ }"),
    "blanks in a header": _file(" ", "int f(int n)", "x { }"),
    "lines of CRLF": _file("int v§;\r\n"),
    "carriage returns": _file("int v§;\r"),
    "form feeds": _file("\f"),
    "line continuations": _file("\\\n"),
    "line continuations in a word": _file("\\\n", "in", "t x;"),
    "line continuations in a macro": _file("x \\\n", "#define M "),
    "line continuations in a comment": _file("x \\\n", "// "),
    "backslashes": _file("\\"),
    "backslashes in a string": _file("\\", 'char *s = "', '";'),
    "backslashes in a function": _inside("\\"),
    "letters beyond ASCII": _file("ä"),
    "words beyond ASCII": _file("ä ", "int x; "),
    "emoji in a comment": _file("\U0001f600", "/* ", " */"),
    "NUL": _file("\0"),
    "strings": _file('"s" ', "char *s = ", ";"),
    "strings in a function": _inside('"s" ', "char *s = ", ";"),
    "a long string": _file("s", 'char *s = "', '";'),
    "a string that is not closed": _file("s", 'char *s = "', ";"),
    "strings that are not closed": _file('char *s§ = "s;\n'),
    "strings that are not closed in a function": _inside('char *s§ = "s;\n'),
    "characters that are not closed": _file("char s§ = 's;\n"),
    "quotes": _file('"'),
    "quotes of both kinds": _file("\"'"),
    "comments": _file("/* c */ "),
    "comments on lines": _file("/* c */\n"),
    "comments that begin only": _file("/* "),
    "comments that begin only, on lines": _file("/* x\n"),
    "comments that begin only, before headers": _file("/* x\nint f§(int n)\n{\n}\n"),
    "comments that end only": _file("*/ "),
    "comments in a header": _file("/* c */ ", "int f(int n) ", "{ }"),
    "line comments": _file("// c\n"),
    "line comments in a header": _file("// c\n", "int f(int n) ", "{ }"),
    "line comments in a function": _inside("// c\n"),
    "comments of stars": _file("*", "/", "/"),
    "comments of stars after a header": _file("*", "int f(int n) /", "/ { }"),
    "comments of stars that do not end": _file("*", "int f(int n) /", " { }"),
    "slashes": _file("/ "),
    "comments in a function": _inside("/* c */ x = 1; "),
    "a comment that is not closed in a function": _inside("x = 1;\n", "/* "),
    "comments that begin only in a function": _inside("/* "),
    "line comments in one line after a header": _file("// ", "int f(int n) ", "\n;"),
    "escapes in a string in a function": _inside("\\q", 'char *s = "', '";'),
    "directives in a function": _inside("\n#pragma x§\nx = 1;"),
    # Brackets.
    "open parentheses": _file("("),
    "open parentheses on lines": _file("(\n"),
    "closed parentheses": _file(")"),
    "closed parentheses in a function": _inside(")"),
    "open parentheses in a function": _inside("("),
    "open braces": _file("{"),
    "open braces on lines": _file("{\n"),
    "open braces in a function": _inside("{"),
    "closed braces": _file("}"),
    "closed braces in a function": _inside("}"),
    "open brackets in a function": _inside("["),
    "closed brackets in a function": _inside("]"),
    "brackets that do not fit": _inside("(]"),
    "brackets that close others": _inside("([{)", "", ""),
    "parentheses in parentheses": _nested("(", "1", ")", "x = ", ";"),
    "braces in braces": _nested("{", "x = 1;", "}"),
    "subscripts in subscripts": _nested("a[", "1", "]", "x = ", ";"),
    "calls in calls": _nested("f(", "1", ")", "x = ", ";"),
    "parentheses of a declarator": _outside("(", "x", ")", "int ", ";"),
    "braces of an initialiser": _outside("{", "1", "}", "int x = ", ";"),
    "structures in structures": _outside("struct s {", "int x;", "} y;"),
    "parameters in parameters": _outside("int (*g)(", "", ")", "int f(", ");"),
    "parentheses in a header": _outside("(", "", ")", "int f", " { }"),
    "parentheses of an attribute": _outside("(", "", ")", "int f(int n) __attribute__", " { }"),
    "calls of what was called": _file("()", "f", " { }"),
    "calls of what was called in a function": _inside("()", "f", ";"),
    "calls of what was called on lines": _file("()\n", "f", " { }"),
    "pairs of braces": _file("{}"),
    "pairs of braces in a function": _inside("{}"),
    "names with braces": _file("x§ {}\n"),
    "names with calls and braces": _file("struct s f() x {} "),
    "braces on a line and their ends": lambda n: (
        f"void f(void)\n{{\n    {'{' * (n // 3)}\n" + "}\n" * (n // 3) + "}\n"
    ),
    "attributes in attributes": _outside("__attribute__((", "a", "))", "int x ", ";"),
    "offsetof in offsetof": _inside("__builtin_offsetof(", "x = "),
    "pairs of brackets": _file("[]", "int x", ";"),
    "extents": _file("[2]", "int x", ";"),
    "attributes": _file("__attribute__((a)) ", "int f(int n) ", "{ }"),
    "attributes of a declaration": _file("__attribute__((a)) ", "int x ", ";"),
    "attributes before a header": _file("__attribute__((a)) ", "", "int f(int n) { }"),
    "attributes in a function": _inside("__attribute__((a)) ", "x = 1; ", ";"),
    "attributes in double brackets": _inside("[[a]] ", "", "x = 1;"),
    "asm in a function": _inside('__asm__("nop"); '),
    "typeof in a function": _inside("typeof(x) v§; "),
    "builtin_expect in builtin_expect": _nested("__builtin_expect(", "x", ", 1)", "x = ", ";"),
    "_Pragma in a function": _inside('_Pragma("omp simd") '),
    "static assertions": _file('_Static_assert(1, "x");\n'),
    "linkage": _file('extern "C" {\n'),
    "linkage and its end": _file('extern "C" {\nint v§;\n}\n'),
    # Preprocessor.
    "conditionals": _file("#if X§\nint v§;\n#endif\n"),
    "conditionals in conditionals": _outside("#if 1\n", "int x;\n", "#endif\n"),
    "conditionals that do not end": _file("#if 1\n"),
    "conditionals that did not begin": _file("#endif\n"),
    "else that did not begin": _file("#else\n"),
    "else after declarations": _file("int v§;\n#else\n"),
    "elif": _file("#elif X == §\nint v§;\n", "#if X\n", "#endif\n"),
    "elif in a function": _inside("\n#elif X == §\nx = §;", "\n#if X\n", "\n#endif\n"),
    "conditionals in a function": _inside("\n#if X\nx = §;\n#endif\n"),
    "conditionals in conditionals in a function": _nested("\n#if 1\n", "x = 1;", "\n#endif\n"),
    "conditionals that do not end in a function": _inside("\n#ifdef X\n{"),
    "conditionals in an enumeration": _file("#if 1\nE§,\n#endif\n", "enum e {\n", "F };"),
    "conditionals in an initialiser": _file("#ifdef X\n1,\n#else\n2,\n#endif\n", "int x[] = {\n", "3 };"),
    "conditionals in a header": _file("#if X\nint p§,\n#endif\n", "int f(\n", "int n)\n{\n}\n"),
    "headers in both branches": _file("#if X\nint f§(int n)\n#else\nint g§(int n)\n#endif\n{\n}\n"),
    "parentheses of a condition": _outside("(", "1", ")", "#if ", "\n#endif"),
    "sums of a condition": _file("1 + ", "#if ", "1\nint x;\n#endif"),
    "conjunctions of a condition": _file("defined X§ && ", "#if ", "1\nint x;\n#endif"),
    "macros": _file("#define M§ §\n"),
    "macros that are used": _file("#define M§ §\nint v§ = M§;\n"),
    "macros that are used in functions": _file("#define M§ §\nint f§(void)\n{\n    return M§;\n}\n"),
    "macros that are taken back": _file("#define M 1\nint f§(void)\n{\n    return M;\n}\n#undef M\n"),
    "a chain of macros": lambda n: (
        "#define C0 x\n"
        + "".join(f"#define C{k} C{k - 1}\n" for k in range(1, n // 20))
        + f"void f(int x)\n{{\n    x = C{n // 20 - 1};\n}}\n"
    ),
    "a chain of macros in a declaration": lambda n: (
        "#define C0 int\n"
        + "".join(f"#define C{k} C{k - 1}\n" for k in range(1, n // 20))
        + f"C{n // 20 - 1} x;\n{_GOOD}"
    ),
    "a long macro": _file("x + ", "#define M ", "1\nvoid f(int x)\n{\n    x = M;\n}"),
    "a long macro that calls itself": _file(
        "M(x) + ", "#define M(x) ", "1\nvoid f(int x)\n{\n    x = M(x);\n}"
    ),
    "uses of a macro": lambda n: "#define M x = 1;\n" + _inside("M ")(n),
    "uses of a macro with an argument": lambda n: "#define M(a) a = 1;\n" + _inside("M(x) ")(n),
    "a use of a macro with many arguments": lambda n: (
        "#define M(...) g(__VA_ARGS__)\n" + _inside("x, ", "M(", "x);")(n)
    ),
    "a use of a macro with a long argument": lambda n: (
        "#define M(a) g(a)\n" + _inside("x + ", "M(", "x);")(n)
    ),
    "a use of a macro with many arguments between functions": _file(
        "int v§; ", "#define M(...) __VA_ARGS__\nM(", ")"
    ),
    "a use of a macro that is not closed": lambda n: "#define M(a) a\n" + _inside("M(x ")(n),
    "uses of macros in uses": lambda n: "#define M(a) a\n" + _nested("M(", "x", ")", "x = ", ";")(n),
    "uses of macros that are not closed": lambda n: "#define M(a) a\n" + _inside("M ( ")(n),
    "names of macros without arguments": lambda n: "#define M(a) a\n" + _inside("M ")(n),
    "a macro that gives its own name": lambda n: "#define M(a) a M\n" + _inside("(x)", "M", ";")(n),
    "a macro of itself": lambda n: "#define M M M\n" + _inside("M ")(n),
    "parameters of a macro": _file("p§, ", "#define M(", "q) p0\nvoid f(int x)\n{\n    x = M(x);\n}"),
    "pasted names": lambda n: "#define P(a, b) a##b\n" + _inside("P(x, ) = 1; ")(n),
    "a long pasted name": _file(" ## x", "#define P x", "\nvoid f(int x)\n{\n    x = P;\n}"),
    "a long string of an argument": lambda n: "#define S(a) #a\n" + _inside("x ", "char *s = S(", ");")(n),
    "pragmas": _file("#pragma omp parallel\n"),
    "pragmas in a function": _inside("\n#pragma once§\n"),
    "a long pragma": _inside(
        "private(x) ", "\n#pragma omp parallel for ", "\nfor (x = 0; x < n; x++) a[x] = 0;"
    ),
    "includes": _file('#include "nothing§.h"\n'),
    "includes of one header": _file("#include <math.h>\n"),
    "lines with a number": _file('#line § "x.c"\n'),
    "hashes": _file("#\n"),
    "hashes in one line": _file("# "),
    "errors": _file("#error §\n"),
    # Declarations.
    "declarations": _file("int v§;\n"),
    "declarations in one line": _file("int v§; "),
    "declarations without semicolons": _file("int v§\n"),
    "declarators": _file("v§, ", "int ", "w;"),
    "enumerators": _file("E§, ", "enum e { ", "F };"),
    "enumerators that are used": lambda n: (
        f"enum e {{ {_repeated('E§, ', n)} F }};\nint f(void)\n{{\n    return F;\n}}\n"
    ),
    "members": _file("int m§; ", "struct s { ", "};"),
    "members that are used": lambda n: (
        f"struct s {{ {_repeated('int m§; ', n)} int k; }};\nint f(struct s *p)\n{{\n    return p->k;\n}}\n"
    ),
    "initialisers": _file("1, ", "int x[] = { ", "2 };"),
    "initialisers of structures": _file("{ 1, 2 }, ", "struct s x[] = { ", "};"),
    "initialisers by designators": _file("[§] = 1, ", "int x[] = { ", "};"),
    "initialisers in a function": _inside("1, ", "int w[] = { ", "2 };"),
    "typedefs": _file("typedef int t§;\n"),
    "a chain of typedefs": lambda n: (
        "typedef int T0;\n"
        + "".join(f"typedef T{k - 1} T{k};\n" for k in range(1, n // 24))
        + f"T{n // 24 - 1} f(T{n // 24 - 1} x)\n{{\n    return x;\n}}\n"
    ),
    "prototypes": _file("int f§(int n);\n"),
    "parameters": _file("int p§, ", "int f(", "int n)\n{\n}\n"),
    "parameters on lines": _file("int p§,\n", "int f(\n", "int n)\n{\n}\n"),
    "old-style parameters": _file("int p§;\n", "int f(n)\nint n;\n", "{\n}\n"),
    "old-style functions": _file("int f§(n)\nint n;\n{\n    return n;\n}\n"),
    "functions": _file("int f§(int n)\n{\n    return n;\n}\n"),
    "functions in one line": _file("int f§(int n) { return n; } "),
    "functions that call the one before": _file(
        "int f§(int n) { return n; }\nint g§(int n) { return f§(n); }\n"
    ),
    "functions that call the one after": _file(
        "int g§(int n) { return f§(n); }\nint f§(int n) { return n; }\n"
    ),
    "functions that are not closed": _file("int f§(int n)\n{\n    if (n) {\n        n++;\n"),
    "functions that close too much": _file("int f§(int n)\n{\n    n++;\n    }\n}\n"),
    "headers without bodies": _file("int f§(int n)\n"),
    "headers that end in commas": _file("int f§(int n,\n"),
    "headers of control": _file("if (x§)\n"),
    "K&R-like calls": _file("f§(n) "),
    "declarations of local variables": _inside("int v§ = §;\n"),
    # Statements and expressions.
    "statements": _inside("x = §;\n"),
    "empty statements": _inside(";"),
    "sums": _inside("x + ", "x = ", "y;"),
    "differences of products": _inside("x * y - ", "x = ", "y;"),
    "assignments": _inside("x = ", "", "y;"),
    "commas": _inside("x, ", "", "y;"),
    "ternaries": _inside("x ? y : ", "x = ", "z;"),
    "conjunctions": _inside("x && ", "x = ", "y;"),
    "signs": _inside("- ", "x = ", "y;"),
    "dereferences": _inside("*", "x = ", "a;"),
    "casts": _inside("(int)", "x = ", "y;"),
    "members of members": _inside(".m", "x", " = 1;"),
    "subscripts": _inside("[x]", "a", " = 1;"),
    "increments": _inside("++", "x", ";"),
    "alternatives": _inside("if (x == §) y = §; else ", "", ";"),
    "alternatives that are not closed": _inside("if (x == §) { y = §; } else {", "", ""),
    "if": _inside("if (x) ", "", ";"),
    "loops": _inside("for (x = 0; x < n; x++) a[x] = §;\n"),
    "loops in loops": _inside("for (x = 0; x < n; x++) ", "", "a[x] = 1;"),
    "loops that are half typed": _inside("for (x = 0; x < n\n"),
    "loops that are not closed": _inside("for (x = 0; x < n; x++) {\n"),
    "while": _inside("while (x) ", "", ";"),
    "do": _inside("do ", "", ";"),
    "do while": _nested("do ", "x = 1;", " while (x);"),
    "case labels": _inside("case §: ", "switch (x) { ", "; }"),
    "cases": _inside("case §: x = §; break; ", "switch (x) { ", "}"),
    "switches in switches": _nested("switch (x) { case 1: ", "x = 1;", "}"),
    "labels": _inside("l§: x = §; "),
    "jumps": _inside("goto l; ", "l: "),
    "jumps to labels": _inside("l§: x = §; goto l§; "),
    "calls": _inside("f(x); "),
    "a call with many arguments": _inside("x, ", "f(", "y);"),
    "a call that is half typed": _inside("f(x, "),
    "member accesses that are half typed": _inside("a-> "),
    "else that has no if": _inside("else "),
    "addresses": _inside("p§ = &x; ", "int *p; "),
    "pointers": _inside("int *p§ = &x; x = *p§; "),
    "updates": _inside("a[x++] = §; "),
    "conditional declarations": _inside("int v§ = x ? § : y; "),
    "generic selections": _inside("int: 1, ", "x = _Generic(x, ", "default: 2);"),
    "compound literals": _inside("x = (int){§}; "),
    "sizes": _inside("sizeof ", "x = ", "x;"),
    "unknown types": _inside("foo_t v§; "),
}


_GOOD_PYTHON = "\n\n\ndef good(a):\n    for i in range(len(a)):\n        a[i] = 0.0\n"
_PASS = "\n\n\ndef good(a):\n    pass\n"


def _python(piece: str, before: str = "", after: str = "") -> Shape:
    """In a module."""
    return lambda size: f"{before}{_repeated(piece, size)}{after}{_GOOD_PYTHON}"


def _defined(piece: str, before: str = "", after: str = "") -> Shape:
    """In a function."""
    return lambda size: f"def odd(n: int, a: 'float[:]'):\n    {before}{_repeated(piece, size)}{after}{_PASS}"


def _within(opening: str, middle: str, closing: str, before: str = "", after: str = "") -> Shape:
    """In a function, one in the other."""

    def shape(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return f"def odd(n, a):\n    {before}{opening * depth}{middle}{closing * depth}{after}{_PASS}"

    return shape


def _blocks(header: str) -> Shape:
    """Blocks in blocks: the text grows with the square of their depth."""

    def shape(size: int) -> str:
        depth = int((2 * size) ** 0.5)
        return (
            "def odd(n, a):\n"
            + "".join(f"{' ' * (k + 1)}{header}\n" for k in range(depth))
            + f"{' ' * (depth + 1)}pass\n"
        )

    return shape


PYTHON_SHAPES: dict[str, Shape] = {
    "a long word": _python("x"),
    "many words": _python("x "),
    "words on lines": _python("x\n"),
    "digits": _python("1"),
    "blanks": _python(" "),
    "blank lines": _python("\n"),
    "carriage returns": _python("x = §\r\n"),
    "backslashes": _python("\\"),
    "line continuations": _python("\\\n", "x = "),
    "letters beyond ASCII": _python("ä"),
    "NUL": _python("\0"),
    "strings": _python('"s" ', "x = "),
    "a string that is not closed": _python("s", 'x = "'),
    "strings that are not closed": _python('x = "s\n'),
    "long strings": _python('"""s"""\n'),
    "a long string that is not closed": _python("s\n", '"""'),
    "a long string with definitions": _python("def f§():\n    pass\n", '"""', '"""'),
    "a long string that is not closed before definitions": _python("def f§():\n    pass\n", '"""'),
    "long strings that are not closed": _python('"""'),
    "long strings before definitions": _python('"""x"""\ndef f§():\n    """y"""\n    pass\n'),
    "comments": _python("# c\n"),
    "comments in a function": _defined("# c\n    ", "pass "),
    "open parentheses": _python("("),
    "closed parentheses": _python(")"),
    "open parentheses on lines": _python("x = (\n"),
    "open parentheses before definitions": _python("x = (\ndef f§():\n    pass\n"),
    "parentheses in parentheses": _within("(", "1", ")", "x = "),
    "calls in calls": _within("f(", "1", ")", "x = "),
    "subscripts in subscripts": _within("a[", "1", "]", "x = "),
    "lists in lists": _within("[", "1", "]", "x = "),
    "lambdas": _defined("lambda: ", "x = ", "1"),
    "decorators": _python("@d\n", "", "def f():\n    pass"),
    "decorators of nothing": _python("@d\n"),
    "decorated functions": _python("@d\ndef f§():\n    pass\n"),
    "functions": _python("def f§(n):\n    return n\n"),
    "functions in one line": _python("def f§(n): return n\n"),
    "functions that call the one before": _python("def f§(n):\n    return n\ndef g§(n):\n    return f§(n)\n"),
    "functions that are half typed": _python("def f§(\n"),
    "functions with arrays": _python("def f§(a: 'float[:]'):\n    for i in range(10):\n        a[i] = §\n"),
    "functions in functions": _blocks("def f(n):"),
    "blocks in blocks": _blocks("if n:"),
    "loops in loops": _blocks("for i in range(n):"),
    "classes": _python("class C§:\n    pass\n"),
    "classes with methods": _python("class C§:\n    def m(self):\n        return self.x\n"),
    "classes in classes": _blocks("class C:"),
    "methods": _python("    def m§(self):\n        return self.x\n", "class C:\n"),
    "attributes of an object": _python("        self.x§ = §\n", "class C:\n    def m(self):\n"),
    "attributes": _python("x = a.m.m.m.m.m.m.m.m\n"),
    "imports": _python("import m§\n"),
    "imported names": _python("n§, ", "from m import (", ")"),
    "constants": _python("C§ = §\n"),
    "assignments": _defined("x§ = §\n    "),
    "assignments of one name": _defined("x = §\n    "),
    "updates of one name": _defined("x = x + §\n    ", "x = n\n    "),
    "assignments in one line": _defined("x = ", "", "1"),
    "tuples": _defined("x§, ", "", "y = n"),
    "sums": _defined("n + ", "x = ", "1"),
    "sums of elements": _defined("a[§] + ", "x = ", "1"),
    "conjunctions": _defined("n and ", "x = ", "1"),
    "comparisons": _defined("n < ", "x = ", "1"),
    "signs": _defined("- ", "x = ", "1"),
    "not": _defined("not ", "x = ", "1"),
    "ternaries": _defined("n if n else ", "x = ", "1"),
    "list elements": _python("1, ", "x = [", "]"),
    "entries of a dictionary": _python("§: §, ", "x = {", "}"),
    "arguments": _defined("n, ", "f(", ")"),
    "parameters": _python("p§, ", "def f(", "):\n    pass"),
    "parameters with annotations": _python("p§: int, ", "def f(", "):\n    pass"),
    "alternatives": _defined("elif n == §:\n        x = §\n    ", "if n:\n        x = 0\n    ", "x = 1"),
    "loops": _defined("for i in range(n):\n        a[i] = §\n    "),
    "array statements": _defined("a[:] = a + §\n    "),
    "loops of a module": _python("for i in range(10):\n    x[i] = §\n"),
    "while": _defined("while n:\n        n = n - §\n    "),
    "with": _defined("with f(§):\n        pass\n    "),
    "try": _defined("try:\n        pass\n    except E§:\n        pass\n    "),
    "statements in one line": _defined("x = §; "),
    "half-typed statements": _defined("x = \n    "),
    "half-typed calls": _defined("f(x, "),
    "global": _defined("global x§\n    "),
    "match": _defined("    case §:\n            x = §\n    ", "match n:\n    ", ""),
    "comprehensions": _defined("[i for i in range(n)] + ", "x = ", "[]"),
    "formatted strings": _defined("{n}", "x = f'", "'"),
    "returns in brackets": _python("return ", "x = ("),
    "functions that pass on": lambda n: "".join(f"def f{k}(a):\n    f{k + 1}(a)\n" for k in range(n // 26)),
    "constants that functions use": _python("C§ = 1\ndef f§(n):\n    return C§\n"),
    "names in turn": _defined("x§ = a\n    y§ = x§\n    "),
    "semicolons": _python(";"),
    "colons": _python(":"),
    "at signs": _python("@"),
    "cells of a notebook": _python("\x1e\nx = §\n"),
    "cells with magics": _python("\x1e\n%matplotlib inline\nx = §\n"),
    "magics in a cell": _python("%time x = §\n", "\x1e\n"),
    "commands in a cell": _python("!ls\n", "\x1e\n"),
    "questions in a cell": _python("x?\n", "\x1e\n"),
    "a command of many lines": _python("x \\\n", "\x1e\n!ls "),
    "functions in cells": _python("\x1e\ndef f§(n):\n    return n\n"),
}
