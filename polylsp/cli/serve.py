"""`polylsp serve`: the language server."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from polylsp.cli.output import Exit, complain

_TOKEN = "POLYLSP_TOKEN"


def run(options: argparse.Namespace) -> int:
    """Serves until the client leaves; 0 if it said goodbye first. On a TCP port, until the user ends it."""
    from polylsp.server.app import serve_stdio, serve_tcp

    if options.tcp is None:
        return serve_stdio()
    from polylsp.server.app import is_of_this_machine

    host, port = options.tcp
    token = os.environ.get(_TOKEN, "")
    try:
        if not token and not is_of_this_machine(host):
            complain(
                f"{host} can be reached from other machines: set {_TOKEN} to a secret, which clients show as "
                "initializationOptions.token, or listen on 127.0.0.1"
            )
            return Exit.USAGE
        return serve_tcp(host, port, token)
    except OSError as error:
        complain(f"cannot listen on {host}:{port}: {error.strerror or error}")
        return Exit.USAGE


def jupyter(_manager: object) -> dict[str, dict[str, object]]:
    """The server as Jupyter's extension for language servers starts it, for notebooks and files (entry point
    of the group `jupyter_lsp_spec_v1`)."""
    script = Path(sys.executable).with_name("polylsp")
    return {
        "polylsp": {
            "version": 2,
            "argv": [str(script) if script.exists() else "polylsp", "serve"],
            "languages": ["python", "c"],
            "mime_types": ["text/python", "text/x-ipython", "text/x-python", "text/x-csrc"],
            "display_name": "polylsp",
            "requires_documents_on_disk": False,
        }
    }
