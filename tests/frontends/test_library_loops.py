"""Loops over single elements of pandas, PyTorch, JAX and CuPy, and those of NumPy beside them."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import diagnostics
from polylsp.ir.verdict import Parallel, Unknown

HEAD = "import cupy as cp\nimport jax\nimport numpy as np\nimport pandas as pd\nimport torch\n\n\n"

LEFT = {
    "rows": (
        "def f(df: pd.DataFrame):\n    s = 0.0\n    for _, row in df.iterrows():\n        s += row['x']\n",
        "whole columns",
    ),
    "numbered rows": (
        "def f(df):\n    for k, row in enumerate(df.itertuples()):\n        df.y[k] = row.x * k\n",
        "whole columns",
    ),
    "cells": (
        "def f(df):\n    for i in range(len(df)):\n        df.loc[i, 'z'] = df.loc[i, 'x'] * 2\n",
        "whole columns",
    ),
    "cells by number": (
        "def f(df, n: int):\n    for i in range(n):\n        df.iat[i, 0] = i * 2.0\n",
        "whole columns",
    ),
    "a tensor": (
        "def f(x: torch.Tensor, n: int):\n    for i in range(n):\n        x[i] = x[i] * 2.0\n",
        "whole tensors",
    ),
    "a new tensor": (
        "def f(n: int):\n    x = torch.zeros(n)\n    for i in range(n):\n        x[i] = i * 2.0\n",
        "whole tensors",
    ),
    "an array of JAX": (
        "def f(x: jax.Array, n: int):\n    for i in range(n):\n        s = x[i] * 2.0\n",
        "jax.vmap",
    ),
    "an array of JAX that is made anew": (
        "def f(x: jax.Array, n: int):\n    for i in range(n):\n        x = x.at[i].set(2.0 * i)\n"
        "    return x\n",
        "jax.lax.fori_loop",
    ),
    "an array of CuPy": (
        "def f(n: int):\n    x = cp.zeros(n)\n    for i in range(n):\n        x[i] = i * 2.0\n",
        "whole arrays",
    ),
}


@pytest.mark.parametrize(("body", "advice"), LEFT.values(), ids=LEFT.keys())
def test_is_left_to_its_library(body: str, advice: str) -> None:
    text = HEAD + body
    report = analyse("a.py", text, Settings(), schedules=False)
    (placed,) = report.functions
    (loop,) = placed.answer.facts.loops
    assert isinstance(loop.verdict, Unknown) and loop.verdict.rejection.code == "whole-arrays", loop.verdict
    assert advice in loop.verdict.rejection.advice
    (found,) = diagnostics(Source(text), report, Settings())
    assert found.code == "not-analyzable" and advice in found.message
    quiet = Settings(disabled_diagnostics=("not-analyzable",))
    assert not diagnostics(Source(text), report, quiet)


TAKEN = {
    "an array of NumPy": "def f(x: np.ndarray, n: int):\n    for i in range(n):\n        x[i] = x[i] * 2.0\n",
    "a new array of NumPy": "def f():\n    x = np.zeros(9)\n    for i in range(9):\n        x[i] = i * 2.0\n",
    "a column outside of the loop": (
        "def f(df, x: np.ndarray):\n    y = df.loc[3]\n    for i in range(9):\n        x[i] = i * 2.0\n"
    ),
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN.keys())
def test_numpy_is_analysed(body: str) -> None:
    (placed,) = analyse("a.py", HEAD + body, Settings(), schedules=False).functions
    (loop,) = placed.answer.facts.loops
    assert isinstance(loop.verdict, Parallel), loop.verdict
