"""Equivalent forms of a computation, as people write it: arrays of variable length, static, flat, behind
pointers to rows or in a structure; loops that count from 0 or from 1, to macros, with counters declared at
the top.

A sample is a template: `@for(i, a, b)` counts from `a` to `b - 1`, and `@A[i][j]` is an element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Storage = Literal["variable", "static", "flat", "rows", "members", "hoisted", "macros"]
Count = Literal["plain", "top", "macros", "ones", "last", "long"]


@dataclass(frozen=True)
class Sample:
    """A template, and the sizes of its arrays by their names; sizes are parameters."""

    name: str
    arrays: dict[str, tuple[str, ...]]
    body: str

    @property
    def sizes(self) -> list[str]:
        """The parameters that are sizes."""
        return list(dict.fromkeys(each for own in self.arrays.values() for each in own))


@dataclass(frozen=True)
class Form:
    """Storage of the arrays, and counting of the loops; `pragmas`: between `#pragma scop` and `endscop`."""

    storage: Storage = "variable"
    count: Count = "plain"
    pragmas: bool = False

    @property
    def name(self) -> str:
        """Name of a test."""
        return f"{self.storage}-{self.count}{'-scop' if self.pragmas else ''}"


FORMS = (
    Form("static"),
    Form("flat"),
    Form("rows"),
    Form("members"),
    Form(count="top"),
    Form(count="ones"),
    Form(count="last", pragmas=True),
    Form("static", "macros", pragmas=True),
    Form("flat", "ones"),
    Form("members", "top"),
    Form("hoisted"),
    Form("macros", "ones"),
    Form("flat", "long"),
)
"""The forms that are compared with arrays of variable length and plain loops."""

SAMPLES = (
    Sample(
        "gemm",
        {"C": ("n", "m"), "A": ("n", "l"), "B": ("l", "m")},
        """
    @for(i, 0, n)
        @for(j, 0, m) {
            @C[i][j] *= 0.5;
            @for(k, 0, l)
                @C[i][j] += 1.5 * @A[i][k] * @B[k][j];
        }
""",
    ),
    Sample(
        "jacobi",
        {"A": ("n", "m"), "B": ("n", "m")},
        """
    @for(t, 0, 20) {
        @for(i, 1, n - 1)
            @for(j, 1, m - 1)
                @B[i][j] = 0.2 * (@A[i][j] + @A[i][j - 1] + @A[i][j + 1] + @A[i + 1][j] + @A[i - 1][j]);
        @for(i, 1, n - 1)
            @for(j, 1, m - 1)
                @A[i][j] = @B[i][j];
    }
""",
    ),
    Sample(
        "mean",
        {"A": ("n", "m"), "s": ("m",)},
        """
    @for(j, 0, m) {
        @s[j] = 0;
        @for(i, 0, n)
            @s[j] += @A[i][j];
        @s[j] /= n;
    }
    @for(i, 0, n)
        @for(j, 0, m)
            @A[i][j] -= @s[j];
""",
    ),
    Sample(
        "triangle",
        {"C": ("n", "n"), "A": ("n", "m")},
        """
    @for(i, 0, n)
        @for(j, 0, i + 1)
            @for(k, 0, m)
                @C[i][j] += @A[i][k] * @A[j][k];
""",
    ),
    Sample(
        "sweep",
        {"A": ("n", "m")},
        """
    @for(i, 1, n)
        @for(j, 1, m)
            @A[i][j] += 0.5 * (@A[i - 1][j] + @A[i][j - 1]);
