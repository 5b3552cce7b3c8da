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
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cattrs import Converter
from cattrs.strategies import configure_tagged_union

import polylsp
from polylsp.core.disk_cache import DiskCache, cache_folder
from polylsp.ir.directive import Finding
from polylsp.ir.verdict import Verdict
from polylsp.model.facts import FunctionFacts

logger = logging.getLogger(__name__)

_KIND = "facts"
_READERS = ("islpy", "pycparser", "pcpp")
"""The packages that take part in finding facts."""

_RENDERERS = ("cli", "server", "ide")
"""The packages of ours that only show facts; none of the others imports them."""


class FactCache:
    """The facts of functions by key; see `DiskCache` for its failures."""

    def __init__(self, entries: DiskCache) -> None:
        self._entries = entries

    @property
    def problem(self) -> str:
        """Reason why nothing is cached; empty where it is."""
        return self._entries.problem

    def get(self, key: str) -> FunctionFacts | None:
        """The facts under a key, if they are cached."""
        value = self._entries.get(key)
        if value is None:
            return None
        try:
            return decoded(value)
        except Exception as error:
            logger.info("An entry of the cache cannot be read: %s", error)
            self._entries.drop(key)
            return None

    def put(self, key: str, facts: FunctionFacts) -> None:
        """Cache facts under a key."""
        self._entries.put(key, encoded(facts))

    def flush(self) -> None:
        """Write down which facts were used."""
        self._entries.flush()


def fact_cache() -> FactCache:
    """The cache of this process and this user."""
    # A process that was forked needs a new connection.
    return _opened(cache_folder(), os.getpid())


def encoded(facts: FunctionFacts) -> bytes:
    """Facts as bytes."""
    return zlib.compress(json.dumps(_converter().unstructure(facts), separators=(",", ":")).encode(), 1)


def decoded(value: bytes) -> FunctionFacts:
    """The facts that bytes stand for; raises an exception of any kind where they stand for none."""
    return _converter().structure(json.loads(zlib.decompress(value)), FunctionFacts)


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


@lru_cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    for union in (Verdict, Finding):
        configure_tagged_union(union, converter)
    return converter
