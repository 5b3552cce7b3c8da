"""The first and the last value that a dimension of a set takes, as C can say it before the code runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.affine import Names, spelled

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_FEW = 3


@dataclass(frozen=True)
class Hull:
    """All values between two, for all parameters: `text` is `[first:count]` in C. `exact`: the ends are
    values that the dimension takes, not ones further out."""

    low: isl.PwAff
    high: isl.PwAff
    text: str
    exact: bool = True

    def values(self) -> isl.Set:
        """All of them: `{ [x] }`."""
        above = isl.Set.from_pw_aff(self.low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
        below = isl.Set.from_pw_aff(self.high).apply(isl.Map("{ [v] -> [x] : x <= v }"))
        return above.intersect(below)

    def among(self, dimension: int, of: isl.Space) -> isl.Set:
        """The elements of a space with such a value in one dimension."""
        values = self.values().insert_dims(_SET, 0, dimension)
        values = values.add_dims(_SET, of.dim(_SET) - dimension - 1)
        return values.set_tuple_name(of.get_tuple_name(_SET)) if of.has_tuple_name(_SET) else values


def at_least(value: int, names: Iterable[str]) -> isl.Set:
    """The values of parameters of which those named are no less."""
    listed = sorted(names)
    conditions = " and ".join(f"{name} >= {value}" for name in listed) or "true"
    return isl.Set(f"[{', '.join(listed)}] -> {{ : {conditions} }}")


def hull(elements: isl.Set, dimension: int, names: Names, where: isl.Set) -> Hull | None:
    """The values of one dimension of a set, at the parameters' values `where`; `None` if C cannot say
    them."""
    count = elements.dim(_SET)
    alone = elements.project_out(_SET, dimension + 1, count - dimension - 1).project_out(_SET, 0, dimension)
    alone = (alone.reset_tuple_id() if alone.has_tuple_id() else alone).intersect_params(where)
    if not (alone.dim_has_upper_bound(_SET, 0) and alone.dim_has_lower_bound(_SET, 0)):
        return None
    found = _hull(alone, names, where)
    if found is not None:
        return found
    # Between the iterations of a loop that steps over some there may be the last one as well.
    wider = _hull(alone.remove_divs(), names, where)
    return replace(wider, exact=False) if wider is not None else None


def _hull(alone: isl.Set, names: Names, where: isl.Set) -> Hull | None:
    highest, lowest = _highest(alone), _lowest(alone)
    return _told(lowest, highest, names, where) if lowest is not None and highest is not None else None


def _highest(values: isl.Set) -> list[isl.Aff] | None:
    """The few expressions of which the largest is the last value, wherever the set is not empty."""
    found = values.dim_max(0)
    affs = _pieces(found, values)
    if len(affs) > _FEW:
        return None
    for some in (*([one] for one in affs), affs):
        chosen = isl.PwAff.from_aff(some[0])
        for each in some[1:]:
            chosen = chosen.max(isl.PwAff.from_aff(each))
        if found.ne_set(chosen).intersect_params(values.params()).is_empty():
            return some
    return None


def _lowest(values: isl.Set) -> isl.Aff | None:
    """The first value, or one between it and where the pointer leads: whoever may touch an element may
    touch those before it."""
    found = values.dim_min(0)
    affs = _pieces(found, values)
    if len(affs) == 1:
        return affs[0]
    for each in (*affs, _zero(affs[0])):
        one = isl.PwAff.from_aff(each)
        outside = one.gt_set(found).union(one.lt_set(isl.PwAff.from_aff(_zero(each))))
        if outside.intersect_params(values.params()).is_empty():
            return each
    return None


def _pieces(found: isl.PwAff, values: isl.Set) -> list[isl.Aff]:
    """The different expressions for a value of a set."""
    affs: list[isl.Aff] = []
    for _, aff in found.gist(values.params()).coalesce().get_pieces():
        if not any(aff.plain_is_equal(other) for other in affs):
            affs.append(aff)
    return affs


def _told(low: isl.Aff, highest: list[isl.Aff], names: Names, where: isl.Set) -> Hull | None:
    counts = [high.sub(low).add_constant_val(isl.Val(1)) for high in highest]
    if _may_be_negative(counts, names, where):
        counts.append(_zero(counts[0]))
    first, text = spelled(low, names), _largest(sorted(counts, key=lambda one: bool(one.is_cst())), names)
    if first is None or text is None:
        return None
    high = isl.PwAff.from_aff(highest[0])
    for each in highest[1:]:
        high = high.max(isl.PwAff.from_aff(each))
    return Hull(isl.PwAff.from_aff(low), high, f"[{first}:{text}]")


def _may_be_negative(counts: list[isl.Aff], names: Names, where: isl.Set) -> bool:
    """Whether all of some counts are negative for sizes that make sense: no clause may say that, though
    nothing is moved then."""
    sizes = where.intersect(at_least(0, [n for n, text in names.parameters.items() if text.isidentifier()]))
    for count in counts:
        zero = isl.PwAff.from_aff(_zero(count))
        sizes = sizes.intersect(isl.PwAff.from_aff(count).lt_set(zero).params())
    return not sizes.is_empty()


def _zero(like: isl.Aff) -> isl.Aff:
    return isl.Aff.zero_on_domain(isl.LocalSpace.from_space(like.get_domain_space()))


# --- In C --------------------------------------------------------------------------------


def _largest(values: list[isl.Aff], names: Names) -> str | None:
    """The largest of some values."""
    first, *rest = values
    text = spelled(first, names)
    if not rest or text is None:
        return text
    other = _largest(rest, names)
    conditions = [_exceeds(first, each, names) for each in rest]
    if other is None or None in conditions:
        return None
    return f"({' && '.join(str(each) for each in conditions)} ? {text} : {other})"


def _exceeds(left: isl.Aff, right: isl.Aff, names: Names) -> str | None:
    """`left > right`, with nothing subtracted on either side."""
    difference = left.sub(right)
    above, below = (spelled(_part(each), names) for each in (difference, difference.neg()))
    return None if above is None or below is None else f"{above} > {below}"


def _part(value: isl.Aff) -> isl.Aff:
    """The terms that are added, without those that are subtracted."""
    zero = isl.Val(0)
    for k in range(value.dim(_PARAM)):
        if value.get_coefficient_val(_PARAM, k).lt(zero):
            value = value.set_coefficient_val(_PARAM, k, zero)
    return value.set_constant_val(zero) if value.get_constant_val().lt(zero) else value
