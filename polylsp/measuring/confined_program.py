"""Confined program: start, commands, answers and end; and the harness that times a version.

Failures are exceptions by cause: `Late`, `Crashed`, `Raised`, `LeftToHost` and others under
`Ended`. The protocol is in `driver.c`.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from polylsp.measuring.confinement import Limits, confining
from polylsp.measuring.tools import Runnable
from polylsp.model.measurement import MemoryPlan, Number, Plan, Rung, Size

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


# --------------------------------------------------------------------------------------------------
# A running version of a function that waits for commands; see `driver.c`.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Same:
    """Results equal to the original's; floating-point numbers are off by so much at most, relative to their
    size."""

    error: float


@dataclass(frozen=True, slots=True)
class Differs:
    """A result that differs from the original's, and its place."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Ran:
    """The seconds of one call, and if it has kernels, those of them in the host's functions that run them, in
    kernels, and in transfers."""

    seconds: float
    inside: float = 0.0
    kernels: float = 0.0
    transfers: float = 0.0

    @property
    def resident(self) -> float:
        """The seconds that it would take if all data were on the device already."""
        return self.seconds - self.inside + self.kernels


@dataclass(frozen=True, slots=True)
class Reference:
    """The seconds of one call of the original; it has `count` real numbers in its results, of which `lost`
    are infinite or no numbers, or nearly so, and thus cannot be compared."""

    seconds: float
    lost: int
    count: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """The device that a version runs kernels on, and the bytes that are free there."""

    name: str
    free: int


class Harness:
    """A version of the function in a separate program."""

    def __init__(self, plan: Plan, program: Runnable, folder: str, limits: Limits) -> None:
        self._plan = plan
        self._program = Program(program.command, folder, limits, program.environment)

    def prepare(self, rung: Rung, seconds: float, *, guarded: bool = False) -> None:
        """Make the data at some sizes; raises `Ended`."""
        for line in _lines(self._plan, rung):
            self._program.tell(line)
        self._answer(f"allocate {int(guarded)}", seconds, "allocated")

    def time(self, seconds: float) -> float:
        """The seconds that one call takes; raises `Ended`."""
        return self.run(seconds).seconds

    def run(self, seconds: float) -> Ran:
        """Run one call; raises `Ended`."""
        return Ran(*(int(each) / 1e9 for each in self._answer("time", seconds, "ran").split()))

    def gpu(self, seconds: float) -> Gpu:
        """The device that it runs kernels on; raises `Ended`."""
        free, _, name = self._answer("device", seconds, "is").partition(" ")
        return Gpu(name, int(free))

    def reference(self, path: str, seconds: float) -> Reference:
        """Write the results of three calls, each of which rounds another way; returns the figures of the
        first one. Raises `Ended`."""
        took, lost, count = map(int, self._answer(f"reference {path}", seconds, "ran").split())
        return Reference(took / 1e9, lost, count)

    def check(self, path: str, seconds: float) -> Same | Differs:
        """Check the results against a file; raises `Ended`."""
        return self._compared(self._program.ask(f"check {path}", seconds))

    def again(self, path: str, seconds: float) -> Same | Differs:
        """Call it again, and check every bit of the results against a file; raises `Ended`."""
        return self._compared(self._program.ask(f"again {path}", seconds))

    def about(self, seconds: float) -> str:
        """Version line of the program; raises `Ended`. Programs of C have none."""
        return self._answer("about", seconds, "is")

    def _compared(self, answer: str) -> Same | Differs:
        word, _, rest = answer.partition(" ")
        if word == "same":
            return Same(float(rest))
        number, element, ours, theirs = rest.split() if word == "differs" else _unexpected(answer)
        place = self._place(number, element)
        return Differs(f"{place} is {ours} where the original makes it {theirs}.")

    def close(self) -> None:
        """End the program."""
        self._program.close()

    def _answer(self, line: str, seconds: float, expected: str) -> str:
        answer = self._program.ask(line, seconds)
        word, _, rest = answer.partition(" ")
        if word != expected:
            _unexpected(answer)
        return rest

    def _place(self, number: str, element: str) -> str:
        """Place of a difference, in words; of a structure, the element names the field too
        (`3.position.x`)."""
        if number == "-1":
            return "The value that it returns"
        if element == "-":
            return f"`{number}`"
        at, dot, field = element.partition(".")
        return (
            f"`{self._name(number)}[{at}].{field}`" if dot else f"Element {element} of `{self._name(number)}`"
        )

    def _name(self, number: str) -> str:
        """Name of a memory; an attribute of an object already is its name."""
        return self._plan.memories[int(number)].name if number.isdecimal() else number


def footprint(plan: Plan, rung: Rung) -> int:
    """The bytes of the data of one version: memory that it may change counts twice."""
    pairs = zip(plan.memories, rung.extents, strict=True)
    return sum(memory.size * extent.count * (2 if memory.written else 1) for memory, extent in pairs)


def device_footprint(plan: Plan, rung: Rung) -> int:
    """The bytes of the data on a device."""
    pairs = zip(plan.memories, rung.extents, strict=True)
    return sum(memory.size * extent.count for memory, extent in pairs)


def _unexpected(answer: str) -> list[str]:
    word, _, rest = answer.partition(" ")
    if word == "left":
        code, _, words = rest.partition(" ")
        raise LeftToHost(int(code), words)
    if word in ("raised", "refused"):
        raise Raised(answer if word == "raised" else rest, is_of_tools=word == "refused")
    reasons = {
        "failed memory": "cannot have as much memory as these sizes need",
        "failed object": "has variables that are smaller than they were thought to be",
        "failed file": "could not write what came out",
    }
    raise Unprepared(reasons[answer]) if answer in reasons else Ended(f"answers {answer!r}")


def _lines(plan: Plan, rung: Rung) -> Iterator[str]:
    sizes = dict(zip(plan.names, rung.sizes, strict=True))
    for number, argument in enumerate(plan.arguments):
        match argument:
            case Size(name):
                yield f"integer {number} {sizes[name]}"
            case Number(_, float() as value):
                yield f"real {number} {value!r}"
            case Number(_, value):
                yield f"integer {number} {value}"
            case _:
                pass
    for number, (memory, extent) in enumerate(zip(plan.memories, rung.extents, strict=True)):
        low, high = (0, extent.limit - 1) if extent.limit is not None else (memory.low, memory.high)
        yield (
            f"memory {number} {memory.kind} {memory.size} {extent.first} {extent.count} "
            f"{int(memory.written)} {memory.fill} {low} {min(high, _largest(memory))}"
            f"{' ' + 'x'.join(map(str, extent.shape)) if extent.shape else ''}"
        )


def _largest(memory: MemoryPlan) -> int:
    if memory.members:
        whole = [each for each in memory.members if each.kind in ("i", "u")]
        return min((2 ** (8 * each.size - (each.kind == "i")) - 1 for each in whole), default=memory.high)
    return 2 ** (8 * memory.size - (memory.kind == "i")) - 1
