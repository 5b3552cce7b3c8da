"""Makes a counterexample smaller: drops statements and parts of expressions for as long as the
same kind of failure stays."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tests.loud import be_loud
from tests.oracle.claims import Claim, claims_and_models
from tests.oracle.evidence import Refutation
from tests.oracle.judge import judge
from tests.oracle.languages import LANGUAGES, LanguageName
from tests.oracle.modelled import model_refutations
from tests.oracle.nests import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Element,
    Field,
    For,
    Function,
    If,
    Linear,
    Name,
    Node,
    Number,
    Path,
    Pointed,
    Program,
    Section,
    Step,
    Unary,
    While,
    children,
    numbered,
    walk,
)


def reduced(program: Program, fails: Callable[[Program], bool], budget: int = 400) -> Program:
    """A program that still fails and in which nothing small can be left out (or as far as `budget`
    attempts lead)."""
    tried = 0
    while True:
        # What was in vain before the last success is tried again last.
        candidates = list(_candidates(program))
        order = candidates[tried:] + candidates[:tried]
        for k, candidate in enumerate(order[: max(0, budget)]):
            budget -= 1
            if _still_fails(candidate, fails):
                program, tried = numbered(candidate), (tried + k) % len(candidates)
                break
        else:
            return program


def _still_fails(candidate: Program, fails: Callable[[Program], bool]) -> bool:
    try:
        return fails(numbered(candidate))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, IndexError):
        return False  # something that is still needed was left out


def _candidates(program: Program) -> Iterator[Program]:
    for k in range(len(program.functions) - 1):
        yield replace(program, functions=program.functions[:k] + program.functions[k + 1 :])
    for k, function in enumerate(program.functions):
        for smaller in _smaller_functions(function):
            yield replace(program, functions=(*program.functions[:k], smaller, *program.functions[k + 1 :]))
    yield from _without_unused(program)


def _smaller_functions(function: Function) -> Iterator[Function]:
    if function.result is not None:
        yield replace(function, result=None, type="void")
    for body in _smaller_bodies(function.body):
        yield replace(function, body=body)


def _smaller_bodies(body: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    for k in range(len(body)):
        yield body[:k] + body[k + 1 :]
    for k, statement in enumerate(body):
        for others in _smaller_statements(statement):
            yield body[:k] + others + body[k + 1 :]


def _smaller_statements(s: Node) -> Iterator[tuple[Node, ...]]:
    match s:
        case If(then=then, otherwise=otherwise):
            yield then
            yield otherwise
            yield from ((replace(s, then=body),) for body in _smaller_bodies(then))
            yield from ((replace(s, otherwise=body),) for body in _smaller_bodies(otherwise))
            yield from ((replace(s, condition=e),) for e in _smaller(s.condition))
        case For() | While():
            yield s.body
            yield from ((replace(s, body=body),) for body in _smaller_bodies(s.body) if body)
            yield from ((replace(s, condition=e),) for e in _inside(s.condition))
            if isinstance(s, For) and s.first is not None:
                yield from ((replace(s, first=first[0]),) for first in _smaller_statements(s.first))
        case Assign():
            yield from ((replace(s, value=e),) for e in _smaller(s.value))
            if not isinstance(s.target, Name):
                yield from (
                    (replace(s, target=e),) for e in _smaller(s.target) if isinstance(e, type(s.target))
                )
            if s.operator and not isinstance(s.target, Name):
                yield (replace(s, operator=""),)
        case Declare() if s.value is not None:
            yield from ((replace(s, value=e),) for e in _smaller(s.value))


def _smaller(e: Node) -> Iterator[Node]:
    """Expressions that are simpler than one, with the simplest first."""
    match e:
        case Number() | Name():
            return
        case Binary() | Choice() | Unary():
            yield from children(e)
        case Call(arguments=arguments):
            yield from (a for a in arguments if not isinstance(a, Section))
    if isinstance(e, Element | Linear | Pointed | Path | Binary | Choice | Call | Step):
        yield Number(1)
    yield from _inside(e)


def _inside(e: Node) -> Iterator[Node]:
    match e:
        case Binary(left=left, right=right):
            yield from (replace(e, left=s) for s in _smaller(left))
            yield from (replace(e, right=s) for s in _smaller(right))
        case Element(subscripts=subscripts):
            for k, subscript in enumerate(subscripts):
                for s in _smaller(subscript):
                    yield replace(e, subscripts=(*subscripts[:k], s, *subscripts[k + 1 :]))
        case Linear(row=row, column=column):
            yield from (replace(e, row=s) for s in _smaller(row))
            yield from (replace(e, column=s) for s in _smaller(column))
        case Path(steps=steps):
            for k, step in enumerate(steps):
                for s in () if isinstance(step, Field) else _smaller(step):
                    yield replace(e, steps=(*steps[:k], s, *steps[k + 1 :]))
        case Pointed(subscript=subscript) if subscript is not None:
            yield from (replace(e, subscript=s) for s in _smaller(subscript))
        case Unary(operand=operand):
            yield from (replace(e, operand=s) for s in _smaller(operand))


def _without_unused(program: Program) -> Iterator[Program]:
    """Global variables and array parameters that nothing names."""
    named = {
        getattr(n, "name", None) for f in program.functions for n in walk(f) if isinstance(n, Name | Step)
    }
    named |= {n.array for n in walk(program) if isinstance(n, Element | Linear | Section)}
    named |= {n.root for n in walk(program) if isinstance(n, Path)}
    for k, variable in enumerate(program.globals):
        if variable.name not in named:
            yield replace(program, globals=program.globals[:k] + program.globals[k + 1 :])
    kernel = program.kernel
    for k, p in enumerate(kernel.parameters):
        if p.name not in named:
            smaller = replace(kernel, parameters=kernel.parameters[:k] + kernel.parameters[k + 1 :])
            inputs = tuple(
                replace(i, aliases=tuple(a for a in i.aliases if p.name not in a[:2])) for i in program.inputs
            )
            yield replace(program, functions=(*program.functions[:-1], smaller), inputs=inputs)


# --------------------------------------------------------------------------------------------------
# Trial of one drawn program: it is analysed, and all claims about it are judged.
# --------------------------------------------------------------------------------------------------


be_loud()

INEXACT = (
    frozenset({"conditional update"}),
    frozenset({"guarded induction"}),
    frozenset({"nested induction"}),
    frozenset({"induction", "continue"}),
    frozenset({"negative subscripts"}),
    frozenset({"exchange"}),
    frozenset({"mask"}),
    frozenset({"object"}),
    frozenset({"second names"}),
)
"""Features that leave an affine program undecided, alone or together: a condition on data, arrays that change
their names, that have two or that an object's attributes refer to, or a counter that is no linear function of
the iterators, because some iterations do not change it or an inner loop changes it in every iteration."""

PATIENCE = 8
"""Factor on the default budget: decidable loops must be decided, but not in the time that an editor has; a
nest that takes more operations than the default is counted."""


@dataclass(slots=True)
class Trial:
    """A program's text, the claims about it and what is wrong with them; `inputs` is the number
    of runs that they were put to; `compared`: its model was compared too; `slow`: more
    operations than the default were needed."""

    program: Program
    exact: bool
    language: LanguageName
    text: str
    claims: list[Claim]
    refutations: list[Refutation]
    inputs: int
    verdicts: Counter[str] = field(default_factory=Counter)
    compared: bool = False
    slow: bool = False

    def report(self) -> str:
        """The program and what was found, for a person."""
        lines = [*map(shown, self.refutations), *map(claim_shown, self.claims)]
        comment = LANGUAGES[self.language].comment
        return "\n".join([self.text, *(f"{comment} {line}" for line in lines)])


def trial(program: Program, exact: bool, language: LanguageName = "c") -> Trial:
    """Analyse a program and judge the claims; `exact`: it was drawn from the affine ones."""
    spoken = LANGUAGES[language]
    found = spoken.evidence(program)
    text, path = found.layout.text, f"drawn{spoken.suffix}"
    try:
        claims, models = claims_and_models(text, schedules=exact, path=path)
        slow = exact and any(claim.rejection[0] == "budget" for claim in claims)
        if slow:
            claims, models = claims_and_models(text, schedules=exact, patience=PATIENCE, path=path)
    except Exception:
        last = traceback.format_exc().strip().splitlines()
        crash = Refutation("", 0, "crash", " | ".join(line.strip() for line in last[-3:]))
        return Trial(program, exact, language, text, [], [crash], len(found.runs))
    decidable = exact and not any(together <= program.features for together in INEXACT)
    refutations = [*spoken.disagreements(found), *judge(found, claims, decidable)]
    compared = model_refutations(found, models) if decidable else None
    refutations += compared or []
    verdicts = Counter(map(_reason, claims))
    runs = len(found.runs)
    return Trial(
        program, exact, language, text, claims, refutations, runs, verdicts, compared is not None, slow
    )


def _reason(claim: Claim) -> str:
    return f"unknown: {claim.rejection[0]}" if claim.verdict == "unknown" else claim.verdict


def shown(refutation: Refutation) -> str:
    """A refutation in a line."""
    return f"REFUTED {refutation.function} loop {refutation.ordinal} [{refutation.rule}] {refutation.text}"


def claim_shown(claim: Claim) -> str:
    """A claim in a line."""
    parts = [f"{claim.function} loop {claim.ordinal}: {claim.verdict}"]
    for name in ("private", "lastprivate", "reductions", "inductions"):
        if getattr(claim, name):
            parts.append(f"{name} {getattr(claim, name)}")
    parts += [f"assuming {a.sentence or a.kind}" for a in claim.assumptions]
    if claim.witness:
        w, d = claim.witness, claim.witness.dependence
        ends = f"`{d.source.text}` {w.source_iteration} -> `{d.sink.text}` {w.sink_iteration}"
        parts.append(f"{d.kind} {ends} with {w.parameters}, distance {d.distance}")
    if claim.verdict == "unknown":
        parts.append(": ".join(claim.rejection))
    return "; ".join(parts)
