"""Instrumented files with kernels, and calls of their host functions, for measuring: they report to
`driver.c` and `driver.cuh`. Their semantics stay the same."""

from __future__ import annotations

import re

_LAUNCH = re.compile(r"\w+(?:<\w+>)?<<<[^>;]*?(?:, 0, ([^>;]+))?>>>\(")

DECLARED = "extern void polylsp_entered(void);\nextern int polylsp_left(int);\n"
"""Declarations that precede a text with instrumented calls."""


def telling_calls(text: str, helpers: tuple[str, ...]) -> str:
    """A text in which each call of a host function, with the conditions before it, tells whether its kernels
    ran, and how long it took."""
    for name in helpers:
        found = re.search(rf"\b{name}\([^;{{}}]*?\) != 0(?=\) \{{)", text)
        if found is None:
            continue
        start = text.rindex("if (", 0, found.start()) + len("if (")
        asked = f"polylsp_entered(), polylsp_left({text[start : found.end()]})"
        text = text[:start] + asked + text[found.end() :]
    return text


def telling_kernels(name: str, text: str, *, is_first: bool) -> str:
    """A file with kernels, instrumented to report launches and transfers. The first one of a program has the
    shared definitions."""

    def told(found: re.Match[str]) -> str:
        return f"polylsp::launching({found[1] or 'nullptr'}); {found[0]}"

    defines = "#define POLYLSP_DEFINES\n" if is_first else ""
    return f'{defines}#include "driver.cuh"\n#line 1 "{name}"\n{_LAUNCH.sub(told, text)}'
