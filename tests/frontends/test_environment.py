"""Environment of a file's functions: headers, macros and declarations, and the needs of each function."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from polylsp.core.query import recording
from polylsp.frontends.c.compile_options import Options
from polylsp.frontends.c.environment import (
    Environment,
    Expanded,
    environment_of,
    expand,
    needed,
    place,
    used_macros,
)
from polylsp.frontends.c.file_reading import BUNDLED
from polylsp.frontends.c.outline import outline

FILE = "/nowhere/a.c"
HEADERS = sorted(
    str(path.relative_to(BUNDLED)) for path in BUNDLED.rglob("*.h") if "polylsp" not in path.name
)


def read(text: str, path: str = FILE, options: Options | None = None) -> Environment:
    return environment_of(outline(text).items, path, options or Options())


def function(text: str, name: str, path: str = FILE, options: Options | None = None) -> tuple[str, list[str]]:
    """The expanded text of a function and the declarations it needs."""
    items = outline(text).items
    known = environment_of(items, path, options or Options())
    at = next(k for k, item in enumerate(items) if item.name == name)
    macros = known.macros_at(at)
    assert macros is not None
    made = expand(items[at].text, used_macros(items[at].text, macros))
    assert isinstance(made, Expanded)
    return " ".join(made.texts), [" ".join(one.tokens) for one in needed(known, made.texts)]


def messages(text: str, path: str = FILE, options: Options | None = None) -> list[tuple[str, str]]:
    """Each problem as its code and the text it is placed at."""
    items = outline(text).items
    found: list[tuple[str, str]] = []
    for problem in environment_of(items, path, options or Options()).problems:
        item = items[problem.item]
        span = place(problem, item)
        found.append((problem.code, item.text[span.start : span.end]))
    return found


def test_each_function_sees_the_macros_in_force_where_it_starts():
    text = "#define N 1\nint f(void) { return N; }\n#undef N\n#define N 2\nint g(void) { return N; }\n"
    assert function(text, "f")[0] == "int f ( void ) { return 1 ; }"
    assert function(text, "g")[0] == "int g ( void ) { return 2 ; }"


def test_macros_defined_in_a_body_reach_later_functions():
    text = "void f(void) {\n#define K 3\n}\nint g(void) { return K; }\n"
    assert function(text, "g")[0].endswith("return 3 ; }")


def test_functions_left_out_by_a_conditional_have_no_macros():
    text = "#if 0\nint f(void) { }\n#else\nint g(void) { }\n#endif\n"
    items = outline(text).items
    known = environment_of(items, FILE, Options())
    active = {
        item.name: known.macros_at(k) is not None for k, item in enumerate(items) if item.kind == "function"
    }
    assert active == {"f": False, "g": True}


def test_a_function_needs_what_it_names_and_what_that_names():
    text = (
        "typedef double real;\nenum { ROWS = 4, COLS };\nstruct cell { real v[ROWS]; struct cell *next; };\n"
        "typedef struct cell cell_t;\nextern cell_t grid[ROWS][COLS], *cursor;\nint unrelated;\n"
        "static int (*compare)(const void *, real);\nvoid other(void);\n"
        "real f(cell_t *c) { return grid[0][0].v[1] + compare(0, 1); }\n"
    )
    needs = function(text, "f")[1]
    assert needs == [
        "typedef double real ;",
        "enum { ROWS = 4 , COLS } ;",
        "struct cell { real v [ ROWS ] ; struct cell * next ; } ;",
        "typedef struct cell cell_t ;",
        "extern cell_t grid [ ROWS ] [ COLS ] , * cursor ;",
        "static int ( * compare ) ( const void * , real ) ;",
        "real f ( cell_t * c ) ;",
    ]


def test_unrelated_additions_change_nothing_for_a_function():
    text = "int g(int);\nint f(void) { return g(1); }\n"
    changed = "#define UNRELATED 1\nint h(int);\nstruct S { int g; };\n#include <math.h>\n" + text
    assert function(text, "f") == function(changed, "f")


def test_typing_in_a_body_does_not_read_the_file_again():
    text = "#include <stdio.h>\nint probe_f(void) { return 1; }\n"
    read(text)
    with recording() as ran:
        read(text.replace("return 1", "return 1 + 2"))
        assert ran == []
        read(text.replace("int probe_f(void)", "int probe_f(int a)"))
    assert [name for name, _ in ran] == ["_environment"]


def test_definitions_declare_their_functions():
    text = "static double g(double x) { return x; }\nmain(v) char **v; { g(1); }\nint k() { main(); }\n"
    assert function(text, "main")[1] == ["static double g ( double x ) ;", "int main ( ) ;"]
    assert "int main ( ) ;" in function(text, "k")[1]


def test_attributes_are_kept_as_information():
    text = (
        "double a(double) __attribute__((const));\n__attribute__((__pure__)) int b(int *p);\n"
        "[[gnu::const]] int c(int);\nint d(int);\nint f(void) { return a(b(c(d(1)))); }\n"
    )
    found = {one.name: (one.const, one.pure) for one in needed(read(text), ["a", "b", "c", "d"])}
    assert found == {"a": (True, False), "b": (False, True), "c": (True, False), "d": (False, False)}


def test_a_long_initialiser_is_replaced_by_its_extent():
    text = "static const int t[] = { " + "{1, 2}, " * 300 + "};\nint f(void) { return t[0]; }\n"
    assert function(text, "f")[1][0] == "static const int t [ 300 ] ;"


def test_headers_are_found_beside_the_file_then_on_the_include_path_then_bundled(tmp_path: Path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "a.h").write_text("#define WHERE 1\n")
    (tmp_path / "inc" / "a.h").write_text("#define WHERE 2\n")
    (tmp_path / "inc" / "b.h").write_text('#include "c.h"\n')
    (tmp_path / "inc" / "c.h").write_text("int from_c;\n")
    text = (
        '#include "a.h"\n#include "b.h"\n#include <limits.h>\nint f() { return WHERE + from_c + INT_MAX; }\n'
    )
    options = Options(include_paths=(str(tmp_path / "inc"),))
    shown, needs = function(text, "f", str(tmp_path / "a.c"), options)
    assert shown.endswith("return 1 + from_c + 2147483647 ; }")
    assert needs[0] == "int from_c ;"
    angle = text.replace('"a.h"', "<a.h>")
    assert "return 2 +" in function(angle, "f", str(tmp_path / "a.c"), options)[0]


def test_a_missing_header_is_one_finding_on_its_line():
    text = 'int a;\n#include "gone.h" // why\nint f(void) { return a; }\n'
    assert messages(text) == [("missing-header", '#include "gone.h" // why')]
    assert function(text, "f")[1] == ["int a ;", "int f ( void ) ;"]


def test_a_header_that_appears_or_changes_is_read_again(tmp_path: Path):
    text, path = '#include "late.h"\nint f(void) { return V; }\n', str(tmp_path / "a.c")
    assert len(messages(text, path)) == 1
    header = tmp_path / "late.h"
    for turn, value in enumerate(("1", "22")):
        header.write_text(f"#define V {value}\n")
        os.utime(header, (turn, turn))
        assert messages(text, path) == []
        assert function(text, "f", path)[0].endswith(f"return {value} ; }}")
    assert str(header) in read(text, path).headers


def test_cycles_and_guards(tmp_path: Path):
    (tmp_path / "loop.h").write_text('#include "loop.h"\nint x;\n')
    (tmp_path / "twin.h").write_text('#include "loop.h"\n#include "twin.h"\n#include "twin.h"\n')
    (tmp_path / "once.h").write_text('#pragma once\n#include "once.h"\nint y;\n')
    (tmp_path / "guard.h").write_text('#ifndef G\n#define G\n#include "guard.h"\nint z;\n#endif\n')
    path = str(tmp_path / "a.c")
    assert messages('#include "loop.h"\n', path) == [("missing-header", '#include "loop.h"')]
    assert {code for code, _ in messages('#include "twin.h"\n', path)} == {"missing-header"}
    assert messages('#include "once.h"\n#include "guard.h"\n', path) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#if A\nint x;\n", [("syntax-error", "#if A")]),
        ("#else\nint x;\n", [("syntax-error", "#else")]),
        ("#error stop here\n", [("syntax-error", "#error stop here")]),
        ("#if 0\n#error unseen\n#endif\n", []),
        ("#include\n", [("syntax-error", "#include")]),
        ("#define\n", [("syntax-error", "#define")]),
        ("#ifdef\n#ifndef\n#if\n#elif\n#endif\n#endif\n#endif\n", []),
        ("#if 1 +\n#endif\n#if (((\n#endif\n#if é\n#endif\n#unknown\n#\n", []),
        ("#if defined(__GNUC__) && __has_include(<x.h>)\n#endif\n", []),
        ("#if 'a' == 97 && 1 ? 2 : 0\n#else\n#error x\n#endif\n", []),
    ],
)
def test_odd_directives_are_findings_or_nothing(text: str, found: list[tuple[str, str]]):
    assert messages(text) == found


def test_a_macro_bomb_between_functions_is_a_finding():
    bomb = "#define X0 a,\n" + "".join(f"#define X{k + 1} X{k} X{k}\n" for k in range(40))
    assert messages(bomb + "int t[] = { X40 };\nint f(void) { }\n") == [("budget", "X40")]


def test_inline_functions_of_headers_keep_their_definition(tmp_path: Path):
    (tmp_path / "sq.h").write_text("static inline double sq(double x) { return x * x; }\nint after;\n")
    known = read('#include "sq.h"\n', str(tmp_path / "a.c"))
    square, after = needed(known, ["sq", "after"])
    assert " ".join(square.tokens) == "static inline double sq ( double x ) ;"
    assert " ".join(square.definition) == "static inline double sq ( double x ) { return x * x ; }"
    assert after.names == ("after",)


def test_options_define_undefine_and_include(tmp_path: Path):
    (tmp_path / "pre.h").write_text("#define FROM_PRE 5\n")
    options = Options(
        defines=("A", "B=2", "F(x)=[x]"), undefines=("__GNUC__",), forced_includes=(str(tmp_path / "pre.h"),)
    )
    text = "#ifdef __GNUC__\n#error x\n#endif\nint f(void) { return A + B + F(1) + FROM_PRE; }\n"
    assert messages(text, FILE, options) == []
    assert function(text, "f", FILE, options)[0].endswith("return 1 + 2 + [ 1 ] + 5 ; }")


def test_declarations_split_by_directives_stay_whole():
    text = (
        "struct S {\n  int a;\n#ifdef __GNUC__\n  int b;\n#else\n  int c;\n#endif\n};\n"
        "int f(struct S *s) { return s->b; }\n"
    )
    assert function(text, "f")[1][0] == "struct S { int a ; int b ; } ;"


def test_a_function_whose_header_has_branches():
    text = (
        "#ifdef __GNUC__\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return a;\n}\n"
        "int g(void) { return f(1); }\n"
    )
    assert function(text, "f")[0] == "int f ( int a ) { return a ; }"
    assert function(text, "g")[1] == ["int f ( int a ) ;", "int g ( void ) ;"]


@pytest.mark.parametrize("header", HEADERS)
def test_every_bundled_header_is_plain_c(header: str):
    from pycparser.c_parser import CParser

    known = read(f"#include <{header}>\n")
    assert known.problems == ()
    CParser().parse("\n".join(" ".join(one.tokens) for one in known.known.declarations))


CONSTANTS = {
    "limits.h": ["CHAR_BIT", "CHAR_MIN", "CHAR_MAX", "SHRT_MAX", "INT_MIN", "INT_MAX", "UINT_MAX",
        "LONG_MIN", "LONG_MAX", "ULONG_MAX", "LLONG_MIN", "ULLONG_MAX"],
    "stdint.h": ["INT8_MIN", "INT16_MAX", "INT32_MIN", "INT64_MAX", "UINT64_MAX", "SIZE_MAX",
        "INT_FAST16_MAX", "UINT_LEAST8_MAX", "INTMAX_MIN", "PTRDIFF_MAX", "WCHAR_MAX", "INT64_C(5)",
        "sizeof(INT64_C(5))", "sizeof(UINT32_C(5))", "sizeof(int_fast16_t)", "sizeof(intptr_t)",
        "sizeof(uint_least16_t)"],
    "float.h": ["FLT_MAX", "DBL_MAX", "DBL_MIN", "FLT_EPSILON", "DBL_EPSILON", "DBL_DIG",
        "LDBL_MANT_DIG", "DBL_MAX_EXP", "FLT_RADIX"],
    "stddef.h": ["sizeof(size_t)", "sizeof(wchar_t)", "sizeof(ptrdiff_t)", "sizeof(max_align_t)"],
    "stdlib.h": ["sizeof(div_t)", "sizeof(ldiv_t)", "RAND_MAX", "EXIT_FAILURE"],
    "stdio.h": ["EOF", "BUFSIZ", "SEEK_END", "sizeof(fpos_t)"],
    "time.h": ["sizeof(struct tm)", "sizeof(struct timespec)", "sizeof(time_t)", "CLOCKS_PER_SEC",
        "CLOCK_MONOTONIC"],
    "sys/time.h": ["sizeof(struct timeval)"],
    "sys/resource.h": ["sizeof(struct rusage)", "sizeof(struct rlimit)", "RUSAGE_CHILDREN"],
    "sys/stat.h": ["sizeof(struct stat)", "S_IFMT", "S_IRUSR"],
    "pthread.h": ["sizeof(pthread_t)", "sizeof(pthread_mutex_t)", "sizeof(pthread_cond_t)",
        "sizeof(pthread_attr_t)", "sizeof(pthread_barrier_t)", "sizeof(pthread_rwlock_t)"],
    "errno.h": ["ENOENT", "EINVAL", "ERANGE", "ENOSYS", "ETIMEDOUT", "EILSEQ", "ELOOP", "EDEADLK"],
    "math.h": ["M_PI", "M_E", "M_SQRT1_2", "FP_NAN", "FP_NORMAL"],
    "complex.h": ["sizeof(double complex)"],
    "setjmp.h": ["sizeof(jmp_buf)"],
    "fenv.h": ["FE_ALL_EXCEPT & FE_INEXACT", "FE_UPWARD", "sizeof(fexcept_t)", "sizeof(fenv_t)"],
    "signal.h": ["SIGSEGV", "SIGCHLD", "sizeof(sigset_t)", "sizeof(struct sigaction)"],
    "fcntl.h": ["O_CREAT", "O_TRUNC", "O_APPEND"],
    "sys/mman.h": ["MAP_ANONYMOUS", "PROT_WRITE"],
    "unistd.h": ["_SC_PAGESIZE", "_SC_NPROCESSORS_ONLN", "sizeof(ssize_t)", "sizeof(off_t)"],
    "inttypes.h": ["sizeof(PRId64)", "sizeof(PRIuMAX)", "sizeof(PRIx8)", "sizeof(imaxdiv_t)"],
    "wchar.h": ["sizeof(mbstate_t)", "sizeof(wint_t)"],
    "getopt.h": ["sizeof(struct option)", "required_argument"],
    "sched.h": ["sizeof(cpu_set_t)", "SCHED_FIFO"],
}  # fmt: skip


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("header", CONSTANTS)
def test_bundled_constants_and_sizes_agree_with_gcc(header: str, tmp_path: Path):
    """The bundled expansions print the same values and sizes as those of the system's headers."""
    expressions = CONSTANTS[header]
    uses = "".join(f"int u{k}(void) {{ return ({text}) == 0; }}\n" for k, text in enumerate(expressions))
    source = f"#include <{header}>\n{uses}"
    bundled = "".join(f"P({_inside(function(source, f'u{k}')[0])});\n" for k in range(len(expressions)))
    types = [one for one in read(source).known.declarations if _TYPES.intersection(one.tokens[:1])]
    declared = "\n".join(" ".join(one.tokens) for one in types if "__builtin_va_list" not in one.tokens)
    main = "int main(void) {\n%sreturn 0; }\n"
    system = "".join(f"P({text});\n" for text in expressions)
    assert _run(tmp_path, declared + _PRINT + main % bundled) == _run(
        tmp_path, f"#define _GNU_SOURCE 1\n#include <{header}>\n" + _PRINT + main % system
    )


_TYPES = {"typedef", "struct", "union", "enum"}
_PRINT = """
extern int printf(const char *restrict, ...);
#define P(x) printf("%.30Lg %d\\n", (long double)(x), (int)sizeof(x))
"""


def _inside(shown: str) -> str:
    """The expression in `int u ( void ) { return ( … ) == 0 ; }`."""
    return shown.partition("return ( ")[2].removesuffix(" ) == 0 ; }")


def _run(folder: Path, program: str) -> str:
    (folder / "p.c").write_text(program)
    made = subprocess.run(
        ["gcc", "-w", "p.c", "-o", "p"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr + program
    return subprocess.run(["./p"], cwd=folder, capture_output=True, text=True, check=True).stdout
