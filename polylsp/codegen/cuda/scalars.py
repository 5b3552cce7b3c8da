"""The values that a host function takes, and which of them must be small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from polylsp.codegen.cuda.entry import host_lines
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.host import Host
from polylsp.model.program import Variable


def with_scalars(host: Host) -> Host:
    """The host function with all the values that it needs; raises `Unwritable`."""
    setting = host.setting
    words = {word for line in host_lines(host) for word in _names(line)}
    scalars = {v for _, made in host.kernels for v in made.scalars}
    scalars |= {v for name, v in setting.variables.items() if name in words}
    unclear = [v.source_name for v in setting.region.subject.variables]
    for each in scalars:
        if unclear.count(each.source_name) != 1:
            raise Unwritable(f"More than one variable is called `{each.source_name}` here: rename one.")
        if setting.words.names[each.name] != each.source_name:
            raise Unwritable(f"`{each.source_name}` means something else in C++: rename it.")
    limits = tuple(dict.fromkeys(_limits(host, words)))
    return replace(host, scalars=_ordered(host, scalars), limits=limits)


def _ordered(host: Host, scalars: set[Variable]) -> tuple[Variable, ...]:
    """As the function's parameters stand."""
    listed = host.setting.region.subject.function.parameters
    place = {v: k for k, v in enumerate(listed)}
    return tuple(sorted(scalars, key=lambda v: (place.get(v, len(place)), v.name)))


def _limits(host: Host, words: set[str]) -> Iterator[str]:
    """The values that must fit, in C: sizes and products of them."""
    for text_of_parameter in host.setting.parameters.values():
        if text_of_parameter in host.setting.slab:
            continue
        factors = [each.removeprefix("(int)") for each in text_of_parameter.split(" * ")]
        if all(factor in words for factor in factors):
            yield " * ".join(["(long long)" + factors[0], *factors[1:]]) if len(factors) > 1 else factors[0]


def _names(line: str) -> set[str]:
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", line))
