"""A file of any language to its functions, ready for analysis."""

from __future__ import annotations

from importlib import import_module

from polylsp.language import C, Language, language_of
from polylsp.languages.functions import Functions, Observer, Reader
from polylsp.remembered import state_of
from polylsp.settings import Settings


def language_for(path: str) -> Language:
    """The language that a file is read in: by its name, else C."""
    return language_of(path) or C


def read(
    path: str,
    text: str,
    settings: Settings,
    *,
    remembered: str = "",
    stopped: frozenset[str] = frozenset(),
    observe: Observer | None = None,
) -> Functions:
    """The functions of a file; what is remembered of it goes by the name `remembered`, else by its path."""
    reader = _reader(language_for(path))
    return reader(path, text, settings, state_of(remembered or path), stopped, observe)


def _reader(language: Language) -> Reader:
    # Loaded when a file needs it: who reads C has no use for the others.
    return import_module(f"polylsp.languages.{language.name}").read
