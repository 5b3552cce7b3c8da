"""Extraction of a parallel loop into a function of its own, which Numba or a GPU can run.

Numba compiles whole functions: of numbers and arrays, outside of classes. A loop of a method, or one beside
code that Numba does not compile, becomes the body of a function of the module. Variables and attributes of
objects that it reads are parameters, and sums are results (outlining: Zhao and Amaral, SBAC-PAD 2005). The
new text is analysed like any other, and the edit rests on that analysis.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from polylsp.core.notebook import CELL
from polylsp.core.text import Span, newline
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.python import names
from polylsp.frontends.python.array_passes import PLAIN_DECORATORS
from polylsp.frontends.python.definitions import MODULE, outline
from polylsp.frontends.python.kinds import DOUBLE, DTYPES, INT
from polylsp.frontends.python.nodes import children, nodes_in, own_nodes
from polylsp.frontends.python.syntax import parse
from polylsp.ir.effects import places_in
from polylsp.ir.liveness import exposed
from polylsp.ir.program import (
    AddressOf,
    Array,
    Floating,
    Integer,
    Pointer,
    Read,
    Rejection,
    Variable,
    stripped,
)
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, lines_moved, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.rewriting import differences
from polylsp.targets.numba.array_loops import is_new
from polylsp.targets.numba.numba_subset import changes_in_file, element_and_rank
from polylsp.targets.numba.python_imports import empty_lines, imported_name
from polylsp.targets.numba.python_loops import Source, dedented, lines_of, source_of

EditOfLoop = Callable[[Subject, int, Again], Answer]

_WIDTH = 100
_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.NamedExpr,
)  # fmt: skip
_LEAVING = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Raise, ast.Try, ast.With,
    ast.Delete, ast.Import, ast.ImportFrom,
)  # fmt: skip
_DTYPES = (
    "float64", "float32", "complex128", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
    "uint8", "bool_",
)  # fmt: skip
_MARKS = ("#!", "# %%", "#%%", "# In[", "# -*-", "# coding", "# vim")
"""Beginnings of comments that do not belong to what follows them: an interpreter, an encoding, a cell."""


def or_extracted(subject: Subject, ordinal: int, again: Again, edit: EditOfLoop) -> Answer:
    """The edit of a loop; where there is none, that of the loop in a function of its own, with as many of the
    loops around it as can be there: they run faster, and tell more of its counters."""
    direct = edit(subject, ordinal, again)
    if isinstance(direct, Edited) or not ordinal:
        return direct
    roots = parallel_roots(subject.facts, ordinal)
    # Loops inside of one that is not parallel itself stay in it.
    root = roots[0] if len(roots) == 1 else subject.known(ordinal)
    found = direct
    for outer in (*subject.around(root.ordinal), root):
        answer = _of_function(subject, outer, root, again, edit)
        if isinstance(answer, Edited):
            return answer
        found = found if answer is None else answer
    # What stands in the way of the loop alone says more than what does in the function around it.
    return found


def _of_function(
    subject: Subject, outer: LoopFacts, root: LoopFacts, again: Again, edit: EditOfLoop
) -> Answer | None:
    """The edit of a parallel loop once the loop `outer`, or the same, is a function; `None` where that cannot
    be one."""
    found = _read_again(subject, outer, again)
    if found is None:
        return None
    made, now = found
    number = now.facts.loops[0].ordinal + root.ordinal - outer.ordinal
    answer = edit(now, number, partial(again, function=made.name))
    if isinstance(answer, Declined):
        by = subject.line_number(outer.header) - now.line_number(now.facts.loops[0].header)
        return Declined(lines_moved(answer.reason, by))
    shared = _may_share(subject, outer, root, made, answer)
    if shared:
        one, other = shared
        return Declined(f"`{one}` and `{other}` may be one array, which a function of the loop cannot see.")
    whole = tuple(differences(subject.text, applied(now.text, answer.replacements)))
    name = f"`{outer.iterator}`" if outer.iterator else "here"
    told = f"The loop {name} becomes the function `{made.name}`."
    proven = made.proven_of(now)
    assumed = tuple(each for each in answer.assumptions if each.sentence not in proven)
    joined = _joined(root.terms.assumptions, assumed, made)
    return replace(answer, replacements=whole, assumptions=joined, remarks=(told, *answer.remarks))


def _may_share(
    subject: Subject, outer: LoopFacts, root: LoopFacts, made: _Extracted, answer: Edited
) -> tuple[str, ...]:
    """Two variables that an edit of the function takes for different arrays, and that may stand for one where
    the loop was; none if there are no such."""
    if isinstance(root.verdict, Parallel) and outer is root:
        return ()
    source = module_source(subject) or source_of(subject, for_numba=False)
    if not isinstance(source, Source):
        return ()
    arrays: dict[str, set[str]] = {}
    for place in places_in(subject.loop(outer.ordinal)):
        if place.steps:
            path = subject.source(place.site).partition("[")[0].strip()
            arrays.setdefault(path, set()).update(_arrays_of(subject, place.variable))
    for each in answer.assumptions:
        paths = [v.source_name for name in each.subjects if (v := made.parameters.get(name)) is not None]
        if each.kind != "no-overlap" or len(paths) != 2:
            continue
        one, other = (arrays.get(path, set()) for path in paths)
        if not one.isdisjoint(other) or "" in one | other:
            return tuple(paths)
        if not (one and other) and not all(_is_of_its_own(source, path) for path in paths):
            return tuple(paths)
    return ()


def _arrays_of(subject: Subject, variable: Variable, seen: frozenset[str] = frozenset()) -> set[str]:
    """The arrays (unique names) that a variable stands for; an empty name for one that is not followed."""
    bound = [each.value for each in subject.assigned(variable)]
    if variable.name in seen or not bound or not isinstance(variable.type, Pointer):
        return {variable.name}
    found = {variable.name} if variable.storage == "parameter" else set[str]()
    for value in map(stripped, bound):
        known = isinstance(value, AddressOf) or (isinstance(value, Read) and isinstance(value.type, Pointer))
        of = value.place.variable if known and isinstance(value, (AddressOf, Read)) else None
        found |= _arrays_of(subject, of, seen | {variable.name}) if of is not None else {""}
    return found


def _is_of_its_own(source: Source, path: str) -> bool:
    """True for an array that the function creates, and for a parameter that stands for one array alone: those
    of two parameters are assumed to be apart."""
    given = {each.arg for each in nodes_in(source.definition.args) if isinstance(each, ast.arg)}
    stored = {n.id for n in source.nodes if names.is_stored(n)}
    return path in given - stored or is_new(source, path)


def _read_again(subject: Subject, root: LoopFacts, again: Again) -> tuple[_Extracted, Subject] | None:
    """A loop as a function of the module, and that function as it is analysed; `None` where it cannot be one,
    or where its parameters would be taken for something else than they are."""
    source = module_source(subject) or source_of(subject, for_numba=False)
    if not isinstance(source, Source):
        return None
    mistaken: frozenset[str] = frozenset()
    for _ in range(2):
        made = _extracted(source, root, mistaken)
        now = again(applied(subject.text, made.replacements), made.name) if made is not None else None
        if made is None or now is None or not now.facts.loops:
            return None
        mistaken = made.mistaken_in(now)
        if not mistaken:
            return made, now
    return None


def module_source(subject: Subject) -> Source | None:
    """The code of a module outside of functions, as if it were one; `None` for functions."""
    if subject.function.name != MODULE:
        return None
    file = outline(subject.text)
    parsed = parse(file.module.texts, file.module.lines)
    if isinstance(parsed, Rejection):
        return None
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    definition = ast.FunctionDef(name="loop", args=nothing, body=parsed.tree.body, decorator_list=[])
    return Source(subject, file, file.module, parsed, definition)


@dataclass(frozen=True, slots=True)
class _Extracted:
    """A loop that became the function `name`; `parameters` are its parameters, each with the variable that it
    stands for."""

    name: str
    parameters: dict[str, Variable]
    replacements: tuple[Replacement, ...]

    def mistaken_in(self, now: Subject) -> frozenset[str]:
        """The parameters that have other types there than the variables that they stand for."""
        types = {
            each.source_name: element_and_rank(each) for each in now.variables if each.storage == "parameter"
        }
        return frozenset(
            n for n, before in self.parameters.items() if types.get(n) != element_and_rank(before)
        )

    def proven_of(self, now: Subject) -> frozenset[str]:
        """The assumptions about types of parameters that hold because of what the function around knows."""
        found: set[str] = set()
        for each in now.function.parameters:
            before = self.parameters.get(each.source_name)
            if (
                before is not None
                and not before.assumed
                and element_and_rank(before) == element_and_rank(each)
            ):
                found |= set(each.assumed)
        return frozenset(found)


def _joined(
    stated: Sequence[Assumption], assumed: Sequence[Assumption], made: _Extracted
) -> tuple[Assumption, ...]:
    """The assumptions of the loop where it stood, and those of the function that are not among them under
    the names of its parameters."""
    own = {name: variable.source_name for name, variable in made.parameters.items()}
    known = {(one.kind, frozenset(one.subjects)) for one in stated}
    more = (
        each
        for each in assumed
        if (each.kind, frozenset(own.get(one, one) for one in each.subjects)) not in known
    )
    return tuple(dict.fromkeys((*stated, *more)))


def _extracted(source: Source, root: LoopFacts, annotated: frozenset[str]) -> _Extracted | None:
    """A loop as a function of the module, some of whose parameters are `annotated`; `None` where it cannot be
    one."""
    node = source.loop(root)
    span = lines_of(source, [node]) if node is not None else None
    if node is None or span is None or not _stands_free(source):
        return None
    inside = nodes_in(node)
    if any(isinstance(one, (*_SCOPES, *_LEAVING)) for one in inside) or _spans_lines(source, inside):
        return None
    used = _Used.of(source, node, root.ordinal)
    place = function_place(source, source.span(node).start)
    if used is None or place is None:
        return None
    parameters = {used.parameter(path): variable for path, variable in used.variables.items()}
    if len(parameters) < len(used.variables):
        return None
    name = fresh_name(source.subject, f"_{source.definition.name.strip('_')}_{_target(node)}")
    end = newline(source.subject.text)
    body = list(dedented(_renamed(source, span, used), "    "))
    results = ", ".join(used.results)
    returned = [f"    return {results}"] if results else []
    typed = imported_name(source, "numpy.typing.NDArray") != ""
    words = {
        one: _annotation(source, each) if typed or one in annotated else ""
        for one, each in parameters.items()
    }
    given = [f"{one}: {word}" if word else one for one, word in words.items()]
    head = _wrapped(f"def {name}(", given, "):", "")
    apart = empty_lines(source.subject.text, place)
    written = end.join([*apart, *head, *body, *returned, "", "", ""])
    indentation = source.subject.indentation(source.span(node).start)
    assigned = f"{results} = " if results else ""
    call = _wrapped(f"{indentation}{assigned}{name}(", [*used.variables], ")", indentation)
    replacements = (Replacement(Span(place, place), written), Replacement(span, end.join(call)))
    return _Extracted(name, parameters, replacements)


def _annotation(source: Source, variable: Variable) -> str:
    """The type of a variable as an annotation; empty where there is none."""
    element, rank = element_and_rank(variable)
    if not rank:
        return "int" if element == INT else "float" if element == DOUBLE else ""
    typed, numpy = imported_name(source, "numpy.typing.NDArray"), imported_name(source, "numpy")
    usual = {one: name for name, one in DTYPES.items() if name in _DTYPES}
    name = next((text for one, text in usual.items() if one == element), "")
    if not name or not numpy:
        return ""
    if typed:
        return f"{typed}[{numpy}.{name}]"
    return f"{numpy}.ndarray[tuple, {numpy}.dtype[{numpy}.{name}]]"


def _wrapped(head: str, parts: Sequence[str], tail: str, indentation: str) -> list[str]:
    """A call or a header on one line, or with its parts on a line of their own."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= _WIDTH:
        return [line]
    return [head, f"{indentation}    {', '.join(parts)}", f"{indentation}{tail}"]


