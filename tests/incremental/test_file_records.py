"""Reports of files that are cached: found again for the same question, and for no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from asking import begin_anew
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polylsp.analysis.scop.summaries import NoSummary, SummaryAccess
from polylsp.core import source_files
from polylsp.core.disk_cache import decoded, encoded
from polylsp.core.processes import Stop
from polylsp.core.query import Query
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine import decisions, fact_cache, file_records, queries
from polylsp.engine.fact_cache import FileRecord
from polylsp.engine.prepared import Stream
from polylsp.ir.program import Constant, Integer, Presumption, Rejection, Site
from polylsp.ir.verdict import word
from polylsp.model.facts import FileReport
from tests import extent

TEXT = """\
#include "vector.h"
void step(double *restrict y, const double *restrict x, int n);
double work(double *p, int k);
void steps(double *y, double *x, int n) {
    for (int i = 0; i < N; i++)
        y[i] = 2.0 * x[i + FAR];
    for (int i = 0; i < n; i++)
        work(y, i);
}
int main(void) { step(0, 0, 1); return 0; }
"""
HEADER = "#define N 100\n#define FAR 0\n"
WORK = "double work(double *p, int k) { p[k] = 1.0; return p[k]; }\n"


class Project:
    """A project of a file, a header and a library, and the texts that were read of the file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.read = folder, 0
        self._monkeypatch = monkeypatch
        real = queries.read

        def read(*arguments, **more):
            self.read += 1
            return real(*arguments, **more)

        monkeypatch.setattr(queries, "read", read)
        # The files of a test are as new as its analyses.
        monkeypatch.setattr(source_files, "_TICK", -1e9)
        for name, text in {
            "Makefile": "",
            "main.c": TEXT,
            "work.c": WORK,
            "include/vector.h": HEADER,
        }.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True, parents=True)
        (self.folder / name).write_text(text)

    def analysed(self, **asked) -> FileReport:
        """The report that another process would find."""
        begin_anew(self._monkeypatch)
        path = self.folder / "main.c"
        given = asked.pop("settings", Settings())
        return queries.analyse(str(path), path.read_text(), given, **asked)

    def verdicts(self, **asked) -> list[str]:
        found = self.analysed(**asked)
        return [word(loop.verdict) for each in found.functions for loop in each.answer.facts.loops]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def test_a_file_that_is_as_it_was_is_not_read(project: Project) -> None:
    first = project.analysed()
    assert project.analysed() == first == project.analysed(schedules=False)
    assert project.read == 1


def test_what_was_found_without_schedules_is_not_taken_for_more(project: Project) -> None:
    project.analysed(schedules=False)
    assert project.analysed().functions[0].answer.facts.nests[0].transform is not None
    assert project.read == 2


def test_actions_are_tried_where_a_record_has_none(project: Project) -> None:
    project.analysed()
    tried = [each.answer.feasibility for each in project.analysed(edits=True).functions]
    assert None not in tried and any(each.possible for each in tried)
    read = project.read
    assert [each.answer.feasibility for each in project.analysed(edits=True).functions] == tried
    assert project.read == read


def test_a_person_sees_the_findings_before_the_file_is_read_again(project: Project) -> None:
    first = project.analysed()
    seen: list[tuple[int, int]] = []
    watching = Stream(found=lambda start, _: seen.append((start, project.read)), is_watched=True)
    assert project.analysed(stream=watching, schedules=False) == first
    assert seen == [(each.start, 1) for each in first.functions]
    seen.clear()
    assert project.analysed(stream=watching) == first and project.read == 2
    assert seen[: len(first.functions)] == [(each.start, 1) for each in first.functions]
    last = first.functions[-1].start
    seen.clear()
    project.analysed(stream=replace(watching, focus=lambda: (Span(last, last),)), schedules=False)
    assert seen[0][0] == last


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.c", TEXT.replace("2.0", "3.00")),
        ("include/vector.h", f"{HEADER}\n#undef FAR\n#define FAR 1"),
        ("vector.h", "#define N 50\n#define FAR (-1)\n"),
        ("work.c", WORK.replace("p[k] = 1.0", "p[0] += k")),
        ("work.c", "#define p q\n" + WORK),
        ("deeper/other.c", WORK),
        ("other.c", WORK),
        ("compile_flags.txt", "-DN=7\n"),
        ("compile_commands.json", "[]"),
    ],
)
def test_after_a_change_the_record_is_that_of_another_question(
    project: Project, name: str, text: str
) -> None:
    project.analysed()
    project.write(name, text)
    changed = project.verdicts()
    assert changed == project.verdicts(settings=Settings(cache=False))
    assert project.read in ((2,) if "deeper" in name else (3,))


