"""Emission context shared by the kernels of a region."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from polylsp.codegen.affine import Names
from polylsp.codegen.cuda.atomics import sites_of
from polylsp.codegen.cuda.buffers import Buffer, Memories
from polylsp.codegen.cuda.expressions import Unwritable, Words
from polylsp.codegen.cuda.helpers import handed_on, helpers_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.naming import Fresh, counters_of, fresh_of, plain_names, variable_names
from polylsp.codegen.cuda.narrow import narrow
from polylsp.codegen.cuda.python_expressions import PythonWords
from polylsp.codegen.cuda.python_whole import Sizes
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.statements import type_words
from polylsp.codegen.cuda.strides import is_wide, strides
from polylsp.codegen.cuda.totals import Total
from polylsp.codegen.transform.leaves import counter
from polylsp.language import PYTHON
from polylsp.model.action import Declined
from polylsp.model.program import Integer, Variable
from polylsp.model.scop import Access
from polylsp.settings import Settings

_USUAL = Settings()


@dataclass(frozen=True, eq=False)
class Setting:
    """Names in a region's statements, the accesses that its leaves share, `parameters` as C writes them (isl
    name to text, in signed types), their variables, and its buffers. `totals` are the sums of blocks that its
    kernels requested, `settings` the user's settings; `slab` are C's names for the ends of a slab, for
    launches with slabs. `private` are the scalars that live in registers alone, by unique name with their
    types. Arrays that are `wide` (unique names) may have more elements than an `int` counts: C calls it
    `many` if there are, and `run` the function that then runs the kernels."""

    region: Region
    leaves: Mapping[str, Leaf]
    shared: tuple[tuple[Leaf, Access], ...]
    words: Words
    parameters: Mapping[str, str]
    variables: Mapping[str, Variable]
    buffers: tuple[Buffer, ...]
    fresh: Fresh
    settings: Settings
    totals: list[Total] = field(default_factory=list[Total])
    slab: tuple[str, ...] = ()
    private: Mapping[str, str] = field(default_factory=dict[str, str])
    wide: frozenset[str] = frozenset()
    many: str = ""
    run: str = ""

    @cached_property
    def copied(self) -> list[tuple[Leaf, Access]]:
        """The accesses to elements of which a thread, or a block, may have copies: it can be said when these
        are touched."""
        atomic = {a.memory.name for _, a in self.shared if a.site in self.words.atomic}
        vague = {a.memory.name for _, a in self.shared if _involved(a.relation) - self.parameters.keys()}
        handed = handed_on(self.region)
        apart = [each for each in self.shared if each[1].memory.name not in atomic | vague]
        return [each for each in apart if each[1].memory.variable.name not in handed]


def setting_of(
    region: Region, found: Leaves, memories: Memories, settings: Settings = _USUAL
) -> Setting | Declined:
    """The setting of a region; or why there is none."""
    subject, fresh = region.subject, fresh_of(region)
    try:
        helpers = helpers_of(region, fresh)
    except Unwritable as reason:
        return Declined(str(reason))
    names = variable_names(region, fresh)
    names |= {v.name: fresh.name(v.source_name) for v in (each.memory.variable for each in found.formers)}
    is_python = subject.language == PYTHON.name
    lengths = _lengths(memories, names, fresh, plain_names(region)) if is_python else {}
    texts, variables = _parameters(region, names, lengths)
    counted = subject.sizes.values()
    variables |= {names[v.name]: v for v in subject.variables if v.source_name in counted}
    sizes = () if is_python else [v for name, v in variables.items() if _text(v, name) in texts.values()]
    words = _without_widths(region, found, memories, names, lengths)
    words = replace(words, narrow=frozenset() if is_python else narrow(region, found, sizes), helpers=helpers)
    called = {names[v.name]: v for v in (*subject.variables, *lengths.values())}
    counted = strides(found, words.extents, called, words.narrow)
    words = replace(words, strides=counted, index=fresh.name("Index") if counted else "")
    wide = (n for n, inner in words.extents.items() if is_wide(inner, called, counted, words.narrow))
    made = Setting(
        region,
        {leaf.name: leaf for leaf in found.leaves},
        found.shared,
        words,
        texts,
        variables,
        memories.buffers,
        fresh,
        settings,
        private={v.name: type_words(v) for v in subject.variables if v.name in found.private},
        wide=frozenset(wide),
        many=fresh.name("many") if counted else "",
        run=fresh.name("run") if counted else "",
    )
    unnamed = _unnamed(made)
    if unnamed:
        return Declined(f"`{unnamed}` is not known before the loop: set a variable to it first.")
    return made


def _without_widths(
    region: Region,
    found: Leaves,
    memories: Memories,
    names: Mapping[str, str],
    lengths: Mapping[str, Variable],
) -> Words:
    """Names on the device, before the widths of their numbers are determined."""
    arrays = [b for b in memories.buffers if not b.scalar]
    return Words(
        region.subject,
        names,
        {b.variable.name: tuple(names.get(each, each) for each in b.extents) for b in arrays},
        frozenset(b.variable.name for b in memories.buffers if b.scalar),
        before=_before(region, found, names),
        exact=_python_words(region, lengths) if region.subject.language == PYTHON.name else None,
        atomic=sites_of(found),
        formers={site: each.memory.variable.name for each in found.formers for site in each.sites},
    )


def _before(region: Region, found: Leaves, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The counters that tell which array of an expanded one an iteration has, by that array's name."""
    return {
        one.memory.variable.name: tuple(names[counter(region.subject, loop).name] for loop in one.loops)
        for one in found.expanded
    }


