"""Structure of the package: no import circles, one base name each, deep modules, few texts for isl."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 700
"""Lines of the largest module."""

SMALL = 80
"""Lines below which a module with one importer belongs into that."""

LOOKED_UP = {
    # Entry points, which nothing imports by name.
    "polylsp.__main__",
    "polylsp.server.kernel_compiler",
    # Loaded alone, before or without what its importer needs.
    "polylsp.launch", "polylsp.measuring.measuring_process",
    # One command each.
    "polylsp.cli.serve",
}  # fmt: skip
F_STRINGS_INTO_ISL = 80
"""Texts with inserted values that isl parses: fewer is better, as named dimensions need no text."""


def modules() -> dict[str, Path]:
    """Files of the package by module name."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "polylsp").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Modules of the package that a tree imports, inside of functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in names else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def at_load(tree: ast.Module) -> ast.Module:
    """The statements that run when a module is loaded."""
    return ast.Module([each for each in tree.body if isinstance(each, (ast.Import, ast.ImportFrom))], [])


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of a graph as a list of nodes; empty if there is none."""
    state: dict[str, int] = {}

    def visit(node: str, way: list[str]) -> list[str]:
        state[node] = 1
        for successor in sorted(graph.get(node, ())):
            if state.get(successor) == 1:
                return [*way[way.index(successor) :], successor]
            if successor not in state and (found := visit(successor, [*way, successor])):
                return found
        state[node] = 2
        return []

    return next((found for node in sorted(graph) if node not in state and (found := visit(node, [node]))), [])


def test_no_modules_import_each_other_when_loaded() -> None:
    names = set(MODULES)
    graph = {
        name: names.intersection(imports(at_load(ast.parse(path.read_text())), names)) - {name}
        for name, path in MODULES.items()
    }
    assert sum(map(len, graph.values())) > 1000
    assert circle(graph) == []


def test_circles_are_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_a_base_name_stands_once() -> None:
    # The commands of the shell are named as on the command line.
    bases = Counter(
        path.stem for name, path in MODULES.items() if path.stem != "__init__" and ".cli." not in name
    )
    assert [name for name, times in bases.items() if times > 1] == []


def test_modules_are_deep() -> None:
    lines = {name: path.read_text().count("\n") for name, path in MODULES.items() if path.stem != "__init__"}
    assert [name for name, count in lines.items() if count > LARGEST] == []
    names = set(MODULES)
    importers: dict[str, set[str]] = defaultdict(set)
    for name, path in MODULES.items():
        for each in imports(ast.parse(path.read_text()), names):
            importers[each].add(name)
    thin = {name for name, count in lines.items() if count < SMALL and len(importers[name]) <= 1}
    assert thin <= LOOKED_UP, f"belongs into its importer: {sorted(thin - LOOKED_UP)}"


def texts_for_isl(tree: ast.AST) -> Iterator[int]:
    """Lines of calls into isl that are given an f-string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(isinstance(each, ast.JoinedStr) for each in node.args):
            yield from [node.lineno] if ast.unparse(node.func).startswith("isl.") else []


def test_few_texts_are_made_for_isl_to_parse() -> None:
    found = [
        f"{name}:{line}"
        for name, path in MODULES.items()
        for line in texts_for_isl(ast.parse(path.read_text()))
    ]
    assert len(found) <= F_STRINGS_INTO_ISL, found
    assert list(texts_for_isl(ast.parse('isl.Set(f"{{ [i] : i < {n} }}")'))) == [1]


PASSED = {"openmp": 65, "cuda": 108, "": 86}
"""Modules that a request passes, from the action to its edit, and a keystroke to its diagnostics: fewer is
better."""

REQUEST = """
import json, sys
from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited

text = '''void NAME(int n, double A[n][n], double B[n][n], double C[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
'''
text = text.replace("NAME", "f") + text.replace("NAME", "g")
report = analyse("a.c", text, Settings(parallel_threshold=0), schedules=False)
passed = set()

def enter(frame, event, argument):
    if event == "call":
        passed.add(frame.f_globals["__name__"])

if not sys.argv[1]:
    from polylsp.core.text import Source
    from polylsp.ide.diagnostics import diagnostics

    diagnostics(Source(text), report, Settings())
    text = text.replace("+=", "-=", 1)
    sys.setprofile(enter)
    diagnostics(Source(text), analyse("a.c", text, Settings(), schedules=False), Settings())
    sys.setprofile(None)
    print(json.dumps([sorted(passed), sorted(sys.modules)]))
    sys.exit()

# The first request loads modules, which is no part of what one passes.
for placed in report.functions:
    ask = Ask(sys.argv[1], placed.answer.facts.name, placed.start, 1)
    sys.setprofile(enter if placed is report.functions[1] else None)
    made = edit("a.c", text, Settings(parallel_threshold=0), ask)
    sys.setprofile(None)
assert isinstance(made, Edited), made
print(json.dumps([sorted(passed), sorted(sys.modules)]))
"""


def modules_passed(action: str) -> tuple[set[str], set[str]]:
    """Modules of ours that a request passes, and those that are loaded then."""
    command = [sys.executable, "-c", REQUEST, action]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    passed, loaded = (
        {each for each in names if each.startswith("polylsp.")} for names in json.loads(done.stdout)
    )
    assert len(passed) <= PASSED[action], sorted(passed)
    return passed, loaded


def test_a_keystroke_passes_few_modules() -> None:
    passed, _ = modules_passed("")
    assert {"polylsp.engine.queries", "polylsp.ide.diagnostics"} <= passed


@pytest.mark.parametrize("action", ["openmp", "cuda"])
def test_a_request_passes_few_modules_and_loads_no_other_backend(action: str) -> None:
    _, loaded = modules_passed(action)
    assert f"polylsp.targets.{'directives.openmp' if action == 'openmp' else 'gpu.cuda'}" in loaded
    others = (
        "polylsp.targets.numba",
        "polylsp.targets.directives.device_dialects",
        "polylsp.transforms.tile",
    )
    kernels = ("polylsp.targets.gpu.cuda", "polylsp.targets.gpu.kernels") if action == "openmp" else ()
    assert not loaded.intersection((*others, *kernels))
