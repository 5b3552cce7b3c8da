"""Affine sets as bounds in C: extrema and extents; and the loops that isl generates for a schedule.

Bounds are expressions of the parameters, or `None` where one cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import islpy as isl

from polylsp.poly.scop import AROUND, VALUE_OF

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_DIV = isl.dim_type.div
_NEAR = (0, 1, 2, -1)


_SIZE = re.compile(r"[A-Za-z_]\w*(?:(?:->|\.)[A-Za-z_]\w*)*")

Choice = tuple[str, str]
"""Conditional expression: the conjunction between conditions, and the whole with names in braces."""

C_CHOICE: Choice = (" && ", "({condition} ? {then} : {otherwise})")
PYTHON_CHOICE: Choice = (" and ", "({then} if {condition} else {otherwise})")


@dataclass(frozen=True)
class Names:
    """Spelling of values in C, or in Python, at some place: parameters, by isl name, and numbers that are
    macros; `literals` are numbers written as plain subscripts, and come from no macro. `wide` are the texts
    of parameters with 64 bits, if sums of the others are to be computed with as many as well. `values` are
    those of further variables there, `{ [value] }` of the parameters, by their names."""

    parameters: Mapping[str, str]
    constants: Mapping[int, str] = field(default_factory=dict[int, str])
    literals: frozenset[int] = frozenset()
    choice: Choice = C_CHOICE
    wide: frozenset[str] | None = None
    values: Mapping[str, isl.Set] = field(default_factory=dict[str, isl.Set])

    @property
    def sizes(self) -> list[str]:
        """The parameters that are variables, or members of structures: sizes, where they say how much.
        Iterators of loops around, and values computed of them, are none."""
        named = (name for name, text in self.parameters.items() if _SIZE.fullmatch(text))
        return [name for name in named if not name.startswith(AROUND)]

    def number(self, value: int) -> str:
        """A number, by the name of a macro that is as much, or nearly, or of two that make it."""
        if value in self.literals and value not in self.constants:
            return str(value)
        for difference in _NEAR:
            name = self.constants.get(value + difference)
            if name is not None:
                return sum_of([(1, name), (-difference, "")]) if difference else name
        for one, name in self.constants.items():
            other = self.constants.get(value // one)
            if other is not None and value % one == 0:
                return f"{name} * {other}"
        return str(value)

    def valued(self) -> Valued | None:
        """The replacement of parameters by the variables that have values of them, if there are any."""
        if not self.values:
            return None
        ties, parameters = isl.Set("{ : }"), dict(self.parameters)
        for name, value in self.values.items():
            names = (value.get_dim_name(_PARAM, k) or "" for k in range(value.dim(_PARAM)))
            varies = any(each.startswith(AROUND) for each in names)
            at, own = value.dim(_PARAM), f"{AROUND if varies else ''}{VALUE_OF}{name}"
            tie = value.move_dims(_PARAM, at, _SET, 0, 1).set_dim_name(_PARAM, at, own)
            ties, parameters[own] = ties.intersect(tie.params()), name
        return Valued(ties, replace(self, parameters=parameters, values={}))


@dataclass(frozen=True)
class Valued:
    """Variables in the place of the parameters that they are computed of: `m` where that is `k * k % 7`.
    `ties` are all equations between them, `names` spell the variables too."""

    ties: isl.Set
    names: Names

    def told(self, values: isl.Set) -> isl.Set:
        """The values at some of the replaced parameters' values, given those of the variables."""
        values = values.intersect_params(self.ties)
        for k in range(self.ties.dim(_PARAM)):
            name = self.ties.get_dim_name(_PARAM, k) or ""
            if VALUE_OF not in name:
                values = values.project_out(_PARAM, values.find_dim_by_name(_PARAM, name), 1)
        return values.coalesce()

    def tells(self, values: isl.Set, where: isl.Set) -> bool:
        """True if the variables determine the values, at the parameters' values `where`."""
        own = values.intersect_params(where).intersect_params(self.ties)
        return self.told(own).intersect_params(self.ties).intersect_params(where).is_subset(own)


def largest(values: isl.Set, dimension: int) -> isl.Aff | None:
    """The largest value of a dimension where the set is not empty, if one expression says it."""
    own = alone(values, dimension)
    found = highest(own)
    return None if found is None else _single(found, own)


def smallest(values: isl.Set, dimension: int) -> isl.Aff | None:
    """The smallest value of a dimension where the set is not empty, if one expression says it."""
    own = alone(values, dimension)
    found = lowest(own)
    return None if found is None else _single(found, own)


