"""Syntax of Python 3.11 to 3.14, which every version that runs polylsp reads."""

from __future__ import annotations

import ast

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.frontends.python.syntax import in_older_words
from polylsp.frontends.python.words import tokenize
from polylsp.ir.verdict import Parallel

HEAD = "import numpy as np\nfrom numpy.typing import NDArray\n\n\n"
LOOP = "    for i in range(n):\n        a[i] = a[i] * 2.0\n"
PARAMETERS = "(n: int, a: NDArray[np.float64])"
DEF = f"def f{PARAMETERS}:\n"

TYPED = "def f[T: (int, float), *Ts, **P]"
METHOD = "class A[T](list[T]):\n    def f[S](self, n: int, a: NDArray[np.float64]):\n"
TRIED = "    try:\n        print(n)\n"

READ = {
    "type parameters": f"{TYPED}{PARAMETERS} -> None:\n{LOOP}",
    "defaults of type parameters": f"def f[T = dict[str, int]]{PARAMETERS}:\n{LOOP}",
    "a generic class": METHOD + "".join(f"    {line}\n" for line in LOOP.splitlines()),
    "exception groups": f"{DEF}{TRIED}    except* ValueError as e:\n        print(e)\n{LOOP}",
    "several exceptions": f"{DEF}{TRIED}    except KeyError, TypeError:\n        pass\n{LOOP}",
    "quotes in a field": f'{DEF}    x = f"{{", ".join(["a", "b"])}} {{n!r:>{{n}}}}"\n{LOOP}    return x\n',
    "a backslash in a field": f"{DEF}    x = f'{{chr(10) + '\\n'}}'\n{LOOP}    return x\n",
    "a template string": f'{DEF}    x = t"{{n}} of {{len("abc")=}}"\n{LOOP}    return x\n',
    "match": f"{DEF}    match n:\n        case [x, *y] if x > 2:\n            return\n{LOOP}",
    "a star in a subscript": f"{DEF}    print(a[*(0,)])\n{LOOP}",
    "a type statement": f"{DEF}    type Pair[T] = tuple[T, T]\n{LOOP}",
}


def verdicts(text: str) -> list[object]:
    functions = analyse("a.py", text, Settings(), schedules=False).functions
    return [loop.verdict for each in functions for loop in each.answer.facts.loops]


@pytest.mark.parametrize("text", READ.values(), ids=READ.keys())
def test_is_read(text: str) -> None:
    (found,) = verdicts(HEAD + text)
    assert isinstance(found, Parallel) and not found.assumptions, found


@pytest.mark.parametrize("alias", ["Vector = NDArray[np.float64]", "type Vector = NDArray[np.float64]"])
def test_a_name_for_a_type_is_that_type(alias: str) -> None:
    (found,) = verdicts(f"{HEAD}{alias}\n\n\ndef f(n: int, a: Vector):\n{LOOP}")
    assert isinstance(found, Parallel) and not found.assumptions
    (other,) = verdicts(f"{HEAD}Vector = unknown[0]\n\n\ndef f(n: int, a: Vector):\n{LOOP}")
    assert isinstance(other, Parallel) and other.assumptions


@pytest.mark.parametrize("string", ['f"{own("x")}"', 't"{own("x")}"', 'f"{n:{own("x")}}"'])
def test_calls_in_fields_keep_their_effects(string: str) -> None:
    text = f"{HEAD}from elsewhere import own\n\n\ndef f{PARAMETERS}:\n    for i in range(n):\n"
    (found,) = verdicts(f"{text}        a[i] = a[i] * 2.0\n        x = {string}\n")
    assert not isinstance(found, Parallel)


OLDER = {
    'f"{a!r} {{b}}"': 'f"{a!r} {{b}}"',
    "f'{d['k']:>{w['v']}}'": "('', (d['k']), (w['v']))[0]",
    "f'{x != y} {d['k'] = }'": "('', (x != y), (d['k']))[0]",
    "rf'{d['k']!r:\\d}'": "('', (d['k']))[0]",
    "t'plain'": "''",
}


@pytest.mark.parametrize(("token", "wanted"), OLDER.items())
def test_a_string_becomes_an_expression_with_its_fields(token: str, wanted: str) -> None:
    tokens = tokenize(token)
    assert tokens.texts == (token,)
    assert in_older_words(tokens.texts, tokens.lines) == (wanted,)
    ast.parse(wanted, mode="eval")


@pytest.mark.parametrize(
    "text", ["def f[T(n):\n    pass\n", 'x = f"{a["\n', "except* :\n", "type = 3\n", "type X\n"]
)
def test_half_typed_code_keeps_its_tokens(text: str) -> None:
    tokens = tokenize(text)
    assert len(in_older_words(tokens.texts, tokens.lines)) == len(tokens.texts)


def test_an_error_is_told_about_the_code_as_it_is() -> None:
    (placed,) = analyse("a.py", "def f[T](x):\n    y = = 3\n", Settings()).functions
    (problem,) = placed.answer.facts.problems
    assert problem.code == "syntax-error" and "invalid syntax" in problem.message
