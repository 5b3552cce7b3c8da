"""Advice, in the terms of the language."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import diagnostics

_C = "int g(int);\nvoid f(int n, double *a) {\n  double s;\n  for (int i = 0; i < n; i++) {\n    %s\n  }\n}\n"
_PYTHON = "def f(n: int, a: 'f8[:]'):\n    s = 0.0\n    for i in range(n):\n        %s\n    return s\n"


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("f.c", _C % "if (a[i] > 0) s = a[i]; a[i] = s;", "declare it inside the loop"),
        ("f.py", _PYTHON % "s = a[i] if a[i] > 0 else s; a[i] = g(i)", "the effects of `g` are unknown"),
        ("f.py", _PYTHON % "if a[i] > 0: s = a[i]", "assign it in each iteration before it is read"),
    ],
)
def test_advice(path: str, text: str, words: str):
    found = diagnostics(Source(text), analyse(path, text, Settings(), schedules=False), Settings())
    messages = [each.message for each in found]
    assert any(words in message for message in messages), messages
    assert path == "f.c" or not any("declare it" in message for message in messages)
