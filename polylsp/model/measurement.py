"""Plans and results of measurements: plain values that cross processes.

A `Plan` says how a function is called on synthetic data, and holds the program texts that are compared.
Creating it needs isl; running it does not. A `Measurement` is its result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from polylsp.core.language import C
from polylsp.ir.verdict import Assumption
from polylsp.model.action import ActionName

Form = Literal["directives", "restructured"]
"""Extent of an edit: directives alone, or a new order of the loops too."""

Parameters = tuple[tuple[str, str], ...]
"""Settings, by name, as they would be written."""


def are_of_kernels(parameters: Parameters) -> bool:
    """True if the settings concern GPU kernels alone, and leave the rest of the edit unchanged."""
    return any(name.startswith("cuda_") for name, _ in parameters)


def are_of_directives(parameters: Parameters) -> bool:
    """True if the settings concern directives, for any loop order."""
    return any(name == "collapse" for name, _ in parameters)


# --- Requests and plans -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskToMeasure:
    """Loop `ordinal` of a function (0: all of its loops) to be measured. `starts` tells apart functions of
    one name, as in `Ask`. `sizes` are those that are given, by the names of parameters; `targets` those to
    compare with, all if there are none. With `parameters`, the versions are those that these settings make
    another form of."""

    function: str
    starts: int
    ordinal: int
    sizes: tuple[tuple[str, int], ...] = ()
    targets: tuple[ActionName, ...] = ()
    parameters: Parameters = ()
    action: Literal["measure"] = "measure"


@dataclass(frozen=True, slots=True)
class Size:
    """A parameter that says how much there is to do: the value of one of the plan's sizes."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """Any other parameter that is passed by value, and which value it gets."""

    name: str
    value: Union[int, float]


@dataclass(frozen=True, slots=True)
class Pointee:
    """A parameter that points at a memory of the plan (its number)."""

    memory: int


@dataclass(frozen=True, slots=True)
class Structure:
    """A parameter that points at a structure: numbers and memories that come after the parameters are its
    members (`g->n`). `type` is how C spells it."""

    name: str
    type: str


Argument = Union[Size, Number, Pointee, Structure]


