"""`polylsp serve`: the language server."""

from __future__ import annotations

import argparse


def run(options: argparse.Namespace) -> int:
    """Serves until the client leaves; 0 if it said goodbye first."""
    from polylsp.server.app import serve_stdio, serve_tcp

    return serve_stdio() if options.tcp is None else serve_tcp(*options.tcp)
