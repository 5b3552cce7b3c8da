from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import facts
import pytest

from polylsp.core.settings import Settings
from polylsp.ide.sarif import Failure, artifact_uri, file_results, line_hashes, log


@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
        (
            " hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n",
            [
                "e9496ae3ebfced30:1",
                "fb7c023a8b9ccb3f:1",
                "ce8ba1a563dcdaca:1",
                "e20e36e16fcb0cc8:1",
                "b3edc88f2938467e:1",
                "c8e28b0b4002a3a0:1",
                "c129715d7a2bc9a3:1",
            ],
        ),
    ],
)
def test_line_hashes_are_those_of_code_scanning(text: str, hashes: list[str]) -> None:
    assert line_hashes(text) == hashes


def test_equal_lines_are_numbered() -> None:
    assert line_hashes("x" * 200 + "\n" + "x" * 200)[0].endswith(":1")
    assert line_hashes("x" * 200 + "\n" + "x" * 200)[1].endswith(":2")


def test_a_result_has_what_code_scanning_needs() -> None:
    source, report = facts.recurrence()
    (run,) = log(file_results(source, report, Settings(findings="all")))["runs"]
    assert run["columnKind"] == "utf16CodeUnits"
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert result["ruleId"] == rule["id"] == "sequential-loop"
    assert result["ruleIndex"] == 0
    assert result["level"] == "note"
    assert result["message"]["text"].startswith("`i` cannot run in parallel")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a.c", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 4, "startColumn": 5, "endLine": 4, "endColumn": 32},
            }
        }
    ]
    assert [related["id"] for related in result["relatedLocations"]] == [1, 2]
    assert result["partialFingerprints"]["primaryLocationLineHash"] == line_hashes(source.text)[3]
    assert rule["help"]["text"] and rule["shortDescription"]["text"] and rule["defaultConfiguration"]["level"]


def test_rules_are_listed_once_and_indexed() -> None:
    (run,) = log(file_results(*facts.many(), Settings(findings="all")))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == 8
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_failure_is_a_notification() -> None:
    (run,) = log([], [Failure("b.c", "b.c: no such file")])["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "b.c: no such file"


def test_uris_are_relative_and_quoted(tmp_path: Path) -> None:
    assert artifact_uri(str(tmp_path / "my code" / "ä.c"), tmp_path) == "my%20code/%C3%A4.c"
    assert artifact_uri("/elsewhere/a.c", tmp_path) == "file:///elsewhere/a.c"


def test_only_a_relative_uri_has_a_base() -> None:
    source, report = facts.recurrence()
    for path, based in (("a.c", True), ("/elsewhere/a.c", False)):
        (result,) = file_results(source, replace(report, path=path), Settings(findings="all"))
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert ("uriBaseId" in artifact) == based
