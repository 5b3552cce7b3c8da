"""Match of a verdict with the expected one, and a verdict in the notation of an expectation."""

from __future__ import annotations

from cases_expect import ExpectedVerdict

from polylsp.core.text import Source
from polylsp.ir.program import Site
from polylsp.ir.verdict import Parallel, Sequential, Unknown, Verdict, word
from polylsp.model.facts import PlacedFunction


def fits(wanted: ExpectedVerdict, got: Verdict, source: Source, placed: PlacedFunction) -> bool:
    """True if a verdict is the one expected, in every detail mentioned."""
    if word(got) not in wanted.words:
        return False
    match got:
        case Parallel():
            sentences = [a.sentence for a in got.assumptions]
            return (
                wanted.private == set(got.private)
                and wanted.lastprivate == set(got.lastprivate)
                and wanted.reductions == {f"{r.operator}: {r.variable}" for r in got.reductions}
                and _all_found(wanted.assumptions, sentences)
                and all(any(all(p in s for p in pieces) for pieces in wanted.assumptions) for s in sentences)
            )
        case Sequential():
            dependence = got.witness.dependence
            spelled = {_bare(_spelled(p.site, source, placed)) for p in (dependence.source, dependence.sink)}
            return (
                wanted.kind in (None, dependence.kind)
                and wanted.distance in (None, dependence.distance)
                and all(_bare(text) in spelled for text in wanted.texts)
                and wanted.copies == {name for _, name in got.former}
            )
        case Unknown():
            help_texts = [a.sentence for a in got.would_help]
            return (
                (not wanted.rejections or got.rejection.code in wanted.rejections)
                and all(text in got.rejection.message for text in wanted.texts)
                and _all_found(wanted.helps, [*help_texts, got.rejection.advice])
            )


def told(got: Verdict, source: Source, placed: PlacedFunction) -> str:
    """A verdict in the words of an expectation."""
    match got:
        case Parallel():
            parts = [f"{k}({', '.join(v)})" for k in ("private", "lastprivate") if (v := getattr(got, k))]
            parts += [f"reduction({r.operator}: {r.variable})" for r in got.reductions]
            parts += [f'assume("{a.sentence}")' for a in got.assumptions]
        case Sequential():
            dependence = got.witness.dependence
            parts = [f"[{dependence.kind}]"]
            parts += [] if dependence.distance is None else [f"distance {dependence.distance}"]
            parts += [f'"{_spelled(p.site, source, placed)}"' for p in (dependence.source, dependence.sink)]
            parts += [f"copy({name})" for name in dict.fromkeys(name for _, name in got.former)]
        case Unknown():
            parts = [f"reject({got.rejection.code})", f'"{got.rejection.message}"']
            parts += [f'help("{a.sentence}")' for a in got.would_help]
    return " ".join([word(got), *parts])


def _all_found(wanted: tuple[tuple[str, ...], ...], sentences: list[str]) -> bool:
    return all(any(all(p in s for p in pieces) for s in sentences) for pieces in wanted)


def _spelled(site: Site, source: Source, placed: PlacedFunction) -> str:
    span = placed.span(site)
    return source.text[span.start : span.end]


def _bare(text: str) -> str:
    return "".join(text.split())
