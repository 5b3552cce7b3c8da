"""Measurements as words, tables, a bar chart in SVG, and JSON.

The chart stands alone, on a dark or a light page. The JSON is that of `polylsp measure`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.sax.saxutils import escape

from polylsp.ide import wording
from polylsp.ide.hover import Bullets, Image, Part, Table
from polylsp.measuring.estimate import device_named
from polylsp.model.measurement import AtSizes, Estimate, Figure, Measurement, Missing, OnDevice, Times

_CSS = """
text { font-family: sans-serif; font-size: 13px; fill: #1f2328; }
.page { fill: #ffffff; } .line { stroke: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .line { stroke: #c9d1d9; }
}
"""
_COLOURS = {"original": "#8a929b", "measured": "#0b84d8"}
_LETTER, _ROW, _BAR, _MARGIN, _LONGEST = 7.2, 26, 14, 12, 220


@dataclass(frozen=True, slots=True)
class Bar:
    """Speedup over the original, and its interval; `words` follow the bar."""

    name: str
    value: float
    low: float
    high: float
    words: str
    kind: Literal["original", "measured"] = "measured"


def chart(bars: Sequence[Bar], title: str) -> str:
    """The drawing: a bar for each, all to one scale, with a line from the low to the high value."""
    left = _MARGIN + max(len(bar.name) for bar in bars) * _LETTER + 8
    scale = _LONGEST / max(max(bar.value, bar.high) for bar in bars)
    right = left + _LONGEST + 8 + max(len(bar.words) for bar in bars) * _LETTER + _MARGIN
    height = 2 * _MARGIN + _ROW * len(bars)
    body = [line for k, bar in enumerate(bars) for line in _row(bar, left, _MARGIN + k * _ROW, scale)]
    size = f'width="{right:.0f}" height="{height}" viewBox="0 0 {right:.0f} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_CSS}</style>",
            f'<rect class="page" width="{right:.0f}" height="{height}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _row(bar: Bar, left: float, top: float, scale: float) -> Iterator[str]:
    middle = top + _ROW / 2
    yield f'<text x="{left - 8:.1f}" y="{middle + 4.5:.1f}" text-anchor="end">{escape(bar.name)}</text>'
    place = f'x="{left:.1f}" y="{middle - _BAR / 2:.1f}" width="{bar.value * scale:.1f}" height="{_BAR}"'
    yield f'<rect {place} fill="{_COLOURS[bar.kind]}"/>'
    ends = [left + value * scale for value in (bar.low, bar.high)]
    yield f'<path class="line" d="M{ends[0]:.1f} {middle} H{ends[1]:.1f}" stroke-width="2"/>'
    at = max(left + bar.value * scale, *ends) + 8
    yield f'<text x="{at:.1f}" y="{middle + 4.5:.1f}">{escape(bar.words)}</text>'


# --------------------------------------------------------------------------------------------------
# A measurement in words, and in a table.
# --------------------------------------------------------------------------------------------------


_NAMES = {
    "openmp": "OpenMP",
    "openacc": "OpenACC",
    "openmp-target": "OpenMP offloading",
    "cuda": "CUDA",
    "numba": "Numba",
    "slices": "NumPy slices",
    "pycuda": "PyCUDA",
}


_MUCH = 1e-6
"""Relative error of a result beyond any expected rounding."""


def measured_label(found: Measurement) -> str:
    """The best of each target in a few words: `OpenMP 1.9× · n=2000`."""
    words = [_short(best) for best in _best(found)]
    if not words:
        words = ["measured: results differ" if any(m.is_error for m in found.missing) else "not measured"]
    # Editors cut long hints: what was measured, and at which sizes, comes first.
    unseen = [each for each in found.estimates if _seen(each, found.figures) is None]
    estimated = [_estimated_label(each) for each in unseen if each.most > 1]
    # Without sizes that were chosen, a call may be far too short for others to gain anything.
    size = _sizes(found) or (f"{shown_seconds(found.original.median)} a call" if found.figures else "")
    return " · ".join([*words, *filter(None, [size]), *estimated])


def measured_parts(found: Measurement, *, images: bool = False) -> Iterator[Part]:
    """Everything about a measurement, with a chart where images are shown."""
    at = f" at {_sizes(found)}" if found.sizes else ""
    source = f" ({found.basis})" if found.basis else ""
    yield f"A whole call of `{found.function}`{at}{source}, with {_threads(found.threads)}:"
    if images and found.figures:
        yield Image(chart(list(_bars(found)), f"How fast versions of {found.function} are"), _aloud(found))
    yield Table(("version", "median", "middle half", "speedup", ""), tuple(_rows(found)))
    errors = [m for m in found.missing if m.is_error]
    if errors:
        yield Bullets(
            "ERROR in polylsp: what it made of this function does something else; please report it",
            tuple(f"{_version(m)}: {m.reason}" for m in errors),
        )
    if found.figures:
        yield _agreement(found)
    if found.others and found.figures:
        yield Bullets("At other sizes", tuple(_elsewhere(each) for each in found.others))
        if not found.basis:
            yield "No call in this file gives the usual sizes: say them in a comment, `polylsp: NAME=NUMBER`."
    yield from (_on_device(each, each.on_device) for each in found.figures if each.on_device is not None)
    for each in found.estimates:
        yield _estimated(each, found.figures)
    others = [m for m in found.missing if not m.is_error]
    if others:
        yield Bullets("Not measured", tuple(f"{_version(m)}: {m.reason}" for m in others))
    yield from found.remarks
    if found.pinned_to is not None:
        yield f"The original has one thread and was kept to one processor (number {found.pinned_to})."
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.when))
    flags = f", `{found.flags}`" if found.flags else ""
    yield f"{found.compiler}{flags}; {found.device}; {when}."


@dataclass(frozen=True, slots=True)
class Timed:
    """Time of a version: `words` name the version, `note` has the time and its spread."""

    words: str
    seconds: float
    note: str


def measured_bars(found: Measurement) -> Iterator[Timed]:
    """The median of each version, the original first."""
    yield Timed("original", found.original.median, shown_seconds(found.original.median))
    for figure in found.figures:
        worth = "no difference" if figure.outcome == "no difference" else _ratio(figure.speedup)
        yield Timed(_version(figure), figure.times.median, f"{shown_seconds(figure.times.median)}, {worth}")


def best_words(best: Figure | None) -> str:
    """Outcome of a search, in a sentence."""
    if best is None:
        return "No version is faster than the original."
    if not best.parameters:
        return f"The fastest is {_version(best)}, made with your own settings."
    return f"The fastest is {_version(best)}: edits of this function are made so from now on."


def is_wrong(found: Measurement) -> bool:
    """True if the results of a version differ from the original's."""
    return any(each.is_error for each in found.missing)


# --- Words -------------------------------------------------------------------------------


def _elsewhere(found: AtSizes) -> str:
    sizes = " ".join(f"{name}={size}" for name, size in found.sizes)
    speeds = ", ".join(f"{_version(each)} {_ratio(each.speedup)}" for each in found.figures)
    return f"{sizes}: {speeds or 'no version'} (the original takes {shown_seconds(found.seconds)})"


def _best(found: Measurement) -> list[Figure]:
    best: dict[str, Figure] = {}
    for figure in found.figures:
        if figure.target not in best or figure.times.median < best[figure.target].times.median:
            best[figure.target] = figure
    return list(best.values())


def _short(figure: Figure) -> str:
    name = _NAMES.get(figure.target, figure.target)
    if figure.on_device is not None:
        alone, whole = _ratio(figure.on_device.speedup), _ratio(figure.speedup)
        return f"{name} {alone} ({whole} with transfers)"
    if figure.outcome == "no difference":
        return f"{name}: no difference"
    return f"{name} {_ratio(figure.speedup)}"


def _bars(found: Measurement) -> Iterator[Bar]:
    """Each version, by how many times as fast as the original it is."""
    original = found.original
    ends = original.median / max(original.high, 1e-9), original.median / max(original.low, 1e-9)
    yield Bar("original", 1.0, *ends, shown_seconds(original.median), "original")
    for each in found.figures:
        words = f"{_ratio(each.speedup)}  {shown_seconds(each.times.median)}"
        yield Bar(_version(each), each.speedup, each.least, each.most, words)


def _aloud(found: Measurement) -> str:
    told = "; ".join(f"{_version(each)} {_ratio(each.speedup)}" for each in found.figures)
    return f"Speed beside the original: {told}"


def _rows(found: Measurement) -> Iterator[tuple[str, ...]]:
    yield "original", *_seconds(found.original), "", ""
    for figure in found.figures:
        ratio = f"{_ratio(figure.speedup)} ({_end(figure.least)} to {_end(figure.most)})"
        yield _version(figure), *_seconds(figure.times), ratio, figure.outcome


def _version(one: Figure | Missing) -> str:
    name = _NAMES.get(one.target, one.target)
    words = [name, *(["restructured"] if one.form == "restructured" else [])]
    return ", ".join([*words, *(f"{name} {value}" for name, value in one.parameters)])


def _seconds(times: Times) -> tuple[str, str]:
    return shown_seconds(times.median), f"{shown_seconds(times.low)} to {shown_seconds(times.high)}"


def shown_seconds(seconds: float) -> str:
    """A time with three digits that count."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def _end(speedup: float) -> str:
    return f"{speedup:.2f}" if speedup >= 0.005 else "less than 0.01"


def _ratio(speedup: float) -> str:
    if speedup < 0.005:
        return "less than 0.01×"
    if speedup < 0.1:
        return f"{speedup:.1g}×"
    return f"{speedup:.0f}×" if speedup >= 10 else f"{speedup:.1f}×" if speedup >= 0.95 else f"{speedup:.2f}×"


def _range(least: float, most: float) -> str:
    """A range of speedups: `20–60×`."""
    ends = [_ratio(float(f"{each:.2g}")).removesuffix("×") for each in (least, most)]
    return f"{ends[0]}×" if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}×"


def _estimated_label(each: Estimate) -> str:
    return f"{each.device} {_range(each.least, each.most)} estimated"


def _on_device(figure: Figure, there: OnDevice) -> str:
    """Times of kernels, as opposed to the whole call, which the table has."""
    kernels, moved = shown_seconds(there.kernels.median), shown_seconds(there.transfers.median)
    spread = f"{shown_seconds(there.kernels.low)} to {shown_seconds(there.kernels.high)}"
    alone, whole = _ratio(there.speedup), _ratio(figure.speedup)
    return (
        f"{_version(figure)} on {there.device}: kernels {kernels} (middle half {spread}), transfers {moved}; "
        f"{alone} if the data were there already, {whole} with transfers."
    )


def _estimated(each: Estimate, figures: Sequence[Figure]) -> str:
    seen = _seen(each, figures)
    if seen is None and each.most <= 1:
        return f"Estimated to be slower on {each.device} with the loops in this order, not measured here."
    alone, moved = _range(each.least, each.most), _range(each.least_moved, each.most_moved)
    how = "from counts of operations and bytes, and the data sheet"
    if seen is None or seen.on_device is None:
        return f"Estimated {alone} on {each.device}, {moved} with transfers, not measured here: {how}."
    measured = f"{_ratio(seen.on_device.speedup)}, {_ratio(seen.speedup)} with transfers"
    return (
        f"Measured {measured}, where {alone} on {each.device}, {moved} with transfers, are estimated: {how}."
    )


def _seen(each: Estimate, figures: Sequence[Figure]) -> Figure | None:
    """Measured figure on the device that an estimate is for."""
    return next(
        (f for f in figures if f.on_device is not None and device_named(f.on_device.device) == each.device),
        None,
    )


def _sizes(found: Measurement) -> str:
    return " ".join(f"{name}={size}" for name, size in found.sizes)


def _threads(count: int) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"


def _agreement(found: Measurement) -> str:
    error = max(figure.max_error for figure in found.figures)
    runs = f"{found.original.runs} runs each, in turn"
    if error == 0:
        return f"{wording.capital(runs)}; all results are the same."
    # Where most digits of a number cancel, its last ones are all that is left.
    why = ", which moves about as much when the original rounds another way" if error > _MUCH else ""
    return (
        f"{wording.capital(runs)}; all results agree, but for rounding (at most {error:.1g} of a value{why})."
    )


# --------------------------------------------------------------------------------------------------
# A measurement as JSON.
# --------------------------------------------------------------------------------------------------


def measured_object(path: str, line: int, found: Measurement, cell: int | None = None) -> dict[str, Any]:
    """The JSON that `polylsp measure` prints; `line` counts from 1, in the `cell` of a notebook, which counts
    from 0 among all of its cells."""
    return {
        "version": 1,
        "path": path,
        "line": line,
        **({"cell": cell} if cell is not None else {}),
        "function": found.function,
        "loop": found.ordinal,
        "sizes": dict(found.sizes),
        "sizes_from": found.basis or None,
        "other_sizes": [
            {"sizes": dict(each.sizes), "seconds": each.seconds, "targets": [*map(_figure, each.figures)]}
            for each in found.others
        ],
        "device": found.device,
        "threads": found.threads,
        "pinned_to": found.pinned_to,
        "compiler": found.compiler,
        "time": found.when,
        "original": _times(found.original),
        "targets": [*map(_figure, found.figures), *map(_missing, found.missing)],
        "remarks": list(found.remarks),
        "estimates": list(map(_estimate, found.estimates)),
    }


def best_object(best: Figure | None) -> dict[str, Any] | None:
    """The fastest version, as JSON; `None` where none is faster than the original."""
    return _figure(best) if best is not None else None


def _times(times: Times) -> dict[str, Any]:
    return {"seconds": times.median, "spread": [times.low, times.high], "runs": times.runs}


def _estimate(each: Estimate) -> dict[str, Any]:
    return {
        "device": each.device,
        "speedup_range": [each.least, each.most],
        "speedup_range_with_transfers": [each.least_moved, each.most_moved],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    there = figure.on_device
    return {
        "target": figure.target,
        "form": figure.form,
        "parameters": dict(figure.parameters),
        **_times(figure.times),
        "transfer_seconds": there.transfers.median if there is not None else None,
        "kernel_seconds": there.kernels.median if there is not None else None,
        "speedup": figure.speedup,
        "speedup_without_transfers": there.speedup if there is not None else None,
        "device": there.device if there is not None else None,
        "speedup_interval": [figure.least, figure.most],
        "outcome": figure.outcome,
        "matches": True,
        "max_error": figure.max_error,
        "reason": None,
    }


def _missing(missing: Missing) -> dict[str, Any]:
    return {
        "target": missing.target,
        "form": missing.form,
        "parameters": dict(missing.parameters),
        "seconds": None,
        "spread": None,
        "runs": 0,
        "transfer_seconds": None,
        "kernel_seconds": None,
        "speedup": None,
        "speedup_without_transfers": None,
        "device": None,
        "speedup_interval": None,
        "outcome": None,
        "matches": False if missing.is_error else None,
        "max_error": None,
        "reason": missing.reason,
    }
