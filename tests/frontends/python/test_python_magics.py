"""Cells of notebooks as Python: of the same length, and where non-Python code runs, a call of an unknown
function."""

from __future__ import annotations

import ast
import random

import pytest

from polylsp.core.notebook import notebook
from polylsp.frontends.python.cells import without_magics
from polylsp.frontends.python.definitions import outline


@pytest.mark.parametrize(
    ("code", "python"),
    [
        ("x = 7 % 3\n", "x = 7 % 3\n"),
        ("x = (7\n% 3)\n", "x = (7\n% 3)\n"),
        ('s = """\n%time\n!ls\n"""\n', 's = """\n%time\n!ls\n"""\n'),
        ("a != b\n", "a != b\n"),
        ("%time x = f(a)\n", "0    ;x = f(a)\n"),
        ("%matplotlib inline\nx = 1\n", "#matplotlib inline\nx = 1\n"),
        ("!ls -l\n", "_()#-l\n"),
        ("!ls\n", "_()\n"),
        ('!echo "it (\nx = 1\n', '_()#o "it (\nx = 1\n'),
        ("!make \\\n  all\nx = 1\n", "_()#e \\\n# all\nx = 1\n"),
        ("files = !ls\n", "files = _()\n"),
        ("d = !w\n", "d = _#\n"),
        ("np.sum?\n?x\nx??\n", "#p.sum?\n#x\n#??\n"),
        ("for i in r:\n    x?\n", "for i in r:\n    0#\n"),
        ("for i in r:\n    %run a.py\n", "for i in r:\n    _()# a.py\n"),
        ("for i in r:\n    %time f(i)\n", "for i in r:\n    0    ;f(i)\n"),
        ("%time for i in r: f(i)\n", "_()#e for i in r: f(i)\n"),
        ("%%time\nfor i in r:\n    %pwd\n", "#%time\nfor i in r:\n    0#wd\n"),
        ("\n%%bash\nfor x in *; do\n", "\n#%bash\n#or x in *; do\n"),
        ("%%writefile a.py\nx = 1", "#%writefile a.py\n# = 1"),
        (",f a b\n/f x\n", "_()# b\n_()#\n"),
    ],
)
def test_what_ipython_adds(code: str, python: str) -> None:
    assert len(python) == len(code)
    assert without_magics(code) == python


def test_where_a_call_does_not_fit_it_stays_no_python() -> None:
    code = "for i in r:\n    !w\n"
    assert without_magics(code) == code
    with pytest.raises(SyntaxError):
        ast.parse(code)


def test_no_cell_changes_its_length_or_the_lines_in_it() -> None:
    draw = random.Random(7)
    pieces = [
        "%time ",
        "!ls",
        "x = ",
        "(",
        '"',
        "\n",
        "    ",
        "for i in r:\n",
        "%%bash\n",
        "?",
        "\\\n",
        "'''",
        "#",
        "é",
    ]
    for _ in range(3000):
        code = "".join(draw.choices(pieces, k=draw.randrange(1, 14)))
        made = without_magics(code)
        assert len(made) == len(code)
        assert [at for at, c in enumerate(code) if c == "\n"] == [
            at for at, c in enumerate(made) if c == "\n"
        ]


def test_what_is_left_open_in_a_cell_ends_there() -> None:
    source = notebook(
        [(0, "def f(a):\n    for i in range(3): a[i] = ("), (2, 'x = 1\ns = """'), (3, "def g(): pass")]
    )
    found = outline(source.text)
    assert [each.name for each in found.functions] == ["f", "g"]
    assert found.functions[1].start == source.cells[2].span.start
    assert found.module.texts == ("x", "=", "1", "s", "=", '"""\n')
