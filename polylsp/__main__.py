"""`python -m polylsp` is `polylsp`."""

from __future__ import annotations

import sys

from polylsp.cli import main

if __name__ == "__main__":
    sys.exit(main())
