"""Pointers that a loop moves along, as subscripts: `*y++ = a * *x++` as `y[i] = a * x[i]`, also in loops that
count down to zero (`while (n--)`) or run up to a last pointer (`while (x < end)`), which get a counter.

Each move of a pointer must happen once per iteration, in a statement of the loop's own body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tree_sitter import Node

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import commas, every, function_node
from polylsp.emit.c_text import element_words, node_text
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, places_in
from polylsp.ir.induction import own_jumps
from polylsp.ir.program import Integer, Pointer, Type, Variable, within
from polylsp.model.action import Edited, Replacement
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.gpu.preparation import on_other_text


def walked(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Edited | None:
    """The edit of loops on the text in which pointers that these move have subscripts, and these, as one;
    `None` if there is none."""
    roots = parallel_roots(subject.facts, ordinal)
    replacements = [each for root in roots for each in _subscripted(subject, root)]
    return on_other_text(subject, ordinal, settings, edit, again, replacements)


def _subscripted(subject: Subject, root: LoopFacts) -> list[Replacement]:
    """Replacements that leave the pointers that a loop moves where they are before it; none where it moves
    none, or uses one in another way."""
    start = subject.span(root.site).start - subject.start
    loops = (n for n in every(function_node(subject)) if n.type in ("for_statement", "while_statement"))
    node = next((each for each in loops if each.start_byte == start), None)
    body = node.child_by_field_name("body") if node is not None else None
    if node is None or body is None or any(own_jumps(subject.loop(root.ordinal).body)):
        return []
    parts = (
        [n for n in body.named_children if n.type != "comment"]
        if body.type == "compound_statement"
        else [body]
    )
    # What a header does beside counting comes after the body.
    update = node.child_by_field_name("update")
    beside = [n for n in commas(update) if not _counts(n, root.iterator)] if update is not None else []
    walk = _Walk(subject, root, node, [*parts, *beside])
    moved = {
        v for v in walk.variables if isinstance(v.type, Pointer) and _moves_of(walk.parts, v.source_name)
    }
    names = {each.source_name for each in moved}
    if not moved or not all(map(walk.is_own, moved)) or not _is_plain(walk, names, beside):
        return []
    count = _counted(walk, moved)
    if count is None:
        return []
    for each in moved:
        if not _rewritten(walk, each.source_name, count):
            return []
    made = [*count.replacements, *(Replacement(walk.span(n), text) for n, text in walk.texts.items())]
    made += map(walk.without, walk.gone)
    made.sort(key=lambda one: one.span.start)
    # A subscript that has another pointer in it would be replaced twice.
    apart = all(a.span.end <= b.span.start for a, b in pairwise(made))
    return made if apart else []


@dataclass(frozen=True, slots=True)
class _Walk:
    """A loop, the statements of its body, the new texts of nodes in these, and those that are left out."""

    subject: Subject
    root: LoopFacts
    node: Node
    parts: Sequence[Node]
    texts: dict[Node, str] = field(default_factory=dict)
    gone: list[Node] = field(default_factory=list)

    @property
    def variables(self) -> set[Variable]:
        """The variables that the loop names."""
        return {each.variable for each in places_in(self.subject.loop(self.root.ordinal))}

    def span(self, node: Node) -> Span:
        """Place of a node in the file."""
        return Span(node.start_byte, node.end_byte).shift(self.subject.start)

    def without(self, statement: Node) -> Replacement:
        """Removal of a statement, with its line where it stands alone there."""
        text, span = self.subject.text, self.span(statement)
        line = re.compile(r"[ \t]*\r?\n").match(text, span.end)
        if line is None or not self.subject.opens_its_line(span.start):
            return Replacement(span, "")
        return Replacement(Span(span.start - len(self.subject.line_before(span.start)), line.end()), "")

    def is_own(self, variable: Variable) -> bool:
        """True if the text says all uses of a variable in the loop, and its value is not needed after it."""
        subject, name = self.subject, variable.source_name
        uses = [each for each in places_in(subject.loop(self.root.ordinal)) if each.variable == variable]
        spelled = all(subject.token(each.site.first) in (name, "*", "++", "--", "(") for each in uses)
        macros = any(subject.is_from_macro(each.site) for each in uses)
        named = [v.source_name for v in subject.variables].count(name)
        after = subject.live_after[self.root.ordinal]
        local = variable.storage in ("local", "parameter") and not variable.escapes
        return spelled and not macros and named == 1 and local and {variable.name, "*"}.isdisjoint(after)

    def is_fixed(self, text: str) -> bool:
        """True for a number or a variable of the function that the loop leaves as it is."""
        if text.isdigit():
            return True
        own = [v for v in self.subject.variables if v.source_name == text]
        changed = effects(self.subject.loop(self.root.ordinal)).scalars
        plain = len(own) == 1 and own[0].storage in ("local", "parameter") and not own[0].escapes
        return plain and isinstance(own[0].type, Integer) and own[0].name not in changed


# --------------------------------------------------------------------------------------------------
# Numbers of iterations.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Count:
    """The number of an iteration in C, and replacements that count it."""

    text: str
    replacements: tuple[Replacement, ...] = ()


def _counted(walk: _Walk, moved: set[Variable]) -> _Count | None:
    """The number of an iteration; `None` where there is none in C."""
    subject, node, root = walk.subject, walk.node, walk.root
    if node.type == "for_statement":
        start, test, update = (node.child_by_field_name(n) for n in ("initializer", "condition", "update"))
        name = root.iterator or ""
        steps = [n for n in commas(update) if _counts(n, name)] if update is not None else []
        begins = re.search(rf"\b{name}\s*=\s*(\d+)\s*;?$", node_text(start)) if start is not None else None
        tested = test is not None and re.match(rf"{name}\s*<", node_text(test))
        if begins is None or not tested or update is None or len(steps) != 1:
            return None
        if update.type == "comma_expression":
            walk.texts[update] = node_text(steps[0])
        return _Count(name if begins[1] == "0" else f"{name} - {begins[1]}")
    test = node.child_by_field_name("condition")
    words = node_text(test).strip("()").strip() if test is not None else ""
    name = fresh_name(subject, "i", "k", "step")
    down = re.fullmatch(r"(\w+)--(?:\s*>\s*0)?", words)
    if down is not None:
        found = next((v for v in walk.variables if v.source_name == down[1]), None)
        of_type = element_words(subject, found, found.type) if found is not None else None
        uses = [
            n
            for part in walk.parts
            for n in every(part)
            if n.type == "identifier" and node_text(n) == down[1]
        ]
        if (
            found is None
            or of_type is None
            or not isinstance(found.type, Integer)
            or uses
            or not walk.is_own(found)
        ):
            return None
        return _header(walk, f"for ({of_type} {name} = 0; {name} < {down[1]}; {name}++)", name)
    up = re.fullmatch(r"(\w+)\s*(?:<|!=)\s*(\w+)", words)
    return _up_to(walk, moved, name, *up.groups()) if up is not None else None


def _up_to(walk: _Walk, moved: set[Variable], number: str, name: str, end: str) -> _Count | None:
    """The number of an iteration while a pointer is before a last one, which was `x + n`."""
    subject = walk.subject
    first = next((v for v in moved if v.source_name == name), None)
    last = next((v for v in walk.variables if v.source_name == end), None)
    moves = [amount for _, amount in _moves_of(walk.parts, name)]
    if first is None or last is None or moves != ["1"]:
        return None
    if _pointee(last) is None or _pointee(last) != _pointee(first):
        return None
    sets = subject.assigned(last)
    inside = all(within(each.site, walk.root.site) for each in subject.assigned(first))
    alone = last.storage == "local" and not last.escapes and len(sets) == 1
    if not inside or not alone or sets[0].site.last >= walk.root.site.first:
        return None
    value = re.fullmatch(rf"{name}\s*\+\s*(\w+)", subject.source(sets[0].value.site))
    length = next((v for v in subject.variables if value is not None and v.source_name == value[1]), None)
    if value is None or length is None or not walk.is_fixed(value[1]) or subject.assigned(length):
        return None
    of_type = element_words(subject, length, length.type)
    if of_type is None or subject.is_from_macro(sets[0].site):
        return None
    found = _header(walk, f"for ({of_type} {number} = 0; {number} < {value[1]}; {number}++)", number)
    uses = [n for n in every(function_node(subject)) if n.type == "identifier" and node_text(n) == end]
    declared = uses[0].parent if len(uses) == 2 else None
    while declared is not None and declared.type != "declaration":
        declared = declared.parent
    if found is None or declared is None or len(declared.children_by_field_name("declarator")) != 1:
        return found
    return replace(found, replacements=(walk.without(declared), *found.replacements))


def _pointee(pointer: Variable) -> Type | None:
    return pointer.type.to if isinstance(pointer.type, Pointer) else None


def _counts(node: Node, name: str | None) -> bool:
    """True for an expression that adds one to a counter."""
    return re.sub(r"\s+", "", node_text(node)) in (f"{name}++", f"++{name}", f"{name}+=1")


def _is_plain(walk: _Walk, names: set[str], beside: Sequence[Node]) -> bool:
    """True if the header of a `for` loop moves pointers beside its counter at most, and the body leaves the
    counter as it is."""
    if walk.node.type == "while_statement":
        return True
    ordinal = walk.root.ordinal
    if walk.root.iterator is None:
        return False
    if counter(walk.subject, ordinal).name in effects(walk.subject.loop(ordinal).body).scalars:
        return False
    moves = [node for name in names for node, _ in _moves_of(beside, name)]
    body = walk.node.child_by_field_name("body")
    inside = [n for child in walk.node.children if child != body for n in every(child)]
    uses = [n for n in inside if n.type == "identifier" and node_text(n) in names]
    return all(each in moves for each in beside) and len(uses) == len(moves)


def _header(walk: _Walk, text: str, name: str) -> _Count | None:
    test = walk.node.child_by_field_name("condition")
    assert test is not None
    start = walk.span(walk.node).start
    return _Count(name, (Replacement(Span(start, walk.span(test).end), text),))


# --------------------------------------------------------------------------------------------------
# Pointers.
# --------------------------------------------------------------------------------------------------


def _moves_of(parts: Sequence[Node], name: str) -> list[tuple[Node, str]]:
    """The expressions in some statements that move a pointer forward, each with the amount as written."""
    found: list[tuple[Node, str]] = []
    for node in (n for part in parts for n in every(part)):
        if node.type == "update_expression" and node_text(node).strip() in (f"{name}++", f"++{name}"):
            found.append((node, "1"))
        elif node.type == "assignment_expression":
            words = re.fullmatch(rf"{name}\s*\+=\s*([1-9]\d*|[A-Za-z_]\w*)", node_text(node))
            found += [(node, words[1])] if words is not None else []
    return found


def _rewritten(walk: _Walk, name: str, count: _Count) -> bool:
    """Replaces the uses of a pointer that is moved; false where one is no plain one."""
    moves = dict(_moves_of(walk.parts, name))
    if not all(map(walk.is_fixed, moves.values())):
        return False
    whole = _sum(list(moves.values()))
    passed: list[str] = []
    for part in walk.parts:
        uses = [n for n in every(part) if n.type == "identifier" and node_text(n) == name]
        here = [node for node in moves if part.start_byte <= node.start_byte < part.end_byte]
        if here and (len(here) != 1 or len(uses) != 1 or not _is_certain(here[0], part)):
            return False
        if part in moves:
            continue
        for use in uses:
            if not _replaced(walk, use, moves, (whole, count.text, passed)):
                return False
        passed += (moves[node] for node in here)
    return True


def _is_certain(node: Node, part: Node) -> bool:
    """True if an expression in a statement is evaluated once whenever the statement runs."""
    if node != part and part.type not in ("expression_statement", "declaration"):
        return False
    while node != part and node.parent is not None:
        node = node.parent
        lazy = node.type == "binary_expression" and any(c.type in ("&&", "||") for c in node.children)
        if lazy or node.type in ("conditional_expression", "sizeof_expression", "gnu_asm_expression"):
            return False
    return True


def _replaced(walk: _Walk, use: Node, moves: Mapping[Node, str], at: tuple[str, str, list[str]]) -> bool:
    """Puts a subscript in the place of a use of a pointer."""
    whole, count, passed = at
    pointer, inner = use, use.parent
    offsets = list(passed)
    if inner in moves:
        assert inner is not None
        if node_text(inner).startswith("++"):
            offsets.append("1")
        pointer, inner = inner, inner.parent
        if inner is not None and inner.type == "expression_statement":
            if len(walk.parts) > 1:
                walk.gone.append(inner)
            else:
                walk.texts[inner] = ";"
            return True
    name = node_text(use)
    if inner is None:
        return False
    if inner.type == "pointer_expression" and node_text(inner).startswith("*"):
        walk.texts[inner] = f"{name}[{_subscript(whole, count, offsets)}]"
        return True
    if inner.type == "subscript_expression" and inner.child_by_field_name("argument") == pointer:
        index = inner.child_by_field_name("index")
        if index is None or any(n.type == "identifier" and node_text(n) in (name,) for n in every(index)):
            return False
        own = node_text(index)
        offsets += [own if re.fullmatch(r"\w+", own) else f"({own})"]
        walk.texts[pointer] = name
        walk.texts[index] = _subscript(whole, count, offsets)
        return not any(n in moves for n in every(index))
    if inner.type == "field_expression" and any(c.type == "->" for c in inner.children):
        member = inner.child_by_field_name("field")
        assert member is not None
        walk.texts[inner] = f"{name}[{_subscript(whole, count, offsets)}].{node_text(member)}"
        return True
    return False


def _subscript(whole: str, count: str, offsets: Sequence[str]) -> str:
    """The subscript after some moves in an iteration; `whole` is what the pointer moves by in each."""
    further = _sum([each for each in offsets if each != "0"])
    if whole == "1":
        first = count
        # The number of the next iteration at most is a number that the counter has.
        wide = "LL" if further.isdigit() and int(further) > 1 else ""
        return f"{first} + {further}{wide}" if further else first
    number = count if re.fullmatch(r"\w+", count) else f"({count})"
    times = f"{whole}LL * {number}" if whole.isdigit() else f"(long long){whole} * {number}"
    return f"{times} + {further}" if further else times


def _sum(amounts: Sequence[str]) -> str:
    """A sum in C of numbers and names; empty for none."""
    number = sum(int(each) for each in amounts if each.isdigit())
    others = [each for each in amounts if not each.isdigit()]
    return " + ".join([*others, *([str(number)] if number else [])])
