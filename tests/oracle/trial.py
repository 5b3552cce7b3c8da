"""Trial of one drawn program: it is analysed, and all claims about it are judged."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field

from tests.loud import be_loud

from .claims import Claim, claims_and_models
from .evidence import Refutation
from .judge import judge
from .languages import LANGUAGES, LanguageName
from .modelled import model_refutations
from .nests import Program

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
