from __future__ import annotations

import codecs
import json
import subprocess
import sys
from pathlib import Path

import pytest

from polylsp import cli
from polylsp.core.text import Span
from polylsp.engine import queries
from polylsp.model.action import KERNEL_TARGETS, TARGETS, TRANSFORMS, Edited, Replacement

SCALE = """\
// Größe
void scale(int n, double *a) {
    for (int i = 0; i < n; i++)
        a[i] *= 2;
}
"""
ADD = SCALE.replace("double *a", "double *a, double *b").replace("*= 2", "+= b[i]")
PRAGMA = "    #pragma omp parallel for if(n > 10000)\n"
DIFF = f"""\
--- a.c
+++ a.c
@@ -1,5 +1,6 @@
 // Größe
 void scale(int n, double *a) {{
+{PRAGMA}     for (int i = 0; i < n; i++)
         a[i] *= 2;
 }}
"""


def edited(text: str) -> str:
    return text.replace("    for", f"{PRAGMA}    for")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.c"
    path.write_text(SCALE)
    return path


def test_the_choices_are_those_of_the_model() -> None:
    assert ((*TARGETS, *KERNEL_TARGETS), TRANSFORMS) == (cli.TARGETS, cli.TRANSFORMS)


@pytest.mark.parametrize("how", [(), ("--diff",)])
@pytest.mark.parametrize("line", [3, 4])
def test_a_diff_is_printed_and_nothing_written(polylsp, file: Path, how: tuple[str, ...], line: int) -> None:
    ran = polylsp("offload", f"a.c:{line}", "--target", "openmp", *how)
    assert (ran.status, ran.out, ran.err) == (0, DIFF, "")
    assert file.read_text() == SCALE


def test_a_loop_that_needs_another_order_names_its_transform(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a b.c").write_text(
        "void relax(int n, double a[n][n])\n{\n    for (int i = 1; i < n; i++)\n"
        "        for (int j = 1; j < n; j++)\n            a[i][j] = a[i - 1][j] + a[i][j - 1];\n"
        "    for (int i = 1; i < n; i++)\n        a[0][i] = a[0][i - 1];\n}\n"
    )
    ran = polylsp("offload", "a b.c:3", "--target", "openmp")
    assert ran.status == 2
    declined, why, named = ran.err.splitlines()
    assert declined == "polylsp: a b.c:3: No loop here is known to be parallel."
    assert why.startswith("polylsp: `i` cannot run in parallel: `a[i - 1][j]` on line 5 reads what")
    assert named.startswith("polylsp: Skew the loops of `i`")
    assert named.endswith("polylsp offload 'a b.c:3' --transform skew")
    assert polylsp("offload", "a b.c:3", "--transform", "skew").status == 0
    ran = polylsp("offload", "a b.c:6", "--target", "openmp")
    assert ran.err.count("\n") == 2, "nothing helps a chain"


@pytest.mark.parametrize("target", ["openacc", "cuda"])
def test_a_loop_that_a_device_declines_has_its_verdict_named(polylsp, tmp_path: Path, target: str) -> None:
    (tmp_path / "a.c").write_text(
        "int kept(int n, const double *restrict a, double *restrict out)\n{\n    int m = 0;\n"
        "    for (int i = 0; i < n; i++)\n        if (a[i] > 0)\n            out[m++] = a[i];\n"
        "    return m;\n}\n"
        "void pointed(int n, double **a)\n{\n    for (int i = 0; i < 9; i++)\n"
        "        for (int j = 0; j < n; j++)\n            a[i][j] = 1;\n}\n"
    )
    ran = polylsp("offload", "a.c:4", "--target", target)
    assert ran.status == 2
    _, why = ran.err.splitlines()
    assert "`i` cannot run in parallel" in why and "a prefix sum" in why
    ran = polylsp("offload", "a.c:11", "--target", target)
    assert ran.status == 2
    assert ran.err.count("\n") == 1, "its loops are parallel: the reason is another one"


def test_patch_applies_the_diff(polylsp, file: Path) -> None:
    file.write_bytes(SCALE.replace("\n", "\r\n").rstrip().encode())
    ran = subprocess.run(
        [sys.executable, "-m", "polylsp", "offload", "a.c:3", "--target", "openmp"],
        cwd=file.parent,
        capture_output=True,
        check=True,
    )
    assert b"\n\\ No newline at end of file\n" in ran.stdout
    subprocess.run(["patch", "--binary", "-p0"], input=ran.stdout, cwd=file.parent, check=True)
    assert file.read_bytes() == edited(SCALE).replace("\n", "\r\n").rstrip().encode()


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (b"", "latin-1"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_keeps_its_encoding_its_line_ends_and_its_mode(
    polylsp, file: Path, mark: bytes, codec: str, end: str
) -> None:
    file.write_bytes(mark + SCALE.replace("\n", end).encode(codec))
    file.chmod(0o640)
    ran = polylsp("offload", "a.c:3", "--target", "openmp", "--write")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert file.read_bytes() == mark + edited(SCALE).replace("\n", end).encode(codec)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in file.parent.iterdir()] == ["a.c"]


