"""Hovers with a drawing, for clients that show images; lenses, for those that have commands for them."""

from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree

import pytest
from editor import COLD
from lsprotocol import types

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
IMAGE = "data:image/svg+xml;base64,"


def with_options(**options):
    def prepare(params):
        params["initializationOptions"] = options

    return prepare


def drawing(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(base64.b64decode(text.split(IMAGE)[1].split(")")[0]))


@pytest.mark.parametrize(
    ("capture", "options"), [("vscode1139-ext11", {}), ("nvim-bookworm", {"images": True})]
)
async def test_the_hover_has_a_drawing_below_its_sentence(start, capture: str, options):
    editor = await start(capture, prepare=with_options(**options))
    uri = editor.open(F)
    await editor.settle()
    text = (await editor.hover(uri, 1, 8)).contents.value
    sentence, image, *_ = text.split("\n\n")
    assert "can run in parallel" in sentence and image.startswith("![Iterations of i, with an arrow")
    assert len(list(drawing(text).iter("{http://www.w3.org/2000/svg}circle"))) == 3


@pytest.mark.parametrize("capture", ["nvim-bookworm", "nvim-trixie", "nvim-sid"])
async def test_a_client_that_shows_no_images_gets_none(start, capture: str):
    editor = await start(capture)
    uri = editor.open(F)
    await editor.settle()
    assert IMAGE not in (await editor.hover(uri, 1, 8)).contents.value


async def test_without_a_drawing_the_rest_is_there(start, tmp_path: Path):
    editor = await start("nvim-bookworm", prepare=with_options(images=True))
    undrawn = F.replace("a[i]", "DRAW_NOTHING[i]")
    late = G.replace("a[t - 1]", "DRAW_WAIT_later[t - 1]")
    uri = editor.open(undrawn + late)
    await editor.settle()
    for line in (1, 4):
        text = (await editor.hover(uri, line, 8)).contents.value
        assert IMAGE not in text and "parallel" in text
    (tmp_path / "later").touch()


async def test_a_drawing_that_came_too_late_is_there_for_the_next_hover(start, tmp_path: Path):
    editor = await start("nvim-bookworm", prepare=with_options(images=True))
    uri = editor.open(F.replace("a[i]", "a[i] + DRAW_WAIT_later + DRAW_MARK_begun"))
    await editor.settle()
    assert IMAGE not in (await editor.hover(uri, 1, 8)).contents.value
    (tmp_path / "later").touch()
    (tmp_path / "begun").unlink()
    assert IMAGE in (await editor.hover(uri, 1, 8)).contents.value
    assert not (tmp_path / "begun").exists(), "it was not asked for again"


async def test_a_drawing_is_made_once(start):
    editor = await start("nvim-bookworm", prepare=with_options(images=True))
    uri = editor.open(F.replace("a[i]", "a[i] + DRAW_DIE"))
    await editor.settle()
    assert IMAGE not in (await editor.hover(uri, 1, 8)).contents.value
    editor.replace(uri, "a[i] + DRAW_DIE", "a[i] + DRAW_MARK_drawn")
    await editor.settle()
    assert IMAGE in (await editor.hover(uri, 1, 8)).contents.value
    assert IMAGE in (await editor.hover(uri, 1, 8)).contents.value


async def test_a_drawing_does_not_disturb_the_status(start):
    editor = await start("nvim-bookworm", prepare=with_options(images=True, status=True))
    uri = editor.open(F)
    await editor.settle()
    told = editor.methods().count("polylsp/status")
    assert IMAGE in (await editor.hover(uri, 1, 8)).contents.value
    assert editor.methods().count("polylsp/status") == told


async def test_loops_that_were_given_up_are_counted(start):
    editor = await start("nvim-sid", *COLD, settings={"max_seconds": 1.0})
    uri = editor.open(F + G.replace("a[t]", "STALL[t]"))
    await editor.pull(uri)
    assert (await editor.execute("polylsp.status"))["givenUp"] == 1
    editor.replace(uri, "STALL", "a")
    await editor.pull(uri)
    assert (await editor.execute("polylsp.status"))["givenUp"] == 0


async def lenses(editor, uri: str):
    await editor.settle()
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    found = await editor.request(types.TEXT_DOCUMENT_CODE_LENS, params)
    return [(each.range.start.line, each.command.command) for each in found or ()]


WHY, OFFLOAD, MEASURE = "polylsp.why", "polylsp.offload", "polylsp.measure"


@pytest.mark.parametrize(
    ("wished", "shown"),
    [
        ([], []),
        (["why"], [(1, WHY), (4, WHY)]),
        (["offload"], [(1, OFFLOAD)]),
        (["why", "offload"], [(1, WHY), (1, OFFLOAD), (4, WHY)]),
        (["measure", "why"], [(1, WHY), (4, WHY), (1, MEASURE)]),
    ],
)
async def test_lenses_are_those_that_the_settings_name(start, wished, shown):
    prepare = with_options(commands=[WHY, OFFLOAD])
    editor = await start("vscode1139-ext11", settings={"codeLenses": wished}, prepare=prepare)
    uri = editor.open(F + G)
    assert await lenses(editor, uri) == shown


async def test_no_lens_names_a_command_that_the_client_lacks(start):
    prepare = with_options(commands=[WHY])
    settings = {"codeLenses": ["why", "offload"]}
    editor = await start("vscode1139-ext11", settings=settings, prepare=prepare)
    uri = editor.open(F)
    assert await lenses(editor, uri) == [(1, WHY)]
    plain = await start("vscode1139-ext11", settings=settings)
    assert await lenses(plain, plain.open(F)) == []


# --- Hints that a click leads on from ----------------------------------------------------


async def test_a_hint_leads_to_the_hover_where_the_client_can_open_it(start):
    everywhere = types.Range(types.Position(0, 0), types.Position(9, 0))
    for commands in ([WHY], []):
        editor = await start("vscode1139-ext11", prepare=with_options(commands=commands))
        uri = editor.open(G)
        await editor.settle()
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), everywhere)
        (hint,) = await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, params)
        if not commands:
            assert hint.label.startswith("sequential")
            continue
        (part,) = hint.label
        assert part.value.startswith("sequential") and part.command.command == WHY
        told_uri, position = part.command.arguments
        assert told_uri == uri
        hover = await editor.hover(uri, position["line"], position["character"])
        assert "cannot run in parallel" in hover.contents.value
