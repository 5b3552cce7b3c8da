"""Process limits, messages between processes, containment of failures, and processes of other machines.

Limits are memory, CPU time and the life of the parent. Messages are length-prefixed pickles; both
ends are processes of this program on one machine, and no other data are unpickled. An internal
error, or exhaustion of stack or memory, costs one function (`Mishap`), not its file.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar

from polylsp import __version__

if TYPE_CHECKING:
    from asyncio import StreamReader


EXIT_OUT_OF_MEMORY = 77
"""The exit status of a process that reached its memory limit."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit that the analysis of a function reached ("it took too long"), and advice."""

    reason: str
    advice: str


TOOK_TOO_LONG = Stop("it took too long", "raise `polylsp.max_seconds`, or split the function")


def limit_memory(mebibytes: int) -> None:
    """Limit the address space, where the system can; 0: no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = mebibytes * 2**20 if mebibytes else hard
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def limit_cpu_time(seconds: float) -> bool:
    """Let the system end this process, with `SIGPROF`, once it has taken so many more seconds of CPU time;
    0: no limit. Whether the system can."""
    if not hasattr(signal, "setitimer"):  # Windows
        return False
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    return True


def ran_out_of_cpu_time(status: int | None) -> bool:
    """True if `limit_cpu_time` ended a process with that exit status."""
    return status is not None and hasattr(signal, "SIGPROF") and status == -signal.SIGPROF


def end_with_parent(by: int = 9) -> None:
    """Ask Linux to end this process with the thread that started it, however that dies."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, by)


# --------------------------------------------------------------------------------------------------
# Standard output reserved for messages.
# --------------------------------------------------------------------------------------------------


def take_standard_output() -> BinaryIO:
    """Standard output for messages alone: from here on, all other output to it goes to standard error."""
    sys.stdout.flush()
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return messages


# --------------------------------------------------------------------------------------------------
# Messages between our processes: pickled values, each after its length.
#
# Both ends are processes of ours on one machine; no other data are ever unpickled.
# --------------------------------------------------------------------------------------------------


_HEADER = struct.Struct(">Q")
"""The length of a message, before the message."""


Reducer = Callable[[Any], tuple[type, tuple[Any, ...]]]


class _Reducers(dict[type, Reducer]):
    """Pickling of data by their constructors. The pickling that `dataclasses` gives to frozen classes with
    slots asks for the fields of each object anew, which takes most of the time of a message."""

    def __missing__(self, kind: type) -> Reducer:
        if not is_dataclass(kind) or hasattr(kind, "__post_init__"):
            raise KeyError(kind)
        own = fields(kind)
        if not all(each.init and not each.kw_only for each in own):
            raise KeyError(kind)
        # With two names, so that the values of a class with one field, or none, are a tuple as well.
        values, count = attrgetter(*(each.name for each in own), "__class__", "__class__"), len(own)

        def reduced(value: Any) -> tuple[type, tuple[Any, ...]]:
            return kind, values(value)[:count]

        self[kind] = reduced
        return reduced


_REDUCERS = _Reducers()


class _Pickler(pickle.Pickler):
    dispatch_table = _REDUCERS


def frame(message: object) -> bytes:
    """The bytes that carry a message."""
    written = io.BytesIO()
    written.write(bytes(_HEADER.size))
    _Pickler(written, protocol=pickle.HIGHEST_PROTOCOL).dump(message)
    size = written.tell() - _HEADER.size
    written.seek(0)
    written.write(_HEADER.pack(size))
    return written.getvalue()


async def received(replies: StreamReader) -> Any:
    """The next message of a stream that is waited for; raises `asyncio.IncompleteReadError` at its end."""
    (size,) = _HEADER.unpack(await replies.readexactly(_HEADER.size))
    return pickle.loads(await replies.readexactly(size))


