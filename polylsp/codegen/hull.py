"""The first and the last value that a dimension of a set takes, as C can say it before the code runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.affine import Names, alone, highest, lowest, quotient, spelled

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_FEW = 3


@dataclass(frozen=True)
class Hull:
    """All values between two, for all parameters: `first` and `count` say in C where they begin and how many
    they are. `exact`: the ends are values that the dimension takes, not ones further out; `least`: the last
    one is the least of several values."""

    low: isl.PwAff
    high: isl.PwAff
    first: str
    count: str
    exact: bool = True
    least: bool = False

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
    ends, low = highest_row(own), lowest_row(own)
    return _told(low, ends, names, where) if low is not None and ends is not None else None


@dataclass(frozen=True)
class Ends:
    """The few expressions of which the largest (the `least` of them) is the last value."""

    affs: list[isl.Aff]
    least: bool = False

    @property
    def value(self) -> isl.PwAff:
        """The last value."""
        return _extreme(self.affs, self.least)


def highest_row(values: isl.Set) -> Ends | None:
    """The last value, wherever the set is not empty."""
    found = highest(values)
    affs = pieces_of(found, values) if found is not None else []
    if found is None or not 0 < len(affs) <= _FEW:
        return None
    for some in (*(Ends([one]) for one in affs), Ends(affs), Ends(affs, least=True)):
        if found.ne_set(some.value).intersect_params(values.params()).is_empty():
            return some
    return None


def lowest_row(values: isl.Set) -> isl.Aff | None:
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


def _told(low: isl.Aff, ends: Ends, names: Names, where: isl.Set) -> Hull | None:
    counts = [high.sub(low).add_constant_val(isl.Val(1)) for high in ends.affs]
    if ends.least and any(_may_be_negative([one], names, where) for one in counts):
        return None
    if not ends.least and _may_be_negative(counts, names, where):
        counts.append(_zero(counts[0]))
    first, text = spelled(low, names), None
    if len(counts) == 1:
        text = quotient(counts[0], names, _sensible(names, where))
    text = text or _extreme_text(sorted(counts, key=lambda one: bool(one.is_cst())), names, ends.least)
    if first is None or text is None:
        return None
    return Hull(isl.PwAff.from_aff(low), ends.value, first, text, least=ends.least)


def _extreme(affs: list[isl.Aff], least: bool) -> isl.PwAff:
    """The largest of some expressions, or the `least`."""
    first, *rest = map(isl.PwAff.from_aff, affs)
    for each in rest:
        first = first.min(each) if least else first.max(each)
    return first


def _sensible(names: Names, where: isl.Set) -> isl.Set:
    """The parameters' values at which no size is negative."""
    return where.intersect(at_least(0, names.sizes))


def _may_be_negative(counts: list[isl.Aff], names: Names, where: isl.Set) -> bool:
    """True if some counts are all negative for sensible sizes: no clause may contain that, though no data are
    moved then."""
    sizes = _sensible(names, where)
    for count in counts:
        zero = isl.PwAff.from_aff(_zero(count))
        sizes = sizes.intersect(isl.PwAff.from_aff(count).lt_set(zero).params())
    return not sizes.is_empty()


def _zero(like: isl.Aff) -> isl.Aff:
    return isl.Aff.zero_on_domain(isl.LocalSpace.from_space(like.get_domain_space()))


# --- In C --------------------------------------------------------------------------------


def _extreme_text(values: list[isl.Aff], names: Names, least: bool) -> str | None:
    """The largest of some values, or the `least`."""
    texts = {k: text for k, each in enumerate(values) if (text := spelled(each, names)) is not None}
    return largest_text(values, names, texts, least) if len(texts) == len(values) else None


def largest_text(
    values: list[isl.Aff], names: Names, texts: Mapping[int, str], least: bool = False, begin: int = 0
) -> str | None:
    """The text of the largest (or `least`) of some values from number `begin` on, given their texts."""
    first, *rest = values[begin:]
    if not rest:
        return texts[begin]
    other = largest_text(values, names, texts, least, begin + 1)
    pairs = [(each, first) if least else (first, each) for each in rest]
    conditions = [_exceeds(one, another, names) for one, another in pairs]
    if other is None or None in conditions:
        return None
    between, whole = names.choice
    condition = between.join(str(each) for each in conditions)
    return whole.format(condition=condition, then=texts[begin], otherwise=other)


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
