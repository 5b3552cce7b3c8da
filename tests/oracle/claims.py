"""Claims of the program under test about a text, as plain values of the oracle."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AccessClaim:
    """An access by its spelling's span in the text; `write` tells the two ends of `+=` apart."""

    variable: str
    text: str
    write: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DependenceClaim:
    """A dependence that the loop carries; `distance` in its iterations, where constant."""

    kind: str
    source: AccessClaim
    sink: AccessClaim
    distance: int | None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class WitnessClaim:
    """Two iterations, as (iterator, value) from the outermost loop in, that conflict; if `conditional`, where
    a condition on data holds in both; if `control`, data decide in the first whether the second runs."""

    dependence: DependenceClaim
    source_iteration: tuple[tuple[str, int], ...]
    sink_iteration: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, int], ...]
    conditional: bool = False
    control: bool = False


@dataclass(frozen=True, slots=True)
class AssumptionClaim:
    kind: str
    subjects: tuple[str, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The verdict on one loop; `reductions` are (variable, operator), `inductions` (variable, step);
    `iterator` is what it is taken to count with; `former` are arrays of which a copy is said to help."""

    function: str
    ordinal: int
    verdict: str
    private: tuple[str, ...] = ()
    lastprivate: tuple[str, ...] = ()
    reductions: tuple[tuple[str, str], ...] = ()
    inductions: tuple[tuple[str, str], ...] = ()
    assumptions: tuple[AssumptionClaim, ...] = ()
    witness: WitnessClaim | None = None
    carried: tuple[DependenceClaim, ...] = ()
    rejection: tuple[str, str] = ("", "")
    iterator: str = ""
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelClaim:
    """A nest's model: its loops (ordinals), and its relations as isl text."""

    function: str
    loops: tuple[int, ...]
    domain: str
    reads: str
    may_writes: str
    must_writes: str
    flow: str


def _last(name: str) -> str:
    """The name of an attribute, or of a method, without what it belongs to."""
    return name.rpartition(".")[2]


def claims(text: str) -> list[Claim]:
    """The verdicts on all loops of a C text."""
    return claims_and_models(text)[0]


def claims_and_models(
    text: str, schedules: bool = False, patience: int = 1, path: str = "drawn.c"
) -> tuple[list[Claim], list[ModelClaim]]:
    """The verdicts on all loops of a text, and the models of its nests, in `patience` times the
    operations that isl may take by default. The path says which language it is."""
    from polylsp.core.settings import Settings
    from polylsp.engine.queries import analyse
    from polylsp.ir.verdict import Assumption, Dependence, Parallel, Sequential, Unknown
    from polylsp.model.facts import LoopFacts, PlacedFunction

    settings = Settings()
    settings = replace(settings, max_operations=patience * settings.max_operations)
    report = analyse(path, text, settings, schedules=schedules, relations=True)

    plain = _last if path.endswith(".py") else str

    def dependence(placed: PlacedFunction, d: Dependence) -> DependenceClaim:
        ends: list[AccessClaim] = []
        for point in (d.source, d.sink):
            span = placed.span(point.site)
            name = plain(point.variable)
            ends.append(AccessClaim(name, point.text, point.kind == "write", span.start, span.end))
        return DependenceClaim(d.kind, ends[0], ends[1], d.distance, d.certain)

    def assumption(a: Assumption) -> AssumptionClaim:
        return AssumptionClaim(a.kind, tuple(map(plain, a.subjects)), a.sentence)

    def claim(placed: PlacedFunction, loop: LoopFacts) -> Claim:
        function = plain(placed.answer.facts.name)
        match loop.verdict:
            case Parallel() as v:
                return Claim(
                    function,
                    loop.ordinal,
                    "reduction" if v.reductions else "parallel",
                    private=tuple(map(plain, v.private)),
                    lastprivate=tuple(map(plain, v.lastprivate)),
                    reductions=tuple((plain(r.variable), r.operator) for r in v.reductions),
                    inductions=tuple((plain(i.variable), i.step) for i in v.inductions),
                    assumptions=tuple(assumption(a) for a in v.assumptions),
                    iterator=plain(loop.iterator or ""),
                )
            case Sequential(witness=w, carried=carried, former=former):
                return Claim(
                    function,
                    loop.ordinal,
                    "sequential",
                    witness=WitnessClaim(
                        dependence(placed, w.dependence),
                        w.source_iteration,
                        w.sink_iteration,
                        w.parameters,
                        bool(w.if_input),
                        bool(w.dependence.order) and w.dependence.kind == "flow",
                    ),
                    carried=tuple(dependence(placed, d) for d in carried),
                    former=tuple(plain(name) for _, name in former),
                )
            case Unknown(rejection=r):
                return Claim(function, loop.ordinal, "unknown", rejection=(r.code, r.message))

    all_claims = [claim(placed, loop) for placed in report.functions for loop in placed.answer.facts.loops]
    models: list[ModelClaim] = []
    for placed in report.functions:
        for nest in placed.answer.facts.nests:
            if nest.model is not None and nest.model.relations is not None:
                m = nest.model.relations
                texts = (nest.model.domain, m.reads, m.may_writes, m.must_writes, m.flow)
                models.append(ModelClaim(placed.answer.facts.name, nest.loops, *texts))
    return all_claims, models
