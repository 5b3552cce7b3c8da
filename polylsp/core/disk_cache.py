"""Bytes by key in the user's cache folder, shared by all processes of one version of polylsp.

The cache may be lost at any time and never costs the work: a damaged entry is a miss and is replaced, a
database that another process has locked is passed over, and a folder that cannot be written to switches the
cache off with one line in the log. Values carry a checksum of themselves and their key.

The table is an SQLite database in WAL mode, so that readers and a writer do not wait for each other and a
process that is killed leaves no half entry. A damaged database is left to processes that have it open, and
the next number becomes the current one: names of files in use are never given to new files.

Below: values of frozen classes as such bytes, and back (`encoded`, `decoded`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from platformdirs import user_cache_path

T = TypeVar("T")

logger = logging.getLogger(__name__)

FOLDER_VARIABLE = "POLYLSP_CACHE_DIR"
"""The environment variable that names another folder than the user's."""

LARGEST = 256 * 2**20
"""Bytes that one database may take: the facts of some 300,000 loops."""

_PATIENCE = 2.0
"""Seconds to wait for a lock; transactions take milliseconds."""

_PATIENCE_AT_FIRST = 10.0
"""Seconds to wait while a database is set up: after that there is no cache at all."""

_PAUSE = 0.01
"""Seconds between two attempts to set a database up."""

_OTHERS = 2
"""Databases of other versions that are left there, for who works with two of them in turn."""

_REPLACEMENTS = 3
"""Damaged databases that one process replaces before it works without."""

_SECONDS_OF_USE = 3600
"""Uses are dated in hours, so that reading an entry seldom writes."""

_TOUCHED_AT_ONCE = 256

_SET_UP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA journal_size_limit = 4194304",
    "CREATE TABLE IF NOT EXISTS entries"
    " (key TEXT PRIMARY KEY, value BLOB NOT NULL, mark BLOB NOT NULL, used INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS by_use ON entries (used)",
    # A database that can be read only is found out here, not at the first function.
    "BEGIN IMMEDIATE",
    "COMMIT",
)
_FIND = "SELECT value, mark, used FROM entries WHERE key = ?"
_HAS = "SELECT 1 FROM entries WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO entries (key, value, mark, used) VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM entries WHERE key = ?"
_TOUCH = "UPDATE entries SET used = ? WHERE key = ?"
_EVICT = (
    "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries ORDER BY used, rowid"
    " LIMIT (SELECT COUNT(*) / 4 + 1 FROM entries))"
)


def cache_folder() -> Path:
    """The folder in which a program of this user may store regenerable data."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else _default_folder(*map(os.environ.get, _PLACES))


_PLACES = ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")
"""The environment's variables on which the folder depends."""


@lru_cache(maxsize=8)
def _default_folder(*_places: str | None) -> Path:
    return user_cache_path("polylsp", appauthor=False, opinion=False)


