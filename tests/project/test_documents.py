"""The documents say what is so."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from documents import PAGES, README, ROOT, SETTINGS, fence, settings_table
from site_pages import GENERATED, write_site

import polylsp
from polylsp.cli import main, parser
from polylsp.core.project import REFUSED
from polylsp.core.settings import Settings
from polylsp.ir.verdict import VerdictWord

DOCUMENTS = [
    *(each.relative_to(ROOT).as_posix() for each in PAGES),
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "vscode-client/README.md",
    "samples/README.md",
]


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def test_the_table_of_settings_is_that_of_the_program() -> None:
    head = "| setting | default | meaning |\n|---|---|---|\n"
    table = SETTINGS.read_text().split(head)[1].split("\n\n")[0]
    assert table == settings_table()


def test_the_example_is_what_check_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    Path("axpy.c").write_text(fence("c"))
    assert main(["check", "axpy.c"]) == 0
    assert capsys.readouterr().out.strip() == fence("text").strip()
    assert main(["offload", "axpy.c:3", "--target", "openmp"]) == 0
    assert capsys.readouterr().out.strip() == fence("diff").strip()


def test_the_readme_is_short_and_every_page_is_listed() -> None:
    assert len(README.read_text().splitlines()) <= 120
    listed = set(re.findall(r"\]\((\w+\.md)\)", text_of("docs/index.md")))
    assert listed == {each.name for each in PAGES if each != README} - {"index.md"}


@pytest.mark.parametrize("page", GENERATED)
def test_generated_pages_are_fresh(page: str) -> None:
    assert text_of(f"docs/{page}") == GENERATED[page](), "run `python tests/project/site_pages.py --write`"


def test_the_site_has_no_test_markup_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    write_site(tmp_path)
    pages = {each.relative_to(tmp_path).as_posix(): each.read_text() for each in tmp_path.rglob("*.md")}
    assert "findings/needs-restrict.md" in pages and "tutorial.md" in pages
    for name, text in pages.items():
        assert not re.search(r"(//|#) (verdict|no-code): ", text), name
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (tmp_path / name).parent.joinpath(target).is_file(), (name, target)
    listed = set(re.findall(r": ([\w-]+\.md)$", text_of("mkdocs.yml"), re.MULTILINE))
    assert listed == {name for name in pages if "/" not in name}


def commands() -> list[str]:
    found = [
        command
        for page in PAGES
        for command in re.findall(r"^    (polylsp .*?)(?:\s+#.*)?$", page.read_text(), re.MULTILINE)
    ]
    assert len(found) >= 8
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_pages_works(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == 0
    captured = capsys.readouterr()
    assert captured.out and not captured.err


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page are linked to."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def test_every_make_target_that_is_named_exists() -> None:
    makefile = text_of("Makefile")
    named = {word for each in DOCUMENTS for word in re.findall(r"\bmake ([a-z-]+)\b(?= |`|$)", text_of(each))}
    targets = {each for each in named if re.search(rf"^{each}:", makefile, re.MULTILINE)}
    assert {"demo", "test"} <= targets
    in_code = {word for each in DOCUMENTS for word in re.findall(r"`make ([a-z-]+)", text_of(each))}
    assert in_code <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_paths_lead_somewhere(document: str) -> None:
    text = text_of(document)
    folder = (ROOT / document).parent
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text):
        if "://" not in target:
            assert (folder / target).exists(), target
            assert not anchor or anchor in anchors(folder / target if target else ROOT / document), anchor
    server = "".join(each.read_text() for each in (ROOT / "polylsp/server").rglob("*.py"))
    requests = set(re.findall(r'"(polylsp/\w+)"', server))
    for path in re.findall(r"`((?:polylsp|tests|samples|vscode-client)/[\w./*-]*)`", text):
        assert path in requests or list(ROOT.glob(path.rstrip("/"))), path


def test_the_architecture_names_every_package() -> None:
    text = text_of("ARCHITECTURE.md")
    for package in sorted((ROOT / "polylsp").iterdir()):
        if package.name not in ("__pycache__", "py.typed", "__init__.py", "__main__.py"):
            name = f"{package.name}/" if package.is_dir() else package.name
            assert name in text, name
    for suite in sorted((ROOT / "tests").iterdir()):
        if suite.is_dir() and suite.name != "__pycache__":
            assert f"tests/{suite.name}" in text, suite.name


def test_the_pages_know_every_verdict_and_command() -> None:
    text = "".join(each.read_text() for each in PAGES)
    for word in VerdictWord.__args__:  # type: ignore[attr-defined]
        assert f"| `{word}` |" in README.read_text()
    usage = parser().format_help()
    for command in ("check", "explain", "model", "offload", "measure", "serve", "doctor"):
        assert command in usage and f"polylsp {command}" in text


def test_the_changelog_is_about_this_version() -> None:
    text = text_of("CHANGELOG.md")
    assert text.startswith("# Changelog\n")
    headings = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert polylsp.__version__ in [*headings, "0.1.0"]


def test_the_repository_names_no_machine() -> None:
    """The project's files contain no path of a private machine, and no host of a package index."""
    forbidden = re.compile(r"/(?:home|root|Users)/\w|https?://[\w.-]*(?:npm|pypi|pythonhosted|debian)\b")
    for document in [*DOCUMENTS, "Makefile", ".ci/run", "constraints.txt", "pyproject.toml"]:
        found = forbidden.search(text_of(document))
        assert found is None, f"{document}: {found and found.group()}"


def test_the_settings_that_a_project_cannot_have_are_listed() -> None:
    about = text_of("docs/settings.md").split("## In the project")[1].split("## ")[0]
    listed = set(re.findall(r"`(\w+)`", about.split("is limited:")[1]))
    refused = {each.name for each in fields(Settings) if {*REFUSED} & {*each.metadata}}
    assert listed == refused
