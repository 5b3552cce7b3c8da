"""Texts for the torture of the server, and edits of them. What an edit makes of a text is worked out here
anew."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A text and the version that the client gave it."""

    text: str
    version: int


_FUNCTIONS_IN_C = """\
void fill(int n, double *a)
{
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
----
void chain(int n, double *a)
{
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1] + 1;
}
----
double sum(int n, double *a)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
----
void grid(int n, double a[n][n])
{
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = a[i - 1][j];
}
----
void race(int n, int *a)
{
    #pragma omp parallel for
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
}
----
#define SIZE 10
static int table[SIZE];
void clear(void) { for (int i = 0; i < SIZE; i++) table[i] = i; }
----
void many(int n, int *idx, double *a) { for (int i = 0; i < n; i++) a[idx[i]] += 1; }
----
void call(int n, double *a) { for (int i = 0; i < n; i++) fill(n, a); }
----
/* größer 😀 */ void wide(int n, float *a) { /* é */ for (int i = 0; i < n; i++) a[i] *= 2; }
"""

_FUNCTIONS_IN_PYTHON = """\
import numpy as np

----
def fill(a, n):
    for i in range(n):
        a[i] = 0

----
def chain(a: "np.ndarray", n):
    for i in range(1, n):
        a[i] = a[i - 1] + 1  # größer 😀

----
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s

----
def grid(a, b):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            a[i, j] = b[j, i]

"""

_POOLS = {
    "c": _FUNCTIONS_IN_C.split("----\n"),
    "python": _FUNCTIONS_IN_PYTHON.split("----\n"),
}
_WORDS = [
    *(
        "i",
        "n",
        "a[i]",
        "+ 1",
        "- 1",
        ";",
        "{",
        "}",
        "(",
        ")",
        "0",
        "\n",
        " ",
        "/* ",
        "*/",
        "// ",
        '"',
        "'",
        "😀",
    ),
    *(
        "for",
        "for (int k = 0; k < n; k++)",
        "#if 0\n",
        "#endif\n",
        "#define n 4\n",
        "\t",
        "# ",
        '"""',
        ":",
        "\\\n",
    ),
]
_SWAPS = [
    ("i - 1", "i + 1"),
    ("i + 1", "i - 1"),
    ("0", "1"),
    ("<", "<="),
    ("+=", "="),
    ("a[i]", "a[0]"),
    ("n", "m"),
]


def program(draw: random.Random, language: str) -> str:
    """A few functions, one after the other."""
    pool = _POOLS[language]
    return "".join(draw.sample(pool, draw.randrange(1, len(pool))))


def edited(draw: random.Random, text: str, language: str, encoding: str) -> tuple[Json, str]:
    """A change as the protocol has it, and the text after it."""
    if draw.random() < 0.05:
        whole = program(draw, language)
        return {"text": whole}, whole
    start, end, new = draw.choice((_word, _swap, _line, _function))(draw, text, language)
    one, other = position(text, start, encoding), position(text, end, encoding)
    if draw.random() < 0.1 and text[end : end + 1] == "\n":
        other = {**other, "character": other["character"] + 50}  # beyond its line's end, which is meant
    if draw.random() < 0.05:
        end, other = len(text), {"line": text.count("\n") + draw.choice((1, 50)), "character": 7}
    if draw.random() < 0.1:
        one, other = other, one  # the wrong way round: the text between the two is meant
    return {"range": {"start": one, "end": other}, "text": new}, text[:start] + new + text[end:]


def position(text: str, offset: int, encoding: str) -> Json:
    """Position of an offset: its line, and the units of the encoding before it there."""
    before = text[:offset]
    line = before.count("\n")
    last = before[before.rfind("\n") + 1 :]
    return {"line": line, "character": _units(last, encoding)}


def _units(text: str, encoding: str) -> int:
    return (
        len(text.encode(f"{encoding}-le" if encoding != "utf-8" else encoding))
        // {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    )


Replaced = tuple[int, int, str]


def _word(draw: random.Random, text: str, _language: str) -> Replaced:
    """Something typed, or a few letters taken away."""
    start = draw.randrange(len(text) + 1)
    end = min(len(text), start + draw.choice((0, 0, 0, 1, 3)))
    return start, end, draw.choice(_WORDS) if draw.random() < 0.7 else ""


def _swap(draw: random.Random, text: str, language: str) -> Replaced:
    """A small change that keeps most programs whole."""
    old, new = draw.choice(_SWAPS)
    places = [found.start() for found in re.finditer(re.escape(old), text)]
    if not places:
        return _word(draw, text, language)
    start = draw.choice(places)
    return start, start + len(old), new


def _line(draw: random.Random, text: str, _language: str) -> Replaced:
    """A line deleted or written twice."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    number = draw.randrange(len(starts))
    start, end = starts[number], starts[number + 1] if number + 1 < len(starts) else len(text)
    return (start, end, "") if draw.random() < 0.5 else (end, end, text[start:end])


def _function(draw: random.Random, text: str, language: str) -> Replaced:
    """A function pasted at the start, at the end, or at an empty line."""
    starts = [0, len(text), *(found.start() for found in re.finditer(r"\n(?=\S)", text))]
    at = draw.choice(starts)
    return at, at, "\n" + draw.choice(_POOLS[language])
