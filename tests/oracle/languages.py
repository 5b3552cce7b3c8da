"""The languages in which a drawn program is printed and analysed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from tests.oracle import drawing
from tests.oracle.evidence import Evidence, Refutation, evidence
from tests.oracle.nests import Program
from tests.oracle.python import drawing as drawing_python
from tests.oracle.python.running import disagreements
from tests.oracle.python.running import evidence as evidence_python

LanguageName = Literal["c", "python"]


@dataclass(frozen=True, slots=True)
class Language:
    """A language: strategies for programs, affine ones and others, and their runs. `disagreements` are
    differences between a run of the text by the language itself and the oracle's interpreter."""

    suffix: str
    comment: str
    affine: Callable[[], st.SearchStrategy[Program]]
    any: Callable[[], st.SearchStrategy[Program]]
    evidence: Callable[[Program], Evidence]
    disagreements: Callable[[Evidence], list[Refutation]]


LANGUAGES: dict[LanguageName, Language] = {
    # `test_interpreter` compares with a compiler: not every trial waits for one.
    "c": Language(".c", "//", drawing.affine_programs, drawing.programs, evidence, lambda _: []),
    "python": Language(
        ".py", "#", drawing_python.affine_programs, drawing_python.programs, evidence_python, disagreements
    ),
}
