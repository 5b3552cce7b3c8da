"""Answers one by one: what another process has found is taken, and what reached a limit says which."""

from __future__ import annotations

from pathlib import Path

from polylsp.core.processes import Stop
from polylsp.core.query import recording
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine import prepared
from polylsp.engine.c_files import lowered
from polylsp.engine.decisions import decided
from polylsp.engine.prepared import Stream
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Unknown, word
from polylsp.model.facts import FunctionAnswer

TEXT = "".join(
    f"void {name}(int n, double *a) {{ for (int i = 1; i < n; i++) a[i] = a[i - 1] + {number}; }}\n"
    for number, name in enumerate("fgh")
)


def forget() -> None:
    """Become as a process that has just begun."""
    prepared._states.clear()
    decided._answers.clear()


def found(path: Path, stream: Stream, **options: object) -> list[str]:
    """The functions that are really decided."""
    with recording() as ran:
        analyse(str(path), TEXT, Settings(cache=False), edits=True, stream=stream, **options)  # pyright: ignore
    return [arguments[0].prepared.function.name for name, arguments in ran if name == "decided"]


def test_answers_of_another_process_are_taken(tmp_path: Path) -> None:
    answers: dict[str, FunctionAnswer] = {}
    taken: list[str] = []

    def take(start: int, answer: FunctionAnswer) -> None:
        answers[answer.key.partition("-")[0]] = answer
        taken.append(answer.facts.name)

    forget()
    assert found(tmp_path / "a.c", Stream(take)) == ["f", "g", "h"]
    assert all(each.feasibility is not None for each in answers.values())
    forget()
    missing = next(key for key, each in answers.items() if each.facts.name == "g")
    kept = {key: each for key, each in answers.items() if key != missing}
    taken.clear()
    assert found(tmp_path / "a.c", Stream(take, kept.get)) == ["g"]
    assert list(dict.fromkeys(taken)) == ["f", "g", "h"]


def test_what_another_process_is_at_is_left_out(tmp_path: Path) -> None:
    keys: dict[str, str] = {}

    def observe(key: str, name: str, done: int, total: int) -> None:
        keys[name] = key

    forget()
    path = str(tmp_path / "a.c")
    analyse(path, TEXT, Settings(cache=False), observe=observe)
    forget()
    report = analyse(path, TEXT, Settings(cache=False), stream=Stream(busy=lambda key: key == keys["g"]))
    assert [each.answer.facts.name for each in report.functions] == ["f", "h"]
    assert len(analyse(path, TEXT, Settings(cache=False)).functions) == 3


def test_functions_in_the_focus_come_first(tmp_path: Path) -> None:
    places = [TEXT.index(f"void {name}") for name in "hg"]
    focus = tuple(Span(at, at + 1) for at in places)
    forget()
    assert found(tmp_path / "a.c", Stream(focus=lambda: focus)) == ["h", "g", "f"]


def test_a_function_that_reached_a_limit_says_which_and_is_decided_when_it_is_lifted(tmp_path: Path) -> None:
    keys: dict[str, list[str]] = {}

    def observe(key: str, name: str, done: int, total: int) -> None:
        keys.setdefault(name, []).append(key)

    forget()
    path = str(tmp_path / "a.c")
    analyse(path, TEXT, Settings(cache=False), schedules=False, observe=observe)
    for key in keys["g"]:
        forget()
        given_up = {key: Stop("it took too long (10 s of CPU time)", "split the function")}
        report = analyse(path, TEXT, Settings(cache=False), schedules=False, given_up=given_up)
        verdicts = [each.answer.facts.loops[0].verdict for each in report.functions]
        assert [word(each) for each in verdicts] == ["sequential", "unknown", "sequential"]
        assert isinstance(verdicts[1], Unknown)
        said = verdicts[1].rejection
        assert (said.code, said.advice) == ("budget", "split the function")
        assert "it took too long (10 s of CPU time)" in said.message
        lifted = analyse(path, TEXT, Settings(cache=False), schedules=False)
        assert word(lifted.functions[1].answer.facts.loops[0].verdict) == "sequential"


def test_a_share_of_the_functions_is_answered_after_the_file_was_opened(tmp_path: Path) -> None:
    told: list[object] = []
    asked: list[int] = []
    starts = tuple(TEXT.index(f"void {name}") for name in "fgh")

    def takes(start: int) -> bool:
        # The last one is left to another process when this one has answered the first.
        asked.append(start)
        return start == starts[0] or (start == starts[2] and starts[0] not in told)

    forget()
    stream = Stream(
        found=lambda start, _: told.append(start),
        opened=lambda language, at, problems: told.append((language, at, problems)),
        takes=takes,
    )
    report = analyse(str(tmp_path / "a.c"), TEXT, Settings(cache=False), stream=stream)
    assert told == [("c", starts, ()), starts[0]]
    assert [each.start for each in report.functions] == [starts[0]]
    assert asked == [*starts, starts[0], starts[2]]


def prepared_and_decided(text: str, path: Path, focus: tuple[Span, ...]) -> tuple[list[str], list[str]]:
    """Queries in turn, `read NAME` or `decide NAME`, and the first functions that are answered."""
    answered: list[str] = []

    def take(start: int, answer: FunctionAnswer) -> None:
        answered.append(answer.facts.name)

    def ran_in_turn() -> list[str]:
        names = {"lowered": "read", "decided": "decide"}
        said: list[str] = []
        for name, arguments in ran:
            if name in names:
                one = arguments[0]
                function = one.prepared.function.name if name == "decided" else one.texts[1]
                said.append(f"{names[name]} {function}")
        return said

    forget()
    lowered._answers.clear()
    with recording() as ran:
        analyse(
            str(path), text, Settings(cache=False), stream=Stream(take, focus=lambda: focus, is_watched=True)
        )
    return ran_in_turn(), answered


MANY = "".join(
    f"void f{k}(int n, double *a) {{ f{k - 1}(n, a); for (int i = 1; i < n; i++) a[i] = a[i - 1] + {k}; }}\n"
    if k % 10 == 5
    else f"void f{k}(int n, double *a) {{ for (int i = 1; i < n; i++) a[i] = {k}; }}\n"
    for k in range(40)
)


def test_what_a_person_looks_at_is_decided_before_the_rest_is_read(tmp_path: Path) -> None:
    at = MANY.index("void f35")
    ran, answered = prepared_and_decided(MANY, tmp_path / "many.c", (Span(at, at),))
    last = ran.index("decide f35")
    assert answered[0] == "f35" and set(answered) == {f"f{k}" for k in range(40)}
    assert {"read f35", "read f34"} <= set(ran[:last]) and "read f20" in ran[last:]
    assert sorted(ran) == sorted({f"{verb} f{k}" for verb in ("read", "decide") for k in range(40)})


def test_where_directives_may_say_something_of_other_functions_all_are_read_first(tmp_path: Path) -> None:
    header = '#define TASK _Pragma("omp task")\n'
    for text in (MANY + "void g(void)\n{\n#pragma omp task\n    ;\n}\n", header + MANY):
        ran, _ = prepared_and_decided(text, tmp_path / "many.c", ())
        verbs = [each.split()[0] for each in ran]
        assert verbs == sorted(verbs, reverse=True)
    ran, _ = prepared_and_decided("#pragma once\n" + MANY, tmp_path / "many.c", ())
    assert ran.index("decide f0") < ran.index("read f39")
