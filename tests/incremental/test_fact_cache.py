"""Facts that are cached: those that an analysis would find, and none after a change of the code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import begin_anew
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polylsp.core.disk_cache import DiskCache, cache_folder, decoded, encoded, form_of
from polylsp.core.settings import Settings
from polylsp.engine import decisions, fact_cache, queries
from polylsp.engine.reading import language_for
from polylsp.ir.directive import DirectiveFacts, Finding
from polylsp.ir.program import Site
from polylsp.ir.verdict import Parallel, Verdict
from polylsp.model.action import Ask, Edited
from polylsp.model.facts import FileReport, FunctionFacts, LoopFacts

SAMPLES = Path(__file__).parents[2] / "samples" / "programs"

TEXT = """\
void axpy(int n, double *restrict y, const double *restrict x) {
    for (int i = 0; i < n; i++)
        y[i] += 2.0 * x[i];
}
static void one(double *p, int k) { p[k] = 1.0; }
void ones(int n, double *p) {
    for (int i = 0; i < n; i++)
        one(p, i);
}
"""


def analysed(text: str = TEXT, schedules: bool = True, **settings: bool) -> FileReport:
    return queries.analyse("a.c", text, Settings(**settings), schedules=schedules)


def test_another_process_analyses_nothing(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = analysed()
    assert counted == ["axpy", "one", "ones"]
    begin_anew(monkeypatch)
    assert analysed() == first
    assert counted == ["axpy", "one", "ones"]
    begin_anew(monkeypatch)
    assert len(analysed(f"{TEXT}\n").functions) == 3
    assert counted == ["axpy", "one", "ones", "one"], "what has no loop is not worth a look-up"


def test_a_function_that_changed_is_analysed(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    analysed()
    begin_anew(monkeypatch)
    counted.clear()
    analysed(TEXT.replace("p[k] = 1.0", "p[0] = 1.0"))
    assert counted == ["one", "ones"], "the function itself, and its caller"


def test_a_quick_analysis_finds_what_a_full_one_has_cached(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = analysed()
    begin_anew(monkeypatch)
    counted.clear()
    assert analysed(schedules=False) == first and counted == []


def test_a_full_analysis_is_not_answered_by_a_quick_one(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed(schedules=False)
    begin_anew(monkeypatch)
    counted.clear()
    found = analysed()
    assert counted == ["axpy", "one", "ones"]
    assert found.functions[0].answer.facts.nests[0].transform is not None


def test_other_code_finds_nothing_in_the_cache(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    analysed()
    begin_anew(monkeypatch)
    counted.clear()
    fact_cache._opened.cache_clear()
    monkeypatch.setattr(fact_cache, "code_version", lambda: "other")
    analysed()
    assert counted == ["axpy", "one", "ones"]


def test_the_version_tells_of_each_file_that_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version() -> str:
        fact_cache.code_version.cache_clear()
        return fact_cache.code_version()

    root = tmp_path / "polylsp"
    for name in ("analysis/a.py", "frontends/c/include/stdio.h", "ide/b.py"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("1")
    monkeypatch.setattr("polylsp.__file__", str(root / "__init__.py"))
    before = version()
    (root / "ide/b.py").write_text("2")
    assert version() == before, "renderers have no part in it"
    for name in ("analysis/a.py", "frontends/c/include/stdio.h"):
        (root / name).write_text("2")
        assert version() != before
        before = version()
    monkeypatch.setattr("polylsp.engine.fact_cache.version", lambda _: "0")
    assert version() != before
    fact_cache.code_version.cache_clear()


def test_without_a_cache_nothing_is_read_or_written(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed(cache=False)
    assert not cache_folder().exists()
    analysed()
    begin_anew(monkeypatch)
    counted.clear()
    analysed(cache=False)
    assert counted == ["axpy", "one", "ones"]


def test_a_folder_that_cannot_be_used_makes_no_difference(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = analysed(cache=False)
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("a file in the place of the folder")
    begin_anew(monkeypatch)
    assert without_costs(analysed()) == without_costs(expected)


def without_costs(report: FileReport) -> list[FunctionFacts]:
    """Facts apart from what it took to find them, which is less where isl's objects are at hand."""
    from dataclasses import replace

    return [replace(each.answer.facts, seconds=(), operations=0) for each in report.functions]


