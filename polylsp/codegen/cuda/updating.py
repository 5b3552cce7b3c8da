"""Updates that a device makes one at a time (CUDA C++ Programming Guide, "Atomic Functions")."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.induction import additive
from polylsp.codegen.cuda.expressions import UNARY, Unwritable, Words, assigned_text, place_text, text_of
from polylsp.model.program import Assign, Expr, Floating, Integer

_BITS = {"&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}


@dataclass(frozen=True, slots=True)
class Update:
    """An update by a `function` with a `value`, which is taken away where the `sign` says so. The function is
    one for elements of type `words`, if that is not theirs."""

    function: str
    value: Expr
    sign: int
    words: str


def update_of(assign: Assign) -> Update | None:
    """An assignment as an update that a device has."""
    of_type, added = assign.target.type, additive(assign)
    if isinstance(of_type, Floating):
        return Update("atomicAdd", *added, "") if added is not None and of_type.bits in (32, 64) else None
    if not isinstance(of_type, Integer) or of_type.bits not in (32, 64):
        return None
    words = "unsigned long long" if of_type.bits == 64 else ""
    if assign.operator in _BITS:
        return Update(_BITS[assign.operator], assign.value, 1, words)
    if added is None or not isinstance(added[0].type, Integer):
        return None
    return Update("atomicAdd", *added, words)


def update_text(assign: Assign, words: Words) -> str:
    """The call that makes an update; raises `Unwritable`."""
    update = update_of(assign)
    if update is None:
        line = words.subject.line_number(assign.site)
        raise Unwritable(f"The update in line {line} cannot be made by several threads.")
    target = place_text(assign.target, words)
    address = target[1:] if target.startswith("*") else f"&{target}"
    if update.sign < 0:
        value = f"-{text_of(update.value, words, UNARY)}"
    else:
        value = assigned_text(update.value, assign.target.type, words)
    if not update.words:
        return f"{update.function}({address}, {value})"
    return f"{update.function}(({update.words} *){address}, ({update.words})({value}))"
