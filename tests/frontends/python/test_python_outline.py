"""The outline of a Python file: functions whatever the text looks like, each with separate tokens."""

from __future__ import annotations

import pytest

from polylsp.frontends.python.definitions import Item, outline


def names(text: str) -> list[str]:
    return [item.name for item in outline(text).functions]


def only(text: str) -> Item:
    (item,) = outline(text).functions
    return item


@pytest.mark.parametrize(
    "body",
    [
        "a[i = 3",
        "a[i] = max(a[i],",
        "x = 'open",
        "if x",
        "for i in range(n)",
        "return (1,",
        "a = {1: [2, (3",
    ],
)
def test_what_is_being_typed_costs_its_neighbours_nothing(body: str) -> None:
    text = f"def before():\n    pass\n\ndef typed(n):\n    {body}\n\ndef after(n):\n    return n\n"
    found = outline(text).functions
    assert [item.name for item in found] == ["before", "typed", "after"]
    assert found[2].texts == outline("def after(n):\n    return n\n").functions[0].texts


def test_methods_and_functions_in_functions_are_functions() -> None:
    text = (
        "class A:\n    x: int\n    def f(self):\n        def g():\n            pass\n        return g\n"
        "@njit\nasync def h(): pass\n"
    )
    assert names(text) == ["A.f", "A.f.g", "h"]
    assert only("@njit\n@other(1)\ndef h(): pass\n").texts[:2] == ("@", "njit")
    assert [item.owner for item in outline(text).functions] == ["A", "", ""]


def test_a_string_of_several_lines_may_look_like_a_function() -> None:
    text = 'def f():\n    """\ndef not_me():\n    pass\n    """\n    return 1\n\ndef g(): pass\n'
    assert names(text) == ["f", "g"]


def test_a_string_that_is_never_closed_takes_what_follows() -> None:
    assert names('def f():\n    """ open\n\ndef g(): pass\n')[0] == "f"


def test_code_outside_of_functions_is_one_item() -> None:
    text = "import a\n\ndef f(): pass\n\nfor i in range(3):\n    print(i)\n"
    module = outline(text).module
    assert module.texts[:2] == ("import", "a") and module.texts[-1] == ")"
    assert "f" not in module.texts


def test_places_are_those_in_the_file() -> None:
    text = "x = 1\r\n\r\n# ä comment\r\ndef f(é):\r\n\treturn é + 'ü'\r\n"
    item = only(text)
    spelled = tuple(
        text[item.start + a : item.start + b] for a, b in zip(item.starts, item.ends, strict=True)
    )
    assert spelled == item.texts


def test_comments_and_space_within_lines_change_no_function() -> None:
    plain, spaced = only("def f(n):\n    return n+1\n"), only("def f( n ):  # why\n\n    return n + 1\n")
    assert plain.code == spaced.code
    assert plain.key != spaced.key
    assert plain.code != only("def f(n):\n    return n-1\n").code


def test_indentation_is_part_of_the_code() -> None:
    inside = only("def f(n):\n    for i in n:\n        a()\n        b()\n")
    after = only("def f(n):\n    for i in n:\n        a()\n    b()\n")
    assert inside.code != after.code
    assert inside.code == only("  def f(n):\n      for i in n:\n          a()\n          b()\n").code