@dataclass(frozen=True, slots=True)
class Member:
    """Numbers in each of the structures of a memory: `length` elements of a kind and size, named by the
    spelling of the field (`position.x`)."""

    name: str
    kind: Literal["f", "i", "u", "b"]
    size: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A memory that the function uses: the target of a parameter, or (`is_global`) a variable of the file. An
    element is a real (`f`), a signed (`i`) or an unsigned (`u`) whole number, a truth value (`b`) or a
    complex number (`c`) of `size` bytes; whole numbers are drawn from `low` to `high`, or go from one to the
    other (`ascending`). `written`: the function may change it. With more `levels` than one, tables of
    pointers lead to it. An element may be a structure (`s`), of the type `structure` as C spells it, with
    `members`; `size` is what these take."""

    name: str
    kind: Literal["f", "i", "u", "b", "c", "s"]
    size: int
    is_global: bool
    written: bool
    fill: Literal["random", "kept", "positive-definite", "ascending"]
    low: int = 1
    high: int = 100
    levels: int = 1
    structure: str = ""
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """The elements of a memory that are there at some sizes. Subscripts of others are below `limit`. `shape`
    is how long an array of Python, or one that tables lead to, is in each dimension."""

    first: int
    count: int
    limit: int | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rung:
    """Sizes, how many statement instances the function runs at them (about: boxes around the iterations),
    and the extents of its memories. Where loops are not modelled, instances are not `counted`: then it is
    as many as there are elements, or more."""

    sizes: tuple[int, ...]
    instances: int
    extents: tuple[Extent, ...]
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Variant:
    """Another version of the file with the same semantics. `parameters` are the settings that it was
    generated with, by name, where they differ from the user's. `files` are those that an edit creates beside
    it, by name; `helpers` the functions that run kernels, and return the loops to the host where that fails.
    `is_wanted`: the user requested it; otherwise it is left out of reports where there is no device for
    it."""

    target: ActionName
    form: Form
    text: str
    assumptions: tuple[Assumption, ...] = ()
    parts: tuple[ActionName, ...] = ()
    parameters: Parameters = ()
    files: tuple[tuple[str, str], ...] = ()
    helpers: tuple[str, ...] = ()
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Missing:
    """A version that there is none of, and why. `is_error`: there ought to be one, or it does something
    else than the original, which is an error of ours."""

    target: ActionName
    form: Form
    reason: str
    is_error: bool = False
    parameters: Parameters = ()


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """Work of the loops that one kernel would run, over all of its launches: iterations that may run at once
    in one, operations on real numbers of so many bits, bytes that must be moved at least, and at most with
    caches that are used fairly well."""

    launches: float
    parallel: float
    operations: float
    bits: int
    least_bytes: float
    most_bytes: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan for measuring a function. `call` is the C text that is put after each version of the file; in
    Python, the name of the callee. `rungs` are the sizes to choose from, smallest first (one, if they are
    given), `small` those at which every access of C is checked against the bounds of the memories. `seen_to`:
    sentences of assumptions that hold for the data, beside those that always do. `has_threads`: the original
    is multithreaded itself; `is_search`: the fastest of many variants is looked for; `workloads` gives, for
    some of the rungs by number, the work of a device. `macros` are sizes that all versions are compiled with;
    `unset` are other candidates, where the function has no size parameters. `usual` is the number of the rung
    at which the file itself calls the function, `basis` the text that says so."""

    path: str
    function: str
    ordinal: int
    text: str
    call: str
    names: tuple[str, ...]
    arguments: tuple[Argument, ...]
    memories: tuple[MemoryPlan, ...]
    rungs: tuple[Rung, ...]
    small: Rung
    variants: tuple[Variant, ...]
    missing: tuple[Missing, ...]
    given: bool
    language: str = C.name
    seen_to: tuple[str, ...] = ()
    has_threads: bool = False
    is_search: bool = False
    workloads: tuple[tuple[int, tuple[DeviceWork, ...]], ...] = ()
    macros: tuple[tuple[str, int], ...] = ()
    unset: tuple[str, ...] = ()
    usual: Union[int, None] = None
    basis: str = ""

    def sizes_at(self, rung: Rung) -> tuple[tuple[str, int], ...]:
        """All sizes by their names, for a person."""
        return (*self.macros, *zip(self.names, rung.sizes, strict=True))


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Reason why a function cannot be measured, in one sentence."""

    reason: str


# --- What came of it -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of runs: their median, and the middle half of them."""

    median: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Times of a version on a GPU (`device` names it) in a whole call: its kernels, and transfers. `speedup`
    is that of a call whose data are on the device already: without transfers and allocation there."""

    device: str
    kernels: Times
    transfers: Times
    speedup: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A version against the original. `speedup` is the median over pairs of runs, which lies between `least`
    and `most` with a probability of 90 % or more; `outcome` is the conclusion from that. `on_device` has
    further times of kernels."""

    target: ActionName
    form: Form
    times: Times
    speedup: float
    least: float
    most: float
    outcome: Literal["faster", "slower", "no difference"]
    max_error: float
    parameters: Parameters = ()
    on_device: Union[OnDevice, None] = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated speedup over the original on a device that was not measured: between `least` and `most`, or
    including transfers between `least_moved` and `most_moved`."""

    device: str
    least: float
    most: float
    least_moved: float
    most_moved: float


@dataclass(frozen=True, slots=True)
class AtSizes:
    """Median seconds of the original, and figures of versions, at other sizes than a measurement's."""

    sizes: tuple[tuple[str, int], ...]
    seconds: float
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times of a function and of its versions. `device` names the processor, `when` is in seconds since 1970;
    `remarks` are sentences for a person, `flags` those of the compiler; `pinned_to` is the number of the
    processor that the original was pinned to, if it has one thread. `basis` names the source of the sizes
    where the file gives them; `others` are figures at other sizes."""

    function: str
    ordinal: int
    sizes: tuple[tuple[str, int], ...]
    original: Times
    figures: tuple[Figure, ...]
    missing: tuple[Missing, ...]
    compiler: str
    device: str
    threads: int
    when: float
    remarks: tuple[str, ...] = ()
    flags: str = "-O3 -march=native"
    estimates: tuple[Estimate, ...] = ()
    pinned_to: Union[int, None] = None
    basis: str = ""
    others: tuple[AtSizes, ...] = ()


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Reason why there is no measurement, in one sentence. `is_error`: caused by an internal error."""

    reason: str
    is_error: bool = False


Outcome = Union[Measurement, NotMeasured]


@dataclass(frozen=True, slots=True)
class Tuned:
    """Settings of the fastest version of a form of a function for a target, by the hash `code` of its text;
    its speedup over the original, and the sizes measured."""

    function: str
    code: str
    target: ActionName
    form: Form
    parameters: Parameters
    speedup: float
    sizes: tuple[tuple[str, int], ...]
    when: float