def _target(node: ast.For) -> str:
    return node.target.id if isinstance(node.target, ast.Name) else "loop"


def _stands_free(source: Source) -> bool:
    """True for a function of the module, or a method of a class of it, that runs as it is written."""
    name, owner = source.item.name, source.item.owner
    if "." in name and name not in (MODULE, f"{owner}.{source.definition.name}"):
        return False
    for decorator in source.definition.decorator_list:
        of = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = source.declarations.get(of.id) if isinstance(of, ast.Name) else None
        if source.path(of) not in PLAIN_DECORATORS and not isinstance(found, names.Callable):
            return False
    return True


def _spans_lines(source: Source, nodes: Sequence[ast.AST]) -> bool:
    """True if there is a string of several lines, whose text would change with its indentation."""
    text = source.subject.text
    strings = (n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str | bytes))
    return any("\n" in text[source.span(one).start : source.span(one).end] for one in strings)


# --- Variables ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Used:
    """Variables that a loop shares with the function around it: `variables` are those that it reads, by
    their spelling (`n`, `self.u`), `results` those that it binds for others. `places` are the spans of
    attributes, `words` the names in the loop."""

    variables: dict[str, Variable]
    results: tuple[str, ...]
    places: dict[Span, str]
    words: frozenset[str]

    @classmethod
    def of(cls, source: Source, node: ast.For, ordinal: int) -> _Used | None:
        """The same of a loop; `None` where it uses what no parameter can be."""
        known = source.subject.variables
        by_name = {v.source_name: v for v in known if isinstance(v.type, (Integer, Floating, Array, Pointer))}
        stored = {n.id for n in nodes_in(node) if names.is_stored(n)}
        live = source.subject.live_after.get(ordinal)
        if live is None:
            return None
        early = exposed((source.subject.loop(ordinal),))
        # Names without a model are taken for needed.
        unknown = stored - {v.source_name for v in known}
        after = unknown | {v.source_name for v in known if v.name in live}
        before = unknown | {v.source_name for v in known if v.name in early}
        results = tuple(sorted(stored & after))
        own = stored - after - (before - {n.id for n in nodes_in(node.target) if isinstance(n, ast.Name)})
        variables: dict[str, Variable] = {}
        places: dict[Span, str] = {}
        for found in _paths(source, node, by_name, _hidden(source)):
            if found is None:
                return None
            path, at = found
            if path in own:
                continue
            if path not in by_name or not _is_bound_before(source, node, path.partition(".")[0]):
                return None
            variables[path] = by_name[path]
            if at is not None:
                places[at] = path
        words = frozenset(n.id for n in nodes_in(node) if isinstance(n, ast.Name))
        lists = set(source.lists) & variables.keys()
        return cls(variables, results, places, words) if not lists else None

    def parameter(self, path: str) -> str:
        """The name of the parameter that stands for a variable or an attribute."""
        last = path.rpartition(".")[2]
        taken = self.words | {each for each in self.variables if "." not in each}
        return path if "." not in path else last if last not in taken else path.replace(".", "_")