def highest(values: isl.Set) -> isl.PwAff | None:
    """The largest value of a set of one dimension, if it has one. isl's parametric optimum can be wrong
    beside strides, and is checked against the set; the equation of a stride counts as a bound for isl."""
    found = values.dim_max(0) if values.remove_divs().dim_has_upper_bound(_SET, 0) else None
    beyond = found is None or not values.lex_gt_set(isl.Set.from_pw_aff(found)).is_empty()
    return None if beyond else found


def lowest(values: isl.Set) -> isl.PwAff | None:
    """The smallest value of a set of one dimension, if it has one; see `highest`."""
    found = values.dim_min(0) if values.remove_divs().dim_has_lower_bound(_SET, 0) else None
    beyond = found is None or not values.lex_lt_set(isl.Set.from_pw_aff(found)).is_empty()
    return None if beyond else found


def alone(values: isl.Set, dimension: int) -> isl.Set:
    """The values of one dimension, for any values of the others."""
    count = values.dim(_SET)
    return values.project_out(_SET, dimension + 1, count - dimension - 1).project_out(_SET, 0, dimension)


def constant(value: isl.Aff) -> int | None:
    """The value, where it is the same for all parameters."""
    return int(str(value.get_constant_val())) if value.is_cst() else None


def spelled(value: isl.Aff, names: Names) -> str | None:
    """The value in C, given how parameters are written there; `None` where one cannot be written, or
    a division is needed."""
    if str(value.get_denominator_val()) != "1" or _divisions(value):
        return None
    terms: list[tuple[int, str]] = []
    for k in range(value.dim(_PARAM)):
        factor = int(str(value.get_coefficient_val(_PARAM, k)))
        if factor:
            name = names.parameters.get(value.get_dim_name(_PARAM, k) or "")
            if name is None:
                return None
            terms.append((factor, name))
    rest = int(str(value.get_constant_val()))
    if not terms:
        return names.number(rest)
    if rest:
        terms.append((rest, ""))
    return sum_of(terms, names.wide)


def quotient(value: isl.Aff, names: Names, where: isl.Set) -> str | None:
    """A sum with one quotient, rounded down, in C or Python, if the dividend is not negative at the values
    `where` of parameters; `None` otherwise, or where it cannot be written."""
    own = _divisions(value)
    if len(own) != 1 or not value.get_coefficient_val(_DIV, own[0]).is_one():
        return None
    inside = value.get_div(own[0])
    divisor = inside.get_denominator_val()
    rest = value.set_coefficient_val(_DIV, own[0], isl.Val(0))
    return _divided(inside.scale_val(divisor).add(rest.scale_val(divisor)), divisor, names, where)


def _divided(dividend: isl.Aff, divisor: isl.Val, names: Names, where: isl.Set) -> str | None:
    """A quotient, rounded down, in C or Python; `None` if the dividend may be negative at the values `where`
    of parameters, or cannot be written."""
    negative = isl.PwAff.from_aff(dividend).lt_set(isl.PwAff.from_aff(dividend.scale_val(isl.Val(0))))
    text = spelled(dividend, names) if negative.intersect(where).is_empty() else None
    if text is None:
        return None
    operator = "//" if names.choice == PYTHON_CHOICE else "/"
    return f"{text if text.isidentifier() else f'({text})'} {operator} {divisor}"


def without_quotients(value: isl.Aff, names: Names, where: isl.Set) -> tuple[isl.Aff, Names] | None:
    """A value with a parameter in the place of each quotient, and their spelling; `None` if a quotient cannot
    be written, or its dividend may be negative at the values `where` of parameters."""
    for k in _divisions(value):
        inside, factor = value.get_div(k), value.get_coefficient_val(_DIV, k)
        divisor = inside.get_denominator_val()
        text = _divided(inside.scale_val(divisor), divisor, names, where)
        if text is None:
            return None
        text = f"({text})"
        names = replace(names, parameters={**names.parameters, text: text})
        at = value.dim(_PARAM)
        value = value.set_coefficient_val(_DIV, k, isl.Val(0))
        value = value.add_dims(_PARAM, 1).set_dim_name(_PARAM, at, text)
        value = value.set_coefficient_val(_PARAM, at, factor)
    return value, names


def _divisions(value: isl.Aff) -> list[int]:
    """The quotients that are a part of a value."""
    every = range(value.dim(_DIV))
    return [k for k in every if not value.get_coefficient_val(_DIV, k).is_zero()]


def _single(found: isl.PwAff, values: isl.Set) -> isl.Aff | None:
    """The one expression that holds wherever the set is not empty."""
    pieces = found.gist(values.params()).coalesce().get_pieces()
    return pieces[0][1] if len(pieces) == 1 else None


