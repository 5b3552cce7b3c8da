from __future__ import annotations

from pathlib import Path

from polylsp.runtime.machine import gpu_here


def test_a_gpu_is_named_by_its_driver(tmp_path: Path) -> None:
    assert gpu_here(tmp_path / "none") == ""
    card = tmp_path / "cards" / "0000:65:00.0"
    card.mkdir(parents=True)
    (card / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n")
    assert gpu_here(card.parent) == "NVIDIA H200"
