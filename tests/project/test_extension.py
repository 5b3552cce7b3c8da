"""Claims of the VS Code extension about the server are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields

import pytest
from manifest import MANIFEST, language_model_tools, manifest, server_settings, settings_schema

import polylsp
from polylsp.core.settings import Settings

FOLDER = MANIFEST.parent
ROOT = FOLDER.parent


def test_the_settings_are_those_of_the_server() -> None:
    assert server_settings(manifest()) == settings_schema(), "run `make manifest`"


def test_the_tools_of_language_models_are_those_of_the_server() -> None:
    assert manifest()["contributes"]["languageModelTools"] == language_model_tools(), "run `make manifest`"


def test_a_setting_of_the_extension_is_none_of_the_server() -> None:
    ours = re.search(r"const OURS = \[(.*?)\]", (FOLDER / "src/settings.ts").read_text())
    assert ours is not None
    names = {f"polylsp.{each}" for each in re.findall(r"'(\w+)'", ours.group(1))}
    assert names == set(manifest()["contributes"]["configuration"][0]["properties"])
    assert not names & set(settings_schema())


def test_what_runs_a_program_is_restricted_where_the_workspace_is_not_trusted() -> None:
    trust = manifest()["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    named = zip(settings_schema(), fields(Settings), strict=True)
    run = {name for name, each in named if "runs" in each.metadata}
    ours = set(manifest()["contributes"]["configuration"][0]["properties"])
    assert run and set(trust["restrictedConfigurations"]) == ours | run


def test_version_and_licence_are_those_of_the_server() -> None:
    assert manifest()["version"] == polylsp.__version__
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_commands_have_the_names_that_the_sources_use() -> None:
    source = (FOLDER / "src/names.ts").read_text()
    names = set(re.findall(r"= '(polylsp\.\w+)'", source)) - {"polylsp.apply", "polylsp.applyAction"}
    assert names == {each["command"] for each in manifest()["contributes"]["commands"]}


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_no_package_index_is_named(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert json.loads(text)["name"] == "polylsp"
    assert re.search(r"https?://[\w.-]*registry", text) is None
    assert '"resolved"' not in text


def test_a_requirement_of_other_pythons_is_not_missing():
    probe = ROOT / "vscode-client/server/probe.py"
    asked = [
        "none-of-this>=2; python_version < '3.0'",
        "none-of-that>=2; python_version >= '3.0'",
        "nor-this",
    ]
    run = subprocess.run([sys.executable, probe, *asked], capture_output=True, text=True, check=True)
    missing = json.loads(run.stdout)["missing"]
    assert [each.partition(">")[0] for each in missing] == ["none-of-that", "nor-this"]