def sum_of(terms: Iterable[tuple[int, str]], wide: frozenset[str] | None = None) -> str:
    """A sum of coefficients and names (the constant without a name), the positive ones first; computed with
    64 bits in C if `wide`, the names that have them, are given."""
    text = ""
    ordered = sorted(terms, key=lambda term: term[0] < 0 or not term[1])
    several = sum(bool(name) for _, name in ordered) > 1
    for factor, name in ordered:
        size = abs(factor)
        # Of the first two operands, C converts the one of fewer bits; what follows has the type of both.
        if wide is not None and name and wide.isdisjoint(name.split(" * ")[: 1 if size > 1 else 2]):
            is_first = several and not text
            name = f"(long long){name}" if is_first or size > 1 or " * " in name else name
        term = str(size) if not name else name if size == 1 else f"{size} * {name}"
        if not text:
            text = f"-{term}" if factor < 0 else term
        else:
            text += f" - {term}" if factor < 0 else f" + {term}"
    return text


# --------------------------------------------------------------------------------------------------
# The first and the last value that a dimension of a set takes, as C can say it before the code
# runs.
# --------------------------------------------------------------------------------------------------


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

    def behind(self, names: Names) -> str | None:
        """The value after the last one, if that is one expression; where there are none, something else."""
        pieces = self.high.get_pieces()
        return spelled(pieces[0][1].add_constant_val(isl.Val(1)), names) if len(pieces) == 1 else None

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


def hull(
    elements: isl.Set, dimension: int, names: Names, where: isl.Set, for_any: bool = False
) -> Hull | None:
    """The values of one dimension of a set, at the parameters' values `where`; `None` if C cannot say them.
    `for_any`: those between two numbers that are enough for all values of the parameters, if need be."""
    own = alone(elements, dimension)
    own = (own.reset_tuple_id() if own.has_tuple_id() else own).intersect_params(where)
    found = _hull(own, names, where)
    if found is not None:
        return found
    # Between the iterations of a loop that steps over some there may be the last one as well.
    wider = _hull(own.remove_divs(), names, where)
    if wider is None and for_any:
        wider = _hull(own.remove_divs().project_out(_PARAM, 0, own.dim(_PARAM)), names, where)
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

    def is_value(self, one: isl.Aff, where: isl.Set) -> bool:
        """True if an expression, which is one of them, is the last value at some values of parameters. (isl
        multiplies the pieces of values that it compares as a whole.)"""
        own = isl.PwAff.from_aff(one)
        others = [isl.PwAff.from_aff(each) for each in self.affs]
        beyond = [each.lt_set(own) if self.least else each.gt_set(own) for each in others]
        if len(others) == 1:
            beyond.append(others[0].lt_set(own))
        return all(each.intersect(where).is_empty() for each in beyond)


def highest_row(values: isl.Set) -> Ends | None:
    """The last value, wherever the set is not empty."""
    last, known = highest(values), values.params()
    pieces = _pieces(last, values)
    affs = _different(pieces)
    if last is None or not 0 < len(affs) <= _FEW:
        return None
    for some in (*(Ends([one]) for one in affs), Ends(affs), Ends(affs, least=True)):
        if all(some.is_value(aff, where.intersect(known)) for where, aff in pieces):
            return some
    common = _beside_variable(last) if len(affs) > 1 else None
    return Ends([common]) if common is not None else None


def _beside_variable(last: isl.PwAff) -> isl.Aff | None:
    """The one sum of a variable (`VALUE_OF`) and a number that a value is in all of its pieces: `n - 1`,
    where these are 4 and 1499 as `n` is 5 or 1500."""
    space = last.get_domain_space()
    for k in range(space.dim(_PARAM)):
        if VALUE_OF in (space.get_dim_name(_PARAM, k) or ""):
            variable = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), _PARAM, k)
            more = last.sub(isl.PwAff.from_aff(variable))
            if more.max_val().is_int() and more.max_val().eq(more.min_val()):
                return variable.set_constant_val(more.max_val())
    return None


def lowest_row(values: isl.Set) -> isl.Aff | None:
    """The first value, or one between it and the target of the pointer: elements before an accessible one are
    accessible."""
    pieces, known = _pieces(lowest(values), values), values.params()
    affs = _different(pieces)
    if len(affs) < 2:
        return affs[0] if affs else None
    for each in (*affs, _zero(affs[0])):
        one = isl.PwAff.from_aff(each)
        negative = one.lt_set(isl.PwAff.from_aff(_zero(each))).intersect_params(known)
        above = (where.intersect(known).intersect(one.gt_set(isl.PwAff.from_aff(a))) for where, a in pieces)
        if negative.is_empty() and all(outside.is_empty() for outside in above):
            return each
    return None


