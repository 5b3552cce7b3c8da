"""Actions on a loop as edits of its source: requested by name, answered by replacements.

Listing an action uses the facts of a function alone; the edit is computed when a person chooses the action
(`Ask` to `Edited` or `Declined`). Plain values, which cross processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Union, get_args

from polylsp.core.text import Span
from polylsp.ir.verdict import Assumption
from polylsp.model.kernel_report import DeviceCode

Target = Literal["openmp", "openacc", "openmp-target", "numba"]
"""Standards of the directives that an edit writes, or the runtime that runs a Python function in parallel."""

KernelTarget = Literal["cuda", "pycuda", "cupy", "numba-cuda"]
"""Targets of generated kernels: a separate file, or the text before a Python function."""

TransformName = Literal[
    "interchange", "distribute", "fuse", "skew", "tile", "time-tile", "unroll-and-jam", "simd",
    "restructure", "privatize", "expand", "restrict", "overlap-check", "rewrite-reduction",
    "substitute-induction", "copy", "slices", "fill", "fuse-arrays",
]  # fmt: skip
"""A change of the code that exposes parallelism or locality, or discharges an assumption."""

ActionName = Literal[Target, KernelTarget, TransformName]

TARGETS: tuple[Target, ...] = get_args(Target)
KERNEL_TARGETS: tuple[KernelTarget, ...] = get_args(KernelTarget)
TARGETS_OF: dict[str, tuple[Target, ...]] = {
    "c": ("openmp", "openacc", "openmp-target"),
    "python": ("numba",),
}
"""The targets of each language, by its name; what is offered first stands first."""

KERNEL_TARGETS_OF: dict[str, tuple[KernelTarget, ...]] = {
    "c": ("cuda",),
    "python": ("pycuda", "cupy", "numba-cuda"),
}
"""Kernel targets of each language, by its name; the last of Python takes fewer loops than the others."""

KERNELS_OF: dict[str, KernelTarget] = {name: each[0] for name, each in KERNEL_TARGETS_OF.items()}
"""The one of them that is tried beforehand and measured."""

TRANSFORMS: tuple[TransformName, ...] = get_args(TransformName)
TRANSFORMS_OF: dict[str, tuple[TransformName, ...]] = {
    "c": tuple(each for each in TRANSFORMS if each not in ("slices", "fill", "fuse-arrays")),
    "python": ("copy", "slices", "fill", "fuse-arrays"),
}
"""The transforms of loops in each language, by its name."""

DEVICE_TARGETS: tuple[Target, ...] = ("openacc", "openmp-target")
"""Targets whose directives run loops on a device."""

WHOLE_FUNCTION = DEVICE_TARGETS
"""Targets of C that can be requested for all parallel loops of a function at once."""

ON_FUNCTIONS: tuple[ActionName, ...] = (*WHOLE_FUNCTION, "numba", *KERNEL_TARGETS)
"""Actions that can be requested on a function."""


@dataclass(frozen=True, slots=True)
class Ask:
    """An action on loop `ordinal` of the function with that name, or on all of its loops (0). `starts`
    tells apart functions of one name (`#if` branches): the one that starts at that offset of the text.
    `parameters` come before the user's settings."""

    action: ActionName
    function: str
    starts: int
    ordinal: int
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """`text` in the place of the text in `span`; an insertion where `span` is empty."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Created:
    """A new file beside the one that is edited. The edit is refused where a file of that name exists with
    another text. Several edits need one that is `shared`."""

    name: str
    text: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """An existing file that the edit leaves as it is: its text, and the `wanted` one."""

    name: str
    text: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The edit: replacements in offsets of the file's text, in order and apart from each other, and files
    that are `created` along with them. `assumptions` are those behind its correctness; `remarks` are
    sentences for the person who chose it (what the run-time guard checks, why a loop was left alone). `parts`
    are the actions that it is composed of, if it is, in their order; `device_code` is the part that a GPU
    runs."""

    replacements: tuple[Replacement, ...]
    assumptions: tuple[Assumption, ...] = ()
    remarks: tuple[str, ...] = ()
    parts: tuple[ActionName, ...] = ()
    created: tuple[Created, ...] = ()
    device_code: tuple[DeviceCode, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Reason why there is no edit, in one sentence; `kept` are the existing files that prevent it, `unsized`
    is the array whose used part has no spelling, if that is why."""

    reason: str
    kept: tuple[Kept, ...] = ()
    unsized: str = field(default="", compare=False)


Answer = Union[Edited, Declined]


def in_order(replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """Replacements in the order of the text, with insertions at one place joined: of these the last comes
    first. So an editor that applies them as listed gets the same text as `applied`."""
    texts: dict[Span, str] = {}
    for each in replacements:
        texts[each.span] = each.text + texts.get(each.span, "")
    return tuple(Replacement(span, texts[span]) for span in sorted(texts))


def applied(text: str, replacements: Iterable[Replacement]) -> str:
    """The text after the edit."""
    for each in reversed(in_order(replacements)):
        text = text[: each.span.start] + each.text + text[each.span.end :]
    return text


@dataclass(frozen=True, slots=True)
class ReadyOffer:
    """An action listed with its edit, which answers the findings of a code at `span` and concerns the text
    alone; it has the fields of other offers (`ide.actions.Offer`). Where `messages` are given, it answers the
    findings with these messages, and no others of that code."""

    code: str
    span: Span
    title: str
    replacement: Replacement
    messages: tuple[str, ...] = ()
    preferred: bool = False
    kind: Literal["quickfix"] = "quickfix"
    disabled: Literal[""] = ""
    kinds: tuple[Literal["quickfix"], ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings that it answers."""
        return (self.code,)

    def answers(self, message: str) -> bool:
        """True if the offer answers a finding with this message."""
        return not self.messages or message in self.messages