def test_an_entry_that_is_no_facts_is_a_miss_and_is_replaced(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = analysed()
    key = first.functions[0].answer.key.split("-")[0]
    fact_cache.fact_cache()._entries.put(key, b"no facts")
    for expected in (["axpy", "one"], []):
        begin_anew(monkeypatch)
        counted.clear()
        assert without_costs(analysed()) == without_costs(first)
        assert counted == expected


@pytest.mark.parametrize("action", ["openmp", "openacc", "cuda"])
def test_edits_are_made_of_facts_that_come_from_the_cache(
    action, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Ask(action, "axpy", 0, 1)
    expected = queries.edit("a.c", TEXT, Settings(cache=False), ask)
    analysed()
    begin_anew(monkeypatch)
    counted.clear()
    assert queries.edit("a.c", TEXT, Settings(), ask) == expected
    assert counted == [] and isinstance(expected, Edited)


def test_entries_are_written_when_nobody_waits(tmp_path: Path) -> None:
    facts = analysed().functions[0].answer.facts
    first, other = (fact_cache.FactCache(DiskCache(tmp_path, "facts", "1")) for _ in range(2))
    first.put("key", facts)
    assert first.has("key") and first.get("key") == facts
    first.flush(lambda: True)
    assert other.get("key") is None
    first.flush()
    assert other.get("key") == facts


def test_what_an_error_of_ours_left_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.loud import quiet

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    begin_anew(monkeypatch)
    with monkeypatch.context() as broken, quiet():
        broken.setattr(decisions, "facts", fails)
        assert not isinstance(analysed().functions[0].answer.facts.loops[0].verdict, Parallel)
    begin_anew(monkeypatch)
    assert isinstance(analysed().functions[0].answer.facts.loops[0].verdict, Parallel)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.from_type(Verdict), st.from_type(Finding), st.text())
def test_any_facts_come_back_as_they_were(verdict: Verdict, finding: Finding, name: str) -> None:
    site = Site(0, 1)
    loop = LoopFacts(1, "for", name, 1, 0, site, site, verdict)
    directive = DirectiveFacts("omp", name, 0, (1,), (), True, (finding,))
    facts = FunctionFacts(name, site, (loop,), (), directives=(directive,))
    assert repr(decoded(encoded(facts), FunctionFacts)) == repr(facts)


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.c"))[::4], ids=lambda path: path.name)
def test_the_facts_of_samples_come_back_as_they_were(sample: Path) -> None:
    assert language_for(str(sample)).name == "c"
    report = queries.analyse(str(sample), sample.read_text(), Settings(cache=False))
    for each in report.functions:
        facts = each.answer.facts
        back = decoded(encoded(facts), FunctionFacts)
        assert back == facts and repr(back) == repr(facts)


KEYS = """
import sys
from polylsp.analysis.function_facts import Wanted
from polylsp.engine.decisions import summaries, task_of, used
from polylsp.engine.reading import read
from polylsp.core.settings import Settings
for path in sys.argv[1:]:
    found = read(path, open(path).read(), Settings())
    functions = [one for _, one in found.prepared]
    serial = frozenset(one.function.name for one in functions)
    called = summaries(functions, serial, lambda name: None, lambda key: None, lambda key, name: None)
    for one in functions:
        print(task_of(one, used(one, called), Wanted(serial=serial), cached=False).key)
"""

DIRECTED = """
int first, second, third, fourth;
#pragma omp threadprivate(first, second, third, fourth)
void add(double *x, int n) {
  #pragma omp for
  for (int i = 0; i < n; i++) x[i] += first + second + third + fourth;
}
double sum(double *x, int n, int m, int most) {
  double s = 0;
  if (n * m > most) exit(1);
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
void run(double *x, int n) {
  #pragma omp parallel
  { add(x, n); }
  for (int i = 0; i < n; i++) x[i] = sum(x, n, n, 100);
}
"""


def test_keys_are_the_same_in_every_process(tmp_path: Path) -> None:
    directed = tmp_path / "directed.c"
    directed.write_text("#include <stdlib.h>\n" + DIRECTED)
    paths = [
        str(directed),
        str(SAMPLES / "spmv.c"),
        *map(str, sorted((SAMPLES / "python").glob("[a-f]*.py"))),
    ]

    def keys(seed: str) -> str:
        command = [sys.executable, "-c", KEYS, *paths]
        done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONHASHSEED": seed})
        return done.stdout

    assert keys("1") == keys("2") != ""


def test_the_commands_read_the_cache_unless_told_not_to(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(TEXT)

    def check(*options: str) -> str:
        command = [sys.executable, "-m", "polylsp", "check", "a.c", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    plain = check("--no-cache")
    assert not cache_folder().exists()
    assert check() == plain == check()
    fact_cache._opened.cache_clear()
    cached = fact_cache.fact_cache()
    key = analysed().functions[0].answer.key.split("-")[0]
    other = encoded_with_other_iterator(cached.get(key))
    cached._entries.put(key, other)
    assert "`k` can run in parallel" in check() and check("--no-cache") == plain


def test_an_unusable_folder_costs_a_command_one_line(tmp_path: Path) -> None:
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("a file in the place of the folder")
    for name in ("a.c", "b.c"):
        (tmp_path / name).write_text(TEXT)
    command = [sys.executable, "-m", "polylsp", "check", "--jobs", "2", "a.c", "b.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(done.stderr.splitlines()) == 1 and "not cached" in done.stderr
    assert "2 files: 4 loops" in done.stdout


def encoded_with_other_iterator(facts: FunctionFacts | None) -> bytes:
    from dataclasses import replace

    assert facts is not None
    (loop,) = facts.loops
    return encoded(replace(facts, loops=(replace(loop, iterator="k"),)))


@dataclass(frozen=True, slots=True)
class Leaf:
    number: int | float
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tree:
    leaves: tuple[Leaf, ...]
    other: Leaf | Tree | None
    pairs: tuple[tuple[str, Leaf], ...]


def test_values_come_back_from_json_as_they_were() -> None:
    form = form_of(Tree)
    assert form.write is not None and form.read is not None
    inner = Tree((Leaf(1), Leaf(2.5, frozenset(("b", "a")))), None, ())
    for value in (inner, Tree((), inner, (("one", Leaf(1)),)), Tree((), Leaf(0), ())):
        assert form.read(json.loads(json.dumps(form.write(value)))) == value
    assert form.write(inner) == [[[1, []], [2.5, ["a", "b"]]], None, []]
    for damaged in ([[], None], [[], [1, [], "Other"], []], 3):
        with pytest.raises((ValueError, KeyError, TypeError)):
            form.read(damaged)
    with pytest.raises(TypeError):
        form_of(dict[str, int])
