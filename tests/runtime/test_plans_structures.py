"""Structures that parameters point to: their members are generated one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.measuring import timing
from polylsp.measuring.trials import measured
from polylsp.model.measurement import (
    Extent,
    Measurement,
    Member,
    NoPlan,
    Number,
    Plan,
    Pointee,
    Size,
    Structure,
)

GRID = "struct grid { int nx, ny; double dx; double *u; const double *v; int count; double row[50]; };\n"
CSR = """typedef struct { int rows; const int *start, *column; const double *value; } Csr;
void f(const Csr *restrict a, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}
"""


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_SECONDS_OF_RUNS", 0.0)


def planned(plan: Plan | NoPlan) -> Plan:
    assert isinstance(plan, Plan), plan
    return plan


def test_members_are_sizes_numbers_and_memories(planning: Planning) -> None:
    text = (
        GRID
        + """
    void f(struct grid *restrict g, double w) {
        g->count = 3;
        for (int i = 0; i < g->nx; i++)
            g->u[i] = w * g->dx * g->v[2 * i + 1] + g->row[0];
    }"""
    )
    plan = planned(planning(text, **{"g->nx": 10}))
    assert plan.names == ("g->nx",)
    assert plan.arguments == (
        Structure("g", "struct grid"),
        Number("w", 0.75),
        Number("g->dx", 1.125),
        Size("g->nx"),
    )
    made = {
        each.name: (each, extent) for each, extent in zip(plan.memories, plan.rungs[0].extents, strict=True)
    }
    assert (made["g->u"][0].written, made["g->u"][1]) == (True, Extent(0, 10))
    assert (made["g->v"][0].written, made["g->v"][1]) == (False, Extent(0, 20))
    count, row = made["g->count"][0], made["g->row"][0]
    assert (count.is_global, count.fill, count.written) == (True, "kept", True)
    assert (row.is_global, row.fill, made["g->row"][1]) == (True, "random", Extent(0, 50))


def test_rows_of_a_sparse_matrix_in_a_structure(planning: Planning, folder: str) -> None:
    plan = planned(planning(CSR, **{"a->rows": 3000}))
    assert plan.arguments[:1] == (Structure("a", "Csr"),) and Pointee(0) in plan.arguments
    fills = {
        each.name: (each.fill, extent.limit)
        for each, extent in zip(plan.memories, plan.small.extents, strict=True)
    }
    assert fills["a->start"][0] == "ascending" and fills["a->column"] == ("random", 37)
    found = measured(plan, Settings(), folder, lambda *_: None)
    assert isinstance(found, Measurement) and found.figures and not any(m.is_error for m in found.missing)
    assert found.sizes == (("a->rows", 3000),)


@pytest.mark.parametrize(
    "declared", ["double x[1000], y[1000];\nvoid f(int n)", GRID + "void f(struct grid *g)"]
)
def test_sizes_are_those_for_which_arrays_of_fixed_length_have_room(
    planning: Planning, declared: str
) -> None:
    ends, element, most = (
        ("n", "x[i] = y[i]", 1000) if "f(int" in declared else ("g->nx", "g->row[i] += 1", 50)
    )
    text = f"{declared} {{ for (int i = 0; i < {ends}; i++) {element}; }}"
    plan = planned(planning(text))
    assert max(each.sizes for each in plan.rungs) == (most,) and plan.small.sizes == (37,)
    refused = planning(text, **{ends: most + 1})
    assert isinstance(refused, NoPlan) and "has fewer elements than `f` needs" in refused.reason


BODIES = """
struct at { double x, y; };
typedef struct { char tag; struct at place; short turns[3]; float mass; _Bool turns_back; } Body;
void f(int n, Body *restrict b, const Body c[restrict])
{
    for (int i = 0; i < n; i++) {
        b[i].place.y = b[i].place.x + c[2 * i].mass;
        b[i].turns[1] = b[i].turns[2] + 1;
        b[i].turns[0] *= !c[i].turns_back;
    }
}
"""


def test_arrays_of_structures_are_compared_field_by_field(planning: Planning, folder: str) -> None:
    plan = planned(planning(BODIES, n=500))
    b, c = plan.memories
    assert b.members == (
        Member("place.x", "f", 8),
        Member("place.y", "f", 8),
        Member("turns", "i", 2, 3),
    )
    assert c.members == (Member("mass", "f", 4), Member("turns_back", "b", 1))
    assert (b.structure, b.written, c.structure, c.written) == ("Body", True, "Body", False)
    assert plan.rungs[0].extents == (Extent(0, 500), Extent(0, 999))
    (good,) = plan.variants
    off = [
        replace(good, text=good.text.replace(*error))
        for error in (("c[2 * i].mass", "c[2 * i].mass + (i == 7)"), ("+ 1;", "+ 1 + (i == 9);"))
    ]
    found = measured(replace(plan, variants=(good, *off)), Settings(), folder, lambda *_: None)
    assert isinstance(found, Measurement) and len(found.figures) == 1
    place, turns = [each.reason for each in found.missing if each.is_error]
    assert place.startswith("`b[7].place.y` is ") and turns.startswith("`b[9].turns[1]` is ")


SYSTEM = """typedef struct { int rows; const int *start; const int *column; double w[8]; } Pattern;
typedef struct { const Pattern *const pattern; const double *value; } Csr;
struct system { const Csr *a; double *out; short k; struct system *next; };
void f(struct system *restrict s, const double *restrict x)
{
    s->next->next->k += 5;
    for (int i = 0; i < s->a->pattern->rows; i++) {
        double sum = s->a->pattern->w[3];
        for (int k = s->a->pattern->start[i]; k < s->a->pattern->start[i + 1]; k++)
            sum += s->a->value[k] * x[s->a->pattern->column[k]];
        s->next->out[i] = sum;
    }
}
"""


def test_pointers_in_structures_lead_to_others(planning: Planning, folder: str) -> None:
    plan = planned(planning(SYSTEM, **{"s->a->pattern->rows": 300}))
    assert plan.names == ("s->a->pattern->rows",)
    made = {each.name: extent for each, extent in zip(plan.memories, plan.rungs[0].extents, strict=True)}
    assert made["s->a->pattern->start"].count == 301 and made["s->next->out"] == Extent(0, 300)
    assert made["s->a->pattern->w"] == Extent(0, 8) and made["s->next->next->k"] == Extent(0, 1)
    (good,) = (each for each in plan.variants if each.form == "directives")
    off = [
        replace(good, text=good.text.replace(*error))
        for error in (("k += 5", "k += 6"), ("= sum;", "= sum + (i == 7);"))
    ]
    found = measured(replace(plan, variants=(good, *off)), Settings(), folder, lambda *_: None)
    assert isinstance(found, Measurement) and len(found.figures) == 1, found
    number, out = [each.reason for each in found.missing if each.is_error]
    assert "`s->next->next->k` is" in number and number.startswith("Element 0 of")
    assert out.startswith("Element 7 of `s->next->out` is ")


LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"struct p {{ double x; }}; void g(struct p *a) {{ a->x = 1; }}"
            f" void f(int n, struct p *a) {{ {LOOP} g(&a[i]); }}",
            "`a` holds structures",
        ),
        (
            f"union p {{ int n; float x; }}; void f(int n, union p *a, int *b) {{ {LOOP} b[i] = a->n; }}",
            "`a` holds",
        ),
        (
            f"struct q {{ int k; }}; struct p {{ struct q *q; }}; void f(int n, struct p *a, int *b)"
            f" {{ {LOOP} b[i] = a->q[i].k; }}",
            "`a->q` holds structures",
        ),
        (
            f"struct q {{ int k; }}; struct p {{ struct q *q; }}; void f(int n, struct p *a, int *b)"
            f" {{ struct q *t = a->q; {LOOP} b[i] = t->k + a->q->k; }}",
            "`a->q` holds structures",
        ),
        (
            f"struct q {{ int k; }}; struct p {{ struct q *q, *r; }}; void f(int n, struct p *a, int *b)"
            f" {{ {LOOP} b[i] = a->q->k; a->q = a->r; }}",
            "`a->q` may come to point elsewhere",
        ),
        (
            f"struct p {{ int k; struct p *next; }}; void f(int n, struct p *a, int *b)"
            f" {{ {LOOP} {{ b[i] = a->k; a = a->next; }} }}",
            "`a` holds structures",
        ),
        (
            f"struct p {{ double *x, *y; }}; void f(int n, struct p *a)"
            f" {{ {LOOP} a->x[i] = a->y[i]; double *t = a->x; a->x = a->y; a->y = t; }}",
            "`a->x` may come to point elsewhere",
        ),
        (
            f"struct p {{ double *x; }}; void g(struct p *a) {{ a->x[0] = 1; }}"
            f" void f(int n, struct p *a) {{ g(a); {LOOP} a->x[i] = 0; }}",
            "`a` holds structures",
        ),
        (
            f"struct p {{ int k : 3; }}; void f(int n, struct p *a) {{ {LOOP} a[i].k = 1; }}",
            "`a` holds structures",
        ),
        (
            f"struct p {{ int *at; }}; void f(int n, struct p *a, int *b) {{ {LOOP} b[2 * a->at[i]] = 0; }}",
            "computed from the contents of `a->at`",
        ),
    ],
)
def test_structures_that_cannot_be_taken_apart(planning: Planning, text: str, words: str) -> None:
    plan = planning(text)
    assert isinstance(plan, NoPlan) and words in plan.reason
