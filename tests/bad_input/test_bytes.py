"""Files that are not quite text, and files that are none."""

from __future__ import annotations

import pytest
from hostile import FIRST, LAST, between, function


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe", b"\xc3", b"\xe4\xf6\xfc", b"\xed\xa0\x80", b"\xf8\x88\x80\x80"]
)
@pytest.mark.parametrize("place", ["comment", "string"])
def test_invalid_utf_8_in_comments_and_strings_is_ordinary(check, garbage: bytes, place: str) -> None:
    before, after = {"comment": (b"/* ", b" */\n"), "string": (b'const char *s = "', b'";\n')}[place]
    found = check(FIRST.encode() + before + garbage + after + LAST.encode())
    assert found.keeps_the_good_ones()
    assert found.status == 0


def test_invalid_utf_8_in_code_costs_its_function(check) -> None:
    code = b"void odd(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = \xff\xfe;\n}\n"
    found = check(FIRST.encode() + code + LAST.encode())
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["syntax-error"]


def test_positions_behind_invalid_utf_8_are_right(check) -> None:
    found = check(b"/* \xff\xe4 */ void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n")
    (loop,) = found.object["loops"]
    assert loop["range"] == {"start": {"line": 0, "character": 36}, "end": {"line": 0, "character": 63}}


def test_a_byte_order_mark_is_not_part_of_the_code(check) -> None:
    assert check(b"\xef\xbb\xbf" + FIRST.encode() + LAST.encode()).keeps_the_good_ones()


def test_nul_bytes_are_pointed_out(check) -> None:
    found = check(between("\0\0\0"))
    assert found.keeps_the_good_ones()
    (message,) = found.messages("syntax-error")
    assert message.startswith("6: ") and "NUL" in message


def test_nul_bytes_in_a_function_are_pointed_out(check) -> None:
    found = check(function("for (int i = 0; i < n; i++)\n    a\0[i] = 0.0;"))
    assert found.keeps_the_good_ones()
    (message,) = found.messages("syntax-error")
    assert message.startswith("9: ") and "NUL" in message


def test_a_binary_file_is_told_from_source(check) -> None:
    found = check(b"\x7fELF\x02\x01\x01\0\0\0\0" + bytes(range(256)) * 200)
    assert found.object["loops"] == []
    assert "NUL" in " ".join(found.messages("syntax-error"))


def test_an_empty_file_has_no_loops(check) -> None:
    for nothing in ("", "\n", " \t\r\n\f\v"):
        found = check(nothing)
        assert (found.status, found.object["loops"], found.object["diagnostics"]) == (0, [], [])


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_other_systems(check, end: str) -> None:
    found = check((FIRST + LAST).replace("\n", end))
    assert found.keeps_the_good_ones()
    assert [loop["range"]["start"]["line"] for loop in found.object["loops"]] == [2, 7]
