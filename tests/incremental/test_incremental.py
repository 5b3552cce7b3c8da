"""An edit asks anew only what it may have changed.

`expand` reads the text of one function, `lowered` and `decided` see its tokens and the declarations
that they need, `summarised` tells callers what a function reads and writes, `_environment` reads
what stands outside functions.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from asking import Edited

PROGRAM = """\
#include <math.h>
#include "own.h"
#define N 100
#define AT(i, j) ((i) * N + (j))

struct point { double x, y; };

static double total;

static double twice(double x)
{
    double y = x;
    return y + x;
}

void scale(int n, double *a)
{
    for (int i = 0; i < n; i++)
        a[i] = twice(a[i]);
}

void fill(double *grid)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            grid[AT(i, j)] = 0.0;
}

void move(int n, struct point *p, double by)
{
    for (int i = 1; i < n; i++)
        p[i].x += by;
}
"""


@pytest.fixture
def edited(edit) -> Edited:
    return edit(PROGRAM)


def everything_about(*functions: str) -> set[str]:
    return {f"{query} {name}" for query in ("expand", "lowered", "decided") for name in functions}


def beside_the_environment(asked: set[str]) -> set[str]:
    return asked - {"_environment"}


# --- nothing, or next to nothing -------------------------------------------------------------


def test_the_first_time_everything_is_asked(edit) -> None:
    opened = edit("")
    opened.text = PROGRAM
    assert opened.asked() == {
        "_environment",
        "summarised twice",
        *everything_about("twice", "scale", "fill", "move"),
    }


def test_the_same_text_asks_nothing(edited: Edited) -> None:
    assert edited.asked() == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("void fill(", "/* Sets all\n   to zero. */\nvoid fill("),
        ("void fill(", "\n\n\nvoid fill("),
        ("    return y + x;\n}\n", "    return y + x;\n}   // that was it\n"),
        ("p[i].x += by;\n}\n", "p[i].x += by;\n}\n\n/* the end */\n"),
    ],
)
def test_a_comment_between_functions_asks_nothing_of_them(edited: Edited, old: str, new: str) -> None:
    assert beside_the_environment(edited.after(old, new)) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("            grid[AT", "            /* zero */ grid[AT"),
        ("            grid[AT", "// zero\n            grid[AT"),
        ("    for (int i = 0; i < N; i++)", "  for (int i = 0;\n       i < N; i++)"),
        ("void fill(double *grid)\n{", "void fill(double * grid) {"),
    ],
)
def test_layout_and_comments_inside_a_function_only_move_its_tokens(
    edited: Edited, old: str, new: str
) -> None:
    assert beside_the_environment(edited.after(old, new)) == {"expand fill"}
    assert edited.verdicts("fill") == ["parallel", "parallel"]


def test_an_edit_taken_back_asks_nothing_new(edited: Edited) -> None:
    edited.after("p[i].x += by;", "p[i].x += p[i - 1].x;")
    assert edited.after("p[i].x += p[i - 1].x;", "p[i].x += by;") == set()


def test_functions_in_another_order_are_the_same_functions(edited: Edited) -> None:
    start = PROGRAM.index("void fill(")
    end = PROGRAM.index("void move(")
    edited.text = PROGRAM[:start] + PROGRAM[end:] + "\n" + PROGRAM[start:end]
    assert beside_the_environment(edited.asked()) == set()


# --- one function ------------------------------------------------------------------------------


def test_an_edit_of_one_function_asks_of_that_function(edited: Edited) -> None:
    assert edited.verdicts("move") == ["parallel"]
    assert edited.after("p[i].x += by;", "p[i].x += p[i - 1].x;") == everything_about("move")
    assert edited.verdicts("move") == ["sequential"]


def test_a_half_typed_function_asks_of_that_function(edited: Edited) -> None:
    asked = edited.after("    for (int i = 0; i < N; i++)\n", "    for (int i = 0; i <\n")
    assert asked == everything_about("fill")
    assert edited.verdicts("move") == ["parallel"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("i < N; i++)\n", "i < N; i++) {\n"), ("AT(i, j)] = 0.0;", "AT(i, j)] = 0.0; }")],
)
def test_a_brace_without_its_partner_asks_of_that_function(edited: Edited, old: str, new: str) -> None:
    asked = beside_the_environment(edited.after(old, new))
    assert {told for told in asked if not told.endswith(" fill")} == set()
    assert edited.verdicts("scale") == edited.verdicts("move") == ["parallel"]


def test_a_new_function_asks_of_itself(edited: Edited) -> None:
    new = "void clear(int n, int *k)\n{\n    for (int i = 0; i < n; i++)\n        k[i] = 0;\n}\n\n"
    asked = edited.after("void fill(", f"{new}void fill(")
    assert beside_the_environment(asked) == everything_about("clear")


# --- what functions see of the file --------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#define N 100\n", "#define N 100\n#define UNRELATED 7\n"),
        ("static double total;\n", "static double total;\nint unrelated(int x);\n"),
        ("static double total;\n", "static double total, unrelated[10];\n"),
        ("#include <math.h>\n", "#include <math.h>\n#include <stdlib.h>\n"),
        ("static double total;\n", "static double total;\ntypedef int unrelated;\n"),
    ],
)
def test_an_unrelated_declaration_asks_of_no_function(edited: Edited, old: str, new: str) -> None:
    assert edited.after(old, new) == {"_environment"}


def test_a_macro_asks_of_the_functions_that_use_it(edited: Edited) -> None:
    asked = edited.after("((i) * N + (j))", "((i) * (N + 1) + (j))")
    assert asked == {"_environment", *everything_about("fill")}


def test_a_macro_inside_a_macro_does_too(edited: Edited) -> None:
    assert edited.after("#define N 100", "#define N 200") == {"_environment", *everything_about("fill")}


def test_a_type_asks_of_the_functions_that_use_it(edited: Edited) -> None:
    asked = edited.after("double x, y; }", "double x, y, z; }")
    assert asked == {"_environment", "lowered move", "decided move"}


def test_a_header_asks_of_the_functions_that_use_it(edited: Edited) -> None:
    header = edited.path.with_name("own.h")
    header.write_text("int unrelated(void);\n")
    assert edited.asked() == {"_environment"}
    header.write_text("#define by (by * 2.0)\n")
    assert edited.asked() == {"_environment", *everything_about("move")}


# --- what functions see of each other --------------------------------------------------------------


def test_a_callee_that_does_the_same_in_another_way_asks_nothing_of_its_callers(edited: Edited) -> None:
    asked = edited.after("double y = x;", "double y = 1.0 * x;")
    assert asked == {"summarised twice", *everything_about("twice")}


def test_a_callee_that_does_something_else_asks_of_its_callers(edited: Edited) -> None:
    assert edited.verdicts("scale") == ["parallel"]
    asked = edited.after("double y = x;", "total = total + x; double y = total;")
    assert beside_the_environment(asked) == {
        "summarised twice",
        "decided scale",
        *everything_about("twice"),
    }
    assert edited.verdicts("scale") == ["sequential"]


def test_a_callee_with_another_value_asks_of_its_callers(edit) -> None:
    shift = edit(
        "static int before(int i) { return i - 1; }\n"
        "void f(int n, double *a) { for (int i = 1; i < n; i++) a[i] = a[before(i)]; }\n"
        "void g(int n, double *a) { for (int i = 1; i < n; i++) a[i] = 0.0; }\n"
    )
    assert shift.verdicts("f") == ["sequential"]
    asked = shift.after("return i - 1;", "return i;")
    assert asked == {"summarised before", "decided f", *everything_about("before")}
    assert shift.verdicts("f") == ["parallel"]


def test_a_function_that_reads_what_a_call_leaves_asks_of_the_others(edit) -> None:
    signs = edit(
        "#include <math.h>\n"
        "static void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = lgamma(a[i]); }\n"
        "int g(int n, double *a) { f(n, a); return 0; }\n"
    )
    assert signs.verdicts("f") == ["parallel"]
    signs.after("return 0;", "return signgam;")
    assert signs.verdicts("f") == ["unknown"]
    signs.after("return signgam;", "return 0;")
    assert signs.verdicts("f") == ["parallel"]


# --- requested depth --------------------------------------------------------------------------


def test_schedules_are_asked_for_once(edited: Edited) -> None:
    assert edited.asked(schedules=False) == set()
    edited.text = PROGRAM.replace("p[i].x += by;", "p[i].x = by;")
    assert edited.asked(schedules=False) == everything_about("move")
    assert edited.asked(schedules=True) == {"decided move"}
    assert edited.asked(schedules=False) == set()


def test_an_action_does_not_wait_for_schedules(edited: Edited) -> None:
    edited.text = PROGRAM.replace("p[i].x += by;", "p[i].x = by;")
    assert edited.asked(schedules=False) == everything_about("move")
    assert edited.acted("openmp", "move") == set()
    assert edited.asked(schedules=True) == {"decided move"}
    assert edited.acted("openmp", "move") == set()


def test_another_budget_decides_again(edited: Edited) -> None:
    edited.settings = replace(edited.settings, max_operations=3_000_000)
    assert edited.asked() == {f"decided {name}" for name in ("twice", "scale", "fill", "move")}


def test_a_directive_belongs_to_its_function_and_the_white_space_in_it_to_no_one(edit) -> None:
    edited = edit(PROGRAM.replace("    for (int i = 1;", "#pragma omp parallel for\n    for (int i = 1;"))
    edited.asked()
    assert edited.after("omp parallel for\n", "omp  parallel  for  // threads\n") == {"expand move"}
    assert edited.after("parallel  for ", "parallel  for private(by) ") == everything_about("move")
    assert [d.words for d in _directives(edited)] == ["parallel for"]
    assert edited.after("private(by)", "") == {"expand move"}


def _directives(edited: Edited):
    assert edited.report is not None
    return [d for placed in edited.report.functions for d in placed.answer.facts.directives]
