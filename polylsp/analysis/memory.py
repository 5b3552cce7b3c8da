"""Raw accesses to access relations: which array each path leads to, and its subscripts in isl."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.dimensions import iterator_names
from polylsp.analysis.limits import defined_values, type_limits
from polylsp.analysis.objects import grouped, key_of, plan_of
from polylsp.analysis.raw import Region
from polylsp.analysis.relations import access_of
from polylsp.analysis.scope import Frame
from polylsp.analysis.state import Parameters
from polylsp.model.program import Integer, Site
from polylsp.model.scop import Access, Scop, ScopLoop, ScopStatement
from polylsp.model.verdict import Assumption


def to_scop(
    region: Region,
    context: isl.Set,
    parameters: Parameters,
    site: Site,
    live: frozenset[str],
    inherited: tuple[Assumption, ...] = (),
) -> Scop:
    """The polyhedral model of a region; `live`: scalars whose value is needed after some loop that
    changes them. Assumptions that linear subscripts rest on are left with the
    loops around them."""
    _drop_tracked_scalars(region, live)
    groups = grouped(region)
    names: dict[str, str] = {}
    statements: list[ScopStatement] = []
    accesses: list[Access] = []
    plans = {key: plan_of(key, members, region, parameters, names) for key, members in groups.items()}
    counts = dict.fromkeys(_LETTERS, 0)
    limits = type_limits(region, parameters)
    for number, raw in enumerate(region.statements):
        name = f"{_LETTERS[raw.role]}{counts[raw.role]}"
        counts[raw.role] += 1
        domain = raw.domain.intersect_params(limits).set_tuple_name(name)
        for k, iterator in enumerate(iterator_names(raw)):
            domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
        loops = tuple(f.loop.ordinal for f in raw.frames)
        statements.append(ScopStatement(name, domain, loops, raw.position, raw.guards, raw.site))
        for access in raw.accesses:
            plan = plans[key_of(access)]
            accesses.append(access_of(number, name, domain, raw, access, plan, plans, parameters))
    for frame in region.frames.values():
        frame.obstacles += region.tainted[:1]
    loops = {o: _loop(f) for o, f in sorted(region.frames.items())}
    return Scop(
        context,
        loops,
        tuple(statements),
        tuple(accesses),
        parameters.texts,
        site,
        frozenset(parameters.derived),
        parameters.products,
        frozenset(parameters.ties),
        inherited,
        defined_values(region, parameters),
        parameters.addresses,
        tuple(region.address_reads),
    )


_LETTERS = {"statement": "S", "test": "T", "join": "J"}


def _loop(frame: Frame) -> ScopLoop:
    return ScopLoop(
        frame.loop.ordinal,
        frame.dimension,
        frame.shown,
        frame.step,
        isl.Set("{ [] }") if frame.domain is None else frame.domain,
        tuple(frame.obstacles),
        tuple(frame.assumptions),
        frame.thread_bound,
        tuple(frame.conditions),
        tuple(frame.untaken),
    )


def _drop_tracked_scalars(region: Region, live: frozenset[str]) -> None:
    """Remove scalars that are never read in the model, since each read has a closed form; they are memory
    only if they are live-out of a loop."""
    read = {a.path.base.name for s in region.statements for a in s.accesses if a.kind == "read"}
    for statement in region.statements:
        statement.accesses = [
            a
            for a in statement.accesses
            if a.path.steps
            or not isinstance(a.type, Integer)
            or a.path.base.name in read
            or a.path.base.name in live
        ]
    region.statements = [s for s in region.statements if s.accesses]
