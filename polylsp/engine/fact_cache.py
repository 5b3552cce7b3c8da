"""Facts of functions in the user's cache folder, so that a function analysed once is not analysed again.

A key stands for all that facts follow from (`deciding.Task.key`), a database for the code that finds them.
Values are JSON, compressed: no content of the cache is ever run. Facts follow from the source and the
settings alone, so that whether a workspace is trusted makes no difference to them.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import zlib
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import polylsp
from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.disk_cache import DiskCache, cache_folder
from polylsp.core.json_values import form_of
from polylsp.core.processes import contained
from polylsp.core.text import Span
from polylsp.engine.prepared import Question
from polylsp.model.facts import Feasibility, FileProblem, FunctionFacts

T = TypeVar("T")

logger = logging.getLogger(__name__)

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


class FactCache:
    """The facts of functions, their summaries and records of files by key; see `DiskCache` for failures."""

    def __init__(self, entries: DiskCache) -> None:
        self._entries = entries

    @property
    def problem(self) -> str:
        """Reason why nothing is cached; empty where it is."""
        return self._entries.problem

    def get(self, key: str) -> FunctionFacts | None:
        """The facts under a key, if they are cached."""
        return self._read(key, FunctionFacts)

    def put(self, key: str, facts: FunctionFacts) -> None:
        """Cache facts under a key."""
        self._put(key, facts)

    def has(self, key: str) -> bool:
        """True if there is an entry under a key."""
        return self._entries.has(key)

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

    def _put(self, key: str, value: FunctionFacts | FileRecord | _Summarised | _Names) -> None:
        # The cache never costs the work.
        written = contained("writing an entry of the cache", lambda: encoded(value), lambda _: None)
        if written is not None:
            self._entries.put(key, written)

    def _read(self, key: str, kind: type[T]) -> T | None:
        value = self._entries.get(key)
        if value is None:
            return None
        try:
            return decoded(value, kind)
        except Exception as error:
            logger.info("An entry of the cache cannot be read: %s", error)
            self._entries.drop(key)
            return None

    def flush(self) -> None:
        """Write down which facts were used."""
        self._entries.flush()


def fact_cache() -> FactCache:
    """The cache of this process and this user."""
    # A process that was forked needs a new connection.
    return _opened(cache_folder(), os.getpid())


def encoded(value: FunctionFacts | FileRecord | _Summarised | _Names) -> bytes:
    """A value as bytes."""
    write = form_of(type(value)).write
    data = value if write is None else write(value)
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 1)


def decoded(value: bytes, kind: type[T]) -> T:
    """The value of a kind that bytes stand for; raises an exception of any kind where they stand for none."""
    data, read = json.loads(zlib.decompress(value)), form_of(kind).read
    return data if read is None else read(data)


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
