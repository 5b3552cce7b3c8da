"""The real server, on standard input and output, with the worker of `fake_analysis.py`; or with the
command given as arguments for its worker."""

import sys
from pathlib import Path

from polylsp.server.app import serve_stdio

if __name__ == "__main__":
    worker = sys.argv[1:] or [sys.executable, str(Path(__file__).with_name("fake_analysis.py"))]
    sys.exit(serve_stdio(worker))
