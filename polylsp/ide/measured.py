"""A measurement in words, in a table, and as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from polylsp.ide import wording
from polylsp.ide.hover import Bullets, Part, Table
from polylsp.model.measurement import Figure, Measurement, Missing, Times

_NAMES = {
    "openmp": "OpenMP",
    "openacc": "OpenACC",
    "openmp-target": "OpenMP offloading",
    "cuda": "CUDA",
    "numba": "Numba",
    "pycuda": "PyCUDA",
}


def measured_label(found: Measurement) -> str:
    """The best of each target in a few words: `OpenMP 1.9× · n=2000`."""
    words = [_short(best) for best in _best(found)]
    if not words:
        words = ["measured: results differ" if any(m.is_error for m in found.missing) else "not measured"]
    return " · ".join([*words, *filter(None, [_sizes(found)])])


def measured_parts(found: Measurement) -> Iterator[Part]:
    """Everything about a measurement."""
    at = f" at {_sizes(found)}" if found.sizes else ""
    yield f"A whole call of `{found.function}`{at}, with {_counted(found.threads, 'thread')}:"
    yield Table(("version", "median", "middle half", "speedup", ""), tuple(_rows(found)))
    errors = [m for m in found.missing if m.is_error]
    if errors:
        yield Bullets(
            "ERROR in polylsp: what it made of this function does something else; please report it",
            tuple(f"{_version(m)}: {m.reason}" for m in errors),
        )
    if found.figures:
        yield _agreement(found)
    others = [m for m in found.missing if not m.is_error]
    if others:
        yield Bullets("Not measured", tuple(f"{_version(m)}: {m.reason}" for m in others))
    yield from found.remarks
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.when))
    yield f"{found.compiler}, `-O3 -march=native`; {found.device}; {when}."


def measured_object(path: str, line: int, found: Measurement) -> dict[str, Any]:
    """The JSON that `polylsp measure` prints; `line` counts from 1."""
    return {
        "version": 1,
        "path": path,
        "line": line,
        "function": found.function,
        "loop": found.ordinal,
        "sizes": dict(found.sizes),
        "device": found.device,
        "threads": found.threads,
        "compiler": found.compiler,
        "time": found.when,
        "original": _times(found.original),
        "targets": [*map(_figure, found.figures), *map(_missing, found.missing)],
        "remarks": list(found.remarks),
    }


def is_wrong(found: Measurement) -> bool:
    """Whether a version did something else than the original."""
    return any(each.is_error for each in found.missing)


# --- Words -------------------------------------------------------------------------------


def _best(found: Measurement) -> list[Figure]:
    best: dict[str, Figure] = {}
    for figure in found.figures:
        if figure.target not in best or figure.times.median < best[figure.target].times.median:
            best[figure.target] = figure
    return list(best.values())


def _short(figure: Figure) -> str:
    name = _NAMES.get(figure.target, figure.target)
    if figure.outcome == "no difference":
        return f"{name}: no difference"
    return f"{name} {_ratio(figure.speedup)}"


def _rows(found: Measurement) -> Iterator[tuple[str, ...]]:
    yield "original", *_seconds(found.original), "", ""
    for figure in found.figures:
        ratio = f"{_ratio(figure.speedup)} ({figure.least:.2f} to {figure.most:.2f})"
        yield _version(figure), *_seconds(figure.times), ratio, figure.outcome


def _version(one: Figure | Missing) -> str:
    name = _NAMES.get(one.target, one.target)
    return f"{name}, restructured" if one.form == "restructured" else name


def _seconds(times: Times) -> tuple[str, str]:
    return shown_seconds(times.median), f"{shown_seconds(times.low)} to {shown_seconds(times.high)}"


def shown_seconds(seconds: float) -> str:
    """A time with three digits that count."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def _ratio(speedup: float) -> str:
    return f"{speedup:.0f}×" if speedup >= 10 else f"{speedup:.1f}×" if speedup >= 0.95 else f"{speedup:.2f}×"


def _sizes(found: Measurement) -> str:
    return " ".join(f"{name}={size}" for name, size in found.sizes)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _agreement(found: Measurement) -> str:
    error = max(figure.max_error for figure in found.figures)
    runs = f"{found.original.runs} runs each, in turn"
    if error == 0:
        return f"{wording.capital(runs)}; all results are the same."
    return f"{wording.capital(runs)}; all results agree, but for rounding (at most {error:.1g} of a value)."


# --- JSON --------------------------------------------------------------------------------


def _times(times: Times) -> dict[str, Any]:
    return {"seconds": times.median, "spread": [times.low, times.high], "runs": times.runs}


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "target": figure.target,
        "form": figure.form,
        **_times(figure.times),
        "transfer_seconds": None,
        "speedup": figure.speedup,
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
        "seconds": None,
        "spread": None,
        "runs": 0,
        "transfer_seconds": None,
        "speedup": None,
        "speedup_interval": None,
        "outcome": None,
        "matches": False if missing.is_error else None,
        "max_error": None,
        "reason": missing.reason,
    }
