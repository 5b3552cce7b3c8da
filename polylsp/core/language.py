"""The languages that are analysed, and how to tell them by a file's name or an editor's word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `name` is LSP's word for it; `suffixes` are those of its files, `searched` those that a
    folder is searched for; `title` is its usual name; `comment` begins a comment that goes on to the end of
    its line."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    searched: tuple[str, ...]
    comment: str


C = Language("c", "C", (".c", ".h"), (".c",), "//")
PYTHON = Language("python", "Python", (".py", ".ipynb"), (".py", ".ipynb"), "#")
LANGUAGES = (C, PYTHON)

SEARCHED = frozenset(suffix for one in LANGUAGES for suffix in one.searched)
"""Suffixes of the files that a folder is searched for."""


def named(word: str) -> Language:
    """The language of that name; C if there is none."""
    return next((one for one in LANGUAGES if one.name == word), C)


def named_after(path: str, word: str) -> str:
    """The path under which a document is read that an editor has a word for: one that is not saved yet
    has no name that tells its language."""
    if word == C.name or language_of(path) is not None or language_of(path, word) is None:
        return path
    return f"{path}{named(word).searched[0]}"


def language_of(path: str, word: str = "") -> Language | None:
    """The language of a file, by the word that an editor has for it, else by its name; `None` if it is
    none of ours."""
    told = next((one for one in LANGUAGES if one.name == word), None)
    suffix = PurePath(path).suffix.lower()
    return told or next((one for one in LANGUAGES if suffix in one.suffixes), None)