def test_what_comes_into_a_folder_and_is_nothing_to_a_file_changes_nothing(project: Project) -> None:
    project.analysed()
    project.write("notes.txt", "")
    project.write("other.c", "int unrelated(void) { return 1; }\n")
    project.analysed()
    assert project.read == 1


def test_settings_have_records_of_their_own(project: Project) -> None:
    project.analysed()
    assert project.verdicts(settings=Settings(defines=("N=1",))) and project.read == 2


def test_a_header_that_goes_away_is_noticed(project: Project) -> None:
    project.analysed()
    (project.folder / "include" / "vector.h").unlink()
    assert [each.code for each in project.analysed().problems] == ["missing-header"]


def test_the_file_that_includes_another_is_noticed(project: Project) -> None:
    loop = "for (int i = 0; i < n; i++) x[LAST] = i;"
    project.write("main.c", f"static void set(T *x, int n) {{ {loop} }}\n")
    found: list[list[str]] = []
    for place in ("x", "i", "0"):
        found.append(project.verdicts())
        project.write("whole.c", f'#define T float\n#define LAST {place}\n#include "main.c"\n')
    assert [*found, project.verdicts()] == [["unknown"], ["unknown"], ["parallel"], ["sequential"]]


def test_a_file_changed_while_it_was_read_has_no_record(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "_TICK", 1000.0)
    project.analysed()
    project.analysed()
    assert project.read == 2


def test_what_reached_a_limit_is_tried_again_by_the_next_process(project: Project) -> None:
    first = project.analysed(settings=Settings(cache=False))
    keys = [each.answer.key.partition("-")[0] for each in first.functions]
    stops = dict.fromkeys((*keys, *(key.removesuffix("s") for key in keys)), Stop("it took long", "wait"))
    assert project.verdicts(given_up=stops) == ["unknown", "unknown"]
    assert project.verdicts() == [word(loop.verdict) for loop in first.functions[0].answer.facts.loops]