class DiskCache:
    """Database of a `kind` of values that one `version` of polylsp produces. `largest` bounds its size in
    bytes; the least recently used entries make room. `problem` says why there is no cache, or is empty."""

    def __init__(
        self,
        folder: Path,
        kind: str,
        version: str,
        *,
        largest: int = LARGEST,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.problem = ""
        self._folder = folder
        self._kind = kind
        self._name = f"{kind}-{version}"
        self._largest = largest
        self._clock = clock
        self._generation = 0
        self._replaced = 0
        self._touched: list[str] = []
        self._connection: sqlite3.Connection | None = None
        self._open()

    def get(self, key: str) -> bytes | None:
        """The value under a key; `None` where there is none, or one that is damaged."""
        row = self._tried(lambda database: database.execute(_FIND, (key,)).fetchone())
        if row is None:
            return None
        value, mark, used = row
        if not isinstance(value, bytes) or mark != _mark(key, value):
            self.drop(key)
            return None
        if used != self._now():
            self._touched.append(key)
            if len(self._touched) >= _TOUCHED_AT_ONCE:
                self.flush()
        return value

    def has(self, key: str) -> bool:
        """True if there is a value under a key, intact or not."""
        return self._tried(lambda database: database.execute(_HAS, (key,)).fetchone()) is not None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under a key, unless it is far larger than others."""
        if len(value) > self._largest // 16:
            return
        row = (key, value, _mark(key, value), self._now())
        self._tried(lambda database: _with_room(database, lambda: database.execute(_WRITE, row)))

    def drop(self, key: str) -> None:
        """Remove the entry of a key."""
        self._tried(lambda database: database.execute(_DROP, (key,)))

    def flush(self) -> None:
        """Write down which entries were used since the last time."""
        touched, self._touched = self._touched, []
        if touched:
            rows = [(self._now(), key) for key in touched]

            def write(database: sqlite3.Connection) -> None:
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    database.executemany(_TOUCH, rows)

            self._tried(write)

    def close(self) -> None:
        """Let go of the database."""
        self.flush()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- Whatever may go wrong -----------------------------------------------------------

    def _tried(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """The outcome of a transaction; `None` where it failed, after which there is another database, or
        none, unless this one was only locked."""
        if self._connection is None:
            return None
        try:
            return work(self._connection)
        except sqlite3.Error as error:
            if "locked" not in str(error):
                self._failed(error)
        return None

    def _open(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._generation = max(self._generation, *self._generations(), 0)
            file = self._file(self._generation)
            connection = sqlite3.connect(
                file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._connection = connection
            for statement in _SET_UP:
                _patiently(lambda statement=statement: connection.execute(statement))
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(16, self._largest // page)}")
            self._tidy()
        except (OSError, sqlite3.Error) as error:
            self._failed(error)

    def _failed(self, error: OSError | sqlite3.Error) -> None:
        words = str(error)
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        unusable = isinstance(error, OSError) or any(each in words for each in _UNUSABLE)
        if unusable or self._replaced >= _REPLACEMENTS:
            self.problem = words
            logger.warning("Facts are not cached in %s: %s", self._folder, words)
            return
        logger.info("The cache %s is damaged and begun anew: %s", self._file(self._generation), words)
        self._replaced += 1
        self._generation += 1
        self._open()

    # --- Files ---------------------------------------------------------------------------

    def _file(self, generation: int) -> Path:
        return self._folder / f"{self._name}.{generation}.sqlite"

    def _generations(self) -> list[int]:
        """The numbers of the databases of this version that are there."""
        numbers = (each.name.split(".")[-2] for each in self._folder.glob(f"{self._name}.*.sqlite"))
        return [int(each) for each in numbers if each.isdecimal()]

    def _tidy(self) -> None:
        """Delete databases that were replaced, and those of versions that are used no longer."""
        current = self._file(self._generation)
        with contextlib.suppress(OSError):
            os.utime(current)
            files = [each for each in self._folder.glob(f"{self._kind}-*.sqlite") if each != current]
            replaced = [each for each in files if each.name.startswith(f"{self._name}.")]
            others = sorted((set(files) - set(replaced)), key=lambda each: each.stat().st_mtime)
            for each in (*replaced, *others[:-_OTHERS]):
                for name in (each.name, f"{each.name}-wal", f"{each.name}-shm"):
                    with contextlib.suppress(OSError):
                        each.with_name(name).unlink()

    def _now(self) -> int:
        return int(self._clock() // _SECONDS_OF_USE)


_UNUSABLE = ("full", "readonly", "unable to open", "disk I/O", "locked")
"""Errors of the folder or the disk, not of the database's content."""


def _patiently(execute: Callable[[], object]) -> None:
    """Execute again while another process holds a lock. SQLite does not wait by itself where it turns a new
    database to WAL mode: of two processes that begin at once, one is refused without delay."""
    latest = time.monotonic() + _PATIENCE_AT_FIRST
    while True:
        try:
            execute()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > latest:
                raise
        time.sleep(_PAUSE)


def _with_room(database: sqlite3.Connection, write: Callable[[], object]) -> None:
    """Write; where the database has reached its bound, make room first."""
    for _ in range(8):
        try:
            write()
            return
        except sqlite3.OperationalError as error:
            if "full" not in str(error):
                raise
            database.execute(_EVICT)
    write()


def _mark(key: str, value: bytes) -> bytes:
    return blake2b(value, digest_size=8, key=key.encode()[:64]).digest()


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


def encoded(value: Any) -> bytes:
    """A value of a frozen class as bytes."""
    write = form_of(type(value)).write
    data = value if write is None else write(value)
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 1)


def decoded(value: bytes, kind: type[T]) -> T:
    """The value of a kind that bytes stand for; raises an exception of any kind where they stand for none."""
    return read_json(zlib.decompress(value), kind)


def read_json(text: bytes, kind: type[T]) -> T:
    """The value of a kind in its form in JSON; raises an exception of any kind where it is none."""
    data, read = json.loads(text), form_of(kind).read
    return data if read is None else read(data)
