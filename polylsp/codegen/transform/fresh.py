"""Names and types for the declarations of an edit."""

from __future__ import annotations

import re
from collections.abc import Collection

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain
from polylsp.codegen.transform.leaves import counter
from polylsp.model.program import Integer


def fresh_name(subject: Subject, *wanted: str, taken: Collection[str] = ()) -> str:
    """A name that the file does not use, and that is not taken: one of those wanted, or one with a number
    appended."""
    used = {*re.findall(r"\w+", subject.text), *taken}
    numbered = (f"{wanted[-1]}{k}" for k in range(2, len(used) + 3))
    return next(name for name in (*wanted, *numbered) if name not in used)


def type_words(subject: Subject, chain: Chain) -> str:
    """The type that holds sums of a chain's counters, in words."""
    types = [counter(subject, o).type for o in chain.ordinals]
    return "long" if any(isinstance(t, Integer) and t.bits > 32 for t in types) else "int"
