"""Texts with kernels that tell what they do, and do the same."""

from __future__ import annotations

from polylsp.measuring.c_versions import telling_calls, telling_kernels


def test_launches_tell_on_which_stream_they_are() -> None:
    text = "    k0<<<grid, threads>>>(n);\n    k1<<<1, 256, 0, streams[2]>>>(\n        n);\n"
    text += "    k2<<<g, t, 0, slab>>>(a >> 1);\n    k3<Index><<<grid, threads>>>(n);\n"
    first, second = (telling_kernels("a.cu", text, is_first=each) for each in (True, False))
    assert "    polylsp::launching(nullptr); k0<<<grid, threads>>>(n);\n" in first
    assert "    polylsp::launching(streams[2]); k1<<<1, 256, 0, streams[2]>>>(\n" in first
    assert "    polylsp::launching(slab); k2<<<g, t, 0, slab>>>(a >> 1);\n" in first
    assert "    polylsp::launching(nullptr); k3<Index><<<grid, threads>>>(n);\n" in first
    assert first.count("POLYLSP_DEFINES") == 1 and first.endswith(second)


def test_calls_tell_whether_kernels_ran_with_the_conditions_before_them() -> None:
    text = "int f_cuda(int n);\nvoid f(int n) {\n    if (n) n++;\n"
    text += "    if (N != 3 ||\n        f_cuda(n) != 0) {\n    }\n}\n"
    told = telling_calls(text, ("f_cuda", "g_cuda"))
    assert "if (polylsp_entered(), polylsp_left(N != 3 ||\n        f_cuda(n) != 0)) {" in told
    assert (
        told.startswith("int f_cuda(int n);\nvoid f(int n) {\n    if (n) n++;\n")
        and told.count("polylsp") == 2
    )
    assert telling_calls(text, ()) == text
