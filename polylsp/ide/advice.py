"""What would remove an obstacle, in the words of the language that a function is written in."""

from __future__ import annotations

from polylsp.language import PYTHON
from polylsp.model.rejection import Rejection
from polylsp.model.report import PlacedFunction

_PYTHON = (
    (", or declare it `__attribute__((const))` if it only computes from its arguments", ""),
    (", or declare it `__attribute__((pure))` if it writes nothing", ""),
    ("declare it inside the loop", "assign it in each iteration before it is read"),
)
"""What C's programmers are told, and what Python's are."""


def advice_words(placed: PlacedFunction, rejection: Rejection) -> str:
    """The advice that comes with a rejection; empty where there is none."""
    words = rejection.advice
    if placed.answer.language == PYTHON.name:
        for word, other in _PYTHON:
            words = words.replace(word, other)
    return words
