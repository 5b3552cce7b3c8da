"""Index of the C files of a project: the file that defines a function, and the one that includes a file.

A file that declares nothing of what its functions name is a part of others (`#include "kernel.c"` after a
type was chosen): it is read as the nearest of these includes it first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from time import time

from polylsp.core.query import digest
from polylsp.core.source_files import changed_since, decode, read_file, signature
from polylsp.engine.fact_cache import fact_cache
from polylsp.frontends.c.compile_options import nearest, project_of
from polylsp.frontends.c.environment import Environment
from polylsp.frontends.c.file_reading import stamp
from polylsp.frontends.c.outline import Item, outline
from polylsp.frontends.c.tokens import classify, normalise, tokenize

_MOST_BYTES = 2_000_000
_INCLUDED = re.compile(r"#\s*include\s*\"([^\"\n]+\.c)\"")


def homes(path: str, cached: bool) -> Mapping[str, tuple[str, ...]]:
    """By the name of a function, the files of a file's project that define it; by that of a C file
    (`kernel.c`), those that include one of this name. `cached`: the user's cache may be asked."""
    return _homes(tuple((one, stamp(one)) for one in project_of(path).sources), cached)


def includer(path: str, cached: bool) -> str | None:
    """The file that includes a C file: the nearest, the first by name of several."""
    name, folder = Path(path).name, str(Path(path).parent)
    found = [one for one in homes(path, cached).get(name, ()) if one != path and _includes(one, path)]
    return min(nearest(found, folder), default=None) if found else None


def is_part(items: tuple[Item, ...], known: Environment) -> bool:
    """True if a parameter of a function in a file has a type that nothing declares, so that the file can only
    be a part of another one."""
    declared = known.known.places
    for k, item in enumerate(items):
        macros = known.macros_at(k) if item.kind == "function" else None
        if macros is not None:
            types = _types(item.text.partition("{")[0])
            if any(name not in declared and name not in macros for name in types):
                return True
    return False


@lru_cache(maxsize=16384)
def _types(header: str) -> frozenset[str]:
    """The names that stand for types of parameters in a function's header: `T` in `f(const T *x)`."""
    texts = tokenize(normalise(header), directives=False).texts
    words = [text for text in texts if text not in _PASSED_OVER]
    followed = zip(words, pairwise(words[1:]), strict=False)
    found = (word for before, (word, after) in followed if before in ("(", ",") and _is_name(after))
    return frozenset(word for word in found if _is_name(word))


_PASSED_OVER = frozenset(("*", "const", "restrict", "volatile"))


def _is_name(token: str) -> bool:
    return classify(token)[0] == "ID"


def _includes(source: str, path: str) -> bool:
    """True if a file of the project includes another one, and none of its name in another folder."""
    text, folder = text_of(source, stamp(source)), str(Path(source).parent)
    for name in _INCLUDED.findall(text):
        own = Path(folder, name)
        if own.is_file():
            if own.resolve() == Path(path).resolve():
                return True
        elif project_of(path).header(name, folder) == path:
            return True
    return False


@lru_cache(maxsize=8)
def _homes(sources: tuple[tuple[str, int], ...], cached: bool) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path, version in sources:
        for name in _names(path, version, cached):
            found.setdefault(name, []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


@lru_cache(maxsize=4096)
def _names(path: str, version: int, cached: bool) -> frozenset[str]:
    """The functions that a file defines, and the names of the C files that it includes; `cached`: they may
    come from the user's cache."""
    begun, key = time(), f"names-{digest(path, signature(path))}"
    found = fact_cache().names(key) if cached else None
    if found is None:
        text = text_of(path, version)
        functions = (item.name for item in outline(text).items if item.kind == "function")
        found = frozenset((*functions, *(Path(name).name for name in _INCLUDED.findall(text))))
        if cached and not changed_since(path, begun):
            fact_cache().put_names(key, found)
    return found


@lru_cache(maxsize=64)
def text_of(path: str, version: int) -> str:
    """The text of a file as it was at that `stamp`; none of a file that is too long."""
    try:
        data = read_file(path, 1 + _MOST_BYTES // 2**20)
    except OSError:
        return ""
    return decode(data) if len(data) <= _MOST_BYTES else ""
