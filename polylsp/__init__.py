"""Polyhedral analysis in the editor: proven facts about the loops of C and Python programs.

    import polylsp

    report = polylsp.analyse("a.c")
    for loop in report.loops:
        print(loop.verdict)

`analyse`, `actions`, `apply` and `measure` are described in `polylsp.api`, which is loaded when one is used.
"""

# Nothing is imported when this module is loaded: `python -m polylsp` would look in the working directory.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from polylsp.api import Action, Edit, Loop, Refused, Report, actions, analyse, apply, measure
    from polylsp.core.settings import Settings

__version__ = "0.1.0"
__all__ = [
    "Action", "Edit", "Loop", "Refused", "Report", "Settings",
    "__version__", "actions", "analyse", "apply", "measure",
]  # fmt: skip


def __getattr__(name: str) -> object:
    # The server and `polylsp --help` import this package too, and must not load isl.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from polylsp import api

    found: object = getattr(api, name)
    return found
