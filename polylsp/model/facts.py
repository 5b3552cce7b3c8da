"""Facts of the analysis about a function: plain values that cross processes, no isl objects.

Places are `Site`s (token intervals); the tokens' spans in the source are looked up apart, so
these values stay equal when white space, comments or the text above a function change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polylsp.model.directive import DirectiveFacts
from polylsp.model.program import Site
from polylsp.model.rejection import Rejection
from polylsp.model.verdict import Dependence, Verdict

TransformKind = Literal["none", "interchange", "distribute", "fuse", "skew", "none-found"]


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """Facts about a loop. `depth` counts from 1; `parent` is the ordinal of the enclosing loop, or 0.
    `iterator` is a source name or `None`. `misfit` says why no directive can stand before it, as half a
    sentence after "because"; empty where one can."""

    ordinal: int
    kind: Literal["for", "while", "do"]
    iterator: str | None
    depth: int
    parent: int
    header: Site
    site: Site
    verdict: Verdict
    misfit: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """Loops (ordinals) that are permutable together, and which of them are coincident."""

    loops: tuple[int, ...]
    permutable: bool
    coincident: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation that exposes parallelism: `kind`, the new schedule in isl's notation, and for a person
    a sentence (`the wavefront t + i`); `parallel` names the loops that become parallel."""

    kind: TransformKind
    schedule: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class NestRelations:
    """The schedule, accesses and dependences of a nest as isl text (contract.md, `polylsp model`)."""

    schedule: str
    reads: str
    may_writes: str
    must_writes: str
    flow: str
    false: str


@dataclass(frozen=True, slots=True)
class NestModel:
    """The polyhedral model of a nest as isl text; its `relations` only if requested."""

    context: str
    domain: str
    relations: NestRelations | None = None


@dataclass(frozen=True, slots=True)
class NestFacts:
    """A maximal piece of static control: its loops (ordinals), band and transform.

    `transform` and `model` are `None` until schedules are requested (they are computed on save).
    `dependences` are all of the nest, carried or not.
    """

    site: Site
    loops: tuple[int, ...]
    band: Band
    transform: Transform | None
    model: NestModel | None
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """All facts about a function. `problems` are rejections that belong to no loop; `directives` are the
    facts about its OpenMP and OpenACC directives, in source order; `operations`: isl's, for the whole
    function."""

    name: str
    name_site: Site
    loops: tuple[LoopFacts, ...]
    nests: tuple[NestFacts, ...]
    problems: tuple[Rejection, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    directives: tuple[DirectiveFacts, ...] = ()
    operations: int = 0
