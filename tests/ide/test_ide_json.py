from __future__ import annotations

import json

import facts

from polylsp.core.settings import Settings
from polylsp.ide.check_json import document, file_object


def test_a_sequential_loop_as_the_contract_has_it() -> None:
    source, report = facts.recurrence()
    (loop,) = file_object(source, report, Settings(findings="all"))["loops"]
    assert loop == {
        "function": "sweep",
        "ordinal": 1,
        "kind": "for",
        "iterator": "i",
        "depth": 1,
        "range": {"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 31}},
        "verdict": "sequential",
        "assumptions": [],
        "private": [],
        "lastprivate": [],
        "reductions": [],
        "inductions": [],
        "witness": {
            "kind": "flow",
            "variable": "a",
            "source": {
                "text": "a[i]",
                "access": "write",
                "range": {"start": {"line": 4, "character": 8}, "end": {"line": 4, "character": 12}},
                "iteration": {"i": 1},
            },
            "sink": {
                "text": "a[i - 1]",
                "access": "read",
                "range": {"start": {"line": 4, "character": 15}, "end": {"line": 4, "character": 23}},
                "iteration": {"i": 2},
            },
            "distance": 1,
            "parameters": {"n": 4},
            "condition": "",
        },
        "rejection": None,
        "idiom": None,
    }


def test_characters_are_utf_16_units() -> None:
    text = "void f(int *a) { /* 😀 */ for (int i = 0; i < 9; i++) a[0] = i; }"
    f = facts.function(text)
    f.loop("for (int i = 0; i < 9; i++)", facts.Parallel())
    from polylsp.core.text import Source

    (loop,) = file_object(Source(text), facts.report(f), Settings(findings="all"))["loops"]
    assert loop["range"]["start"] == {"line": 0, "character": text.index("for") + 1}


def test_a_parallel_and_an_unknown_loop() -> None:
    source, report = facts.many()
    loops = file_object(source, report, Settings(findings="all"))["loops"]
    assert [loop["verdict"] for loop in loops] == [
        "parallel", "parallel", "parallel", "reduction", "parallel",
        "unknown", "sequential", "parallel", "unknown",
    ]  # fmt: skip
    assert loops[0]["assumptions"] == ["`x` and `y` do not overlap"]
    assert loops[3]["reductions"] == [{"operator": "+", "variable": "s"}]
    assert loops[3]["private"] == ["t"]
    assert loops[5]["rejection"] == {
        "code": "unknown-call",
        "message": "`next` may change anything",
        "advice": "declare it `pure`",
        "range": {"start": {"line": 22, "character": 12}, "end": {"line": 22, "character": 19}},
    }
    assert loops[5]["wouldHelp"] == []
    assert loops[8]["wouldHelp"] == ["`idx` has no repeated value"]
    assert "wouldHelp" not in loops[0]


def test_nests_and_diagnostics() -> None:
    source, report = facts.many()
    found = file_object(source, report, Settings(findings="all"))
    assert found["path"] == "a.c" and found["language"] == "c"
    assert found["nests"][3] == {
        "function": "column",
        "range": {"start": {"line": 27, "character": 4}, "end": {"line": 29, "character": 34}},
        "loops": [1, 2],
        "transform": "interchange",
        "schedule": "[j, i]",
        "band": {"loops": [1, 2], "permutable": True, "coincident": [False, True]},
        "targets": ["openmp", "openacc", "openmp-target", "cuda"],
    }
    assert found["nests"][0]["transform"] is None
    assert [set(each) for each in found["diagnostics"]] == [
        {"code", "severity", "range", "message", "related"}
    ] * 9
    assert found["diagnostics"][6]["related"][0]["range"]["start"] == {"line": 29, "character": 12}


def test_the_document_is_json() -> None:
    whole = document([file_object(*facts.many(), Settings(findings="all"))])
    assert json.loads(json.dumps(whole)) == whole
    assert whole["version"] == 1 and len(whole["files"]) == 1
