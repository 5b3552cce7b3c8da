"""Raw accesses and statements of a region, as the walk finds them, before memory is given isl shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.paths import Path
from polylsp.analysis.scop.symbolic_value import Poly
from polylsp.analysis.scop.walk_scope import Detail, Frame
from polylsp.analysis.scop.walk_state import Environment
from polylsp.ir.program import Loop, Rejection, Site, Type, Variable
from polylsp.ir.verdict import Assumption, ReductionOperator
from polylsp.poly.scop import AddressRead, Guard, Reached


@dataclass(frozen=True)
class CallRegion:
    """Elements that a call touches around the path of an argument: `{ [arguments] -> [x] }`, and the
    arguments' values (`None` where unknown)."""

    elements: isl.Map
    arguments: tuple[Poly | None, ...]


@dataclass
class RawAccess:
    """An access by path. `exact`: it surely happens at that path when its statement runs. The `region` of a
    call is added to the last subscripts; `where`, if given, holds the iterations of the statement in which
    the access may happen; `extents` are the sizes of the dimensions of its subscripts, where declared;
    `reached` as in `Access`; `assumed`: the assumptions for reassociating its update; `neighbour`: a
    bit-field beside the one that the text names, which is written with it; `bytewise`: it accesses
    characters, whatever the type of the pointer; `called`: a called function makes it."""

    path: Path
    kind: Literal["read", "write"]
    site: Site
    type: Type
    variable: Variable
    text: str
    exact: bool = True
    update: ReductionOperator | None = None
    region: CallRegion | None = None
    where: isl.Set | None = None
    extents: tuple[Poly | None, ...] = ()
    reached: Reached = None
    assumed: tuple[Assumption, ...] = ()
    neighbour: bool = False
    bytewise: bool = False
    called: bool = False


@dataclass
class RawStatement:
    """A statement with the loops around it and the iterations that reach it. `role` tells statements
    of the source from tests of conditions and from points where two ways come together."""

    frames: tuple[Frame, ...]
    domain: isl.Set
    guards: tuple[Guard, ...]
    position: tuple[int, ...]
    site: Site
    accesses: list[RawAccess]
    role: Literal["statement", "test", "join"] = "statement"


@dataclass
class LoopEntry:
    """The state just before a loop, from which it can be walked again alone; `inherited` are assumptions of
    loops around its nest, `epoch` is the one of its nest's parameters; not `trusted`: the nest changes
    variables in ways that the walk does not follow, so that their values may be others. `detail` are the
    limits of the walk of its nest."""

    loop: Loop
    environment: Environment
    active: isl.Set
    frames: tuple[Frame, ...]
    epoch: int
    detail: Detail
    inherited: tuple[Assumption, ...] = ()
    trusted: bool = True


@dataclass
class Region:
    """The outcome of a walk. `declared` maps variables, and allocations, to the number of loops around their
    scope; `lost_pointers`: something was accessed through a pointer that could not be followed;
    `tainted`: why none of it can be decided; `address_reads`: uses of pointers to variables."""

    statements: list[RawStatement] = field(default_factory=list)
    frames: dict[int, Frame] = field(default_factory=dict)
    entries: dict[int, LoopEntry] = field(default_factory=dict)
    declared: dict[str, int] = field(default_factory=dict)
    lost_pointers: bool = False
    tainted: list[Rejection] = field(default_factory=list)
    address_reads: list[AddressRead] = field(default_factory=list)
