"""Installed packages are those of constraints.txt, file by file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
WITHOUT = {"polylsp", "pip", "setuptools", "wheel"}
"""Ours, and what makes the environment; `uv` makes constraints.txt."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """The version of each package that constraints.txt has for this Python and system."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    asked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    here = [each for each in asked if each.marker is None or each.marker.evaluate()]
    found = {canonical(each.name): str(each.specifier) for each in here}
    assert len(found) == len(here), "a package has two versions"
    return found


def installed() -> Iterator[Distribution]:
    return (each for each in distributions() if canonical(each.metadata["Name"]) not in {*WITHOUT, "uv"})


def needed(name: str, seen: set[str]) -> set[str]:
    """A package and all that it needs here."""
    if canonical(name) not in seen:
        seen.add(canonical(name))
        for line in distribution(name).requires or ():
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate({"extra": ""}):
                needed(asked.name, seen)
    return seen


def test_every_version_is_pinned_exactly() -> None:
    assert all(re.fullmatch(r"==[\w.+!]+", version) for version in pins().values())


def test_what_is_installed_is_what_is_pinned() -> None:
    known = pins()
    there = {canonical(each.metadata["Name"]): f"=={each.version}" for each in installed()}
    assert len(there) > 20
    assert {name: version for name, version in there.items() if known.get(name) != version} == {}


def test_files_of_what_polylsp_needs_are_those_that_were_installed() -> None:
    checked = 0
    for name in needed("polylsp", set()) - WITHOUT:
        for file in distribution(name).files or ():
            if file.hash is not None:
                digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
                shown = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                assert shown == file.hash.value, f"{name}: {file}"
                checked += 1
    assert checked > 200
