"""The drawing beside the text, as JSON: `polylsp/iterationSpace`."""

from __future__ import annotations

from polylsp.ide.view import Between, End, Ray, View
from polylsp.model.space import Point
from polylsp.server.convert import Json, extent
from polylsp.text import Encoding, Source


def view(source: Source, found: View, version: int, encoding: Encoding) -> Json:
    """Everything of it, for the text of that version."""
    space = found.space
    return {
        "version": version,
        "range": extent(source, found.span, encoding),
        "function": found.function,
        "ordinal": found.ordinal,
        "sentence": found.sentence,
        "reason": found.reason or None,
        "iterators": list(found.iterators),
        "dimensions": [each for each in space.dimensions if each] if space else [],
        "sizes": [list(each) for each in space.sizes] if space else [],
        "complete": space is None or space.complete,
        "points": _points(space.points) if space else [],
        "tiles": [_points(each) for each in space.tiles] if space else [],
        "arrows": [_ray(each) for each in found.rays],
        "dependences": [_between(source, each, encoding) for each in found.dependences],
        "orders": [
            {"words": each.words, "steps": [_points(step) for step in each.steps]} for each in found.orders
        ],
        "bars": [{"words": each.words, "seconds": each.seconds, "note": each.note} for each in found.bars],
    }


def _points(points: tuple[Point, ...]) -> list[list[int]]:
    return [list(each) for each in points]


def _ray(ray: Ray) -> Json:
    return {
        "kind": ray.kind,
        "source": list(ray.source),
        "sink": list(ray.sink),
        "dependences": list(ray.between),
    }


def _between(source: Source, found: Between, encoding: Encoding) -> Json:
    return {
        "kind": found.kind,
        "variable": found.variable,
        "source": _end(source, found.source, encoding),
        "sink": _end(source, found.sink, encoding),
    }


def _end(source: Source, end: End, encoding: Encoding) -> Json:
    return {"text": end.text, "access": end.kind, "range": extent(source, end.span, encoding)}