_LENGTH = re.compile(r"(\w+)\.shape\[(\d+)\]")


def _lengths(memories: Memories, names: dict[str, str], fresh: Fresh, known: Names) -> dict[str, Variable]:
    """The lengths of arrays that have no variable of the source, by their spelling, which is their unique
    name: the device gets a name for each."""
    factors = [each for text in known.parameters.values() for each in text.split(" * ")]
    arrays = [b for b in memories.buffers if not b.of]
    own = [f"{b.name}.shape[{k}]" for b in arrays for k in range(len(b.memory.shape))]
    found: dict[str, Variable] = {}
    for text in sorted({*factors, *own}):
        length = _LENGTH.fullmatch(text)
        if length is not None:
            names[text] = fresh.name(f"{length[1]}_shape{length[2]}")
            found[text] = Variable(text, text, Integer(32, True), "parameter")
    return found


def _python_words(region: Region, lengths: Mapping[str, Variable]) -> PythonWords:
    subject = region.subject
    counters = counters_of(region)
    given = {v.name for v in subject.variables if v.storage in ("parameter", "cell")}
    return PythonWords(region, Sizes(counters | given), lengths)


def _parameters(
    region: Region, names: Mapping[str, str], lengths: Mapping[str, Variable]
) -> tuple[dict[str, str], dict[str, Variable]]:
    by_source = {v.source_name: v for v in region.subject.variables} | dict(lengths)
    texts: dict[str, str] = {}
    variables: dict[str, Variable] = {names[each]: v for each, v in lengths.items()}
    for parameter, spelled in sorted(plain_names(region).parameters.items()):
        factors = spelled.split(" * ")
        own = [by_source[factor] for factor in factors if factor in by_source]
        if len(own) < len(factors):
            continue
        texts[parameter] = " * ".join(_text(v, names[v.name]) for v in own)
        variables.update({names[v.name]: v for v in own})
    return texts, variables


def with_signs(region: Region, texts: Mapping[str, str]) -> dict[str, str]:
    """Values in C, without sizes that have no sign: a value below such a one may be negative. The host has
    checked that they are small."""
    unsigned = {v.source_name for v in region.subject.variables if _has_no_sign(v)}
    split = {name: text.split(" * ") for name, text in texts.items()}
    return {
        name: " * ".join(f"(int){each}" if each in unsigned else each for each in factors)
        for name, factors in split.items()
    }


def _has_no_sign(variable: Variable) -> bool:
    return isinstance(variable.type, Integer) and not variable.type.signed


def _involved(values: isl.Set | isl.Map) -> set[str]:
    """The parameters that a set depends on."""
    every = range(values.dim(isl.dim_type.param))
    involved = [k for k in every if values.involves_dims(isl.dim_type.param, k, 1)]
    return {values.get_dim_name(isl.dim_type.param, k) or "" for k in involved}


def _unnamed(setting: Setting) -> str:
    """Unnamed value before the loops that bounds of loops, or elements, depend on; empty if there is none."""
    relations = (access.relation for _, access in setting.shared)
    out = isl.dim_type.out
    elements = (each.drop_constraints_not_involving_dims(out, 0, each.dim(out)) for each in relations)
    for each in (*(leaf.domain for leaf in setting.leaves.values()), *elements):
        for name in sorted(_involved(each) - setting.parameters.keys()):
            return setting.region.scop.parameters.get(name, name)
    return ""


def _text(variable: Variable, name: str) -> str:
    """A size as an `int`: the host has seen that it is one."""
    of_type = variable.type
    is_int = isinstance(of_type, Integer) and of_type.signed and not 32 < of_type.bits <= 64
    return name if is_int else f"(int){name}"
