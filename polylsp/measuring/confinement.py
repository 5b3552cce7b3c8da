"""Confinement of a process of the user's code: limited, isolated, and never outliving us.

Between ours and the user's process stands a keeper, which ends all descendants of the user's process. In a
new process namespace, that happens by itself: they end with its first process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polylsp.measuring import isolation as kernel
from polylsp.measuring.isolation import call_filter, install

NOBODY = 65534
_OF_OTHERS = 64
"""Processes and threads that the same user may start elsewhere while a program runs."""
_DEVICES = ("nvidia*", "dxg")
"""Device files of a GPU, the latter in Linux inside of Windows."""

_OF_COMPILERS = ("/dev",)
"""Folders that are empty for a compiler: headers may be anywhere else."""

_ANY_PORT = 9


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a process: seconds of CPU over all its threads, bytes of address space, bytes of one file,
    processes and threads. `trusted`: it is a compiler, and runs as the user. `reads`: folders that it has to
    be able to read; those that are `shown` it sees also where they are in a folder that is otherwise empty
    for it (`kernel.HIDDEN`). `on_device`: it uses a GPU, for which CUDA takes any amount of addresses: then
    `memory` bounds its writable memory. `processor`: the only one that it may run on (`None`: it may on
    all)."""

    cpu_seconds: int
    memory: int
    file_size: int
    processes: int
    trusted: bool = False
    reads: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    on_device: bool = False
    processor: int | None = None


def can_confine() -> bool:
    """True if this system can confine programs: otherwise, none is run."""
    return os.name == "posix"


def confining(limits: Limits, folder: str) -> Callable[[], None]:
    """Function that the forked process calls before it becomes the program."""

    devices = _devices() if limits.on_device else ()
    hidden = _OF_COMPILERS if limits.trusted else kernel.HIDDEN

    def confine() -> None:
        is_separate = kernel.separate()
        _leave_a_keeper(is_alone=not is_separate)
        if is_separate:
            # The first process of a new namespace ignores its signals: the program is the second.
            _leave_a_keeper(is_alone=False)
        user = _user(limits, folder)
        # CUDA's driver gives its threads names, and fails if it cannot.
        names = limits.on_device
        is_narrow = is_separate and kernel.narrow_view(
            folder, limits.shown, devices, hidden, names_threads=names
        )
        kernel.write_only_beneath(folder, devices, names_threads=names)
        # Only now: files of the parent are still open, maybe more than the program may have.
        _limit(limits, user, is_separate=is_separate)
        if limits.processor is not None:
            os.sched_setaffinity(0, (limits.processor,))
        _become(user)
        kernel.give_up_privileges()
        kernel.end_with_parent()
        # Compilers make what they link executable.
        has_attributes = is_narrow or limits.trusted
        install(call_filter(attributes=has_attributes, shared_memory=is_separate, device=limits.on_device))

    return confine


