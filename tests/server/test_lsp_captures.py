"""Each recorded editor, by its introduction: findings published or pulled, settings pulled or pushed, and
columns in its units."""

from __future__ import annotations

import json

import pytest
from editor import CAPTURES
from lsprotocol import types

pytestmark = pytest.mark.asyncio

WIDE = "void f(int n) {\n    /* größer 😀 */ for (i = 0; i < n; i++) a[i] = 0;\n}\n"
PARALLEL = "parallel-loop"
NAMES = sorted(each.name.removesuffix(".caps.json") for each in CAPTURES.glob("*.caps.json"))
UNITS = {"utf-8": lambda text: len(text.encode()), "utf-16": lambda text: len(text.encode("utf-16-le")) // 2}


def abilities(name: str):
    return json.loads((CAPTURES / f"{name}.caps.json").read_text())["capabilities"]


def columns(encoding: str) -> tuple[int, int]:
    """Columns of the start and the end of the loop's header on its line."""
    line = WIDE.splitlines()[1]
    before, header = line[: line.index("for")], line[: line.index(")") + 1]
    return UNITS[encoding](before), UNITS[encoding](header)


async def findings(editor, uri: str, version: int, code: str):
    if editor.result.capabilities.diagnostic_provider is None:
        return await editor.diagnostics(uri, version, code)
    found = (await editor.pull(uri)).items
    assert [each.code for each in found] == [code]
    return found


async def test_each_kind_of_editor_was_recorded() -> None:
    pulls = {name for name in NAMES if "diagnostic" in abilities(name)["textDocument"]}
    configures = {name for name in NAMES if abilities(name)["workspace"].get("configuration")}
    utf8 = {
        name for name in NAMES if "utf-8" in abilities(name).get("general", {}).get("positionEncodings", [])
    }
    for some in (pulls, configures, utf8):
        assert some and set(NAMES) - some


@pytest.mark.parametrize("name", NAMES)
async def test_findings_come_the_way_that_the_editor_has_them(start, name: str):
    editor = await start(name)
    uri = editor.open(WIDE)
    (found,) = await findings(editor, uri, 1, PARALLEL)
    encoding = editor.result.capabilities.position_encoding or "utf-16"
    asked = abilities(name).get("general", {}).get("positionEncodings", ["utf-16"])
    assert encoding == ("utf-8" if "utf-8" in asked else "utf-16")
    first, last = columns(encoding)
    assert (found.range.start, found.range.end) == (types.Position(1, first), types.Position(1, last))
    pulls = editor.result.capabilities.diagnostic_provider is not None
    assert pulls == bool(abilities(name)["workspace"].get("diagnostics", {}).get("refreshSupport"))
    assert pulls != (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS in editor.methods())
    await positions_are_in_units(editor, uri, first, last)


async def positions_are_in_units(editor, uri: str, first: int, last: int):
    """Check the units of positions that the editor sends, and of those in the answers."""
    assert await editor.hover(uri, 1, first - 2) is None
    hovered = await editor.hover(uri, 1, first + 1)
    assert hovered.range.start.character == first
    assert hovered.contents.kind == types.MarkupKind.Markdown
    line = types.Range(types.Position(1, 0), types.Position(2, 0))
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri), line)
    (hint,) = await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, params)
    assert hint.position.character == last
    header = types.Range(types.Position(1, first), types.Position(1, first + 3))
    editor.change(uri, types.TextDocumentContentChangePartial(range=header, text="while"))
    await editor.settle()
    assert await editor.hover(uri, 1, first + 1) is None


@pytest.mark.parametrize("name", NAMES)
async def test_settings_are_asked_for_or_taken(start, name: str):
    hidden = {"disabledDiagnostics": [PARALLEL]}
    editor = await start(name, settings=None)
    uri = editor.open(WIDE)
    await findings(editor, uri, 1, PARALLEL)
    asks = bool(abilities(name)["workspace"].get("configuration"))
    assert asks == (types.WORKSPACE_CONFIGURATION in editor.methods())
    editor.settings = hidden
    sent = None if asks else {"polylsp": hidden}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(sent))
    if editor.result.capabilities.diagnostic_provider is None:
        await editor.until(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda params: not params.diagnostics)
    else:
        await editor.until(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        assert not (await editor.pull(uri)).items


@pytest.mark.parametrize("name", NAMES)
async def test_actions_are_those_that_the_editor_can_take(start, name: str):
    editor = await start(name)
    uri = editor.open(WIDE)
    first, _ = columns(editor.result.capabilities.position_encoding or "utf-16")
    actions = await editor.actions(uri, 1, first)
    (action,) = [each for each in actions if each.title == "Run `i` in parallel with OpenMP"]
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action) if action.edit is None else action
    versions = abilities(name)["workspace"]["workspaceEdit"].get("documentChanges")
    assert bool(resolved.edit.document_changes) == bool(versions)
    disabled = abilities(name)["textDocument"]["codeAction"].get("disabledSupport")
    assert disabled or not [each for each in actions if each.disabled]
