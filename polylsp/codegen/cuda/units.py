"""Units of a block: loops with the initialisation of their headers, and runs of statements that share a
variable which each iteration sets anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.analysis.effects import effects
from polylsp.analysis.liveness import exposed
from polylsp.codegen.cuda.region import declared_in, flat, starts
from polylsp.model.program import Array, Declare, Loop, Statement


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that stay together. `loop`: they are one loop, and the initialisation in its header."""

    statements: tuple[Statement, ...]
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a block in order. `kept` are the scalars (unique names) that carry a value from one unit to
    another, or beyond the block; all other scalars that a unit sets are private to it."""

    units: tuple[Unit, ...]
    kept: frozenset[str]


def units_of(statements: Sequence[Statement], needed: frozenset[str]) -> Units:
    """Units of a block; scalars in `needed` are read after it, or in its next iteration."""
    alone = _alone([inner for each in statements for inner in flat(each)])
    kept: set[str] = set()
    joined: list[tuple[int, int]] = []
    for name in sorted(effects(*statements).scalars):
        if _is_own_of_each(name, alone) and name not in needed:
            continue
        mentions = [k for k, unit in enumerate(alone) if _mentions(unit, name)]
        if not mentions:
            continue
        first, last = mentions[0], mentions[-1]
        inside = [s for unit in alone[first : last + 1] for s in unit.statements]
        if name in needed or name in exposed(tuple(inside)):
            kept.add(name)
        else:
            joined.append((first, last))
    for name in _arrays_of_one_run(alone):
        mentions = [k for k, unit in enumerate(alone) if _mentions(unit, name)]
        joined.append((mentions[0], mentions[-1]))
    return Units(tuple(_merged(alone, joined)), frozenset(kept))


def _arrays_of_one_run(units: list[Unit]) -> list[str]:
    """Unique names of the arrays that a block declares: each run of it has its own."""
    declared = (s.variable for unit in units for s in unit.statements if isinstance(s, Declare))
    return [v.name for v in declared if isinstance(v.type, Array) and v.storage == "local"]


def _alone(statements: list[Statement]) -> list[Unit]:
    """Each statement for itself, each loop with its header."""
    result: list[Unit] = []
    heads = {id(s) for each in statements if isinstance(each, Loop) for s in starts(statements, each)}
    for each in statements:
        if isinstance(each, Loop):
            result.append(Unit((*starts(statements, each), each), each))
        elif id(each) not in heads:
            result.append(Unit((each,)))
    return result


def _is_own_of_each(name: str, units: list[Unit]) -> bool:
    """True if each unit that reads a scalar has set it before."""
    return all(name not in exposed(unit.statements) for unit in units if _mentions(unit, name))


def _mentions(unit: Unit, name: str) -> bool:
    """True if a unit names a variable; a scalar can be declared anywhere."""
    own = effects(*unit.statements)
    if any(v.name == name for v in own.variables):
        return True
    declared = (s.variable for s in unit.statements if isinstance(s, Declare))
    return any(v.name == name and isinstance(v.type, Array) for v in declared)


def _merged(units: list[Unit], joined: list[tuple[int, int]]) -> list[Unit]:
    """Units, with those between two joined ones merged."""
    result: list[Unit] = []
    end = -1
    for number, unit in enumerate(units):
        if number <= end:
            result[-1] = Unit((*result[-1].statements, *unit.statements))
        else:
            result.append(unit)
        end = max([end, *(last for first, last in joined if first <= number <= last)])
    return result


def own_scalars(unit: Unit, kept: frozenset[str]) -> frozenset[str]:
    """The scalars declared outside of a unit that each run of it sets before it reads them."""
    return effects(*unit.statements).scalars - declared_in(unit.statements) - kept
