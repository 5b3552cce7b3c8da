"""The first and the last value that a dimension of a set takes, as C can say it before the code runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.affine import Names, alone, highest, lowest, spelled

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_FEW = 3


@dataclass(frozen=True)
class Hull:
    """All values between two, for all parameters: `first` and `count` say in C where they begin and how many
    they are. `exact`: the ends are values that the dimension takes, not ones further out."""

    low: isl.PwAff
    high: isl.PwAff
    first: str
    count: str
    exact: bool = True

    @property
    def text(self) -> str:
        """`[first:count]`."""
        return f"[{self.first}:{self.count}]"

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
    own = alone(elements, dimension)
    own = (own.reset_tuple_id() if own.has_tuple_id() else own).intersect_params(where)
    found = _hull(own, names, where)
    if found is not None:
        return found
    # Between the iterations of a loop that steps over some there may be the last one as well.
    wider = _hull(own.remove_divs(), names, where)
    return replace(wider, exact=False) if wider is not None else None


def _hull(own: isl.Set, names: Names, where: isl.Set) -> Hull | None:
    if own.is_empty():
        return None
    ends, low = _highest(own), _lowest(own)
    return _told(low, ends, names, where) if low is not None and ends is not None else None


def _highest(values: isl.Set) -> list[isl.Aff] | None:
    """The few expressions of which the largest is the last value, wherever the set is not empty."""
    found = highest(values)
    affs = pieces_of(found, values) if found is not None else []
    if found is None or not 0 < len(affs) <= _FEW:
        return None
    for some in (*([one] for one in affs), affs):
        if found.ne_set(_maximum(some)).intersect_params(values.params()).is_empty():
            return some
    return None


def _lowest(values: isl.Set) -> isl.Aff | None:
    """The first value, or one between it and the target of the pointer: elements before an accessible one are
    accessible."""
    found = lowest(values)
    if found is None:
        return None
    affs = pieces_of(found, values)
    if len(affs) < 2:
        return affs[0] if affs else None
    for each in (*affs, _zero(affs[0])):
        one = isl.PwAff.from_aff(each)
        outside = one.gt_set(found).union(one.lt_set(isl.PwAff.from_aff(_zero(each))))
        if outside.intersect_params(values.params()).is_empty():
            return each
    return None


def pieces_of(found: isl.PwAff, values: isl.Set) -> list[isl.Aff]:
    """The different expressions for an end of a set."""
    affs: list[isl.Aff] = []
    for _, aff in found.gist(values.params()).coalesce().get_pieces():
        if not any(aff.plain_is_equal(other) for other in affs):
            affs.append(aff)
    return affs


def _told(low: isl.Aff, ends: list[isl.Aff], names: Names, where: isl.Set) -> Hull | None:
    counts = [high.sub(low).add_constant_val(isl.Val(1)) for high in ends]
    if _may_be_negative(counts, names, where):
        counts.append(_zero(counts[0]))
    first, text = spelled(low, names), _largest(sorted(counts, key=lambda one: bool(one.is_cst())), names)
    if first is None or text is None:
        return None
    return Hull(isl.PwAff.from_aff(low), _maximum(ends), first, text)


def _maximum(affs: list[isl.Aff]) -> isl.PwAff:
    """The largest of some expressions."""
    first, *rest = map(isl.PwAff.from_aff, affs)
    for each in rest:
        first = first.max(each)
    return first


def _may_be_negative(counts: list[isl.Aff], names: Names, where: isl.Set) -> bool:
    """True if some counts are all negative for sensible sizes: no clause may contain that, though no data are
    moved then."""
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
    between, whole = names.choice
    condition = between.join(str(each) for each in conditions)
    return whole.format(condition=condition, then=text, otherwise=other)


def _exceeds(left: isl.Aff, right: isl.Aff, names: Names) -> str | None:
    return exceeds_zero(left.sub(right), names)


def exceeds_zero(difference: isl.Aff, names: Names) -> str | None:
    """Condition that a difference is positive, without subtractions on either side; `None` if C cannot
    express it."""
    above, below = (spelled(_part(each), names) for each in (difference, difference.neg()))
    return None if above is None or below is None else f"{above} > {below}"


def _part(value: isl.Aff) -> isl.Aff:
    """The terms that are added, without those that are subtracted."""
    zero = isl.Val(0)
    for k in range(value.dim(_PARAM)):
        if value.get_coefficient_val(_PARAM, k).lt(zero):
            value = value.set_coefficient_val(_PARAM, k, zero)
    return value.set_constant_val(zero) if value.get_constant_val().lt(zero) else value
