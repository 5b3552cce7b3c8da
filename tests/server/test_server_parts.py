"""Parts of the server that can be tested without a client."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fake_analysis
import pytest
from lsprotocol import types

from polylsp.core import project
from polylsp.core.settings import Settings
from polylsp.core.text import Position, Source, Span
from polylsp.model.action import Replacement, applied
from polylsp.server import client, convert
from polylsp.server.app import create_server
from polylsp.server.client import Client
from polylsp.server.documents import Document, Edit
from polylsp.server.findings import Findings
from polylsp.server.queue import Answers

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
CLIENT = Client(related_information=True, code_description=True)


def analysed(text: str, schedules: bool = False):
    return fake_analysis.analyse("/a.c", text, Settings(), schedules=schedules)


def written(findings: Findings, text: str) -> list[dict]:
    return json.loads(findings.json(Source(text), analysed(text), Settings()))


def test_only_edited_functions_are_written_again():
    findings = Findings("file:///a.c", CLIENT)
    written(findings, F + G)
    assert findings.rewritten == 2
    written(findings, F.replace("i++", "i += 2") + G)
    assert findings.rewritten == 1
    written(findings, "\n\n" + F.replace("i++", "i += 2") + "/* */\n" + G)
    assert findings.rewritten == 0


def test_moved_findings_are_those_written_afresh():
    moved = Findings("file:///a.c", CLIENT)
    written(moved, F + G)
    text = "/* 100% */\n\n" + F + "\n" + G
    assert written(moved, text) == written(Findings("file:///a.c", CLIENT), text)


def test_a_function_that_starts_within_a_line_is_written_again_when_its_column_changes():
    findings = Findings("file:///a.c", CLIENT)
    first = written(findings, "int x; " + G)
    second = written(findings, "int xyz; " + G)
    assert findings.rewritten == 1
    assert first == second  # the loop stands on the next line
    one_line = G.replace("\n    ", " ")
    columns = [
        written(findings, prefix + one_line)[0]["range"]["start"]["character"] for prefix in ("", "int x; ")
    ]
    assert columns[1] - columns[0] == len("int x; ")


def test_a_line_break_for_a_space_moves_findings_though_offsets_stay():
    findings, report = Findings("file:///a.c", CLIENT), analysed(F)
    broken = F.replace("(int n) {", "(int n)\n{")
    lines = [
        json.loads(findings.json(Source(text), report, Settings()))[0]["range"]["start"]["line"]
        for text in (F, broken)
    ]
    assert lines == [1, 2]


def test_percent_signs_and_numbers_like_lines_survive():
    text = "void f(int n) {\n    for (t = 7000000001; t % n; t++) a[t] = 0;\n}\n"
    (found,) = written(Findings("file:///a%20b.c", CLIENT), text)
    assert "t = 7000000001; t % n" in found["message"] and "on line 2" in found["message"]
    assert found["relatedInformation"][0]["location"]["uri"] == "file:///a%20b.c"


def test_a_comment_outside_a_function_suppresses_its_findings():
    findings = Findings("file:///a.c", CLIENT)
    one_line = F.replace("\n    ", " ")
    assert len(written(findings, one_line + G)) == 2
    comment = "// polylsp: ignore parallel-loop\n"
    assert [each["code"] for each in written(findings, comment + one_line + G)] == ["sequential-loop"]
    assert findings.rewritten == 1
    assert len(written(findings, "\n" + comment + one_line + G)) == 1
    assert findings.rewritten == 0
    assert len(written(findings, comment + "\n" + one_line + G)) == 2
    assert findings.rewritten == 1


def test_a_full_answer_stands_in_for_the_quick_one_of_an_unchanged_function():
    answers = Answers()
    quick, full = analysed(F + G), analysed(F + G, schedules=True)
    layouts = [tuple((p.start, p.answer.key) for p in report.functions) for report in (quick, full)]
    for report in (quick, full):
        answers.add(placed.answer for placed in report.functions)
    answers.pair(layouts[0], layouts[1])
    shown = answers.report("/a.c", "c", layouts[0], ())
    assert [placed.answer for placed in shown.functions] == [placed.answer for placed in full.functions]


def test_a_worker_is_given_the_answers_that_it_lacks_and_told_of_those_forgotten():
    answers = Answers(capacity=1)
    report = analysed(F + G)
    keys = [placed.answer.key for placed in report.functions]
    layout = tuple((placed.start, placed.answer.key) for placed in report.functions)
    answers.add(placed.answer for placed in report.functions)
    answers.note("/a.c", layout[1:])
    assert answers.report("/a.c", "c", layout, ()) is None
    assert answers.forgotten(set(keys)) == {keys[0]}
    assert [each.key for each in answers.unknown_to(set(), "/a.c")] == keys[1:]
    assert answers.unknown_to({keys[1]}, "/a.c") == answers.unknown_to(set(), "/b.c") == ()


def test_a_part_has_what_is_finished_and_what_is_known_of_the_rest():
    answers, document = Answers(), Document("file:///a.c", "/a.c", "c", 1, Source(F + G))
    quick, full = analysed(F + G), analysed(F + G, schedules=True)
    document.set_report(quick)
    answers.add(placed.answer for placed in full.functions)
    part = answers.partial(document, {full.functions[1].start: full.functions[1].answer.key})
    assert part.functions == (quick.functions[0], full.functions[1])


def test_an_equal_answer_stays_the_same_object_and_another_replaces_it():
    answers = Answers()
    (placed,) = analysed(F).functions
    copy = replace(placed.answer)
    other = replace(placed.answer, held=replace(placed.answer.facts, name="other"))
    layout = ((0, placed.answer.key),)
    for answer, expected in ((placed.answer, placed.answer), (copy, placed.answer), (other, other)):
        answers.add([answer])
        assert answers.report("/a.c", "c", layout, ()).functions[0].answer is expected


def test_known_moves_what_edits_left_alone():
    document = Document("file:///a.c", "/a.c", "c", 1, Source(F + G))
    document.set_report(analysed(F + G))
    inside_f, top = Position(1, 20), Position(0, 0)
    document.edit([Edit(top, top, "\n"), Edit(Position(2, 20), inside_f, "x")], 2, "utf-16")
    (placed,) = document.known().functions
    assert placed.answer.facts.name == "g"
    assert document.source.text[placed.start :] == G
    document.edit([Edit(None, None, G)], 3, "utf-16")
    assert document.known() is None


def test_settings_in_both_spellings():
    for key in ("max_seconds", "maxSeconds"):
        assert client.read({key: 3}).settings == Settings(max_seconds=3.0)


def test_wrong_settings_keep_the_default_and_are_told():
    wrong = {
        "max_seconds": 0,
        "delayMs": -1,
        "inlayHints": "no",
        "maxOperations": True,
        "includePaths": "include",
        "trace": "loud",
    }
    reading = client.read(wrong)
    assert reading.settings == Settings()
    assert len(reading.wrong) == len(wrong)
    assert "polylsp.inlayHints" in reading.wrong[2] and "true or false" in reading.wrong[2]


def test_unknown_settings_are_ignored():
    reading = client.read({"colour": "red", "trace": None})
    assert reading.settings == Settings() and reading.ignored == ("colour",) and not reading.wrong


def test_every_setting_can_be_set():
    values = {name: getattr(Settings(), name) for name in client.setting_names()}
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    assert client.read(listed) == client.Reading(Settings())


def test_relative_paths_start_at_the_folder():
    settings = Settings(include_paths=("inc", "/abs", "${workspaceFolder}/x"), compile_commands="build")
    rooted = project.rooted(settings, Path("/project"))
    assert rooted.include_paths == ("/project/inc", "/abs", "/project/x")
    assert rooted.compile_commands == "/project/build"


def test_an_editor_makes_of_insertions_at_one_place_what_the_command_line_does():
    document = Document("file:///a.c", "/a.c", "c", 1, Source(F))
    span, here = Span(5, 6), Span(0, 0)
    edit = Replacement(span, "h"), Replacement(here, "second\n"), Replacement(here, "first\n")
    changed = convert.workspace_edit(document, edit, CLIENT)
    (only,) = (
        changed["changes"].values() if "changes" in changed else [changed["documentChanges"][0]["edits"]]
    )
    assert [each["newText"] for each in only] == ["first\nsecond\n", "h"]
    assert applied(F, edit).startswith("first\nsecond\nvoid h(")


LEAVING = """
import logging
from polylsp.core.processes import leave