TWO = """\
void
f(int n, double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = i;
    for (int i = 0; i < n; i++)
        b[i] = a[i];
}
"""


@pytest.mark.parametrize("line", [1, 2, 3])
def test_the_header_of_a_function_means_all_of_its_loops(polylsp, file: Path, line: int) -> None:
    file.write_text(TWO)
    ran = polylsp("offload", f"a.c:{line}", "--target", "openacc", "--write")
    assert (ran.status, ran.err) == (0, "")
    assert "#pragma acc data copyout(a[0:n], b[0:n]) if(n > 1000000)\n    {\n" in file.read_text()


HALVES = """\
import numpy as np


def halves(a, b):
    for i in range(a.shape[0]):
        b[i] = a[i] * 0.5
"""


def test_numba_runs_a_loop_of_python(polylsp, file: Path) -> None:
    path = file.with_name("a.py")
    path.write_text(HALVES)
    ran = polylsp("offload", "a.py:5", "--target", "numba", "--write")
    assert ran.status == 0
    assert "right only if `a` and `b` do not overlap" in ran.err and "Numba compiles `halves`" in ran.err
    new = HALVES.replace("as np\n", "as np\nfrom numba import njit, prange\n")
    new = new.replace("def ", "@njit(parallel=True)\ndef ").replace(" range", " prange")
    assert path.read_text() == new


def test_every_language_has_its_own_targets(polylsp, file: Path) -> None:
    file.with_name("a.py").write_text(HALVES)
    for place, target, language in (("a.py:5", "openmp", "Python"), ("a.c:3", "numba", "C")):
        ran = polylsp("offload", place, "--target", target)
        assert (ran.status, ran.err) == (2, f"polylsp: {place}: `{target}` is not for loops in {language}.\n")
    assert polylsp("offload", "a.py:5", "--transform", "tile").status == 2
    listed = json.loads(polylsp("check", "--format", "json", "a.py", "a.c").out)["files"]
    targets = {each["language"]: each["nests"][0]["targets"] for each in listed}
    assert targets == {"python": ["numba", "pycuda"], "c": ["openmp", "openacc", "openmp-target", "cuda"]}


def test_a_function_on_a_gpu_is_one_file(polylsp, file: Path) -> None:
    file.write_text(TWO)
    ran = polylsp("offload", "a.c:2", "--target", "cuda", "--write")
    assert ran.status == 0, ran.err
    (made,) = file.parent.glob("*.cu")
    assert made.read_text().count("cudaDeviceSynchronize") == 1


def test_a_setting_is_one_edits_own(polylsp, file: Path) -> None:
    file.write_text("void f(int n, double a[n][9]) { for (int i = 0; i < n; i++) a[i][3] *= 2; }\n")
    place = ("a.c:1", "--target", "cuda", "--diff")
    ran = polylsp("offload", *place)
    assert "+    long long slab = n;\n" in ran.out
    assert "Where the device has too little memory, it gets `a` slab by slab." in ran.err
    assert "slab" not in polylsp("offload", *place, "--setting", "cuda_slabs=false").out


@pytest.mark.parametrize("how", ["--diff", "--write"])
def test_kernels_that_somebody_has_edited_are_left_alone(polylsp, file: Path, how: str) -> None:
    assert polylsp("offload", "a.c:3", "--target", "cuda", "--write").status == 0
    (made,) = file.parent.glob("*.cu")
    theirs = made.read_text().replace("#include <limits.h>\n", "#include <limits.h>\n/* Ours. */\n")
    made.write_text(theirs)
    file.write_text(SCALE)
    ran = polylsp("offload", "a.c:3", "--target", "cuda", how)
    told = "`scale_cuda.cu` is there already and says something else: rename or remove it first."
    assert (ran.status, ran.err) == (2, f"polylsp: a.c:3: {told}\n")
    assert ran.out.startswith("--- scale_cuda.cu\n+++ scale_cuda.cu\n@@ ")
    assert [line for line in ran.out.splitlines()[2:] if line[0] in "+-"] == ["-/* Ours. */"]
    assert (made.read_text(), file.read_text()) == (theirs, SCALE)


def test_kernels_that_are_there_as_they_would_be_made_are_called(polylsp, file: Path) -> None:
    assert polylsp("offload", "a.c:3", "--target", "cuda", "--write").status == 0
    called = file.read_text()
    (made,) = file.parent.glob("*.cu")
    ours = made.read_bytes()
    file.write_text(SCALE)
    ran = polylsp("offload", "a.c:3", "--target", "cuda", "--write")
    assert (ran.status, file.read_text(), made.read_bytes()) == (0, called, ours)


def test_only_a_device_is_asked_for_whole_functions(polylsp, file: Path) -> None:
    file.write_text(TWO)
    ran = polylsp("offload", "a.c:2", "--target", "openmp")
    assert (ran.status, ran.err) == (2, "polylsp: a.c:2: no loop here; there are loops on lines 4, 6\n")