def _paths(
    source: Source, node: ast.AST, known: dict[str, Variable], hidden: frozenset[str]
) -> Iterator[tuple[str, Span | None] | None]:
    """The variables and attributes of the function that code uses, in source order, each attribute with its
    span; `None` for what has no known value, as the names that are `hidden` have."""
    match node:
        case ast.Attribute() if root := _root(source, node):
            path, inner = ast.unparse(node), node
            while path not in known and isinstance(inner.value, ast.Attribute):
                inner = inner.value
                path = ast.unparse(inner)
            if path not in known and isinstance(inner.value, ast.Name) and root in known:
                yield root, None
            elif path not in known or not isinstance(inner.ctx, ast.Load):
                yield None
            else:
                yield path, source.span(inner)
        case ast.Name(id=name):
            if name in hidden:
                yield None
            elif name in source.local or changes_in_file(source, name):
                yield name, None
            elif name not in source.declarations and not hasattr(builtins, name):
                yield None
        case _:
            for each in children(node):
                yield from _paths(source, each, known, hidden)


def _hidden(source: Source) -> frozenset[str]:
    """The functions, classes and modules that a function has names of its own for."""
    found: set[str] = set()
    for node in source.nodes if source.item.name != MODULE else ():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=each) | ast.ImportFrom(names=each):
                found |= {one.asname or one.name.partition(".")[0] for one in each}
            case _:
                pass
    return frozenset(found)


