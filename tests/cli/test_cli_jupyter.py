"""The server as Jupyter's extension for language servers starts it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from polylsp.cli.serve import jupyter

ROOT = Path(__file__).parents[2]
NOTEBOOK = """import numpy as np
from numpy.typing import NDArray



get_ipython().run_line_magic('matplotlib', 'inline')



def f(n: int, a: NDArray[np.float64]):
    for i in range(n):
        a[i] = a[i] * 2.0
"""
"""The cells of a notebook as the extension sends them: a program under the name of the notebook."""


def frame(**message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_the_extension_starts_the_server_for_notebooks(tmp_path: Path) -> None:
    (spec,) = jupyter(None).values()
    assert spec["version"] == 2 and "python" in spec["languages"]
    uri = (tmp_path / ".virtual_documents" / "a.ipynb").as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": NOTEBOOK}
    sent = [
        frame(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}}),
        frame(method="initialized", params={}),
        frame(method="textDocument/didOpen", params={"textDocument": document}),
    ]
    server = subprocess.Popen(spec["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(b"".join(sent))
    server.stdin.flush()
    told = ""
    while "parallel-loop" not in told:
        size = re.search(rb"\d+", server.stdout.readline())
        while server.stdout.readline().strip():
            pass
        assert size is not None
        told = server.stdout.read(int(size[0])).decode()
    assert "`i` can run in parallel" in told
    server.stdin.write(frame(id=3, method="shutdown") + frame(method="exit"))
    server.stdin.close()
    server.stdout.read()
    assert server.wait() == 0


def test_the_entry_point_names_the_function() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points.jupyter_lsp_spec_v1]\npolylsp = "polylsp.cli.serve:jupyter"\n' in text


def test_the_file_in_the_manual_says_the_same() -> None:
    page = (ROOT / "docs" / "editor.md").read_text("utf-8")
    sample = re.search(r"```json\n(\{\n  \"LanguageServerManager.*?)```", page, re.DOTALL)
    assert sample is not None
    (own,) = jupyter(None).values()
    told = json.loads(sample[1])["LanguageServerManager"]["language_servers"]["polylsp"]
    assert told.keys() < own.keys() and told["argv"][1:] == own["argv"][1:] == ["serve"]
    assert set(told["languages"]) == set(own["languages"]) and set(told["mime_types"]) <= set(
        own["mime_types"]
    )
