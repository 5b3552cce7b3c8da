"""Measurements in words."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from polylsp.ide.hover import Bullets, Image, Table, markdown, plain
from polylsp.ide.measured import is_wrong, measured_label, measured_object, measured_parts, shown_seconds
from polylsp.model.measurement import Estimate, Figure, Measurement, Missing, OnDevice, Times

TIMES = Times(0.5, 0.4, 0.6, 7)
PLAIN = Figure("openmp", "directives", Times(0.3, 0.2, 0.4, 7), 1.66, 1.5, 1.8, "faster", 2e-16)
BETTER = Figure("openmp", "restructured", Times(0.04, 0.04, 0.04, 7), 12.4, 11.0, 14.0, "faster", 0.0)
FOUND = Measurement(
    "f", 1, (("n", 2000), ("m", 10)), TIMES, (PLAIN, BETTER), (), "gcc 12", "a processor", 2, 0.0
)
WRONG = Missing("openmp", "directives", "Element 3 of `a` is 1 where the original makes it 2.", is_error=True)


@pytest.mark.parametrize(
    ("found", "label"),
    [
        (FOUND, "OpenMP 12× · n=2000 m=10"),
        (replace(FOUND, figures=(PLAIN,)), "OpenMP 1.7× · n=2000 m=10"),
        (
            replace(FOUND, figures=(replace(PLAIN, speedup=0.5, outcome="slower"),), sizes=()),
            "OpenMP 0.50× · 500 ms a call",
        ),
        (
            replace(FOUND, figures=(replace(PLAIN, outcome="no difference"),), sizes=()),
            "OpenMP: no difference · 500 ms a call",
        ),
        (replace(FOUND, figures=(), missing=(WRONG,), sizes=()), "measured: results differ"),
    ],
)
def test_a_label_has_the_best_of_each_target(found: Measurement, label: str) -> None:
    assert measured_label(found) == label


def test_the_table_has_every_version_and_an_error_of_ours_stands_out() -> None:
    found = replace(
        FOUND, figures=(BETTER,), missing=(WRONG, Missing("openmp", "restructured", "It is slow."))
    )
    parts = list(measured_parts(found))
    (table,) = [each for each in parts if isinstance(each, Table)]
    assert [row[0] for row in table.rows] == ["original", "OpenMP, restructured"]
    assert table.rows[1][1:4] == ("40 ms", "40 ms to 40 ms", "12× (11.00 to 14.00)")
    errors, others = [each for each in parts if isinstance(each, Bullets)]
    assert errors.heading.startswith("ERROR in polylsp") and WRONG.reason in errors.items[0]
    assert others.heading == "Not measured" and is_wrong(found) and not is_wrong(FOUND)


def test_it_is_told_where_a_program_of_one_thread_ran() -> None:
    (told,) = set(measured_parts(replace(FOUND, pinned_to=3))) - set(measured_parts(FOUND))
    assert told == "The original has one thread and was kept to one processor (number 3)."
    assert measured_object("a.c", 1, replace(FOUND, pinned_to=3))["pinned_to"] == 3
    assert measured_object("a.c", 1, FOUND)["pinned_to"] is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (0.0, "; all results are the same."),
        (3e-15, "; all results agree, but for rounding (at most 3e-15 of a value)."),
        (0.04, " of a value, which moves about as much when the original rounds another way)."),
    ],
)
def test_how_far_off_results_are(error: float, told: str) -> None:
    found = replace(FOUND, figures=(replace(PLAIN, max_error=error),))
    assert [each for each in measured_parts(found) if str(each).endswith(told)]


ESTIMATE = Estimate("H100", 20.4, 61.0, 5.2, 9.4)


def test_an_estimate_is_told_as_one() -> None:
    found = replace(FOUND, estimates=(ESTIMATE,))
    assert measured_label(found) == "OpenMP 12× · n=2000 m=10 · H100 20–61× estimated"
    told = next(each for each in measured_parts(found) if isinstance(each, str) and "H100" in each)
    assert told.startswith("Estimated 20–61× on H100, 5.2–9.4× with transfers, not measured here")
    slow = replace(FOUND, estimates=(replace(ESTIMATE, least=0.1, most=0.9),))
    assert measured_label(slow) == measured_label(FOUND)
    assert any("Estimated to be slower on H100" in str(each) for each in measured_parts(slow))


THERE = OnDevice("NVIDIA H100 80GB HBM3", Times(4e-3, 3e-3, 5e-3, 7), Times(2e-2, 2e-2, 2e-2, 7), 41.0)
KERNELS = Figure("cuda", "directives", Times(0.04, 0.04, 0.04, 7), 12.4, 11.0, 14.0, "faster", 0.0, (), THERE)


def test_kernels_and_transfers_are_told_apart_and_estimates_of_the_same_device_beside_them() -> None:
    found = replace(FOUND, figures=(PLAIN, KERNELS), estimates=(ESTIMATE,))
    assert measured_label(found) == "OpenMP 1.7× · CUDA 41× (12× with transfers) · n=2000 m=10"
    told = [each for each in measured_parts(found) if isinstance(each, str) and "H100" in each]
    assert told[0] == (
        "CUDA on NVIDIA H100 80GB HBM3: kernels 4 ms (middle half 3 ms to 5 ms), transfers 20 ms; "
        "41× if the data were there already, 12× with transfers."
    )
    assert told[1].startswith("Measured 41×, 12× with transfers, where 20–61× on H100, 5.2–9.4× with")
    (json,) = measured_object("a.c", 1, replace(found, figures=(KERNELS,)))["targets"]
    assert (json["kernel_seconds"], json["transfer_seconds"], json["seconds"]) == (4e-3, 2e-2, 0.04)
    assert (json["speedup_without_transfers"], json["speedup"]) == (41.0, 12.4)
    elsewhere = replace(found, figures=(replace(KERNELS, on_device=replace(THERE, device="Quadro")),))
    assert measured_label(elsewhere).endswith(" · H100 20–61× estimated")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1.234, "1.23 s"), (0.0456, "45.6 ms"), (7.8e-6, "7.8 µs"), (3e-8, "30 ns")]
)
def test_times_have_three_digits_that_count(seconds: float, shown: str) -> None:
    assert shown_seconds(seconds) == shown


SVG = "{http://www.w3.org/2000/svg}"


def test_a_chart_has_a_bar_for_each_version_to_one_scale() -> None:
    (image,) = [each for each in measured_parts(FOUND, images=True) if isinstance(each, Image)]
    root = ElementTree.fromstring(image.svg)
    bars = [r for r in root.iter(f"{SVG}rect") if r.get("class") != "page"]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert [round(width / widths[0], 1) for width in widths] == [1.0, 1.7, 12.4]
    told = [each.text for each in root.iter(f"{SVG}text")]
    assert told == ["original", "500 ms", "OpenMP", "1.7×  300 ms", "OpenMP, restructured", "12×  40 ms"]
    assert markdown([image]).startswith("![Speed beside the original: OpenMP 1.7×;") and plain([image]) == ""
    assert not any(isinstance(each, Image) for each in measured_parts(FOUND))
