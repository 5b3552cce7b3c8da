"""Findings about array statements, and the action that fuses their operations."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.engine.queries import analyse
from polylsp.ide.actions import Offer
from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.lightbulb import Listed, lightbulb

TEXT = """import numpy as np
from numpy.typing import NDArray


def normal(x: NDArray[np.float64], mean: float, width: float):
    # Standard units first.
    z = (x - mean) / width
    y = np.exp(-(z**2) / 2) / width
    print(width)
    x[1:] = z[1:] * y[:-1] + z[:-1] * y[1:] - 1.0
    return x
"""


def found(text: str, **settings: object) -> list[Diagnostic]:
    report = analyse("a.py", text, Settings(**settings), schedules=False)  # type: ignore[arg-type]
    return list(diagnostics(Source(text), report, Settings(**settings)))  # type: ignore[arg-type]


def test_statements_that_follow_one_another_have_one_finding() -> None:
    first, second = found(TEXT)
    assert (first.code, first.severity) == ("array-temporaries", "hint")
    assert TEXT[first.span.start : first.span.end].startswith("z = (x") and first.span.end < second.span.start
    assert first.message == (
        "These 2 array statements pass 7 times over arrays like `x` and make 5 temporary ones. Fused, they "
        "pass 2 times and make none."
    )
    assert second.message == (
        "This array statement passes 5 times over arrays like `z` and makes 4 temporary ones. Fused, it "
        "passes 2 times and makes 1."
    )


def test_a_comment_hides_one_and_a_setting_all() -> None:
    hidden = TEXT.replace("    x[1:]", "    # polylsp: ignore array-temporaries\n    x[1:]")
    assert len(found(hidden)) == 1
    assert not found(TEXT, findings="off")


def offers(text: str, at: str) -> list[Listed]:
    report = analyse("a.py", text, Settings(), schedules=False)
    start = text.index(at)
    return list(lightbulb(Source(text), report, Settings(), Span(start, start), makes_files=True))


@pytest.mark.parametrize("at", ["y = np.exp", "-(z**2)", "z = (x"])
def test_fusion_is_the_first_entry_anywhere_in_the_statements(at: str) -> None:
    fuse, ignore = offers(TEXT, at)[0], offers(TEXT, "z = (x")[-1]
    assert isinstance(fuse, Offer) and fuse.kind == "quickfix"
    assert fuse.title == "Fuse the operations of these 2 array statements with Numba"
    assert (fuse.ask.action, fuse.ask.function, fuse.ask.ordinal) == ("fuse-arrays", "normal", 1)
    assert ignore.title == "Ignore `array-temporaries` on line 7"


def test_elsewhere_it_is_not_offered() -> None:
    assert not offers(TEXT, "print")


KERNELS = {
    "no library": ("", (), ["PyCUDA"]),
    "CuPy": ("import cupy as cp\n", (), ["CuPy"]),
    "Numba's kernels": ("from numba import njit, cuda\n", (), ["Numba-CUDA"]),
    "Numba for processors": ("from numba import njit\n", (), ["PyCUDA"]),
    "the settings": ("import cupy as cp\n", ("pycuda", "numba-cuda"), ["PyCUDA", "Numba-CUDA"]),
}


@pytest.mark.parametrize(("imported", "chosen", "wanted"), KERNELS.values(), ids=KERNELS.keys())
def test_kernels_are_offered_by_the_library_that_the_file_imports(
    imported: str, chosen: tuple[str, ...], wanted: list[str]
) -> None:
    head = f"{imported}import numpy as np\n\n\n"
    text = f"{head}def f(n: int, a: np.ndarray):\n    for i in range(n):\n        a[i] = i\n"
    settings = Settings(gpu_libraries=chosen)
    report = analyse("a.py", text, settings, schedules=False)
    at = text.index("for i")
    listed = lightbulb(Source(text), report, settings, Span(at, at), makes_files=True)
    titles = [each.title for each in listed if "to a GPU" in each.title]
    assert [title.partition("(")[2].rstrip(")") for title in titles] == wanted
