"""Pragmas that are in the text already, and which directives cannot stand beside them."""

from __future__ import annotations

import re

from polylsp.analysis.constructs import within
from polylsp.codegen.subject import Subject
from polylsp.model.directive import Family
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Site

_PRAGMA = re.compile(r"#\s*pragma\b|\b_Pragma\b")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|else|elif)", re.MULTILINE)
_TITLES: dict[Family, str] = {"omp": "OpenMP", "acc": "OpenACC", "numba": "Numba"}


def keeps_apart(subject: Subject, outer: LoopFacts, inner: LoopFacts) -> bool:
    """Whether a pragma stands between the headers of two loops, so that no directive makes them one."""
    if any(outer.site.first < each.at <= inner.site.first for each in subject.function.directives):
        return True
    start, end = subject.span(outer.header).end, subject.span(inner.header).start
    return _PRAGMA.search(subject.text, start, end) is not None


def left_out(subject: Subject, root: LoopFacts) -> str:
    """Why no directive can stand before a loop: one stands there already in a branch of an `#if` that is not
    compiled here (`#ifdef _OPENMP`), and may be elsewhere; empty if there is none."""
    first = root.site.first
    start = subject.span(Site(first - 1, first - 1)).end if first > 0 else 0
    end = subject.span(root.site).start
    found = _PRAGMA.search(subject.text, start, end)
    if found is None or _CONDITIONAL.search(subject.text, start, found.start()) is None:
        return ""
    line = subject.text.count("\n", 0, found.start()) + 1
    return (
        f"The pragma in line {line} stands before the loop `{root.iterator}` in a branch of `#if` "
        "that is not compiled here: take it away first."
    )


def of_another_family(subject: Subject, site: Site, family: Family) -> str:
    """Why no directive of a family can stand before a piece of code: one of another family is in it or around
    it, which compilers refuse; empty if there is none."""
    for each in subject.function.directives:
        inside = site.first < each.at <= site.last
        around = each.site is not None and within(site, each.site)
        if each.family != family and (inside or around):
            line = subject.line_number(Site(each.at, each.at))
            return (
                f"A directive of {_TITLES[each.family]} stands before line {line}, "
                f"and compilers take none of {_TITLES[family]} in or around it."
            )
    return ""
