"""Hand-written facts: a C function cut into tokens, and verdicts about places named by their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from polylsp.core.text import Source, Span
from polylsp.ir.program import Rejection, Site
from polylsp.ir.verdict import (
    AccessPoint,
    Assumption,
    Dependence,
    Parallel,
    Sequential,
    Unknown,
    Verdict,
    Witness,
)
from polylsp.model.facts import (
    Band,
    FileProblem,
    FileReport,
    FunctionAnswer,
    FunctionFacts,
    LoopFacts,
    NestFacts,
    NestModel,
    NestRelations,
    PlacedFunction,
    Transform,
)

_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\w+|<<=|>>=|[-+*/%&|^<>=!]=|\+\+|--|->|&&|\|\||<<|>>|\S", re.DOTALL)
NO_MODEL = NestModel("", "", NestRelations("", "", "", "", "", ""))


@dataclass
class Written:
    """A function of a file; `site` and `loop` find their places by text."""

    text: str
    start: int
    loops: list[LoopFacts] = field(default_factory=list)
    nests: list[NestFacts] = field(default_factory=list)
    problems: list[Rejection] = field(default_factory=list)

    def __post_init__(self) -> None:
        matches = [m for m in _TOKEN.finditer(self.text) if not m[0].startswith(("//", "/*"))]
        self.tokens = [m[0] for m in matches]
        self.starts = tuple(m.start() for m in matches)
        self.ends = tuple(m.end() for m in matches)

    def site(self, text: str, nth: int = 1) -> Site:
        """The tokens of the `nth` place at which `text` stands."""
        wanted = _TOKEN.findall(text)
        found = [
            k for k in range(len(self.tokens) - len(wanted) + 1) if self.tokens[k : k + len(wanted)] == wanted
        ]
        return Site(found[nth - 1], found[nth - 1] + len(wanted) - 1)

    def access(self, text: str, kind: str, nth: int = 1) -> AccessPoint:
        return AccessPoint(re.split(r"[\[.\s]", text)[0], text, kind, self.site(text, nth))  # type: ignore[arg-type]

    def loop(
        self, header: str, verdict: Verdict, *, iterator: str | None = "i", parent: int = 0, body: str = ""
    ) -> int:
        """Adds a loop; `body` is the text with which the loop ends."""
        ordinal = len(self.loops) + 1
        depth = 1 + (self.loops[parent - 1].depth if parent else 0)
        at = self.site(header)
        last = self.site(body).last if body else at.last
        kind = header.split("(")[0].strip()
        site = Site(at.first, max(last, at.last))
        self.loops.append(LoopFacts(ordinal, kind, iterator, depth, parent, at, site, verdict))  # type: ignore[arg-type]
        return ordinal

    def nest(
        self,
        loops: Sequence[int],
        coincident: Sequence[bool] = (),
        transform: Transform | None = None,
        dependences: tuple[Dependence, ...] = (),
        model: NestModel = NO_MODEL,
    ) -> None:
        sites = [self.loops[k - 1].site for k in loops]
        site = Site(min(s.first for s in sites), max(s.last for s in sites))
        flags = tuple(coincident) or tuple(False for _ in loops)
        band = Band(tuple(loops), True, flags)
        self.nests.append(NestFacts(site, tuple(loops), band, transform, model, dependences))

    def placed(self) -> PlacedFunction:
        name = self.tokens[self.tokens.index("(") - 1]
        facts = FunctionFacts(
            name, self.site(name), tuple(self.loops), tuple(self.nests), tuple(self.problems)
        )
        return PlacedFunction(self.start, FunctionAnswer(name, facts, self.starts, self.ends))


def function(text: str, name: str = "") -> Written:
    """The function called `name` of a file (the only one, without a name): from its return type on
    the line of its name to the end of the text or the next blank line."""
    at = text.index(f" {name}(") if name else text.index("void")
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n\n", start)
    return Written(text[start : end if end >= 0 else len(text)], start)


def report(*functions: Written, path: str = "a.c", problems: Sequence[FileProblem] = ()) -> FileReport:
    return FileReport(path, "c", tuple(each.placed() for each in functions), tuple(problems))


def flow(
    sink: AccessPoint, source: AccessPoint, *, distance: int | None = 1, carrier: int = 1, **more
) -> Dependence:
    return Dependence(
        more.get("kind", "flow"),
        source,
        sink,
        carrier,
        distance,
        more.get("directions", ("<",)),
        more.get("certain", True),
    )


def sequential(
    dependence: Dependence, first: dict[str, int], second: dict[str, int], **parameters: int
) -> Sequential:
    witness = Witness(dependence, tuple(first.items()), tuple(second.items()), tuple(parameters.items()))
    return Sequential(witness, (dependence,))


def no_overlap(first: str, second: str) -> Assumption:
    return Assumption("no-overlap", (first, second), f"`{first}` and `{second}` do not overlap")


RECURRENCE = """\
#include <math.h>

