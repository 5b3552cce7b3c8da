"""Values of parameters at which a few iterations show the behaviour of a nest."""

from __future__ import annotations

from itertools import product

import islpy as isl

from polylsp.analysis.space.axes import MARK, Axis

Values = dict[str, int]
"""Values of parameters by isl name."""

_WANTED, MOST = (5, 4, 3), 8
"""Preferred numbers of iterations of each loop, and the largest one."""

_HIGHEST = 100_000
"""The highest value of a parameter of the program."""

_IN, _OUT, _SET, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def small(space: isl.Set, axes: tuple[Axis, ...]) -> Values:
    """Small values of the parameters at which each axis has a few iterations, as far as there are
    such values. Parameters of the program start at 3 where they can."""
    parameters = space.params()
    enough = [_spread(space, k, axis.step * (_WANTED[0] - 1)) for k, axis in enumerate(axes)]
    both = parameters
    for wide in enough:
        both = both.intersect(wide)
    tight = (_between(space, axes, few) for few in _WANTED)
    for wish, low in product((*tight, both, *enough, parameters), (3, 1, 0, -_HIGHEST)):
        chosen = _within(wish, low, _HIGHEST)
        if not chosen.is_empty():
            return _lowest(chosen)
    return _lowest(parameters)


def _between(space: isl.Set, axes: tuple[Axis, ...], few: int) -> isl.Set:
    """The parameters at which each axis has from `few` to `MOST` iterations."""
    result = space.params()
    for k, axis in enumerate(axes):
        result = result.intersect(_spread(space, k, axis.step * (few - 1)))
        result = result.subtract(_spread(space, k, axis.step * MOST))
    return result


def _spread(space: isl.Set, dimension: int, width: int) -> isl.Set:
    """The parameters at which two points are at least `width` apart in one dimension."""
    pairs = isl.Map.from_domain_and_range(space, space)
    apart = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(pairs.get_space()))
    apart = apart.set_coefficient_val(_OUT, dimension, isl.Val(1)).set_coefficient_val(
        _IN, dimension, isl.Val(-1)
    )
    return pairs.add_constraint(apart.set_constant_val(isl.Val(-width))).params()


def _within(parameters: isl.Set, low: int, high: int) -> isl.Set:
    """Parameters of the program itself, not the iterators around the drawn loops, within a range."""
    for k in range(parameters.dim(_PARAM)):
        if not str(parameters.get_dim_name(_PARAM, k)).startswith(MARK):
            parameters = parameters.lower_bound_val(_PARAM, k, isl.Val(low))
            parameters = parameters.upper_bound_val(_PARAM, k, isl.Val(high))
    return parameters


def _lowest(parameters: isl.Set) -> Values:
    names = [str(parameters.get_dim_name(_PARAM, k)) for k in range(parameters.dim(_PARAM))]
    values = parameters.move_dims(_SET, 0, _PARAM, 0, len(names)) if names else parameters
    point = (values.lexmin() if values.is_bounded() else values).sample_point()
    return {name: point.get_coordinate_val(_SET, k).to_python() for k, name in enumerate(names)}