def pieces_of(found: isl.PwAff, values: isl.Set) -> list[isl.Aff]:
    """The different expressions for an end of a set."""
    return _different(_pieces(found, values))


def _pieces(found: isl.PwAff | None, values: isl.Set) -> list[tuple[isl.Set, isl.Aff]]:
    """The expressions for an end of a set, with the parameters' values where each holds."""
    return found.gist(values.params()).coalesce().get_pieces() if found is not None else []


def _different(pieces: Iterable[tuple[isl.Set, isl.Aff]]) -> list[isl.Aff]:
    affs: list[isl.Aff] = []
    for _, aff in pieces:
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
    text = text or extreme_text(sorted(counts, key=lambda one: bool(one.is_cst())), names, ends.least)
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


def extreme_text(values: list[isl.Aff], names: Names, least: bool) -> str | None:
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
    conditions = [exceeds_zero(one.sub(another), names) for one, another in pairs]
    if other is None or None in conditions:
        return None
    between, whole = names.choice
    condition = between.join(str(each) for each in conditions)
    return whole.format(condition=condition, then=texts[begin], otherwise=other)


def exceeds_zero(difference: isl.Aff, names: Names) -> str | None:
    """Condition that a difference is positive, without subtractions on either side; `None` if C cannot
    express it."""
    return _compared(difference, ">", names)


def differs(difference: isl.Aff, names: Names) -> str | None:
    """Condition that a difference is not zero, in the same form."""
    return _compared(difference, "!=", names)


def _compared(difference: isl.Aff, operator: str, names: Names) -> str | None:
    above, below = (spelled(_part(each), names) for each in (difference, difference.neg()))
    return None if above is None or below is None else f"{above} {operator} {below}"


def _part(value: isl.Aff) -> isl.Aff:
    """The terms that are added, without those that are subtracted."""
    zero = isl.Val(0)
    for k in range(value.dim(_PARAM)):
        if value.get_coefficient_val(_PARAM, k).lt(zero):
            value = value.set_coefficient_val(_PARAM, k, zero)
    return value.set_constant_val(zero) if value.get_constant_val().lt(zero) else value


# --------------------------------------------------------------------------------------------------
# Loops that isl generates from a schedule. Counters that shadow a name which their value mentions
# (`const int i = i + 1;` reads the variable that it declares) raise `ShadowedError`.
#
# isl's loops do not count the iterations of a statement where it moves statements that have steps
# against each other, so that these meet in one loop.
# --------------------------------------------------------------------------------------------------


WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


class ShadowedError(Exception):
    """The loops around have to get other names."""


def in_turn(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names with the values that they are set to, one after the other; raises `ShadowedError` where a value
    mentions one that is set by then."""
    found = list(pairs)
    hidden: set[str] = set()
    for name, value in found:
        hidden.add(name)
        if not hidden.isdisjoint(WORD.findall(value)):
            raise ShadowedError
    return found


# --------------------------------------------------------------------------------------------------
# isl's syntax trees of loops (Grosser, Verdoolaege, Cohen, TOPLAS 2015), for every language.
# --------------------------------------------------------------------------------------------------


def syntax_tree(
    order: isl.UnionMap,
    names: Sequence[str],
    context: isl.Set | None = None,
    options: isl.UnionMap | None = None,
) -> isl.AstNode:
    """Loops with counters of these names that visit the domain of a schedule in its order, where parameters
    are in `context`."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for name in names:
        ids = ids.add(isl.Id(name))
    known = isl.Set("{ : }") if context is None else context
    # Where both have as many parameters, but in another order, isl writes one for the other in remainders.
    order = order.align_params(known.get_space())
    known = known.align_params(order.get_space())
    build = isl.AstBuild.from_context(known).set_iterators(ids)
    if options is not None:
        build = build.set_options(options)
    return build.node_from_schedule_map(order)


def is_mentioned(loop: isl.AstNode) -> bool:
    """True if the counter of a loop with one iteration is used: mostly isl substitutes its value."""
    name = loop.for_get_iterator().id_get_id().get_name()
    return name in WORD.findall(loop.for_get_body().to_C_str())


def operator_of(expression: isl.AstExpr) -> isl.ast_expr_op_type:
    """Operator of an operation."""
    # islpy's types say that this is an `int`.
    return cast("isl.ast_expr_op_type", expression.get_op_type())
