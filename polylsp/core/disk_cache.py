"""Bytes by key in the user's cache folder, shared by all processes of one version of polylsp.

The cache may be lost at any time and never costs the work: a damaged entry is a miss and is replaced, a
database that another process has locked is passed over, and a folder that cannot be written to switches the
cache off with one line in the log. Values carry a checksum of themselves and their key.

The table is an SQLite database in WAL mode, so that readers and a writer do not wait for each other and a
process that is killed leaves no half entry. A damaged database is left to processes that have it open, and
the next number becomes the current one: names of files in use are never given to new files.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

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
