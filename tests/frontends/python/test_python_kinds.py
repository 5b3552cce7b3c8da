"""What names and expressions are told to be."""

from __future__ import annotations

import ast

import pytest

from polylsp.frontends.python.annotations import annotated, signature
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
from polylsp.frontends.python.parameters import parameter_kinds
from polylsp.model.program import Floating, Integer


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
        ("list[float]", Other("a list")),
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


def test_arithmetic_keeps_what_numpy_keeps() -> None:
    assert wider(INT, DOUBLE) == DOUBLE
    assert wider(Integer(8, False), INT) == Integer(8, False)
    assert wider(Integer(32, True), INT) == INT
    assert joined(WHOLE, REAL) == REAL
    assert isinstance(joined(WHOLE, Array(DOUBLE, 1)), Other)
    assert [dtype_name(one) for one in (DOUBLE, INT64, Integer(8, False))] == ["float64", "int64", "uint8"]