def read(read_exactly: Callable[[int], bytes]) -> Any | None:
    """The next message of a blocking stream, or `None` at its end."""
    header = read_exactly(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    body = read_exactly(size)
    return pickle.loads(body) if len(body) == size else None


# --------------------------------------------------------------------------------------------------
# Failures of a step about one function, contained so that they cost that function, not its file:
# internal errors, and exhaustion of stack or memory.
# --------------------------------------------------------------------------------------------------


T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mishap:
    """Reason why a step failed: the code of a rejection, a sentence and advice."""

    code: Literal["internal-error", "budget"]
    told: str
    advice: str

    def of(self, subject: str) -> str:
        """The sentence, of something that was to be analysed."""
        return self.told.format(subject)


OURS = Mishap("internal-error", "an internal error of polylsp stopped the analysis of {}", "please report it")
_DEEP = Mishap("budget", "{} is nested too deeply to be analysed", "split it")
_LARGE = Mishap(
    "budget",
    "{} takes more memory to be analysed than polylsp may use",
    "raise `polylsp.max_memory_mb`, or split it",
)


def contained(doing: str, work: Callable[[], T], instead: Callable[[Mishap], T]) -> T:
    """Result of `work`. Where it fails, the result of `instead`; an internal error is logged with `doing`."""
    try:
        return work()
    except MemoryError:
        mishap = _LARGE
    except RecursionError:
        mishap = _DEEP
    except Exception:
        _log.exception("internal error, please report it: %s", doing)
        mishap = OURS
    # Only here, where the error no longer holds the frames of the work and all that these had allocated.
    return instead(mishap)


# --------------------------------------------------------------------------------------------------
# Workers of a Dask cluster, each of which has this polylsp.
# --------------------------------------------------------------------------------------------------

_SECONDS_TO_CONNECT = 10


class Unusable(Exception):
    """Processes or machines that cannot be had; the message is for the user."""


@contextmanager
def connected(address: str) -> Generator[Any]:
    """A client of the scheduler at an address; raises `Unusable`."""
    try:
        from distributed import Client
    except ImportError:
        raise Unusable("a cluster needs Dask: pip install 'polylsp[cluster]'") from None
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Unusable(f"no scheduler answers at {address}: start one with `dask scheduler`") from error
    with client:
        yield client


def check_workers(client: Any) -> None:
    """See that there are workers, each with this polylsp; raises `Unusable`."""

    def version() -> str:
        # Sent by value: a worker may not have polylsp.
        try:
            import polylsp
        except ImportError:
            return "none"
        return polylsp.__version__

    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
    except TimeoutError:
        raise Unusable("the cluster has no workers: start one with `dask worker`") from None
    for worker, found in client.run(version).items():
        if found != __version__:
            raise Unusable(f"polylsp is {__version__} here, and on worker {worker} it is {found}")


# --------------------------------------------------------------------------------------------------
# Watch on the parent process: a server must not outlive its editor, even if the pipe between them stays open.
# --------------------------------------------------------------------------------------------------

_SECONDS_BETWEEN_LOOKS = 5.0


def end_with(process_id: int | None, clean_up: Callable[[], None]) -> None:
    """End this process, after `clean_up`, when another process ends; one that cannot be seen
    (of another machine, or another container) is not waited for."""
    if process_id is None or sys.platform == "win32" or not _is_alive(process_id):
        return

    import asyncio

    def end() -> None:
        leave(f"The editor (process {process_id}) is gone.", clean_up)

    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        try:
            loop.add_reader(os.pidfd_open(process_id), end)
            return
        except OSError:
            pass

    def look() -> None:
        if _is_alive(process_id):
            loop.call_later(_SECONDS_BETWEEN_LOOKS, look)
        else:
            end()

    look()


def leave(reason: str, clean_up: Callable[[], None]) -> None:
    """End this process at once, even while a thread waits for input that will never come, and despite any
    failure on the way: the log may go to the client that is gone."""
    try:
        with contextlib.suppress(Exception):
            _log.warning("%s", reason)
        clean_up()
    finally:
        os._exit(1)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
