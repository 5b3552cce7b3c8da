"""Parallel Numba loops: `prange` headers, `@njit(parallel=True)`, and the imports they need.

Result: the edit of the outermost loops in and around one that Numba can run in parallel, or the
reason why there are none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polylsp.analysis.scop.paths import no_overlap
from polylsp.core.text import Span, newline
from polylsp.emit.subject import Subject
from polylsp.frontends.python.nodes import own_nodes
from polylsp.frontends.python.pranges import updates
from polylsp.ir.program import Array, Floating, Integer, Pointer
from polylsp.ir.verdict import Parallel, Reduction
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import LoopFacts, is_governed, parallel_roots
from polylsp.targets.numba.array_loops import Overlaps, overlapping_statements
from polylsp.targets.numba.numba_subset import (
    element_of,
    uncompiled,
    why_not_compiled,
    why_not_in_parallel,
)
from polylsp.targets.numba.python_imports import above_comments, importing, spelled
from polylsp.targets.numba.python_loops import Source, fresh, range_arguments, source_of, successor
from polylsp.targets.numba.signed_index import needs_signed_start

_FORMS = {"+": ("+", "-"), "*": ("*",), "min": ("min",), "max": ("max",)}
"""The operators of the one update that Numba takes for a reduction, which combines copies by another one."""


def why_not_over_prange(source: Source, root: LoopFacts) -> str:
    """Reason why a parallel loop cannot run over `prange`; empty if it can."""
    name = f"`{root.iterator}`"
    node = source.loop(root)
    if node is None:
        return f"The loop {name} is not one `for` over a `range`, which Numba needs."
    verdict = root.verdict
    if not isinstance(verdict, Parallel):
        return f"The loop {name} is not known to be parallel."
    return (
        _header(source, node, name)
        or (f"The loop {name} cannot run over `prange`: {root.misfit}." if root.misfit else "")
        or _body(source, node, name)
        or _copies(source, verdict, name)
        or next(filter(None, (_reduction(source, node, each, name) for each in verdict.reductions)), "")
    )


def over_prange(source: Source, root: LoopFacts, spelled: Spelling) -> Iterator[Replacement]:
    """The header that says so."""
    node = source.loop(root)
    assert node is not None and isinstance(node.iter, ast.Call)
    arguments = _arguments(node.iter)
    if _is_signed(source, root):
        first = arguments[0] if len(arguments) > 1 else "0"
        arguments = [f"{spelled.number}({first})", arguments[-1]]
    if arguments != [ast.unparse(each) for each in node.iter.args]:
        yield Replacement(source.span(node.iter), f"{spelled.prange}({', '.join(arguments)})")
    elif not source.is_prange(root):
        yield Replacement(source.span(node.iter.func), spelled.prange)


def _arguments(call: ast.Call) -> list[str]:
    """The arguments of `prange` for those of a range. In which order the iterations come does not matter, but
    Numba counts up alone."""
    found = range_arguments(call)
    if found is None or found[2] == 1:
        return [ast.unparse(each) for each in call.args[:2]]
    first, last = successor(found[1]), successor(found[0])
    return [last] if first == "0" else [first, last]


def _is_signed(source: Source, root: LoopFacts) -> bool:
    """True if the start of a loop is converted to a signed number."""
    node = source.loop(root)
    if node is None or not isinstance(node.iter, ast.Call):
        return False
    arguments = _arguments(node.iter)
    return needs_signed_start(source, node, arguments[0] if len(arguments) > 1 else "0")


def _header(source: Source, node: ast.For, name: str) -> str:
    call = node.iter
    if not isinstance(call, ast.Call) or source.path(call.func) not in ("range", "prange", "numba.prange"):
        return f"The loop {name} runs over `{ast.unparse(call)}`: write it over a `range` first."
    if not isinstance(node.target, ast.Name):
        return f"The loop {name} has more than one variable: write it over a `range` first."
    if len(call.args) == 3 and range_arguments(call) is None:
        step = ast.unparse(call.args[2])
        return f"`prange` takes steps of 1 alone, and {name} has steps of `{step}`."
    return f"The loop {name} has an `else`: put that after the loop." if node.orelse else ""


def _body(source: Source, node: ast.For, name: str) -> str:
    target = node.target.id if isinstance(node.target, ast.Name) else ""
    for each in own_nodes(node.body):
        if isinstance(each, (ast.Return, ast.Raise, ast.Assert)):
            word = type(each).__name__.lower()
            return f"`{word}` on line {source.line(each)} leaves the loop {name}, which threads cannot do."
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == target:
            return f"{name} is changed in its loop on line {source.line(each)}: use another variable there."
    return ""


def _copies(source: Source, verdict: Parallel, name: str) -> str:
    if verdict.inductions:
        counters = ", ".join(f"`{each.variable}`" for each in verdict.inductions)
        return f"{counters} is counted along with {name}: compute it from {name} in each iteration first."
    if verdict.lastprivate:
        last = verdict.lastprivate[0]
        return (
            f"`{last}` is needed after the loop {name}, and Numba leaves open which iteration it comes from: "
            "compute it after the loop."
        )
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    shared = next((one for one in verdict.private if one in arrays), "")
    if shared:
        return f"All iterations of {name} use the one array `{shared}`: create it inside the loop."
    return ""


def _is_whole(source: Source, name: str) -> bool:
    variables = (v for v in source.subject.variables if v.source_name == name)
    return any(isinstance(v.type, Integer) for v in variables)


def _reduction(source: Source, node: ast.For, reduction: Reduction, name: str) -> str:
    """Reason why Numba does not recognise a reduction; empty if it does."""
    own = f"`{reduction.variable}`"
    if reduction.carried:
        kept = " and ".join(f"`{each}`" for each in reduction.carried)
        return (
            f"Numba combines {own} of all threads without its {kept}: `np.argmin` and `np.argmax` find both."
        )
    if reduction.is_array:
        return f"Iterations of {name} update the same elements of {own}, which Numba does not make safe."
    forms = _FORMS.get(reduction.operator)
    if forms is None:
        return f"Numba does not combine {own} by `{reduction.operator}`."
    if reduction.operator == "*" and _is_whole(source, reduction.variable):
        return f"{own} is a product of whole numbers, which soon passes the 64 bits that Numba has for it."
    if updates(node, reduction.variable) in [(form,) for form in forms]:
        return ""
    word, variable = reduction.operator, reduction.variable
    form = f"{variable} = {word}({variable}, …)" if word in ("min", "max") else f"{variable} {word}= …"
    told = f"Numba combines {own} of all threads only where one statement of the loop {name} names it"
    return f"{told}: write `{form}` once, with a local variable for what comes before."


# --------------------------------------------------------------------------------------------------
# `@njit(parallel=True)` on a function, or `parallel=True` added to an existing decorator.
# --------------------------------------------------------------------------------------------------


_COMPILERS = ("njit", "jit", "numba.njit", "numba.jit")


@dataclass(frozen=True, slots=True)
class Decorated:
    """The edit that makes Numba run a function in parallel. `already`: Numba compiles it as it stands;
    `in_parallel`: with `parallel=True`."""

    replacements: tuple[Replacement, ...]
    already: bool
    in_parallel: bool = False


def is_compiled(source: Source) -> bool:
    """True if Numba compiles the function in its present form."""
    return any(source.path(_function(one)) in _COMPILERS for one in source.definition.decorator_list)


def options(source: Source, *more: str) -> str:
    """Options of a new decorator: those of the user's settings after `more`."""
    chosen = (each for each in source.subject.numba_options if each in ("cache", "fastmath"))
    return ", ".join(f"{each}=True" for each in (*more, *chosen))


