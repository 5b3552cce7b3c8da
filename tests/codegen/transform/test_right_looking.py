"""Recurrences over intervals whose elements are handed on as soon as they are complete compute the same."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import Ask, analyse, edit
from polylsp.model.action import Edited, applied
from tests.codegen.editing import outputs

_PROGRAM = """\
#include <stdio.h>

enum {{ N = 41 }};

static {type} c[N][N], w[N];
static int from[N][N];

static void kernel(int n)
{{
{loops}
}}

int main(void)
{{
    static const int sizes[] = {{0, 1, 2, 9, 10, N}};
    for (int t = 0; t < 6; t++) {{
        for (int i = 0; i < N; i++) {{
            w[i] = ({type})((i * 7 + 3) % 13);
            for (int j = 0; j < N; j++) {{
                c[i][j] = ({type})((i * 31 + j * 17) % 19);
                from[i][j] = 0;
            }}
        }}
        kernel(sizes[t]);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                printf("%a %d ", (double)c[i][j], from[i][j]);
        printf("\\n");
    }}
    return 0;
}}
"""

_ROWS_UP = "for (int i = n - 1; i >= 0; i--)\nfor (int j = i + 1; j < n; j++) "
_ROWS_DOWN = "for (int i = 0; i < n; i++)\nfor (int j = i - 1; j >= 0; j--) "
_LEAST = "c[i][j] = c[i][k] + c[k + 1][j] < c[i][j] ? c[i][k] + c[k + 1][j] : c[i][j];"
_LARGEST = "c[i][j] = c[i][k] + c[k][j] > c[i][j] ? c[i][k] + c[k][j] : c[i][j];"

HANDED_ON = {
    "set first": f"{_ROWS_UP}{{ c[i][j] = 1000; for (int k = i; k < j; k++) {_LEAST} }}",
    "set first and finished": (
        f"{_ROWS_UP}{{ c[i][j] = 1000; for (int k = i; k < j; k++) {_LEAST} c[i][j] += w[j] - w[i]; }}"
    ),
    "nothing beside the terms": f"{_ROWS_UP}for (int k = i; k < j; k++) {_LEAST}",
    "the place of the least one": (
        f"{_ROWS_UP}{{ c[i][j] = 1000; for (int k = i; k < j; k++) if (c[i][k] + c[k + 1][j] < c[i][j]) "
        "{ c[i][j] = c[i][k] + c[k + 1][j]; from[i][j] = k; } }"
    ),
    "sums, in their order": (
        f"{_ROWS_UP}{{ c[i][j] = c[i][j] * 0.5; for (int k = i; k < j; k++) "
        "c[i][j] += c[i][k] * 0.25 - c[k + 1][j] * 0.125; }"
    ),
    "elements from the right": (f"{_ROWS_DOWN}{{ c[i][j] = 0; for (int k = i - 1; k > j; k--) {_LARGEST} }}"),
    "rows that need the former values of those below": (
        f"for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) {{ c[i][j] = 0; "
        f"for (int k = i + 1; k < j; k++) {_LARGEST} }}"
    ),
    "a term that stands one further": (
        f"{_ROWS_UP}{{ c[i][j] = 0; for (int k = i + 2; k <= j; k++) "
        "c[i][j] = c[i][k - 1] - c[k][j] > c[i][j] ? c[i][k - 1] - c[k][j] : c[i][j]; }"
    ),
    "many accesses along the row": (
        f"{_ROWS_UP}{{ c[i][j] = 0; for (int k = i; k < j; k++) "
        f"c[i][j] += (c[i][k] - c[k + 1][j]) * 0.125{' * w[j]' * 2}{' + 0.125 * w[j]' * 6}; }}"
    ),
}
"""Bodies of the kernel; elements are numbers of type `double`, whose updates keep their order."""

EXCHANGED = {
    "updates among those of terms": (
        f"{_ROWS_UP}{{ if (w[j] > c[i][j]) c[i][j] = w[j]; "
        f"if (j > 0 && c[i][j - 1] > c[i][j]) c[i][j] = c[i][j - 1]; "
        f"for (int k = i + 1; k < j; k++) {_LARGEST} }}"
    ),
    "terms in the other order": f"{_ROWS_DOWN}{{ c[i][j] = 0; for (int k = j + 1; k < i; k++) {_LARGEST} }}",
}
"""Bodies that need updates to change places: of integers alone."""

REFUSED = {
    "an element that is read before it is complete": (
        f"{_ROWS_UP}{{ if (w[j] > c[i][j]) c[i][j] = w[j]; from[i][j] = (int)c[i][j]; "
        f"for (int k = i + 1; k < j; k++) {_LARGEST} }}"
    ),
    "terms of elements further on in the row": (
        f"{_ROWS_UP}{{ c[i][j] = 0; for (int k = i + 1; k < j; k++) "
        "c[i][j] = c[i][n - 1 - k] + c[k][j] > c[i][j] ? c[i][n - 1 - k] + c[k][j] : c[i][j]; }"
    ),
    "terms along memory": (
        f"{_ROWS_UP}{{ c[i][j] = 0; for (int k = i + 1; k < j; k++) "
        "c[i][j] = c[i][k] + c[i + 1][k] > c[i][j] ? c[i][k] + c[i + 1][k] : c[i][j]; }"
    ),
    "many terms along memory": (
        f"{_ROWS_UP}{{ c[i][j] = 0; for (int k = i + 1; k < j; k++) "
        f"c[i][j] = (c[i][k]{' + w[k]' * 9} + c[i + 1][k])  > c[i][j] ? c[i][k] : c[i][j]; }}"
    ),
}

_REMARK = "Hands each element to all that need it in its row when it is complete; "


def _restructured(body: str, number: str) -> tuple[str, str, bool]:
    """The program and its restructured text, and whether elements are handed on there."""
    text = _PROGRAM.format(loops=body, type=number)
    settings = Settings(parallel_threshold=0, tile_sizes=(8,))
    report = analyse("intervals.c", text, settings, schedules=False)
    kernel = next(p for p in report.functions if p.answer.facts.name == "kernel")
    answer = edit("intervals.c", text, settings, Ask("restructure", "kernel", kernel.start, 1))
    if not isinstance(answer, Edited):
        return text, text, False
    handed_on = any(each.startswith(_REMARK) for each in answer.remarks)
    return text, applied(text, answer.replacements), handed_on


def _check(text: str, made: str) -> None:
    flags = ("-fopenmp", "-fsanitize=undefined,address", "-fno-sanitize-recover")
    (wanted, _), found = outputs([text, made], *flags, threads=(1, 3))
    assert found == [wanted, wanted], made


@pytest.mark.parametrize("name", HANDED_ON)
def test_complete_elements_are_handed_on(name: str) -> None:
    text, made, handed_on = _restructured(HANDED_ON[name], "double")
    assert handed_on and "#pragma omp parallel for" in made, made
    _check(text, made)


@pytest.mark.parametrize("name", EXCHANGED)
def test_updates_of_integers_change_places_and_those_of_rounded_numbers_do_not(name: str) -> None:
    text, made, handed_on = _restructured(EXCHANGED[name], "int")
    assert handed_on, made
    _check(text, made)
    assert not _restructured(EXCHANGED[name], "double")[2]


@pytest.mark.parametrize("name", REFUSED)
def test_elements_stay_where_they_are(name: str) -> None:
    text, made, handed_on = _restructured(REFUSED[name], "int")
    assert not handed_on, made
    _check(text, made)