def test_actions_without_time_are_tried_again_by_the_next_process(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as out_of_time:
        out_of_time.setattr(queries, "_FURTHER", -1)
        found = [each.answer.feasibility for each in project.analysed(edits=True).functions]
        assert any(each is not None and each.unfinished for each in found)
        assert not any(each is not None and each.possible for each in found)
    found = [each.answer.feasibility for each in project.analysed(edits=True).functions]
    assert any(each is not None and each.possible for each in found)
    assert not any(each is None or each.unfinished for each in found)


def test_an_error_of_ours_in_a_summary_leaves_no_record(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.loud import quiet

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    def forgets() -> None:
        monkeypatch.setattr(decisions, "summarised", Query(decisions.summarised.__wrapped__, 4096))

    expected = project.verdicts(settings=Settings(cache=False))
    with monkeypatch.context() as broken, quiet():
        forgets()
        broken.setattr(decisions, "summarise", fails)
        assert project.verdicts() != expected
    forgets()
    assert project.verdicts() == expected


def test_processes_that_share_a_file_leave_one_record(project: Project) -> None:
    more = TEXT[TEXT.index("void steps") : TEXT.index("int main")].replace("steps", "more")
    project.write("main.c", TEXT + more)
    starts: list[int] = []
    half = Stream(opened=lambda _, every, __: starts.extend(every), takes=lambda start: start <= starts[1])
    rest = replace(half, takes=lambda start: start > starts[1])
    assert len(project.analysed(stream=half).functions) == 2
    assert len(project.analysed(stream=rest).functions) == 1
    assert len(project.analysed().functions) == 3 and project.read == 2
    assert len(project.analysed(stream=half).functions) == 2 and project.read == 2


def test_a_damaged_record_is_a_miss_and_is_replaced(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = project.analysed()
    path = str(project.folder / "main.c")
    key = file_records.records_of(path, TEXT, Settings()).key
    fact_cache.fact_cache()._entries.put(key, b"no record")
    for _ in range(2):
        assert project.analysed().functions[0] == first.functions[0] and project.read == 2


def test_a_record_without_its_facts_is_a_miss(project: Project) -> None:
    first = project.analysed()
    fact_cache.fact_cache()._entries.drop(first.functions[0].answer.key.partition("-")[0])
    project.analysed()
    project.analysed()
    assert project.read == 2


@pytest.fixture
def summarised(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The functions of which summaries are really made, by a process that knows none."""

    def made(text: str) -> list[str]:
        names: list[str] = []
        real = decisions.summarise
        with monkeypatch.context() as counting:
            counting.setattr(
                decisions, "summarise", lambda f, *more: (names.append(f.name), real(f, *more))[1]
            )
            counting.setattr(decisions, "summarised", Query(decisions.summarised.__wrapped__, 4096))
            begin_anew(monkeypatch)
            queries.analyse("a.c", text, Settings())
        return names

    return made


CALLS = """\
static void one(double *p, int k) { p[k] = 1.0; }
static void two(double *p, int k) { one(p, k); one(p, k + 1); }
static void far(double *p) { p[0] = 2.0; }
void all(int n, double *p) { for (int i = 0; i < n; i++) two(p, 2 * i); }
int main(void) { static double p[100]; all(50, p); far(p); return 0; }
"""


def test_summaries_are_those_of_functions_that_loops_may_call(
    summarised: Callable[[str], list[str]],
) -> None:
    assert summarised(CALLS) == ["one", "two"], "nothing is to be decided about `main`"


def test_summaries_are_made_by_one_process(summarised: Callable[[str], list[str]]) -> None:
    summarised(CALLS)
    assert summarised(f"{CALLS}\n") == []
    assert summarised(CALLS.replace("one(p, k + 1);", "")) == ["two"]


@settings(deadline=None, max_examples=extent.drawn(100), suppress_health_check=[HealthCheck.too_slow])
@given(st.from_type(SummaryAccess), st.text(), st.integers() | st.floats(allow_nan=False))
def test_any_summary_comes_back_as_it_was(access: SummaryAccess, name: str, value: float) -> None:
    constant = Constant(value, Integer(32, True), Site(0, 1))
    for found in (
        NoSummary(name, name, (), True, name),
        replace(EMPTY, accesses=(access,), returns=constant, key=name),
    ):
        made = fact_cache._Summarised(found)
        assert repr(decoded(encoded(made), fact_cache._Summarised)) == repr(made)
    made = fact_cache._Summarised(replace(EMPTY, presumed=(PRESUMED,)))
    assert decoded(encoded(made), fact_cache._Summarised) == made


PRESUMED = Presumption(
    "n < 0",
    ("exit",),
    Rejection("unknown-call", Site(0, 1), "it ends"),
    Site(0, 1),
    ("n",),
    (1,),
)
EMPTY = decisions.Summary("f", "", (), (), (), None)


def test_a_record_comes_back_as_it_was(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[FileRecord] = []
    monkeypatch.setattr(fact_cache.FactCache, "put_record", lambda _, __, record: kept.append(record))
    project.analysed(edits=True)
    (record,) = kept
    assert decoded(encoded(record), FileRecord) == record
    assert {question[0] for question, _ in record.rests_on} == {"file", "stamp", "header", "options", "home"}
