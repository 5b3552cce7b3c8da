"""A file of any language to its functions, ready for analysis."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from polylsp.language import C, Language, language_of
from polylsp.languages.functions import Functions, Observer, Reader, Stopped, never_stopped
from polylsp.mishap import Mishap, contained
from polylsp.model.report import FileProblem
from polylsp.remembered import state_of
from polylsp.settings import Settings
from polylsp.text import Span


def language_for(path: str) -> Language:
    """The language that a file is read in: by its name, else C."""
    return language_of(path) or C


def read(
    path: str,
    text: str,
    settings: Settings,
    *,
    remembered: str = "",
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions:
    """The functions of a file; its state is stored under the name `remembered`, else under its path."""
    reader, state = _reader(language_for(path)), state_of(remembered or path)

    def unread(mishap: Mishap) -> Functions:
        message = f"{mishap.of('this file')}: {mishap.advice}."
        problem = FileProblem(mishap.code, Span(0, 0), message[:1].upper() + message[1:])
        return Functions([], lambda _: (problem,))

    if len(text) > settings.max_file_mb * 2**20:
        message = (
            f"This file is not analysed because it is larger than {settings.max_file_mb} MiB (`max_file_mb`)."
        )
        return Functions([], lambda _: (FileProblem("budget", Span(0, 0), message),))
    work = partial(reader, path, text, settings, state, stopped, observe)
    return contained(f"reading the file {path}", work, unread)


def read_urgent(
    path: str,
    text: str,
    settings: Settings,
    focus: tuple[Span, ...],
    *,
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions | None:
    """The functions of a file that are read before the others, if it has so many that this is worth it."""
    language = language_for(path)
    if language is not C or len(text) > settings.max_file_mb * 2**20:
        return None
    from polylsp.languages.c import read_urgent as read_some

    work = partial(read_some, path, text, settings, state_of(path), focus, stopped, observe)
    return contained(f"reading the first functions of {path}", work, lambda _: None)


def load(language: Language) -> None:
    """Load the reader of a language before its first file comes."""
    _reader(language)


def _reader(language: Language) -> Reader:
    # Loaded when a file needs it: who reads C has no use for the others.
    return import_module(f"polylsp.languages.{language.name}").read