""",
    ),
)

_ELEMENT = re.compile(r"@(\w+)((?:\[[^\[\]]*\])+)")
_LOOP = re.compile(r"@for\((\w+), ([^,]*), ([^()]*)\)")


def written(sample: Sample, form: Form) -> str:
    """The text of a sample in a form; its function is `kernel`."""
    counters = list(dict.fromkeys(found[1] for found in _LOOP.finditer(sample.body)))
    shifted = counters if form.count == "ones" else []
    body = _LOOP.sub(lambda found: _header(form, found[1], found[2], found[3], shifted), sample.body)
    body = _ELEMENT.sub(lambda found: _element(sample, form, found, shifted), body).strip("\n")
    declared = [f"    int {', '.join(counters)};"] if form.count in ("top", "macros") else []
    pragmas = ("#pragma scop\n", "\n#pragma endscop") if form.pragmas else ("", "")
    if form.storage == "hoisted":
        declared += [f"    double *{name} = d->{name};" for name in sample.arrays]
    begin = f"void kernel({', '.join(_parameters(sample, form))})"
    return "\n".join([*_before(sample, form), begin, "{", *declared, body.join(pragmas), "}", ""])


def _header(form: Form, counter: str, first: str, behind: str, shifted: Sequence[str]) -> str:
    first, behind = _from_one(first, shifted), _from_one(behind, shifted)
    match form.count:
        case "ones":
            first = str(int(first) + 1) if first.isdigit() else f"{first} + 1"
            return f"for (int {counter} = {first}; {counter} <= {behind}; {counter}++)"
        case "last":
            return f"for (int {counter} = {first}; {counter} <= {behind} - 1; ++{counter})"
        case "macros":
            behind = re.sub(r"\b([nml])\b", lambda found: f"_PB_{found[1].upper()}", behind)
            return f"for ({counter} = {first}; {counter} < {behind}; {counter}++)"
        case "top":
            return f"for ({counter} = {first}; {counter} < {behind}; {counter}++)"
        case "plain" | "long":
            words = "int" if form.count == "plain" else "long"
            return f"for ({words} {counter} = {first}; {counter} < {behind}; {counter}++)"


def _from_one(text: str, shifted: Sequence[str]) -> str:
    """An expression of counters that count from 1."""
    return re.sub(r"\b([a-z])\b", lambda found: f"{found[1]} - 1" if found[1] in shifted else found[1], text)


def _element(sample: Sample, form: Form, found: re.Match[str], shifted: Sequence[str]) -> str:
    name = found[1]
    subscripts = [_from_one(each, shifted) for each in found[2][1:-1].split("][")]
    extents = sample.arrays[name]
    owner = "d->" if form.storage == "members" else ""
    if form.storage == "macros":
        return f"{name}_({', '.join(subscripts)})"
    if form.storage in ("flat", "members", "hoisted") and len(extents) > 1:
        row = subscripts[0] if subscripts[0].isidentifier() else f"({subscripts[0]})"
        return f"{owner}{name}[{row} * {extents[1]} + {subscripts[1]}]"
    return f"{owner}{name}" + "".join(f"[{each}]" for each in subscripts)


def _before(sample: Sample, form: Form) -> list[str]:
    """Declarations and macros before the function."""
    lines = [f"#define _PB_{each.upper()} {each}" for each in sample.sizes if form.count == "macros"]
    if form.storage == "static":
        lines += [f"static double {a}{''.join('[120]' for _ in own)};" for a, own in sample.arrays.items()]
    if form.storage == "macros":
        for name, own in sample.arrays.items():
            two = f"#define {name}_(i, j) {name}[(i) * {own[-1]} + (j)]"
            lines.append(two if own[1:] else f"#define {name}_(i) {name}[i]")
    if form.storage in ("members", "hoisted"):
        members = " ".join(f"double *{name};" for name in sample.arrays)
        lines += [f"typedef struct {{ {members} }} data;"]
    return lines


def _parameters(sample: Sample, form: Form) -> list[str]:
    sizes = [f"int {each}" for each in sample.sizes]
    match form.storage:
        case "static":
            return sizes
        case "members" | "hoisted":
            return [*sizes, "data *d"]
        case "flat" | "macros":
            return [*sizes, *(f"double *restrict {name}" for name in sample.arrays)]
        case "rows":
            own = {name: f"[{e[1]}]" if e[1:] else "" for name, e in sample.arrays.items()}
            pointers = (
                f"(*restrict {name}){row}" if row else f"*restrict {name}" for name, row in own.items()
            )
            return [*sizes, *(f"double {each}" for each in pointers)]
        case "variable":
            own = {name: f"[restrict {e[0]}]" for name, e in sample.arrays.items()}
            rows = {name: "".join(f"[{each}]" for each in e[1:]) for name, e in sample.arrays.items()}
            return [*sizes, *(f"double {name}{first}{rows[name]}" for name, first in own.items())]
