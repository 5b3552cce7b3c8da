"""Files, lines, tables and names of sizes beyond hand-written code."""

from __future__ import annotations

import pytest
from hostile import LAST, between, function

MILLION = 1_000_000
LOOP = "for (int i = 0; i < n; i++) "


@pytest.mark.parametrize(
    "line",
    [
        f"/* {'x' * MILLION} */",
        f"// {'x' * MILLION}",
        f'const char *s = "{"x" * MILLION}";',
        f"int {'x' * MILLION};",
        " " * MILLION,
        f"#define LONG {'1 + ' * 200_000} 1",
        f"int {', '.join(f'v{k}' for k in range(150_000))};",
    ],
    ids=["comment", "line comment", "string", "name", "blanks", "macro", "declaration"],
)
def test_a_line_of_a_million_characters(check, line: str) -> None:
    assert check(between(line)).keeps_the_good_ones()


def test_an_expression_of_a_million_characters(check) -> None:
    found = check(function(f"{LOOP} a[i] = {'a[i] + ' * 140_000} 1.0;"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["budget"]
    assert found.messages("budget") == ["6: This function is too long to be analysed. Split the function."]


def test_code_behind_a_million_characters_in_the_same_line(check) -> None:
    found = check(f"/* {'x' * MILLION} */ {LAST}")
    (loop,) = found.object["loops"]
    assert loop["range"]["start"] == {"line": 2, "character": 4}


def test_a_hundred_thousand_lines_between_functions(check) -> None:
    found = check(between("\n".join(f"int v{k};" for k in range(100_000))))
    assert found.keeps_the_good_ones()
    assert found.object["loops"][-1]["range"]["start"]["line"] == 100_000 + 7


def test_a_hundred_thousand_blank_lines_in_a_function(check) -> None:
    found = check(function(f"{LOOP}\n{chr(10) * 100_000} a[i] = a[0];"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["sequential"]


def test_many_thousands_of_statements_in_a_function(check) -> None:
    found = check(function("a[0] = 1.0;\n" * 20_000 + f"{LOOP} a[i] = 0.0;"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") in (["parallel"], ["budget"])


def test_a_table_of_a_hundred_thousand_numbers(check) -> None:
    numbers = ", ".join(str(k * 37 % 1001) for k in range(100_000))
    table = f"static const double table[] = {{{numbers}}};\n"
    use = f"void use(int n, double *restrict a)\n{{\n    {LOOP} a[i] = table[i];\n}}"
    found = check(between(table + use))
    assert found.keeps_the_good_ones()
    assert found.verdicts("use") == ["parallel"]


def test_a_table_of_many_thousands_of_numbers_in_a_function(check) -> None:
    numbers = ", ".join(str(k * 37 % 1001) for k in range(10_000))
    found = check(function(f"static const int table[] = {{{numbers}}};\n{LOOP} a[i] = table[i];"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["parallel"]


def test_five_hundred_functions_in_one_line(check) -> None:
    text = "".join(f"void f{k}(int n, double *a) {{ {LOOP} a[i] = {k}; }} " for k in range(500))
    found = check(text)
    assert [loop["verdict"] for loop in found.object["loops"]] == ["parallel"] * 500


def test_numbers_beyond_all_types(check) -> None:
    found = check(function(f"for (int i = 0; i < {'9' * 5000}; i++) a[i] = 0.0;"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["unsupported-statement"]
    (said,) = found.messages("not-analyzable")
    assert "`99999" in said
    assert len(said) < 300, "a message is a sentence"


def test_arrays_beyond_all_memory(check) -> None:
    found = check(function(f"static double big{'[2147483647]' * 6}; {LOOP} big{'[i]' * 6} = 0.0;"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["parallel"]


def test_an_assumption_about_a_hundred_arrays_is_still_a_sentence(check) -> None:
    names = [f"a{k}" for k in range(100)]
    parameters = ", ".join(["int n", *(f"double *{name}" for name in names)])
    found = check(function(LOOP + "{" + " ".join(f"{name}[i] = 0.0;" for name in names) + "}", parameters))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") in (["parallel"], ["budget"])
    assert all(len(each["message"]) < 400 for each in found.object["diagnostics"])
