"""Headers that include themselves, and macros that grow without end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import FIRST, between, function

LOOP = "for (int i = 0; i < n; i++) "


def test_a_header_that_includes_itself(check) -> None:
    Path("self.h").write_text('#include "self.h"\nint from_header(int x);\n')
    found = check('#include "self.h"\n' + between(""))
    assert found.keeps_the_good_ones()
    assert found.messages("missing-header") == [
        "1: `self.h` includes itself without end: give it an include guard."
    ]


def test_headers_that_include_each_other(check) -> None:
    Path("a.h").write_text('#include "b.h"\n#define SHIFT 1\n')
    Path("b.h").write_text('#include "a.h"\n')
    found = check('#include "a.h"\n' + function(f"{LOOP} a[i + SHIFT] = a[i];"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["sequential"], "what the headers say is known nevertheless"
    (said,) = found.messages("missing-header")
    assert said.startswith("1: ") and "includes itself without end" in said


def test_a_header_that_includes_itself_twice_is_not_read_endlessly(check) -> None:
    Path("twice.h").write_text('#include "twice.h"\n#include "twice.h"\n')
    found = check('#include "twice.h"\n' + between(""))
    assert found.keeps_the_good_ones()
    assert len(found.messages("missing-header")) == 1


def test_a_file_that_includes_itself(check) -> None:
    assert check('#include "bad.c"\n' + between("")).keeps_the_good_ones()


def test_headers_that_include_each_other_with_guards_are_ordinary(check) -> None:
    for one, other in ("ab", "ba"):
        guarded = f'#ifndef {one}_H\n#define {one}_H\n#include "{other}.h"\n#endif\n'
        Path(f"{one}.h").write_text(guarded)
    found = check('#include "a.h"\n' + between(""))
    assert found.keeps_the_good_ones()
    assert found.messages("missing-header") == []


def test_a_chain_of_a_thousand_headers(check) -> None:
    for k in range(1000):
        Path(f"h{k}.h").write_text(f'#include "h{k + 1}.h"\n')
    found = check('#include "h0.h"\n' + between(""))
    assert found.keeps_the_good_ones()
    assert len(found.messages("missing-header")) == 1


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\0\0", b"\x7fELF\0\0", b'"', b"/*", b"{", b")", b"#if 1", b"'"]
)
def test_a_header_that_is_no_text(check, content: bytes) -> None:
    Path("odd.h").write_bytes(content)
    assert check('#include "odd.h"\n' + between("")).keeps_the_good_ones()


def test_a_header_that_is_a_folder(check) -> None:
    Path("odd.h").mkdir()
    found = check('#include "odd.h"\n' + between(""))
    assert found.keeps_the_good_ones()
    (said,) = found.messages("missing-header")
    assert said.startswith("1: The header `odd.h` was not found")


def doubling(count: int) -> str:
    return "#define B0 1.0\n" + "".join(f"#define B{k + 1} B{k} + B{k}\n" for k in range(count))


@pytest.mark.parametrize(
    ("macros", "use", "named"),
    [
        (doubling(40), "B40", "`B40`"),
        ("#define TWICE(x) x x\n", "TWICE(" * 40 + "+ 1" + ")" * 40, "`TWICE`"),
        (doubling(5000), "B5000", "`B5000`"),
        ("#define SAME(x) x\n", "SAME(" * 3000 + "1" + ")" * 3000, "`SAME`"),
    ],
    ids=["doubling", "arguments", "long chain", "deep arguments"],
)
def test_a_macro_bomb_costs_the_function_that_uses_it(check, macros: str, use: str, named: str) -> None:
    found = check(macros + function(f"{LOOP} a[i] = {use};"))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["budget"]
    (said,) = found.messages("budget")
    assert f"The macro {named} expands to far too much code to be analysed." in said


def test_a_macro_bomb_outside_functions_is_pointed_out(check) -> None:
    found = check(doubling(40) + between("double table[] = { B40 };"))
    assert found.keeps_the_good_ones()
    (said,) = found.messages("budget")
    assert "`B40` expands to far too much code" in said


def test_a_macro_bomb_in_a_condition_is_not_waited_for(check) -> None:
    found = check(doubling(40) + between("#if B40\nint x;\n#endif"))
    assert found.keeps_the_good_ones()


def test_a_macro_bomb_that_nobody_uses_is_harmless(check) -> None:
    found = check(doubling(40) + FIRST)
    assert found.object["diagnostics"][0]["code"] == "parallel-loop"
    assert len(found.object["diagnostics"]) == 1


def test_macros_that_name_themselves_end(check) -> None:
    macros = "#define a a\n#define AGAIN(x) AGAIN(x) + x\n#define PING PONG\n#define PONG PING\n"
    found = check(macros + function(f"double PING = 1.0, PONG = 1.0; {LOOP} a[i] = PING;"))
    assert found.keeps_the_good_ones()
