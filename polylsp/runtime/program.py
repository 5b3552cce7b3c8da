"""A confined program: its commands, its answers, and its end."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from polylsp.runtime.confine import Limits, confining

_KEPT_WORDS = 8000
_MOST_WORDS = 2**20
_MOST_ANSWER = 2**16
_CHUNK = 2**16
_SECONDS_TO_END = 5.0
_MEBIBYTE = 2**20


def _numbered(words: Mapping[str, str]) -> dict[int, str]:
    """Words about signals by their numbers, as far as this system has such signals."""
    known = signal.Signals.__members__
    return {known[name].value: text for name, text in words.items() if name in known}


_CRASHES = _numbered(
    {
        "SIGSEGV": "touched memory that is not its own (segmentation fault)",
        "SIGBUS": "touched memory that is not there (bus error)",
    }
)
_SIGNALS = _numbered(
    {
        "SIGFPE": "divided a whole number by zero",
        "SIGILL": "ran an instruction that this processor does not have",
        "SIGABRT": "gave up (abort)",
        "SIGXCPU": "used more processor time than it may",
        "SIGXFSZ": "wrote a larger file than it may",
        "SIGSYS": "made a system call of another kind of program than those of 64 bits",
        "SIGKILL": "was killed: it used more processor time or memory than it may",
    }
)
"""Causes of a program's end, by the number of the signal."""

_OF_KERNELS = (1, 9, 98, 700, *range(703, 720))
"""Errors of CUDA about launches, and about what kernels did."""

_OF_ABSENCE = (3, 35, 100)
"""CUDA errors for a missing driver, an outdated one, or no device."""


class Ended(Exception):
    """The program is no more; the message says how it ended, without a subject: "divided by zero"."""


class Late(Ended):
    """The program exceeded its time."""


class Unprepared(Ended):
    """The program could not create its data."""


class Raised(Ended):
    """The program raised an exception of Python; `is_of_tools`: before its first effect, since it could not
    be compiled, or lacks a module."""

    def __init__(self, message: str, *, is_of_tools: bool) -> None:
        super().__init__(message)
        self.is_of_tools = is_of_tools


class LeftToHost(Ended):
    """The program's kernels did not run, with an error of CUDA (0: none)."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"did not run on a GPU: {words}")
        self.code = code

    @property
    def is_absence(self) -> bool:
        """True if there is no device here, or no driver for it."""
        return self.code in _OF_ABSENCE

    @property
    def is_of_kernels(self) -> bool:
        """True if kernels made an illegal access, or had an invalid launch configuration."""
        return self.code in _OF_KERNELS


class Crashed(Ended):
    """The program touched memory that it may not touch."""


@dataclass(frozen=True, slots=True)
class Done:
    """End of a program that ran to completion: its status, and its output."""

    status: int
    words: str


class Program:
    """A program that was started in a folder, the only one that it may write to."""

    def __init__(
        self,
        command: Sequence[str],
        folder: str,
        limits: Limits,
        environment: Mapping[str, str],
    ) -> None:
        self.words = ""
        self._printed = 0
        self._answer = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=confining(limits, folder),
        )
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def tell(self, line: str) -> None:
        """Say something that is not answered."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def ask(self, line: str, seconds: float) -> str:
        """Say something, and wait for the line that answers it; raises `Ended`."""
        self.tell(line)
        until = monotonic() + seconds
        while b"\n" not in self._answer:
            if not self._listen(until):
                self._give_up(Late(f"did not come to its end within {seconds:.0f} s"))
        answer, _, self._answer = self._answer.partition(b"\n")
        return answer.decode(errors="replace")

    @property
    def streams(self) -> list[int]:
        """File descriptors that become readable on output of the program, or at its end."""
        return [key.fd for key in self._selector.get_map().values()]

    def has_ended(self) -> bool:
        """Take its output; true if that was all."""
        self._listen(monotonic(), is_end=True)
        return not self._selector.get_map()

    def finish(self, seconds: float) -> Done:
        """Let it run to its end; raises `Ended` if that does not come."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        until = monotonic() + seconds
        while self._selector.get_map():
            if not self._listen(until, is_end=True):
                self._give_up(Late(f"did not come to its end within {seconds:.0f} s"))
        return Done(self._process.wait(), self.words)

    def close(self) -> None:
        """End it, and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._selector.close()

    def _listen(self, until: float, *, is_end: bool = False) -> bool:
        """Take its output; false if it is silent until that time."""
        ready = self._selector.select(max(0.0, until - monotonic()))
        for key, _ in ready:
            data = os.read(key.fd, _CHUNK)
            if not data:
                self._selector.unregister(key.fileobj)
                if not is_end and key.fileobj is self._process.stdout:
                    raise self._end()
            elif key.fileobj is self._process.stdout and not is_end:
                self._answer += data
                if len(self._answer) > _MOST_ANSWER:
                    self._give_up(Ended("does not answer as the harness does"))
            else:
                self._hear(data)
        return bool(ready) or not self._selector.get_map()

    def _hear(self, data: bytes) -> None:
        self._printed += len(data)
        self.words += data.decode(errors="replace")[: max(0, _KEPT_WORDS - len(self.words))]
        if self._printed > _MOST_WORDS:
            self._give_up(Ended(f"printed more than {_MOST_WORDS // _MEBIBYTE} MiB"))

    def _give_up(self, ended: Ended) -> None:
        self.close()
        raise ended

    def _end(self) -> Ended:
        try:
            status = self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.close()
            return Ended("closed its standard output")
        if status - 128 in _CRASHES:
            return Crashed(_CRASHES[status - 128])
        if status - 128 in _SIGNALS:
            return Ended(_SIGNALS[status - 128])
        return Ended(f"ended by itself with status {status}")


def run(
    command: Sequence[str], folder: str, limits: Limits, environment: Mapping[str, str], seconds: float
) -> Done:
    """Run a program to its end; raises `Ended`."""
    program = Program(command, folder, limits, environment)
    try:
        return program.finish(seconds)
    finally:
        program.close()
