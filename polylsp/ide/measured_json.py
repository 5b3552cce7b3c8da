"""A measurement as JSON."""

from __future__ import annotations

from typing import Any

from polylsp.model.measurement import Estimate, Figure, Measurement, Missing, Times


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
