from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from polylsp.ide.picture import FULL, SMALL, picture
from polylsp.ir.program import Site
from polylsp.ir.verdict import AccessPoint
from polylsp.model.iteration_points import Arrow, IterationSpace, Order

SVG = "{http://www.w3.org/2000/svg}"


def drawn(space: IterationSpace, title: str = "t") -> ElementTree.Element:
    return ElementTree.fromstring(picture(space, title))


def square(arrows: tuple[Arrow, ...] = (), names: tuple[str, str] = ("i", "j")) -> IterationSpace:
    points = tuple((i, j) for i in range(3) for j in range(2))
    return IterationSpace(names, points, arrows, (("n", 3),))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_point_for_each_iteration_and_an_arrow_for_each_dependence() -> None:
    arrows = (Arrow("flow", (0, 0), (1, 0)), Arrow("anti", (0, 0), (1, 0)), Arrow("flow", (0, 0), (1, 0)))
    root = drawn(square(arrows))
    assert len(list(root.iter(f"{SVG}circle"))) == 6
    paths = [p for p in root.iter(f"{SVG}path") if "Q" in p.attrib["d"]]
    assert [p.attrib["marker-end"] for p in paths] == ["url(#flow)", "url(#anti)"]
    assert len({p.attrib["stroke"] for p in paths}) == 2
    assert [p.attrib.get("stroke-dasharray") for p in paths] == [None, "7 4"]
    assert paths[0].attrib["d"] != paths[1].attrib["d"]


def test_names_sizes_and_legend_are_written() -> None:
    told = texts(drawn(square((Arrow("output", (0, 0), (1, 1)),))))
    assert {"i", "j", "n = 3", "output: overwrites what was written"} <= set(told)
    assert "these loops carry no dependences" in texts(drawn(square()))


def test_the_second_iterator_goes_upwards() -> None:
    root = drawn(square())
    at = {
        c.find(f"{SVG}title").text: (float(c.attrib["cx"]), float(c.attrib["cy"]))
        for c in root.iter(f"{SVG}circle")
    }  # type: ignore[union-attr]
    assert at["i = 1, j = 0"][0] > at["i = 0, j = 0"][0]
    assert at["i = 0, j = 1"][1] < at["i = 0, j = 0"][1]


def test_one_loop_alone_has_one_axis() -> None:
    space = IterationSpace(("i", ""), tuple((i, 0) for i in range(5)), (Arrow("flow", (0, 0), (2, 0)),))
    root = drawn(space)
    assert len([line for line in root.iter(f"{SVG}line") if line.attrib.get("class") == "axis"]) == 1


def test_text_is_escaped() -> None:
    root = drawn(square(names=("<i>", "&j")), 'a "title" & <more>')
    assert {"<i>", "&j", 'a "title" & <more>'} <= set(texts(root))


def test_arrows_that_the_projection_hides_are_mentioned() -> None:
    assert any(
        "stay within one point" in text for text in texts(drawn(square((Arrow("flow", (1, 1), (1, 1)),))))
    )


def test_a_large_and_an_empty_space_stay_of_a_sensible_size() -> None:
    big = IterationSpace(("i", "j"), tuple((i, j) for i in range(-40, 40) for j in range(2)), ())
    for space in (big, IterationSpace(("i", "j"), (), ())):
        root = drawn(space)
        assert 0 < float(root.attrib["width"]) < 900 and 0 < float(root.attrib["height"]) < 900


def test_it_is_readable_on_dark_and_on_light() -> None:
    text = picture(square(), "t")
    assert "prefers-color-scheme: dark" in text and 'class="page"' in text


def test_the_small_page_has_no_title_and_is_small() -> None:
    arrows = (Arrow("flow", (0, 0), (1, 0)),)
    full, small = (picture(square(arrows), "a title", page) for page in (FULL, SMALL))
    assert "a title" in texts(ElementTree.fromstring(full))
    assert "a title" not in texts(ElementTree.fromstring(small))
    heights = [float(ElementTree.fromstring(each).attrib["height"]) for each in (full, small)]
    assert heights[1] < heights[0] and heights[1] < 250


def test_tiles_are_shaded_and_what_runs_at_once_is_joined() -> None:
    space = square()
    halves = tuple(tuple(p for p in space.points if p[1] == half) for half in (0, 1))
    columns = tuple(tuple(p for p in space.points if p[0] == i) for i in range(3))
    root = drawn(replace(space, tiles=halves, parallel=Order(columns, ("j",))))
    shapes = [each.attrib.get("class") for each in root.iter(f"{SVG}path")]
    assert shapes.count("tile") == 2 + 1 and shapes.count("wave") == 3 + 1, "one more of each in the legend"
    told = " ".join(texts(root))
    assert "shaded: tiles" in told and "joined: may run at once" in told


def test_nothing_is_joined_where_all_points_run_at_once_or_one_runs_twice() -> None:
    space = square()
    whole, twice = Order((space.points,), ("i", "j")), Order((space.points, space.points[:2]), ("j",))
    for order in (whole, twice):
        root = drawn(replace(space, parallel=order))
        assert "wave" not in [each.attrib.get("class") for each in root.iter(f"{SVG}path")]


def test_an_arrow_of_several_accesses_is_drawn_once() -> None:
    ends = [AccessPoint("a", text, "read", Site(0, 0)) for text in ("a[i]", "a[j]")]
    arrows = tuple(Arrow("flow", (0, 0), (1, 0), (ends[0], sink)) for sink in ends)
    assert len([p for p in drawn(square(arrows)).iter(f"{SVG}path") if "Q" in p.attrib["d"]]) == 1
