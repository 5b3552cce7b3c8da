"""Tables of the arguments that functions store to or return, against the installed NumPy."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.names import Imported
from polylsp.frontends.python.numpy_arguments import (
    COPY_POSITIONS,
    OVERWRITE_POSITIONS,
    gives_argument,
    output_position,
    stored_arguments,
)
from polylsp.frontends.python.purity import Scope, freshness, reads

_SCOPE = Scope(Kinds({"np": Imported("numpy")}, local=frozenset("abkmtw")))


def _call(text: str) -> ast.Call:
    found = ast.parse(text, mode="eval").body
    assert isinstance(found, ast.Call)
    return found


def _functions() -> Iterator[tuple[str, object]]:
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        for name in dir(module):
            found = getattr(module, name)
            if callable(found) and not isinstance(found, type) and not name.startswith("_"):
                yield f"{prefix}{name}", found


def _position(function: object, parameter: str) -> int | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return next((k for k, one in enumerate(parameters) if one.name == parameter and one.kind in kinds), None)


_BY_NAME = dict(_functions())


@pytest.mark.parametrize("name", sorted(_BY_NAME))
def test_positions_are_those_of_numpy(name: str):
    function = _BY_NAME[name]
    if isinstance(function, np.ufunc):
        if output_position(name) is not None:
            assert output_position(name) == function.nin
        else:
            assert not reads(_SCOPE, _call(f"np.{name}({', '.join('a' * (function.nin + 1))})"))
        return
    expected = _position(function, "out")
    arguments = ", ".join(f"x{k}" for k in range((expected or 0) + 1))
    if expected is not None and reads(_SCOPE, _call(f"np.{name}(a)")):
        assert output_position(name) == expected
        assert not reads(_SCOPE, _call(f"np.{name}({arguments})"))
        assert not reads(_SCOPE, _call(f"np.{name}(a, out=b)"))
    overwrites = _position(function, "overwrite_input")
    assert OVERWRITE_POSITIONS.get(name) == overwrites
    if name in COPY_POSITIONS and name != "astype":
        assert COPY_POSITIONS[name] == _position(function, "copy")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("np.cumsum(a, 0, None, t)", "t"),
        ("a.cumsum(0, None, t)", "t"),
        ("np.cumsum(a, 0, None, None)", ""),
        ("np.concatenate((a, b), 0, t)", "t"),
        ("np.add(a, b, t)", "t"),
        ("np.sqrt(a, t)", "t"),
        ("a.round(1, t)", "t"),
        ("a.round(1)", ""),
        ("np.nan_to_num(a, copy=False)", "a"),
        ("np.nan_to_num(a, False)", "a"),
        ("np.nan_to_num(a, True)", ""),
        ("np.median(a, overwrite_input=True)", "a"),
        ("np.median(a, overwrite_input=False)", ""),
        ("np.percentile(a, 50, None, None, True)", "a"),
        ("np.maximum(*pair)", "*pair"),
        ("scipy.ndimage.convolve(a, w, output=t)", "t"),
        ("scipy.linalg.inv(a, True)", "a"),
        ("max(a, b, c)", ""),
        ("'{} {}'.format(a, b)", ""),
    ],
)
def test_stored_arguments(text: str, stored: str):
    call = _call(text)
    found = stored_arguments(_SCOPE.path(call.func), call)
    assert ", ".join(map(ast.unparse, found)) == stored


_CALLS = """
a.conj()
a.conjugate()
a.astype(float, 'K', 'unsafe', True, False)
a.astype(float)
a.ravel()
a.reshape(3)
a.flatten()
a.copy()
a.round()
k.round()
a.repeat(1)
a.take([0, 1, 2])
np.diff(a, 0)
np.diff(a, n=0)
np.diff(a, 1)
np.diff(a)
np.linalg.matrix_power(m, 1)
np.linalg.matrix_power(m, 2)
np.polyder(a, 0)
np.polyint(a, 0)
np.nan_to_num(a, copy=False)
np.nan_to_num(a)
np.conj(a)
np.ndarray((3,), buffer=a)
np.ndarray((3,), float, a)
np.ndarray((3,))
np.array(a)
np.array(a, copy=None)
np.asarray(a)
np.round(a)
np.cumsum(a, 0, None, a)
np.squeeze(a)
np.sort(a)
np.roll(a, 0)
np.tile(a, 1)
np.repeat(a, 1)
np.pad(a, 0)
np.interp(a, a, a)
np.concatenate((a,))
np.hstack((a,))
np.vstack((m,))
np.append(a, [])
np.unique(a)
np.convolve(a, [1])
np.gradient(a)
np.triu(m)
np.sum(m, axis=())
np.max(a, axis=())
np.clip(a, 0, 9)
np.abs(a)
np.positive(a)
np.floor(k)
np.round(k)
np.rint(a)
np.around(k)
np.fft.fftshift(a)
np.polyadd(a, a)
np.polymul(a, [1])
np.trim_zeros(a)
np.take(a, [0, 1, 2])
np.where(a > 0, a, a)
np.full_like(a, 0)
np.kron(a, 1)
np.column_stack((m,))
np.nancumsum(a)
np.trapezoid(m)
np.average(m, axis=0)
np.linalg.norm(m, axis=0)
np.median(m[:1], axis=0)
np.mean(m[:1], axis=0)
np.max(m[:1], axis=0)
np.linalg.inv(m)
""".strip().splitlines()


@pytest.mark.parametrize("text", _CALLS)
def test_a_new_value_shares_no_memory_with_the_arguments(text: str):
    names = {"np": np, "a": np.arange(1.0, 4.0), "m": np.eye(3) + 1, "k": np.arange(1, 4)}
    made = np.asarray(eval(text, names))
    call = _call(text)
    shares = any(np.shares_memory(made, names[one]) for one in ("a", "m", "k"))
    if shares:
        assert freshness(_SCOPE, call) == 0
        assert gives_argument(_SCOPE.path(call.func), call)
