"""Empty sections: at some values of the parameters they have no used element, and lie outside of the array:
`a[k + 1:1]` in the last iteration, in which the loop over the rest does not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polylsp.codegen.affine import Names
from polylsp.codegen.hull import Hull, at_least, exceeds_zero


def within_array(
    section: Hull, used: isl.Set, everywhere: isl.Set, names: Names, where: isl.Set, declared: isl.Set | None
) -> Hull | None:
    """The section as it is, or empty where it would begin before the array, or reach beyond the elements that
    code around uses `everywhere`, or beyond those that the array is `declared` to have where that uses none,
    while no value is `used`; `None` if C cannot express the condition."""
    sizes = at_least(0, names.sizes)
    nothing = where.subtract(used.params()).intersect(sizes)
    values = section.values()
    outside = _outside(values, everywhere)
    if declared is not None:
        outside = outside.union(
            values.subtract(declared).subtract(values.intersect_params(everywhere.params()))
        )
    outside = outside.intersect_params(nothing).params()
    if outside.is_empty():
        return section
    conditions = _conditions(used.remove_divs().params().gist(where).coalesce())
    needed = _needed(conditions, outside) if conditions is not None else None
    texts = _texts(needed or (), names)
    return replace(section, count=f"({' && '.join(texts)} ? {section.count} : 0)") if texts else None


def used_where(used: isl.Set, names: Names, where: isl.Set) -> list[str] | None:
    """The conditions in C under which some elements are used at all, at the parameters' values `where`;
    `None` if they cannot be written."""
    conditions = _conditions(used.params().gist(where).coalesce())
    return _texts(conditions, names) if conditions is not None else None


def _texts(conditions: Sequence[isl.Constraint], names: Names) -> list[str] | None:
    """Some inequalities in C; `None` if one of them cannot be written."""
    texts = [exceeds_zero(_plus_one(each.get_aff()), names) for each in conditions]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None


def _outside(values: isl.Set, everywhere: isl.Set) -> isl.Set:
    before = values.intersect(isl.Set("{ [x] : x < 0 }"))
    above = everywhere.apply(isl.Map("{ [t] -> [x] : x >= t }"))
    below = everywhere.apply(isl.Map("{ [t] -> [x] : x <= t }"))
    return before.union(values.subtract(above.intersect(below)).intersect_params(everywhere.params()))


def _conditions(where: isl.Set) -> list[isl.Constraint] | None:
    """The inequalities that all hold there; `None` if there are others too."""
    parts = where.get_basic_sets()
    if len(parts) != 1 or parts[0].dim(isl.dim_type.div):
        return None
    found = parts[0].get_constraints()
    return None if any(each.is_equality() for each in found) else list(found)


def _needed(conditions: Sequence[isl.Constraint], outside: isl.Set) -> list[isl.Constraint] | None:
    """The few of some conditions that keep all of `outside` away; `None` if all of them do not."""
    kept = list(conditions)
    if not _remaining(kept, outside).is_empty():
        return None
    for each in conditions:
        fewer = [one for one in kept if one is not each]
        if _remaining(fewer, outside).is_empty():
            kept = fewer
    return kept


def _remaining(conditions: Sequence[isl.Constraint], outside: isl.Set) -> isl.Set:
    for each in conditions:
        outside = outside.intersect(isl.Set.from_basic_set(isl.BasicSet.from_constraint(each)))
    return outside


def _plus_one(value: isl.Aff) -> isl.Aff:
    return value.add_constant_val(isl.Val(1))
