"""Docstrings begin with a verb or a noun of the field, never with a question word or a pronoun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTIONS = {"What", "Whether", "How", "That", "Where", "Which", "Who", "Whom", "Whose", "Why"}
PRONOUNS = {"It", "Its", "Their", "Them", "They", "This", "These", "Those", "He", "One"}


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Docstrings of modules, classes and functions, and those below attributes."""
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return (each for each in statements if isinstance(each, ast.Constant) and isinstance(each.value, str))


def unclear(text: str) -> Iterator[tuple[int, str]]:
    """Lines of a module's docstrings that begin with a question word or a pronoun, with that word."""
    for each in _docstrings(ast.parse(text)):
        first = re.match(r"\s*([\w'-]+)", str(each.value))
        if first is not None and first[1].capitalize() in QUESTIONS | PRONOUNS:
            yield each.lineno, first[1]


@pytest.mark.parametrize("folder", ["polylsp", "tests"])
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    found = [
        f"{path.relative_to(ROOT)}:{line}: a docstring begins with `{word}`"
        for path in paths
        for line, word in unclear(path.read_text(encoding="utf-8"))
    ]
    assert len(paths) > 200
    assert found == [], "\n".join(found)


CASE = '''"""Loops of a nest."""

MOST = 3
"""How many of them there are."""


class Nest:
    """One-dimensional nests, which have one loop."""

    def outermost(self) -> int:
        """
        Its first loop.
        """


async def inner(loop: int) -> bool:
    """True if it is not the outermost one."""
    return "What" == f"This {loop}"
'''


def test_question_words_and_pronouns_are_found() -> None:
    assert list(unclear(CASE)) == [(4, "How"), (11, "Its")]
    assert [word for _, word in unclear('"""whether it may run at once."""')] == ["whether"]