def decorated(source: Source, njit: str) -> Decorated | Declined:
    """The decorator, spelled `njit` where there is none yet."""
    decorators = source.definition.decorator_list
    if not decorators:
        start = source.subject.start
        text = f"@{njit}({options(source, 'parallel')})\n{source.subject.indentation(start)}"
        return Decorated((Replacement(Span(start, start), text),), False)
    only = decorators[0]
    called = only.func if isinstance(only, ast.Call) else only
    if len(decorators) > 1 or source.path(called) not in _COMPILERS:
        others = (ast.unparse(one) for one in decorators if source.path(_function(one)) not in _COMPILERS)
        name = next(others, ast.unparse(decorators[-1]))
        return Declined(f"`@{name}` may change what Numba has to compile: take it away first.")
    if not isinstance(only, ast.Call):
        end = source.span(only).end
        return Decorated((Replacement(Span(end, end), "(parallel=True)"),), True)
    return _with_option(source, only)


def _function(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _with_option(source: Source, call: ast.Call) -> Decorated | Declined:
    """The option added to a decorator that has others."""
    values = {k.arg: k.value for k in call.keywords}
    objects = "forceobj" in values or _is(values.get("nopython"), False)
    if objects or None in values:
        return Declined(f"`@{ast.unparse(call)}` may leave the function to Python: write `@njit` first.")
    parallel = values.get("parallel")
    if _is(parallel, True):
        return Decorated((), True, in_parallel=True)
    if parallel is not None and not _is(parallel, False):
        return Declined(f"`parallel={ast.unparse(parallel)}` decides elsewhere: write `parallel=True`.")
    if parallel is not None:
        return Decorated((Replacement(source.span(parallel), "True"),), True)
    ends = [source.span(one).end for one in (*call.args, *(k.value for k in call.keywords))]
    end = max(ends, default=source.span(call).end - 1)
    text = ", parallel=True" if ends else "parallel=True"
    return Decorated((Replacement(Span(end, end), text),), True)


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


# --------------------------------------------------------------------------------------------------
# Spelling of `njit` and `prange` in a file, and the import that it lacks.
# --------------------------------------------------------------------------------------------------


_WANTED, _NUMBER = ("njit", "prange"), "int64"
_OWNERS = {"numba": "Numba's", "numpy": "NumPy's"}


@dataclass(frozen=True, slots=True)
class Spelling:
    """Spelling of `njit`, `prange` and NumPy's `int64` in a function, and the imports necessary for it."""

    njit: str
    prange: str
    number: str
    replacements: tuple[Replacement, ...]


def spelling(source: Source, signed: bool) -> Spelling | Declined:
    """The spelling, with `njit` imported only if the function has no decorator yet, and `int64` only if a
    start has to be `signed`."""
    wanted = _WANTED if not source.definition.decorator_list else _WANTED[1:]
    modules = {**dict.fromkeys(wanted, "numba"), **({_NUMBER: "numpy"} if signed else {})}
    found = {one: spelled(source, module, one) for one, module in modules.items()}
    missing = [one for one, text in found.items() if not text]
    for name in missing:
        if name in source.declarations:
            told, owner = f"`{name}` is something else in this file", _OWNERS[modules[name]]
            return Declined(f"{told}: import {owner} under another name first.")
    texts = {one: text or one for one, text in found.items()}
    roots = (text.partition(".")[0] for text in texts.values())
    hidden = next((root for root in roots if root in source.local), "")
    if hidden:
        return Declined(f"`{hidden}` is a variable of this function: give it another name first.")
    lacking = {module: [one for one in missing if modules[one] == module] for module in _OWNERS}
    replacements = _imports(
        source, [importing(source, one, names) for one, names in lacking.items() if names]
    )
    return Spelling(texts.get("njit", ""), texts["prange"], texts.get(_NUMBER, ""), replacements)


def _imports(source: Source, made: list[Replacement]) -> tuple[Replacement, ...]:
    """Imports from two modules; at one place of a file, names that are added to a line stand before the new
    line."""
    if len(made) < 2 or made[0].span != made[1].span:
        return tuple(made)
    longer = [each.text for each in made if each.text.startswith((",", " "))]
    lines = [each.text for each in made if not each.text.startswith((",", " "))]
    if len(lines) > 1:
        lines = [f"{lines[0].rstrip()}{newline(source.subject.text)}{lines[1].lstrip()}"]
    return (Replacement(made[0].span, "".join((*longer, *lines))),)


# --------------------------------------------------------------------------------------------------
# Loops of Python run in parallel by Numba: `prange`, and `@njit(parallel=True)` on their function.
# --------------------------------------------------------------------------------------------------


def unmodelled(subject: Subject, ordinal: int) -> Declined | None:
    """The reason why a loop has no edits that is parallel by its names alone; `None` for others."""
    asked = next((one for one in subject.facts.loops if one.ordinal == ordinal), None)
    if asked is None or not isinstance(asked.verdict, Parallel) or parallel_roots(subject.facts, ordinal):
        return None
    name = f"`{asked.iterator}`" if asked.iterator else "here"
    text = f"The iterations of the loop {name} are independent, but Numba needs more to be known"
    return Declined(f"{text}: {asked.unmodelled or 'give its arrays and calls types that can be told'}.")


def edit(subject: Subject, ordinal: int) -> Answer:
    """`prange` in each loop that is to run in parallel for loop `ordinal`."""
    return edit_loops(subject, parallel_roots(subject.facts, ordinal))


def edit_loops(subject: Subject, roots: Sequence[LoopFacts]) -> Answer:
    """`prange` in those of some parallel loops that Numba can run so."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return source
    refused = [(root, why_not_over_prange(source, root)) for root in roots]
    chosen = [root for root, why in refused if not why]
    if not chosen:
        return Declined(next((why for _, why in refused), "No loop here is known to be parallel."))
    spelled = spelling(source, any(_is_signed(source, root) for root in chosen))
    if isinstance(spelled, Declined):
        return spelled
    compiled = decorated(source, spelled.njit)
    if isinstance(compiled, Declined):
        return compiled
    overlaps = overlapping_statements(source) if not compiled.in_parallel else Overlaps("")
    why = _why_not(source, chosen, compiled) or overlaps.refused
    if why:
        return Declined(why)
    remarks = [why for _, why in refused if why]
    helpers = {} if compiled.already else uncompiled(source)
    made = _edited(source, chosen, spelled, compiled, remarks)
    if helpers:
        made = _with_helpers(source, made, helpers, spelled.njit)
    assumed = (*made.assumptions, *(no_overlap(*pair) for pair in overlaps.apart))
    return replace(made, assumptions=tuple(dict.fromkeys(assumed)))


def narrower(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The outermost loops in and around loop `ordinal` that can run over `prange`, where those that one would
    choose first cannot."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return ()
    around = (*subject.around(ordinal), subject.known(ordinal))
    outer = next((one for one in around if _is_free(source, one)), None)
    return (outer,) if outer is not None else tuple(_inside(source, ordinal))


def _inside(source: Source, ordinal: int) -> Iterator[LoopFacts]:
    for loop in source.subject.facts.loops:
        if loop.parent == ordinal:
            yield from (loop,) if _is_free(source, loop) else _inside(source, loop.ordinal)


def _is_free(source: Source, loop: LoopFacts) -> bool:
    return not is_governed(source.subject.facts, loop.ordinal) and not why_not_over_prange(source, loop)


def _why_not(source: Source, chosen: list[LoopFacts], compiled: Decorated) -> str:
    """Reason why the function as a whole cannot be compiled to run in parallel; empty if it can."""
    if compiled.in_parallel:
        return ""
    why = "" if compiled.already else why_not_compiled(source)
    return why or why_not_in_parallel(source) or _others_in_parallel(source, chosen)


def _others_in_parallel(source: Source, chosen: list[LoopFacts]) -> str:
    """Reason why a loop that is over `prange` already must not run in parallel, as it will with the
    others."""
    for loop in source.subject.facts.loops:
        if loop in chosen or not source.is_prange(loop):
            continue
        why = why_not_over_prange(source, loop)
        if why or not isinstance(loop.verdict, Parallel) or _is_signed(source, loop):
            line = source.subject.line_number(loop.header)
            told = f"The loop over `prange` on line {line} would run in parallel too"
            return f"{told}: write `range` there first."
    return ""


def _edited(
    source: Source, chosen: list[LoopFacts], spelled: Spelling, compiled: Decorated, remarks: list[str]
) -> Edited:
    made = [
        *spelled.replacements,
        *compiled.replacements,
        *(each for root in chosen for each in over_prange(source, root, spelled)),
    ]
    assumed = [a for r in chosen for a in r.terms.assumptions]
    name = source.subject.function.name
    told = [] if compiled.already else [_told(name), *_rounding(source)]
    return Edited(tuple(_in_order(made)), tuple(dict.fromkeys(assumed)), (*remarks, *told))


def _with_helpers(source: Source, made: Edited, helpers: dict[str, list[ast.Name]], njit: str) -> Edited:
    """The edit in which functions that are called have a form that Numba compiles: themselves stay as they
    are, for other callers."""
    start = above_comments(source.subject.text, source.subject.start)
    end, lines, calls = newline(source.subject.text), list[str](), list[Replacement]()
    chosen = options(source)
    for name, names in helpers.items():
        own = fresh(source, f"_{name.lstrip('_')}", f"{name}_compiled")
        compiled = f"{njit}({chosen})({name})" if chosen else f"{njit}({name})"
        lines.append(f"{own} = {compiled}{end}")
        calls += (Replacement(source.span(each), own) for each in names)
    bound = Replacement(Span(start, start), f"{''.join(lines)}{end}{end}")
    listed = ", ".join(f"`{name}`" for name in helpers)
    replacements = tuple(_in_order([bound, *made.replacements, *calls]))
    return replace(
        made, replacements=replacements, remarks=(*made.remarks, f"Numba compiles {listed} for it too.")
    )


def _told(name: str) -> str:
    return (
        f"Numba compiles `{name}`: its integers have 64 bits, subscripts out of range are not noticed, "
        "and dividing by zero is an error."
    )


def _rounding(source: Source) -> list[str]:
    """Remark on different rounding, where there are numbers smaller than Python's."""
    elements = (element_of(each) for each in source.subject.variables)
    small = any(isinstance(each, Floating) and each.bits < 64 for each in elements)
    return ["Numba computes with 64 bits where NumPy rounds to the type of an array."] if small else []


def _in_order(made: list[Replacement]) -> Iterator[Replacement]:
    """The replacements in the order of the text; insertions at one place are joined."""
    texts: dict[Span, str] = {}
    for each in sorted(made, key=lambda one: one.span):
        texts[each.span] = texts.get(each.span, "") + each.text
    return (Replacement(span, text) for span, text in texts.items())
