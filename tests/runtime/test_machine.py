from __future__ import annotations

from pathlib import Path

from polylsp.measuring.toolchains import governor
from polylsp.measuring.tools import gpu_here


def test_a_gpu_is_named_by_its_driver(tmp_path: Path) -> None:
    assert gpu_here(tmp_path / "none") == ""
    card = tmp_path / "cards" / "0000:65:00.0"
    card.mkdir(parents=True)
    (card / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n")
    assert gpu_here(card.parent) == "NVIDIA H200"


def test_what_decides_on_the_frequency_of_processors_is_told(tmp_path: Path) -> None:
    assert governor(tmp_path) == ""
    for processor, name in (("cpu0", "powersave"), ("cpu1", "performance"), ("cpu10", "powersave")):
        folder = tmp_path / processor / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    (tmp_path / "cpufreq").mkdir()
    assert governor(tmp_path) == "performance, powersave"
