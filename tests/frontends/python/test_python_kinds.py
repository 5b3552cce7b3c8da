"""Inferred kinds of names and expressions."""

from __future__ import annotations

import ast

import pytest

from polylsp.frontends.python.annotations import annotated, signature
from polylsp.frontends.python.callables import parameter_kinds
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.kinds import (
    BOOL,
    DOUBLE,
    INT,
    INT64,
    REAL,
    WHOLE,
    Array,
    Items,
    Kind,
    Number,
    Other,
    dtype_name,
    joined,
    wider,
)
from polylsp.ir.program import Floating, Integer


def told(text: str) -> Kind | None:
    return annotated(ast.parse(text, mode="eval").body, {})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int", WHOLE),
        ("np.float32", Number(Floating(32))),
        ("npt.NDArray[np.int64]", Array(INT64, -1)),
        ("npt.NDArray", Array(DOUBLE, -1, assumed=True)),
        ("np.ndarray[tuple[int, int], np.dtype[np.float32]]", Array(Floating(32), 2)),
        ("Float[Array, 'n m k']", Array(DOUBLE, 3)),
        ("'NDArray[np.float64]'", Array(DOUBLE, -1)),
        ("f8[:, ::1]", Array(DOUBLE, 2)),
        ("Optional[int]", WHOLE),
        ("int | float", REAL),
        ("tuple[int, float]", Items((WHOLE, REAL))),
        ("list[float]", Array(DOUBLE, 1, lists=True)),
        ("list[list[int]]", Array(INT64, 2, lists=True)),
        ("list[str]", Other("a list")),
        ("Solver", None),
    ],
)
def test_annotations(text: str, kind: Kind | None) -> None:
    assert told(text) == kind


def test_signatures_of_numba() -> None:
    found = signature("f8(f8[:,:], i4, boolean)")
    assert found is not None
    assert found[0] == (Array(DOUBLE, 2), Number(Integer(32, True)), Number(BOOL))
    assert found[1] == REAL
    assert signature("f8(") is None


def kinds_of(text: str) -> dict[str, Kind]:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return inferred(node.body, parameter_kinds(node, {}), {}).own


def test_parameters_by_their_use() -> None:
    found = kinds_of(
        "def f(a, b, n, x, c):\n    m = n + 1\n"
        "    for i in range(m):\n        a[i][2] = b[i] * x\n    c.go()\n"
    )
    assert found["a"] == Array(DOUBLE, 2, assumed=True)
    assert found["b"] == Array(DOUBLE, 1, assumed=True)
    assert (found["n"], found["m"], found["x"]) == (WHOLE, WHOLE, REAL)
    assert isinstance(found["c"], Other)


def test_what_is_assigned() -> None:
    found = kinds_of(
        "def f(n: int):\n"
        "    u = np.zeros((n, n), dtype=np.float32)\n    v = u[1:, 0] + 1.0\n    w = u @ u\n    s = u.sum()\n"
        "    r, c = u.shape\n    t = 0\n    t += 1.5\n    k = n // 2\n    q = n / 2\n"
        "    z = u.T[0]\n    y = 1\n    y = u\n"
    )
    single = Floating(32)
    assert found["u"] == Array(single, 2) and found["v"] == Array(single, 1)
    assert found["w"] == Array(single, 2) and found["s"] == Number(single)
    assert found["r"] == found["k"] == WHOLE and found["q"] == found["t"] == REAL
    assert found["z"] == Array(single, 1)
    assert isinstance(found["y"], Other)


def test_a_docstring_tells_of_parameters() -> None:
    found = kinds_of(
        'def f(a, n):\n    """Do.\n\n    Parameters\n    ----------\n'
        '    a : (n, m) ndarray of int32\n    n : int\n    """\n    return a\n'
    )
    assert found["a"] == Array(Integer(32, True), 2)
    assert found["n"] == WHOLE


SIGNATURE = '@njit("void(i4[:], f4)")\n'
UNPYTHON = "@unpython.type('ndarray[double,2]', 'int')\n@unpython.gpu\n"
DOCUMENTED = '    """Do.\n\n    Parameters\n    ----------\n    a : (n, m, k) ndarray of uint8\n    """\n'
USED = "    a[x] = 1.0\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{SIGNATURE}def f(a: NDArray[np.int16], x):\n{DOCUMENTED}{USED}", Array(Integer(16, True), 1)),
        (f"{SIGNATURE}def f(a, x):\n{DOCUMENTED}{USED}", Array(Integer(32, True), 1)),
        (f"{UNPYTHON}def f(a, x):\n{DOCUMENTED}{USED}", Array(DOUBLE, 2)),
        (f"def f(a, x):\n{DOCUMENTED}{USED}", Array(Integer(8, False), 3)),
        (f"def f(a, x):\n{USED}", Array(DOUBLE, 1, assumed=True)),
    ],
)
def test_annotations_come_first_then_decorators_docstrings_and_use(text: str, kind: Kind) -> None:
    assert kinds_of(text)["a"] == kind


@pytest.mark.parametrize(
    "head",
    [
        "def f(a: Wanted[int], x):\n",
        '@njit("void(f4[:]")\ndef f(a, x):\n',
        '@njit("void(f4[:])")\ndef f(a, x):\n',
        "@njit(parallel=True)\ndef f(a, x):\n",
        '@guvectorize(signatures, "(n),()")\ndef f(a, x):\n',
        "@unpython.gpu\ndef f(a, x):\n",
        "@unpython.type('something', 'int')\ndef f(a, x):\n",
        "def f(a: Float[np.ndarray, sizes], x):\n",
        'def f(a, x):\n    """Do.\n\n    a : ndarray of int32\n    """\n',
        'def f(a, x):\n    """Do.\n\n    Parameters\n    ----------\n    a : what is scaled\n    """\n',
    ],
)
def test_what_cannot_be_read_leaves_it_to_the_use(head: str) -> None:
    assert kinds_of(f"{head}{USED}")["a"] == Array(DOUBLE, 1, assumed=True)


def test_all_signatures_of_guvectorize_and_jaxtyping() -> None:
    gufunc = '@guvectorize([(int64[:], int64, int64[:])], "(n),()->(n)")\ndef f(a, x, b):\n'
    assert kinds_of(f"{gufunc}{USED}")["a"] == Array(INT64, 1)
    assert kinds_of(f'def f(a: Float32[Array, "n m"], x):\n{USED}')["a"] == Array(Floating(32), 2)
    assert kinds_of(f'def f(a: Float[Array, "... m"], x):\n{USED}')["a"] == Array(DOUBLE, 1)


def test_parts_tell_of_the_rank_of_their_array() -> None:
    found = kinds_of(
        "def f(a, b, c):\n    r = a[0]\n    r[1] = 2.0\n    for s in b:\n        s[0] = c[r[2]]\n"
    )
    assert (found["a"].rank, found["b"].rank, found["c"].rank) == (2, 2, 1)  # type: ignore[union-attr]


def test_arithmetic_keeps_what_numpy_keeps() -> None:
    assert wider(INT, DOUBLE) == DOUBLE
    assert wider(Integer(8, False), INT) == Integer(8, False)
    assert wider(Integer(32, True), INT) == INT
    assert joined(WHOLE, REAL) == REAL
    assert isinstance(joined(WHOLE, Array(DOUBLE, 1)), Other)
    assert [dtype_name(one) for one in (DOUBLE, INT64, Integer(8, False))] == ["float64", "int64", "uint8"]
