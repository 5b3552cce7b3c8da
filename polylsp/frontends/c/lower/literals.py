"""Values of C literals."""

from __future__ import annotations

import ast

from polylsp.frontends.c.lower.types import DOUBLE, INT
from polylsp.model.program import Floating, Integer, Type


def number(text: str) -> tuple[int | float, Type] | None:
    """The value and type of a numeric literal (C11 6.4.4), or `None` if it is not one."""
    lower = text.lower().replace("'", "")
    hexadecimal = lower.startswith("0x")
    if "." in lower or ("p" in lower if hexadecimal else "e" in lower):
        return _floating(lower, hexadecimal)
    digits = lower.rstrip("ul")
    try:
        value = _integer(digits)
    except ValueError:
        return None
    if value.bit_length() > 64:
        return None  # No type of C holds it.
    return value, _integer_type(value, lower[len(digits) :], decimal=not (lower[0] == "0" and len(lower) > 1))


def character(text: str) -> int | None:
    """The value of a character literal."""
    start = text.find("'")
    escaped = text[start:].replace("\\?", "?").replace("\\e", "\\x1b")
    try:
        decoded = ast.literal_eval(escaped)
    except (SyntaxError, ValueError):
        return None
    if len(decoded) != 1:
        return None
    value = ord(decoded)
    # Plain `char` is signed: '\xff' is -1.
    return value - 256 if start == 0 and 128 <= value < 256 else value


def string(text: str) -> str | None:
    """The characters of a string literal, without the final NUL."""
    try:
        parts = text[text.index('"') :]
        return ast.literal_eval("(" + parts + ")")
    except (SyntaxError, ValueError):
        return None


def _floating(lower: str, hexadecimal: bool) -> tuple[float, Type] | None:
    type = DOUBLE
    if lower[-1] == "l":
        lower, type = lower[:-1], Floating(80)
    elif lower[-1] == "f" and (not hexadecimal or "p" in lower):
        lower, type = lower[:-1], Floating(32)
    try:
        return (float.fromhex(lower) if hexadecimal else float(lower)), type
    except (ValueError, OverflowError):
        return None


def _integer(digits: str) -> int:
    if digits.startswith(("0x", "0b")):
        return int(digits, 0)
    return int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)


def _integer_type(value: int, suffix: str, decimal: bool) -> Type:
    """The first type of C's list that holds the value."""
    for bits in (64,) if "l" in suffix else (32, 64):
        if "u" not in suffix and value < 1 << (bits - 1):
            return Integer(bits, True)
        if ("u" in suffix or not decimal) and value < 1 << bits:
            return Integer(bits, False)
    return Integer(64, False) if value >= 1 << 63 else INT