def _root(source: Source, node: ast.Attribute) -> str:
    """The variable of the function of which something is an attribute."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return root.id if isinstance(root, ast.Name) and root.id in source.local else ""


def _is_bound_before(source: Source, node: ast.For, name: str) -> bool:
    """True if a name certainly has a value where a loop begins; those of the module have one."""
    if name not in source.local:
        return True
    arguments = [one.arg for one in nodes_in(source.definition.args) if isinstance(one, ast.arg)]
    deleted = (n for one in source.nodes if isinstance(one, ast.Delete) for n in nodes_in(one))
    if any(isinstance(n, ast.Name) and n.id == name for n in deleted):
        return False
    return name in arguments or _binds_before(source.definition.body, node, name)


def _binds_before(body: Sequence[ast.stmt], node: ast.For, name: str) -> bool:
    for statement in body:
        if statement is node:
            return False
        if _holds([statement], node):
            if isinstance(statement, ast.For) and _names(statement.target, name):
                return True
            return any(
                _binds_before(block, node, name) for block in _blocks(statement) if _holds(block, node)
            )
        if _binds(statement, name):
            return True
    return False


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, those of handlers of errors too."""
    for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for _, block in ast.iter_fields(part):
            if isinstance(block, list) and all(isinstance(one, ast.stmt) for one in block):
                yield block


