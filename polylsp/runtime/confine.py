"""A process of the user's code: limited, cut off, and never outliving us.

Between ours and the user's process stands a keeper, which ends everything that the user's process leaves
behind. Where the kernel gives processes of their own numbers, that happens by itself: they end with the
first of them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polylsp.runtime import kernel

NOBODY = 65534
_OF_OTHERS = 64
"""Processes and threads that the same user may start elsewhere while a program runs."""
_DEVICES = ("nvidia*", "dxg")
"""Those of a GPU, the latter in Linux inside of Windows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may use: seconds of CPU over all its threads, bytes of address space, bytes of one
    file, processes and threads. `trusted`: it is a compiler, and stays who we are. `reads`: folders that it
    has to be able to read. `on_device`: it uses a GPU, for which CUDA takes any amount of addresses: then
    `memory` is what it may write to. `processor`: the only one that it may run on (`None`: it may on all)."""

    cpu_seconds: int
    memory: int
    file_size: int
    processes: int
    trusted: bool = False
    reads: tuple[str, ...] = ()
    on_device: bool = False
    processor: int | None = None


def confining(limits: Limits, folder: str) -> Callable[[], None]:
    """What the forked process does before it becomes the program."""

    def confine() -> None:
        is_separate = kernel.separate()
        _leave_a_keeper(is_alone=not is_separate)
        if is_separate:
            # The first process of a new numbering ignores its own signals: the program is the second.
            _leave_a_keeper(is_alone=False)
        user = _user(limits, folder)
        _limit(limits, user, is_separate=is_separate)
        if limits.processor is not None:
            os.sched_setaffinity(0, (limits.processor,))
        kernel.write_only_beneath(folder, _devices() if limits.on_device else ())
        _become(user)
        kernel.end_with_parent()

    return confine


def isolation(folder: str) -> tuple[bool, bool]:
    """Whether this system cuts processes off from the network and from other processes, and from files
    outside of their folder."""
    network = _in_a_fork(kernel.separate)
    return network, _in_a_fork(lambda: kernel.write_only_beneath(folder))


def _in_a_fork(attempt: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        worked = False
        with contextlib.suppress(BaseException):
            worked = attempt()
        os._exit(0 if worked else 1)
    return os.waitpid(child, 0)[1] == 0


def _limit(limits: Limits, user: int, *, is_separate: bool) -> None:
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
    """What NVIDIA's driver is spoken to through."""
    return tuple(str(each) for name in _DEVICES for each in Path("/dev").glob(name))


def _user(limits: Limits, folder: str) -> int:
    """Who the program will be: who may do everything becomes nobody, unless it is a compiler, or its folder,
    or what it has to read, stands where nobody may go."""
    if os.geteuid() != 0 or limits.trusted:
        return os.getuid()
    return NOBODY if _is_reached(folder) and all(map(_is_reached, limits.reads)) else os.getuid()


def open_to_programs(folder: str) -> None:
    """Let programs write there, whoever they will be."""
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


def _is_reached(folder: str) -> bool:
    """Whether everybody may go to where a folder stands."""
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
    """Fork: the child goes on, and this process waits for its end and tells its status as a shell does.
    `is_alone`: the kernel does not end what the child leaves behind, so this process does."""
    kernel.adopt_orphans()
    child = os.fork()
    if child == 0:
        kernel.end_with_parent()
        return
    status = 1
    try:
        kernel.end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with Path(os.devnull).open("r+b") as nothing:
            for stream in (0, 1, 2):
                os.dup2(nothing.fileno(), stream)
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
    """Kill what is left, until nothing is. Children of those that end become ours."""
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
