"""Advice on removing an obstacle, in the terms of the language that a function is written in."""

from __future__ import annotations

from polylsp.language import PYTHON
from polylsp.model.rejection import Rejection
from polylsp.model.report import PlacedFunction

_PYTHON = (
    (", or declare it `__attribute__((const))` if it only computes from its arguments", ""),
    (", or declare it `__attribute__((pure))` if it writes nothing", ""),
    ("declare it inside the loop", "assign it in each iteration before it is read"),
)
"""Phrases for C programmers, with those for Python programmers."""


def advice_words(placed: PlacedFunction, rejection: Rejection) -> str:
    """The advice that comes with a rejection; empty where there is none."""
    words = rejection.advice
    if placed.answer.language == PYTHON.name:
        for word, other in _PYTHON:
            words = words.replace(word, other)
    return words