def _holds(block: Sequence[ast.stmt], node: ast.For) -> bool:
    return any(one is node for one in own_nodes(block))


def _binds(statement: ast.stmt, name: str) -> bool:
    """True if a statement that runs to its end has bound a name."""
    match statement:
        case ast.Assign(targets=targets):
            return any(_names(target, name) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            return _names(target, name)
        case ast.If(body=then, orelse=otherwise) if otherwise:
            return all(any(_binds(s, name) or _ends(s) for s in each) for each in (then, otherwise))
        case ast.With(items=items):
            # Its body may end early: some suppress errors.
            return any(_names(one.optional_vars, name) for one in items if one.optional_vars is not None)
        case _:
            return False


def _ends(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break)


def _names(target: ast.expr, name: str) -> bool:
    """True if a target binds a name."""
    return any(names.is_stored(n) and n.id == name for n in nodes_in(target))


# --- Text --------------------------------------------------------------------------------


def _renamed(source: Source, span: Span, used: _Used) -> str:
    """The lines of a loop with parameters in place of attributes."""
    edits = [
        Replacement(Span(at.start - span.start, at.end - span.start), used.parameter(path))
        for at, path in sorted(used.places.items())
    ]
    return applied(source.subject.text[span.start : span.end], tuple(edits))


def function_place(source: Source, start: int) -> int | None:
    """The offset at which a function can be defined for something: before the statement of the module, or of
    a notebook's cell, in which it stands, and the comments above; `None` where that cannot be read."""
    text = source.subject.text
    begin = text.rfind(CELL, 0, start) + 1
    end = text.find(CELL, start)
    own = text[begin : end if end >= 0 else len(text)]
    line = own.count("\n", 0, start - begin) + 1
    try:
        module = ast.parse(own)
    except (SyntaxError, ValueError):
        return None
    around = next((s for s in module.body if line in _decorator_lines(s)), None)
    around = around or next((s for s in module.body if s.lineno <= line <= (s.end_lineno or 0)), None)
    if around is None:
        return None
    lines = own.split("\n")
    first = min([around.lineno, *_decorator_lines(around)])
    while first > 1 and lines[first - 2].startswith("#") and not lines[first - 2].startswith(_MARKS):
        first -= 1
    return begin + sum(len(each) + 1 for each in lines[: first - 1])


def _decorator_lines(statement: ast.stmt) -> list[int]:
    found = getattr(statement, "decorator_list", ())
    return [line for one in found for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)]