def test_a_link_stays_one(polylsp, file: Path) -> None:
    link = file.parent / "link.c"
    link.symlink_to("a.c")
    assert polylsp("offload", "link.c:3", "--target", "openmp", "--write").status == 0
    assert link.is_symlink() and file.read_text() == edited(SCALE)


def test_assumptions_and_remarks_go_to_stderr(polylsp, file: Path) -> None:
    file.write_text(ADD)
    ran = polylsp("offload", "a.c:3", "--target", "openmp")
    assert ran.status == 0 and "+    #pragma omp parallel for" in ran.out
    assert ran.err == "polylsp: right only if `a` and `b` do not overlap\n"
    file.write_text(SCALE.replace("i < n", "i < 4"))
    ran = polylsp("offload", "a.c:3", "--target", "openmp")
    assert "polylsp: The loop `i` does only about 4 operations" in ran.err


def test_the_outermost_loop_of_a_line_is_meant(polylsp, file: Path) -> None:
    line = "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = a[(i - 1) * n + j];"
    file.write_text(f"void f(int n, double *a) {{\n    {line}\n}}\n")
    ran = polylsp("offload", "a.c:2", "--target", "openmp")
    assert "i++)\n" in ran.out.partition("#pragma")[0]


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (SCALE, "a.c:1", "no loop here; there are loops on line 3"),
        ("int x;\n", "a.c:1", "no loop here; the file has no loops"),
        (SCALE.replace("= 0", "= 1").replace("*= 2", "= a[i - 1]"), "a.c:3", "No loop here is known to be"),
    ],
)
def test_where_there_is_no_edit_the_reason_is_told(
    polylsp, file: Path, text: str, place: str, told: str
) -> None:
    file.write_text(text)
    ran = polylsp("offload", place, "--target", "openmp", "--write")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"polylsp: {place}: {told}")
    assert file.read_text() == text


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.c:3",),
        ("a.c:3", "--target", "fortran"),
        ("a.c:3", "--target", "openmp", "--transform", "tile"),
        ("a.c:3", "--target", "openmp", "--diff", "--write"),
        ("a.c", "--target", "openmp"),
    ],
)
def test_wrong_usage(polylsp, file: Path, arguments: tuple[str, ...]) -> None:
    ran = polylsp("offload", *arguments)
    assert ran.status == 2 and "usage: polylsp offload" in ran.err and file.read_text() == SCALE


# --- files that cannot be written ------------------------------------------------------------------


def refused(polylsp, told: str) -> None:
    ran = polylsp("offload", "a.c:3", "--target", "openmp", "--write")
    assert (ran.status, ran.out, ran.err) == (3, "", f"polylsp: a.c: {told}\n")


def test_a_read_only_file(polylsp, file: Path) -> None:
    file.chmod(0o444)
    refused(polylsp, "not edited: the file is read-only")
    assert file.read_text() == SCALE
    assert polylsp("offload", "a.c:3", "--target", "openmp").status == 0


def test_a_file_that_is_not_there(polylsp) -> None:
    refused(polylsp, "No such file or directory")


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens) -> None:
    """Something happens while the edit is worked out."""

    def edit(*_: object) -> Edited:
        happens()
        return Edited((Replacement(Span(0, 0), "//\n"),))

    monkeypatch.setattr(queries, "edit", edit)


def test_a_file_that_changes_meanwhile(polylsp, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: file.write_text(SCALE + "\n"))
    refused(polylsp, "not edited: the file has changed meanwhile")
    assert file.read_text() == SCALE + "\n"


def test_a_file_that_vanishes_meanwhile(polylsp, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, file.unlink)
    refused(polylsp, "not edited: No such file or directory")
    assert not list(file.parent.iterdir())


def test_a_disk_that_is_full(polylsp, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused(polylsp, "not edited: No space left on device")
    assert [each.name for each in file.parent.iterdir()] == ["a.c"] and file.read_text() == SCALE


def test_a_text_that_cannot_be_written_as_it_was_read(polylsp, file: Path) -> None:
    file.write_bytes(codecs.BOM_UTF16_LE + SCALE.encode("utf-16-le") + b"\xd8")
    refused(polylsp, "not edited: its text cannot be written as it was read")


ARRAYS = """import numpy as np
from numpy.typing import NDArray


def f(x: NDArray[np.float64], k: float):
    print(k)
    return np.exp(-x * x / k) + k
"""


def test_array_statements_are_fused_on_request(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ARRAYS)
    ran = polylsp("offload", "a.py:7", "--transform", "fuse-arrays", "--write")
    assert ran.status == 0, ran.err
    made = (tmp_path / "a.py").read_text()
    assert "@vectorize\ndef _f_result(x, k):\n    return np.exp(-x * x / k) + k\n" in made
    assert "    return _f_result(x, k)\n" in made
    ran = polylsp("offload", "a.py:6", "--transform", "fuse-arrays")
    assert (ran.status, ran.err) == (2, "polylsp: a.py:6: no array statement with temporaries here\n")
