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
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import polylsp
from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.disk_cache import DiskCache, cache_folder
from polylsp.core.processes import contained
from polylsp.core.text import Span
from polylsp.engine.prepared import Question
from polylsp.model.facts import Feasibility, FileProblem, FunctionFacts

# --------------------------------------------------------------------------------------------------
# Values of frozen classes as JSON values, by position: compact, and quick to read back.
#
# A kind is a type annotation. An object is the list of its fields in their order, a member of a
# union of classes has the name of its class after them, and tuples and frozen sets are lists. The
# names of fields are not written: who stores such values names the version of the code along with
# them. Reading builds data only, and raises an exception of any kind where values do not fit.
# --------------------------------------------------------------------------------------------------


Step = Callable[[Any], Any]
"""Direction of a conversion: from a value to another one."""

_PLAIN = (str, int, float, bool, NoneType)


@dataclass(frozen=True, slots=True)
class Form:
    """Conversion of a kind of values to JSON values, and back; `None` where these are the same."""

    write: Step | None
    read: Step | None


_SAME = Form(None, None)


@lru_cache(maxsize=512)
def form_of(kind: Any) -> Form:
    """The form of a kind; raises `TypeError` for one that is not supported."""
    origin, members = get_origin(kind), get_args(kind)
    if kind in _PLAIN or origin is Literal:
        return _SAME
    if is_dataclass(kind):
        fielded = _Class(kind)
        return Form(fielded.write, fielded.read)
    if origin is tuple and members[1:] == (Ellipsis,):
        return _sequence(form_of(members[0]), tuple, list)
    if origin is tuple:
        return _row(tuple(map(form_of, members)))
    if origin is frozenset:
        return _sequence(form_of(members[0]), frozenset, sorted)
    if origin in (Union, UnionType):
        return _union(tuple(each for each in members if each is not NoneType))
    raise TypeError(f"values of {kind} have no form in JSON")


class _Class:
    """Form of a class. Its fields' forms are found at the first use: classes may contain each other."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._count = len(fields(kind))

    @cached_property
    def _forms(self) -> list[Form]:
        hints = get_type_hints(self._kind)
        return [form_of(hints[each.name]) for each in fields(self._kind)]

    @cached_property
    def _writers(self) -> list[tuple[int, Step]]:
        return [(at, each.write) for at, each in enumerate(self._forms) if each.write is not None]

    @cached_property
    def _readers(self) -> list[tuple[int, Step]]:
        return [(at, each.read) for at, each in enumerate(self._forms) if each.read is not None]

    @cached_property
    def _values(self) -> Step:
        # With two names more, so that the values of a class with one field, or none, are a tuple as well.
        return attrgetter(*(each.name for each in fields(self._kind)), "__class__", "__class__")

    def write(self, value: Any) -> list[Any]:
        """The fields of an object."""
        data = list(self._values(value)[: self._count])
        for at, step in self._writers:
            data[at] = step(data[at])
        return data

    def read(self, data: list[Any]) -> Any:
        """The object with these fields, which are read in their place."""
        if len(data) != self._count:
            raise ValueError(f"{len(data)} fields instead of {self._count}")
        for at, step in self._readers:
            data[at] = step(data[at])
        return self._kind(*data)


def _sequence(member: Form, make: Callable[[Any], Any], listed: Callable[[Any], list[Any]]) -> Form:
    write, read = member.write, member.read
    return Form(
        listed if write is None else lambda value: [write(each) for each in listed(value)],
        make if read is None else lambda data: make([read(each) for each in data]),
    )


def _row(members: tuple[Form, ...]) -> Form:
    def write(value: Any) -> list[Any]:
        pairs = zip(members, value, strict=True)
        return [each if form.write is None else form.write(each) for form, each in pairs]

    def read(data: list[Any]) -> tuple[Any, ...]:
        pairs = zip(members, data, strict=True)
        return tuple([each if form.read is None else form.read(each) for form, each in pairs])

    return Form(write, read)


def _union(members: tuple[Any, ...]) -> Form:
    """The form of one of some classes, or of one kind alone, or of plain values; or none of these."""
    forms = tuple(map(form_of, members))
    if all(each is _SAME for each in forms):
        return _SAME
    if len(members) == 1:
        ((write, read),) = ((each.write, each.read) for each in forms)
        return Form(
            None if write is None else lambda value: None if value is None else write(value),
            None if read is None else lambda data: None if data is None else read(data),
        )
    if not all(map(is_dataclass, members)):
        raise TypeError(f"a union of {members} has no form in JSON")
    named = {each.__name__: _Class(each) for each in members}

    def write_named(value: Any) -> list[Any] | None:
        if value is None:
            return None
        name = type(value).__name__
        return [*named[name].write(value), name]

    def read_named(data: list[Any] | None) -> Any:
        return None if data is None else named[data.pop()].read(data)

    return Form(write_named, read_named)


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
    """The facts of functions, their summaries and records of files by key; see `DiskCache` for failures.
    Entries are written by `flush`, so that nobody waits for that who waits for facts."""

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
        value = self._entries.get(key)
        if value is None:
            return None
        try:
            return decoded(value, kind)
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


def encoded(value: _Entry) -> bytes:
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
