"""Settings and tools in the manifest of the VS Code extension, generated from the server's and from those of
`polylsp mcp`.

`python tests/project/manifest.py` writes them into `vscode-client/package.json`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, get_type_hints

from polylsp.cli.mcp import TOOLS
from polylsp.core.settings import Settings

MANIFEST = Path(__file__).parents[2] / "vscode-client" / "package.json"

_KINDS: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    tuple[str, ...]: {"type": "array", "items": {"type": "string"}},
    tuple[int, ...]: {"type": "array", "items": {"type": "integer"}},
}


def settings_schema() -> dict[str, Any]:
    """The schema of each setting of the server, by its name in the editor."""
    return {f"polylsp.{_camel_case(each.name)}": _schema(each) for each in fields(Settings)}


def manifest() -> dict[str, Any]:
    """The manifest as it is."""
    found: dict[str, Any] = json.loads(MANIFEST.read_text())
    return found


def server_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The server's settings in a manifest; the first group has those of the extension."""
    found: dict[str, Any] = given["contributes"]["configuration"][1]["properties"]
    return found


def _schema(each: Field[Any]) -> dict[str, Any]:
    default = list(each.default) if isinstance(each.default, tuple) else each.default
    schema = {**_KINDS[get_type_hints(Settings)[each.name]], "default": default}
    if "choices" in each.metadata:
        schema["enum"] = list(each.metadata["choices"])
    if "items" in each.metadata:
        schema["items"] = {"type": "string", "enum": list(each.metadata["items"])}
        schema["uniqueItems"] = True
    if "least" in each.metadata:
        schema["minimum"] = each.metadata["least"]
    if "above" in each.metadata:
        schema["exclusiveMinimum"] = each.metadata["above"]
    if "most" in each.metadata:
        schema["maximum"] = each.metadata["most"]
    scope = "machine" if "of_machine" in each.metadata else "resource"
    return {**schema, "scope": scope, "markdownDescription": _linked(each.metadata["doc"])}


def _linked(doc: str) -> str:
    """The names of other settings as links to these."""
    names = {each.name for each in fields(Settings)}

    def link(found: re.Match[str]) -> str:
        name = found.group(1)
        return f"`#polylsp.{_camel_case(name)}#`" if name in names else found.group()

    return re.sub(r"`(\w+)`", link, doc)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


_ARGUMENTS: dict[str, dict[str, Any]] = {
    "path": {
        "type": "string",
        "description": "A file, or a folder where one is allowed, from the workspace's folder on.",
    },
    "line": {"type": "integer", "minimum": 1, "description": "A line of the loop, from 1."},
    "every_loop": {"type": "boolean", "description": "Report inner loops too."},
    "action": {"type": "string", "description": "Name of the action, as `actions` lists it."},
    "write": {"type": "boolean", "description": "Write the file; otherwise answer with a diff."},
    "sizes": {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "description": 'Sizes of parameters, as {"n": 2000}.',
    },
}
_TITLES = {
    "check": ("Check Loops", "list-unordered"),
    "report": ("Rank Loops", "list-ordered"),
    "explain": ("Explain a Loop", "question"),
    "actions": ("List Edits of a Loop", "lightbulb"),
    "measure": ("Measure a Loop", "dashboard"),
    "apply": ("Run a Loop in Parallel", "rocket"),
}


def language_model_tools() -> list[dict[str, Any]]:
    """The tools that the extension offers to language models."""
    return [_tool(name, function) for name, function in TOOLS.items()]


def _tool(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    title, icon = _TITLES[name]
    words = " ".join(inspect.cleandoc(function.__doc__ or "").split())
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    return {
        "name": f"polylsp_{name}",
        "toolReferenceName": f"polylsp{name.capitalize()}",
        "displayName": f"polylsp: {title}",
        "userDescription": re.split(r"[.;:] ", words)[0].rstrip(".") + ".",
        "modelDescription": words,
        "canBeReferencedInPrompt": True,
        "icon": f"$({icon})",
        "tags": ["polylsp", "parallel"],
        "inputSchema": {
            "type": "object",
            "properties": {each.name: _ARGUMENTS[each.name] for each in parameters},
            "required": [each.name for each in parameters if each.default is each.empty],
        },
    }


if __name__ == "__main__":
    written = manifest()
    written["contributes"]["languageModelTools"] = language_model_tools()
    written["contributes"]["configuration"][1]["properties"] = settings_schema()
    MANIFEST.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
