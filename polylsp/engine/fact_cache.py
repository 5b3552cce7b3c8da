"""Facts of functions in the user's cache folder, so that a function analysed once is not analysed again.

A key stands for all that facts follow from (`decisions.Task.key`), a database for the code that finds them.
Values are JSON, compressed: no content of the cache is ever run. Facts follow from the source and the
settings alone, so that whether a workspace is trusted makes no difference to them.
"""

from __future__ import annotations

import logging
import os
import platform
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar, Union

import polylsp
from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.disk_cache import DiskCache, cache_folder, decoded, encoded
from polylsp.core.processes import contained
from polylsp.core.text import Span
from polylsp.engine.prepared import Question
from polylsp.model.facts import Feasibility, FileProblem, FunctionFacts, StoredFacts

T = TypeVar("T")

logger = logging.getLogger(__name__)


# --------------------------------------------------------------------------------------------------
# The database of facts.
# --------------------------------------------------------------------------------------------------


_KIND = "facts"
_READERS = ("islpy", "pycparser", "pcpp")
"""The packages that take part in finding facts."""

_RENDERERS = ("cli", "server", "ide")
"""The packages of ours that only show facts; none of the others imports them."""


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """A function of a file's record: an answer, with `facts` only where these are cached under no key."""

    start: int
    key: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pragmas: tuple[Span, ...]
    language: str
    feasibility: Feasibility | None
    facts: FunctionFacts | None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The report of a file, with `schedules` or without; `rests_on` are questions about other files, each
    with the answer that it had."""

    language: str
    schedules: bool
    functions: tuple[FunctionRecord, ...]
    problems: tuple[FileProblem, ...]
    rests_on: tuple[tuple[Question, str], ...]


@dataclass(frozen=True, slots=True)
class _Summarised:
    summary: Summary | NoSummary


@dataclass(frozen=True, slots=True)
class _Names:
    names: tuple[str, ...]


_Entry = Union[FunctionFacts, FileRecord, _Summarised, _Names]
_MOST_UNWRITTEN = 4096
"""Entries that are written at once rather than after the file."""


class FactCache:
    """Cache of facts of functions, summaries and records of files, by key; see `DiskCache` for failures.
    Entries are written to disk by `flush`, after the facts have been sent."""

    def __init__(self, entries: DiskCache) -> None:
        self._entries = entries
        self._unwritten: dict[str, _Entry] = {}

    @property
    def problem(self) -> str:
        """Reason why nothing is cached; empty where it is."""
        return self._entries.problem

    def get(self, key: str) -> FunctionFacts | None:
        """The facts under a key, if they are cached."""
        return self._read(key, FunctionFacts)

    def stored(self, key: str) -> FunctionFacts | StoredFacts | None:
        """The cached facts under a key, in the form in which they are sent on."""
        unwritten = self._unwritten.get(key)
        if isinstance(unwritten, FunctionFacts):
            return unwritten
        return self._made(key, lambda value: StoredFacts(zlib.decompress(value)))

    def put(self, key: str, facts: FunctionFacts) -> None:
        """Cache facts under a key."""
        self._put(key, facts)

    def has(self, key: str) -> bool:
        """True if there is an entry under a key."""
        return key in self._unwritten or self._entries.has(key)

    def summary(self, key: str) -> Summary | NoSummary | None:
        """The summary of a function under a key, if it is cached."""
        found = self._read(key, _Summarised)
        return found.summary if found is not None else None

    def put_summary(self, key: str, summary: Summary | NoSummary) -> None:
        """Cache a summary under a key."""
        self._put(key, _Summarised(summary))

    def record(self, key: str) -> FileRecord | None:
        """The record of a file under a key, if it is cached."""
        return self._read(key, FileRecord)

    def put_record(self, key: str, record: FileRecord) -> None:
        """Cache the record of a file under a key."""
        self._put(key, record)

    def names(self, key: str) -> frozenset[str] | None:
        """A set of names under a key, if it is cached."""
        found = self._read(key, _Names)
        return frozenset(found.names) if found is not None else None

    def put_names(self, key: str, names: frozenset[str]) -> None:
        """Cache a set of names under a key."""
        self._put(key, _Names(tuple(sorted(names))))

    def _put(self, key: str, value: _Entry) -> None:
        if not self.problem:
            self._unwritten[key] = value
        if len(self._unwritten) >= _MOST_UNWRITTEN:
            self.flush()

    def _read(self, key: str, kind: type[T]) -> T | None:
        unwritten = self._unwritten.get(key)
        if isinstance(unwritten, kind):
            return unwritten
        return self._made(key, lambda value: decoded(value, kind))

    def _made(self, key: str, read: Callable[[bytes], T]) -> T | None:
        """Make a value of the entry under a key, which is removed where none can be made."""
        value = self._entries.get(key)
        if value is None:
            return None
        try:
            return read(value)
        except Exception as error:
            logger.info("An entry of the cache cannot be read: %s", error)
            self._entries.drop(key)
            return None

    def flush(self, is_wanted: Callable[[], bool] = lambda: False) -> None:
        """Write what is not yet written, and which facts were used, until the process `is_wanted`
        otherwise."""
        while self._unwritten and not is_wanted():
            key, value = self._unwritten.popitem()
            # The cache never costs the work.
            data = contained("writing an entry of the cache", partial(encoded, value), lambda _: None)
            if data is not None:
                self._entries.put(key, data)
        self._entries.flush()


def fact_cache() -> FactCache:
    """The cache of this process and this user."""
    # A process that was forked needs a new connection.
    return _opened(cache_folder(), os.getpid())


def cached_bytes() -> int:
    """The size of all that is cached, in bytes."""
    return sum(each.stat().st_size for each in cache_folder().glob(f"{_KIND}-*"))


@lru_cache(maxsize=4)
def _opened(folder: Path, _process: int) -> FactCache:
    return FactCache(DiskCache(folder, _KIND, code_version()))


@lru_cache
def code_version() -> str:
    """A name for the code that finds facts: equal names, equal facts under equal keys."""
    found = blake2b(digest_size=8)
    for name in (polylsp.__version__, platform.python_version(), *map(_version, _READERS)):
        found.update(name.encode() + b"\0")
    root = Path(polylsp.__file__).parent
    for folder, folders, files in os.walk(root):
        left_out = ("__pycache__", *(_RENDERERS if folder == str(root) else ()))
        folders[:] = sorted(each for each in folders if each not in left_out)
        for file in sorted(files):
            path = Path(folder, file)
            found.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