class Broken(logging.Handler):
    def emit(self, record):
        raise BrokenPipeError

def clean_up():
    print("cleaned up", flush=True)
    if {fails}:
        raise RuntimeError

logging.getLogger("polylsp").addHandler(Broken())
while True:
    try:
        leave("The editor is gone.", clean_up)
    except Exception:
        print("still here", flush=True)
        break
"""


@pytest.mark.parametrize("fails", [False, True])
def test_a_server_ends_though_nobody_takes_what_it_says(fails: bool):
    code = LEAVING.format(fails=fails)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.stdout, result.returncode) == ("cleaned up\n", 1)


class Wire:
    """Messages that a server sent, as they are in JSON."""

    def __init__(self) -> None:
        self.messages: list[dict] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_clients_answer_is_not_answered(is_cancelled: bool):
    # A command that asks the client for a progress bar may be cancelled before the client has answered.
    protocol, wire = create_server().protocol, Wire()
    protocol.writer = wire
    params = types.WorkDoneProgressCreateParams(token="bar")
    question = protocol.send_request(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, msg_id="question")
    if is_cancelled:
        question.cancel()
    for _ in range(2):  # an answer that was not asked for, too
        protocol.receive(b'{"jsonrpc": "2.0", "id": "question", "result": null}')
    assert [each.get("method") for each in wire.messages] == ["window/workDoneProgress/create"]
    assert question.done() and (question.cancelled() or question.result() is None)


STARTING = """
import asyncio, sys
from polylsp.server.worker import all_started
from polylsp.server.worker import start_process

async def main(turns):
    task = asyncio.create_task(start_process(sys.executable, "-c", "input()"))
    for _ in range(turns):
        await asyncio.sleep(0)
    await all_started()

for turns in range(1, 9):
    asyncio.run(main(turns))
"""


def test_an_event_loop_ends_while_processes_are_being_started():
    subprocess.run([sys.executable, "-c", STARTING], check=True, timeout=120)