@dataclass(frozen=True, slots=True)
class Isolation:
    """Resources that programs cannot reach on this system."""

    network: bool
    sockets: bool
    processes: bool
    files: bool
    attributes: bool
    view: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Missing protections, a sentence for each."""
        return tuple(
            f"This system does not let the programs be {words}."
            for name, words in _PROMISES.items()
            if not getattr(self, name)
        )


_PROMISES = {
    "network": "cut off from the network",
    "sockets": "kept from local sockets, on which services of the user listen",
    "processes": "kept from sending signals to other processes",
    "files": "kept from writing to other folders",
    "attributes": "kept from changing the modes and times of other files",
    "view": "kept from reading temporary files of others, and what other processes are",
}


def isolation(folder: str) -> Isolation:
    """Isolation of a program in a folder, determined by a process that is confined like one, and tries."""
    with contextlib.ExitStack() as stack:
        attempts = _Targets(folder, stack).attempts()
        limits = Limits(cpu_seconds=10, memory=2**40, file_size=2**20, processes=64)
        return Isolation(*_refused(confining(limits, folder), attempts))


class _Targets:
    """Resources that a program must not reach: a socket in its folder, this process, and a file elsewhere."""

    def __init__(self, folder: str, stack: contextlib.ExitStack) -> None:
        self._process = os.getpid()
        self._elsewhere = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="polylsp-outside-")))
        self._file = self._elsewhere / "file"
        self._file.touch()
        open_to_programs(str(self._elsewhere))
        open_to_programs(str(self._file))
        self._socket = str(Path(folder, "socket"))
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(self._socket)
        stack.callback(Path(self._socket).unlink)
        open_to_programs(self._socket)
        local.listen()

    def attempts(self) -> tuple[Callable[[], object], ...]:
        """Attempts that must fail, in the order of `Isolation`: each raises `OSError` then."""
        return (
            self._connect,
            lambda: socket.socket(socket.AF_UNIX).connect(self._socket),
            lambda: os.kill(self._process, 0),
            lambda: (self._elsewhere / "new").touch(),
            self._change_attributes,
            self._look_around,
        )

    def _connect(self) -> None:
        # Of datagrams, as Landlock sees to connections alone; nothing has to listen there.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", _ANY_PORT))

    def _change_attributes(self) -> None:
        with contextlib.suppress(OSError):
            self._file.chmod(0o600)
            return
        os.utime(self._file)

    def _look_around(self) -> None:
        if not self._elsewhere.exists():
            Path(f"/proc/{self._process}/cmdline").read_bytes()


def _is_refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return True
    return False


_MOST_FILES = 1 << 16


def _refused(confine: Callable[[], None], attempts: Sequence[Callable[[], object]]) -> list[bool]:
    """For each attempt, if it is refused to a process that was confined."""
    child = os.fork()
    if child == 0:
        refused = 0
        with contextlib.suppress(BaseException):
            # As an exec would: what is refused for too many open files is not refused by the system.
            os.closerange(3, _MOST_FILES)
            confine()
            for bit, attempt in enumerate(attempts):
                with contextlib.suppress(Exception):
                    refused |= _is_refused(attempt) << bit
        os._exit(refused)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [status > 0 and bool(status >> bit & 1) for bit in range(len(attempts))]


def _limit(limits: Limits, user: int, *, is_separate: bool) -> None:
    import resource  # Windows has none.

    # Linux counts all that a user runs; apart from the rest only for who had to become another user for that.
    is_counted_apart = is_separate and os.geteuid() != 0
    processes = limits.processes + (0 if is_counted_apart else _running(user) + _OF_OTHERS)
    wanted = (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_DATA if limits.on_device else resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_NOFILE, 1024 if limits.on_device else 64),
    )
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def _devices() -> tuple[str, ...]:
    """Device files of NVIDIA's driver."""
    return tuple(str(each) for name in _DEVICES for each in Path("/dev").glob(name))


def _user(limits: Limits, folder: str) -> int:
    """Id of the user that runs the measured program. Root's programs run as `nobody`, except compilers and
    programs in folders that `nobody` cannot read."""
    if os.geteuid() != 0 or limits.trusted:
        return os.getuid()
    return NOBODY if _is_reached(folder) and all(map(_is_reached, limits.reads)) else os.getuid()


def open_to_programs(folder: str) -> None:
    """Let programs write there, under any user."""
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


def _is_reached(folder: str) -> bool:
    """True if every user may access the folders above a folder."""
    return all(parent.stat().st_mode & 0o001 for parent in Path(folder).absolute().parents)


def _running(user: int) -> int:
    """The threads of a user that run already, which count against the limit too."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == user:
                found += sum(1 for _ in (folder / "task").iterdir())
    return found


def _become(user: int) -> None:
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


# --- The keeper --------------------------------------------------------------------------------


def _leave_a_keeper(*, is_alone: bool) -> None:
    """Fork: the child goes on, and this process waits for its end and reports its status as a shell does.
    `is_alone`: the kernel does not end the child's descendants, so this process does."""
    kernel.adopt_orphans()
    # The child is about to change what is in `/dev`.
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(nothing)
        kernel.end_with_parent()
        return
    status = 1
    try:
        kernel.end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.closerange(3, 4096)
        status = _waited(child)
        if is_alone:
            _end_descendants()
    finally:
        os._exit(status)


def _waited(child: int) -> int:
    """The status of a child; others that end meanwhile are let go."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_descendants() -> None:
    """Kill all descendants until none is left. Children of those that end become ours."""
    while True:
        for each in _children():
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            yield int(each)
