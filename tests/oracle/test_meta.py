"""The oracle can fail: claims that are wrong are refuted, each by the rule that it breaks, and the
right claim about the same loop is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracle.claims import AccessClaim, AssumptionClaim, Claim, DependenceClaim, WitnessClaim
from tests.oracle.drawing import programs
from tests.oracle.evidence import evidence
from tests.oracle.judge import judge
from tests.oracle.nests import Program, loops
from tests.oracle.reading import program


def rules(
    text: str, *claims: Claim, exact: bool = False, aliases: tuple[tuple[str, str, int], ...] = ()
) -> set[str]:
    """The rules that claims about a C text break; `aliases` say which pointers lead to one array."""
    read = program(text)
    found = evidence(replace(read, inputs=tuple(replace(one, aliases=aliases) for one in read.inputs)))
    assert len(found.runs) >= 3
    return {refutation.rule for refutation in judge(found, list(claims), exact)}


def access(text: str, spelled: str, write: bool, occurrence: int = 1) -> AccessClaim:
    start = -1
    for _ in range(occurrence):
        start = text.index(spelled, start + 1)
    return AccessClaim(spelled.split("[")[0], spelled, write, start, start + len(spelled))


def loop(
    body: str, before: str = "", after: str = "", signature: str = "double a[n + 2], double b[n + 2]"
) -> str:
    """A function with one loop over `i`, printed as the oracle prints."""

    def lines(statements: str, indent: str) -> str:
        return "".join(f"{indent}{s.strip()};\n" for s in statements.split(";") if s.strip())

    signature = signature.replace("[n", "[restrict n")
    head = f"void kernel(int n, {signature})\n{{\n" + lines(before, "    ")
    return (
        f"{head}    for (int i = 1; i < n; i++) {{\n{lines(body, ' ' * 8)}    }}\n{lines(after, '    ')}}}\n"
    )


def parallel(**fields: Any) -> Claim:
    return Claim("kernel", 1, "reduction" if fields.get("reductions") else "parallel", **fields)


RECURRENCE = loop("a[i] = a[i - 1]")
PRIVATE = loop("t = b[i]; a[i] = t * t", before="double t = 0.0")
LIVE = loop("t = b[i]; a[i] = t * t", before="double t = 0.0", after="a[0] = t")
SUM = loop("s += b[i]", before="double s = 0.0", after="a[0] = s")
PREFIX = loop("s += b[i]; a[i] = s", before="double s = 0.0")
ELEMENT = loop("a[0] += b[i]")
WORK = loop("w[0] = b[i]; w[1] = b[i - 1]; a[i] = w[0] - w[1]", before="double w[2]")
INDUCTION = loop("a[k] = b[i]; k += 1", before="int k = 0")
SCATTER = loop("a[idx[i]] = b[i]", signature="double *restrict a, double b[n + 2], int *restrict idx")


@pytest.mark.parametrize(
    ("text", "right", "wrong", "rule"),
    [
        (loop("a[i] = b[i]"), parallel(), parallel(private=("a",)), "order matters"),
        (RECURRENCE, None, parallel(), "order matters"),
        (RECURRENCE, None, parallel(private=("a",)), "order matters"),
        (PRIVATE, parallel(private=("t",)), parallel(), "unexplained conflict"),
        (LIVE, parallel(lastprivate=("t",)), parallel(private=("t",)), "order matters"),
        (SUM, parallel(reductions=(("s", "+"),)), parallel(), "unexplained conflict"),
        (SUM, None, parallel(reductions=(("s", "*"),)), "order matters"),
        (SUM, None, parallel(private=("s",)), "order matters"),
        (PREFIX, None, parallel(reductions=(("s", "+"),)), "order matters"),
        (ELEMENT, parallel(reductions=(("a", "+"),)), parallel(), "unexplained conflict"),
        (WORK, parallel(private=("w",)), parallel(), "unexplained conflict"),
        (INDUCTION, parallel(private=("k",), inductions=(("k", "1"),)), parallel(), "unexplained conflict"),
        (INDUCTION, None, parallel(private=("k",)), "order matters"),
        (INDUCTION, None, parallel(private=("k",), inductions=(("k", "2"),)), "induction step"),
        (INDUCTION, None, parallel(reductions=(("k", "+"),)), "order matters"),
        (
            SCATTER,
            parallel(assumptions=(AssumptionClaim("distinct-values", ("idx",)),)),
            parallel(),
            "unexplained conflict",
        ),
    ],
)
def test_wrong_parallel_claims_are_refuted(text: str, right: Claim | None, wrong: Claim, rule: str) -> None:
    assert rule in rules(text, wrong)
    if right is not None:
        assert rules(text, right) == set()


def no_overlap(*names: str) -> tuple[AssumptionClaim, ...]:
    return (AssumptionClaim("no-overlap", names),)


WALK = loop("*to++ = *from++", signature="double *to, const double *from")
LAGGING = loop("to++; *to = *last; last++", before="double *last = to", signature="double *to")
IMAGE = "typedef struct {\n    int width;\n    double *data;\n} Image;\n"
POINT = "typedef struct {\n    double x;\n    double y;\n} Point;\n"
PUT = "static void put(Image im, int at, double v)\n{\n    im.data[at] = v;\n}\n"
PIXELS = IMAGE + loop("im.data[i] = a[i + 1]", signature="Image im, double *a")
PUTS = IMAGE + PUT + loop("put(im, i, a[i])", signature="Image im, double *a")
ADD = "static void add_to(Image *to, int at, double v)\n{\n    to->data[at] += v;\n}\n"
PAIRS = IMAGE + ADD + loop("add_to(&is, i, a[i]); js.data[i] = 1", signature="Image js, Image is, double *a")
ROWS = loop("r[0][i] = r[1][i + 1]", signature="double **r")
GLOBALS = "int off;\ndouble u;\n__attribute__((pure)) double scaled(double v);\n"
PLACE = "static int place(int at)\n{\n    return at + off;\n}\n"
LATE = GLOBALS + loop("a[i] = scaled(b[i]); u = b[i]")
TOTAL = loop("b[i] = around(b, i)")
TOTAL = "__attribute__((pure)) double around(const double *y, int at);\n" + TOTAL
ENDS = loop("*p++ = *--q", before="double *p = a; double *q = a + n", signature="double *restrict a")
SUM_MEMBER = POINT + loop("p->x += b[i]", signature="Point *p, double b[n + 2]")


@pytest.mark.parametrize(
    ("text", "aliases", "right", "wrong"),
    [
        (
            WALK,
            ("from", "to", 1),
            parallel(private=("to", "from"), inductions=(("to", "1"),), assumptions=no_overlap("from", "to")),
            parallel(private=("to", "from"), inductions=(("to", "1"),)),
        ),
        (
            LAGGING,
            (),
            None,
            parallel(private=("to", "last"), inductions=(("to", "1"), ("last", "1"))),
        ),
        (
            ENDS.replace("int i = 1; i < n; i++", "; p < q; "),
            (),
            parallel(private=("p",), inductions=(("p", "1"),), iterator="q"),
            parallel(private=("p",), inductions=(("p", "1"),)),
        ),
        (PIXELS, ("a", "im.data", 0), parallel(assumptions=no_overlap("a", "im.data")), parallel()),
        (PUTS, (), parallel(), None),
        (PUTS, ("a", "im.data", 1), parallel(assumptions=no_overlap("a", "im.data")), parallel()),
        (PUTS.replace("im, i,", "im, i / 2,"), (), None, parallel()),
        (
            PAIRS,
            ("is.data", "js.data", 1),
            parallel(assumptions=no_overlap("is.data", "js.data")),
            parallel(),
        ),
        (
            ROWS,
            ("r.1", "r.0", 0),
            parallel(assumptions=(AssumptionClaim("distinct-rows", ("r",)),)),
            parallel(),
        ),
        (ROWS, (), parallel(), None),
        (SUM_MEMBER, (), parallel(reductions=(("p->x", "+"),)), parallel(reductions=(("p->y", "+"),))),
        (POINT + loop("p[i] = p[i - 1]", signature="Point *p"), (), None, parallel()),
        (TOTAL, (), None, parallel()),
        (
            GLOBALS + PLACE + loop("off = -i; a[n + place(i)] = b[i]"),
            (),
            None,
            parallel(lastprivate=("off",)),
        ),
    ],
)
def test_what_pointers_and_structures_lead_to_is_seen(
    text: str, aliases: tuple[str, str, int] | tuple[()], right: Claim | None, wrong: Claim | None
) -> None:
    same = (aliases,) if aliases else ()
    if right is not None:
        assert rules(text, right, aliases=same) == set()
    if wrong is not None:
        assert "unexplained conflict" in rules(text, wrong, aliases=same)


def test_what_a_function_elsewhere_sets_is_seen() -> None:
    text = GLOBALS + "void set_off(int at);\n" + loop("a[i] = a[i + off]", before="off = n; set_off(-1)")
    assert rules(text, parallel()) == {"unexplained conflict", "order matters"}
    assert rules(text.replace("set_off(-1)", "set_off(0)"), parallel()) == set()


def test_a_number_that_a_function_elsewhere_reads_is_not_private() -> None:
    assert "order matters" in rules(LATE, parallel(lastprivate=("u",)))


def test_a_maximum_that_is_also_read_is_no_reduction() -> None:
    text = (
        "void kernel(int n, double a[restrict n + 2], double b[restrict n + 2])\n{\n    double s = 0.0;\n"
        "    for (int i = 1; i < n; i++) {\n        if (b[i] > s) {\n            s = b[i];\n"
        "            a[0] = i;\n        }\n    }\n    a[1] = s;\n}\n"
    )
    assert "order matters" in rules(text, parallel(reductions=(("s", "max"),), lastprivate=("a",)))


def test_a_loop_without_a_verdict_is_seen() -> None:
    assert rules(RECURRENCE) == {"loops"}


# --- witnesses ---------------------------------------------------------------------------


def witness(
    kind: str = "flow",
    source: AccessClaim | None = None,
    sink: AccessClaim | None = None,
    at: tuple[int, int] = (1, 2),
    n: int = 3,
    distance: int | None = 1,
) -> Claim:
    source = source or access(RECURRENCE, "a[i]", True)
    sink = sink or access(RECURRENCE, "a[i - 1]", False)
    dependence = DependenceClaim(kind, source, sink, distance)
    found = WitnessClaim(dependence, (("i", at[0]),), (("i", at[1]),), (("n", n),))
    return Claim("kernel", 1, "sequential", witness=found, carried=(dependence,))


def test_a_right_witness_stands() -> None:
    assert rules(RECURRENCE, witness(), exact=True) == set()


@pytest.mark.parametrize(
    "wrong",
    [
        witness(at=(1, 3), n=4),
        witness(at=(2, 1)),
        witness(at=(1, 2), n=2),
        witness(at=(1, 1)),
        witness(kind="anti"),
        witness("anti", access(RECURRENCE, "a[i - 1]", False), access(RECURRENCE, "a[i]", True)),
        witness("output", sink=access(RECURRENCE, "a[i]", True)),
    ],
)
def test_wrong_witnesses_are_refuted(wrong: Claim) -> None:
    assert "witness" in rules(RECURRENCE, wrong)


def test_a_wrong_distance_is_refuted() -> None:
    assert rules(RECURRENCE, witness(distance=2)) == {"distance"}


SHIFT = loop("a[i] = a[i + 1]")


def test_a_copy_helps_where_reads_alone_are_in_the_way() -> None:
    shift = witness("anti", access(SHIFT, "a[i + 1]", False), access(SHIFT, "a[i]", True))
    assert rules(SHIFT, replace(shift, former=("a",)), exact=True) == set()
    assert rules(RECURRENCE, replace(witness(), former=("a",))) == {"no copy helps"}


def test_a_value_that_is_overwritten_before_it_is_read_does_not_flow() -> None:
    text = loop("a[i] = b[i]; b[0] = a[i]; a[i + 1] = b[i]")
    claim = witness("flow", access(text, "a[i + 1]", True), access(text, "a[i]", False, 2))
    assert "witness" in rules(text, claim)


def test_a_witness_that_data_can_switch_off_proves_nothing() -> None:
    text = (
        "void kernel(int n, double a[restrict n + 2], double b[restrict n + 2])\n{\n"
        "    for (int i = 1; i < n; i++) {\n        if (b[i] > 0.0) {\n            a[i] = a[i - 1];\n"
        "        }\n    }\n}\n"
    )
    claim = witness("flow", access(text, "a[i]", True), access(text, "a[i - 1]", False))
    assert "witness" in rules(text, claim)


def test_a_scalar_that_every_iteration_writes_first_is_no_obstacle() -> None:
    at = PRIVATE.index("t = b[i]")
    written = AccessClaim("t", "t", True, at, at + 1)
    assert rules(PRIVATE, witness("output", written, written, distance=None), exact=True) == {
        "missed privatisation"
    }


def test_an_undecided_loop_is_refuted_only_where_all_can_be_decided() -> None:
    claim = Claim("kernel", 1, "unknown", rejection=("budget", "no"))
    assert rules(RECURRENCE, claim) == set()
    assert rules(RECURRENCE, claim, exact=True) == {"undecided"}


def test_a_loop_that_is_left_undecided_for_its_bounds_never_runs_twice() -> None:
    claim = Claim("kernel", 1, "unknown", rejection=("out-of-bounds", "no"))
    far = loop("a[(i - 1) * (n + 2)] = 1.0", signature="double a[n + 2]")
    once = far.replace("i < n;", "i <= n / 2;")
    assert rules(once, claim, exact=True) == set()
    assert rules(RECURRENCE, claim, exact=True) == {"undecided"}
    claim = Claim("kernel", 1, "unknown", rejection=("non-affine-subscript", "no"))
    assert rules(loop("a[i] = 1.0").replace("i < n;", "i < 1;"), claim, exact=True) == set()
    assert rules(RECURRENCE, claim, exact=True) == {"undecided"}


@settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(drawn=programs())
def test_loops_without_conflicts_run_in_any_order(drawn: Program) -> None:
    found = evidence(drawn)
    here = [f for f in drawn.functions if not f.attribute]
    claims = [Claim(f.name, loop.ordinal, "parallel") for f in here for loop in loops(f)]
    broken: dict[tuple[str, int], set[str]] = {}
    for refutation in judge(found, claims):
        broken.setdefault((refutation.function, refutation.ordinal), set()).add(refutation.rule)
    for key, rules_ in broken.items():
        assert "unexplained conflict" in rules_, (key, found.layout.text)