/* α 😀 */ void sweep(int n, double a[n]) {
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1];
}
"""


def recurrence() -> tuple[Source, FileReport]:
    """A sequential loop, on line 4 (1-based) of a file with wide characters in a comment."""
    f = function(RECURRENCE)
    dependence = flow(f.access("a[i - 1]", "read"), f.access("a[i]", "write"))
    f.loop(
        "for (int i = 1; i < n; i++)",
        sequential(dependence, {"i": 1}, {"i": 2}, n=4),
        body="a[i] = a[i - 1];",
    )
    f.nest([1], transform=Transform("none-found"))
    return Source(RECURRENCE), report(f)


MANY = """\
void copy(int n, double *x, double *y) {
    for (int i = 0; i < n; i++)
        x[i] = y[i];
}

void add(int n, double a[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] += 1;
}

double dot(int n, double a[n]) {
    double s = 0, t;
    for (int i = 0; i < n; i++) {
        t = a[i];
        s += t * t;
    }
    for (int k = 0; k < n; k++) {
        t = a[k];
        a[k] = t * t;
    }
    while (n > 0)
        n = next(n);
    return s;
}

void column(int n, double a[n][n], int idx[n]) {
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = a[i - 1][j];
    for (int k = 0; k < n; k++)
        a[0][idx[k]] = 0;
}
"""


def many() -> tuple[Source, FileReport]:
    """Loops with hand-written facts, one for each code of a diagnostic that has any."""
    from polylsp.ir.verdict import Reduction

    copy = function(MANY, "copy")
    copy.loop("for (int i = 0; i < n; i++)", Parallel((no_overlap("x", "y"),)), body="x[i] = y[i];")
    copy.nest([1])
    add = function(MANY, "add")
    add.loop("for (int i = 0; i < n; i++)", Parallel(), body="a[i][j] += 1;")
    add.loop("for (int j = 0; j < n; j++)", Parallel(), iterator="j", parent=1, body="a[i][j] += 1;")
    add.nest([1, 2], [True, True], Transform("none"))
    dot = function(MANY, "dot")
    dot.loop(
        "for (int i = 0; i < n; i++)", Parallel((), ("t",), (), (Reduction("+", "s"),)), body="s += t * t; }"
    )
    dot.loop("for (int k = 0; k < n; k++)", Parallel((), ("t",)), iterator="k", body="a[k] = t * t; }")
    dot.nest([1, 2])
    call = Rejection("unknown-call", dot.site("next(n)"), "`next` may change anything", "declare it `pure`")
    dot.loop("while (n > 0)", Unknown(call), iterator=None, body="n = next(n);")
    column = function(MANY, "column")
    carried = flow(
        column.access("a[i - 1][j]", "read"), column.access("a[i][j]", "write"), directions=("<", "=")
    )
    column.loop(
        "for (int i = 1; i < n; i++)",
        sequential(carried, {"i": 1, "j": 0}, {"i": 2, "j": 0}, n=3),
        body="a[i - 1][j];",
    )
    column.loop("for (int j = 0; j < n; j++)", Parallel(), iterator="j", parent=1, body="a[i - 1][j];")
    column.nest([1, 2], [False, True], Transform("interchange", "[j, i]", "`j` outside, `i` inside"))
    distinct = Assumption("distinct-values", ("idx",), "`idx` has no repeated value")
    indirect = Rejection(
        "non-affine-subscript", column.site("idx[k]"), "the subscript `idx[k]` is read from memory"
    )
    column.loop(
        "for (int k = 0; k < n; k++)", Unknown(indirect, (distinct,)), iterator="k", body="a[0][idx[k]] = 0;"
    )
    column.nest([3])
    return Source(MANY), report(copy, add, dot, column)


def file_problem(text: str, code: str, message: str, source: str) -> FileProblem:
    at = source.index(text)
    return FileProblem(code, Span(at, at + len(text)), message)
