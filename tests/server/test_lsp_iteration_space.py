"""The request for the drawing beside the text, over stdio."""

from __future__ import annotations

from typing import Any

import pytest
from editor import Editor
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++)\n        a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"


async def asked(editor: Editor, uri: str, line: int, character: int = 8, **more: Any) -> Any:
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more}
    return plain(await editor.request("polylsp/iterationSpace", params))


def plain(value: Any) -> Any:
    """An answer as it is in JSON: the client makes objects of what it has no type for."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


async def test_points_arrows_their_accesses_and_orders(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open("/* größer 😀 */ " + G, version=7)
    found = await asked(editor, uri, 1)
    assert (found["version"], found["function"], found["ordinal"]) == (7, "g", 1)
    assert found["dimensions"] == ["i"] and found["iterators"] == ["t"] and found["reason"] is None
    assert found["points"] == [[0, 0], [1, 0], [2, 0]] and found["sizes"] == [["n", 3]]
    (arrow,) = found["arrows"]
    assert arrow == {"kind": "flow", "source": [0, 0], "sink": [1, 0], "dependences": [0]}
    (between,) = found["dependences"]
    assert between["source"]["access"] == "write" and between["sink"]["access"] == "read"
    assert between["source"]["range"]["start"] == {"line": 1, "character": 4}
    written, parallel = found["orders"]
    assert len(written["steps"]) == 3 and parallel["steps"] == [found["points"]]
    assert parallel["words"] == "`i` in parallel" and "cannot run" in found["sentence"]
    assert found["bars"] == []


async def test_a_cursor_beside_a_header_means_that_loop_and_elsewhere_none(start) -> None:
    editor = await start("nvim-sid")
    uri = editor.open(F + G)
    assert (await asked(editor, uri, 1, 0))["function"] == "f"
    assert (await asked(editor, uri, 5, 99))["function"] == "g"
    assert await asked(editor, uri, 0, 0) is None


async def test_the_loop_at_a_cursor_is_what_the_commands_are_given(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(F + G)
    params = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 0}}
    found = plain(await editor.request("polylsp/loopAt", params))
    assert (found["uri"], found["function"], found["ordinal"]) == (uri, "g", 1)
    assert found["range"]["start"] == {"line": 5, "character": 4}
    params["position"] = {"line": 0, "character": 0}
    assert await editor.request("polylsp/loopAt", params) is None


async def test_what_cannot_be_drawn_says_why(start) -> None:
    editor = await start()
    uri = editor.open(F.replace("a[i]", "DRAW_NOTHING[i]") + G)
    found = await asked(editor, uri, 1)
    assert found["reason"] == "Not drawn: nothing to draw." and found["points"] == []
    other = await asked(editor, uri, 5, dimensions=["x", "t"])
    assert "`x` is not an iterator" in other["reason"] and other["iterators"] == ["t"]


async def test_a_drawing_that_kills_the_worker_is_given_up(start) -> None:
    editor = await start()
    uri = editor.open(F.replace("a[i]", "a[i] + DRAW_DIE") + G)
    assert "died" in (await asked(editor, uri, 1))["reason"]
    assert (await asked(editor, uri, 5))["points"]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"textDocument": {"uri": "file:///nowhere.c"}, "position": {"line": 0, "character": 0}},
        {"textDocument": {"uri": "file:///project/a.c"}, "position": {"line": "one"}},
        {"textDocument": {"uri": "file:///project/a.c"}},
        {
            "textDocument": {"uri": "file:///project/a.c"},
            "position": {"line": 1, "character": 4},
            "dimensions": ["i"],
        },
    ],
)
async def test_a_request_without_a_place_is_refused(start, wrong: dict[str, Any]) -> None:
    editor = await start()
    editor.open(F)
    with pytest.raises(JsonRpcException) as refused:
        await editor.request("polylsp/iterationSpace", wrong)
    assert refused.value.code == -32602
