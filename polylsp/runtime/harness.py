"""A running version of a function that waits for commands; see `driver.c`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.model.measurement import MemoryPlan, Number, Plan, Rung, Size
from polylsp.runtime.confine import Limits
from polylsp.runtime.program import Ended, LeftToHost, Program, Raised, Unprepared
from polylsp.runtime.tools import Runnable


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
        """End it."""
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
