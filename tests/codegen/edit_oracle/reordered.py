"""A loop whose iterations run in another order, as a verdict allows: without threads, and without an edit.

Private copies that the verdict names are poisoned before each iteration and after the loop. Those whose last
value stays begin with the value from before the loop, which stays where no iteration sets them; the last
iteration is then the last one to run.
"""

from __future__ import annotations

import re

from polylsp.ir.verdict import Parallel

from ..statements import statement_end
from .asking import LoopSaid
from .writing import Drawn

_HEADER = re.compile(
    r"for \((?P<kind>(?:int|long long|long|size_t|short|unsigned(?: short| char)?) )?"
    r"(?P<name>\w+) = (?P<low>[^;]+?); (?P=name) "
    r"(?P<test><=|<|>=) (?P<high>[^;]+?); (?P<step>[^;()]+)\)\s*"
)
_BY = re.compile(r"(?:\+\+\w+|\w+\+\+|\w+ \+= (?P<by>\d+)|(?P<down>\w+--))$")


def reordered(one: Drawn, loop: LoopSaid) -> str:
    """The program with one loop in another order; empty where its text does not say how that is written."""
    verdict = loop.verdict
    assert isinstance(verdict, Parallel)
    text = one.whole
    header = _HEADER.match(text, loop.start)
    by = _BY.match(header["step"]) if header else None
    if header is None or by is None:
        return ""
    body_end = statement_end(text, loop.start)
    body = text[header.end() : body_end]
    if re.search(r"\b(?:break|return|goto|exit)\b", body):
        return ""
    name, low, high, kind = header["name"], header["low"], header["high"], header["kind"] or ""
    if "," in low or re.search(rf"\b{name}\b", f"{low} {high}"):
        return ""
    step = int(by["by"] or 1)
    is_down = by["down"] is not None
    if is_down != (header["test"] == ">="):
        return ""
    if is_down:
        count = f"(long)({low}) - (long)({high}) + 1"
        value = f"({low}) - p_"
        end = f"({low}) - c_"
    else:
        extra = " + 1" if header["test"] == "<=" else ""
        count = f"((long)({high}){extra} - (long)({low}) + {step - 1}) / {step}"
        value = f"({low}) + p_ * {step}"
        end = f"({low}) + c_ * {step}"
    keep = int(bool(verdict.lastprivate))
    steps = {each.variable: each.step for each in verdict.inductions}
    if any(not each for each in steps.values()):
        return ""
    if re.search(r"\bstatic\b", body):
        return ""
    mine = [
        each
        for each in (*verdict.private, *verdict.lastprivate)
        if _is_named(text, loop, each) and each != name
    ]
    lasting = [each for each in mine if each in verdict.lastprivate and each not in steps]
    before = "".join(f"__typeof__({each}) first_{each} = {each}; " for each in steps) + "".join(
        # Not on the stack, which a large array would overflow.
        f"char *first_{each} = __builtin_malloc(sizeof {each}); "
        f"memcpy(first_{each}, (void *)&{each}, sizeof {each}); "
        for each in lasting
    )
    starts = "".join(
        f"{each} = first_{each} + p_ * ({steps[each]}); "
        if each in steps
        else f"memcpy((void *)&{each}, first_{each}, sizeof {each}); "
        if each in lasting
        else f"memset((void *)&{each}, 0xA5, sizeof {each}); "
        for each in mine
    )
    after = "".join(
        f"memset((void *)&{each}, 0xA5, sizeof {each}); "
        for each in mine
        if each not in verdict.lastprivate and each not in steps
    )
    after = f"if (c_ > 0) {{ {after} }} " if after else ""
    declared = f"{kind}{name} = {value};" if kind else f"{name} = {value};"
    left = "" if kind else f"{name} = {end};"
    loop_text = (
        f"{{ long c_ = {count}; c_ = c_ > 0 ? c_ : 0; {before}"
        f"for (long q_ = 0; q_ < c_; q_++) {{ long p_ = place_in_order(q_, c_, {keep}); "
        f"{declared} {starts}\n{body}\n}} {after}{left} }}"
    )
    above = re.sub(
        r"(?:(?:#pragma [^\n]*|_Pragma\([^\n]*\))\s*)+(?=(?:/\*.\*/)?\s*$)", "", text[: loop.start]
    )
    return above + loop_text + text[body_end:]


def _is_named(text: str, loop: LoopSaid, name: str) -> bool:
    """The variable can be named before the loop: it is declared in the function or in the file's scope."""
    if not re.fullmatch(r"\w+", name):
        return False
    function = text.rfind("\n{", 0, loop.start)
    outside = text[:function] if function >= 0 else ""
    inside = text[function : loop.start]
    declared = rf"[\w*]\s*[ *]{name}\b(?!\s*\()"
    in_head = re.search(rf"(?:^|\n)[^\n{{}}]*{declared}", outside) is not None
    return re.search(declared, inside) is not None or in_head or f" {name};" in outside
