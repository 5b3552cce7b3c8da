"""Profiles: what `perf script`, gprof, py-spy and flame graph tools print, and what is none of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.ide.profile import Share, WrongProfile, profile_of, read_profile

PERF = """\
hot 23375  3626.730033:     250000 cpu-clock:ppp:
\t    55f5770bc1c0 cube+0x1c (/tmp/prof/hot)
  hot.c:15
\t    55f5770bc1d9 multiply+0x3e (/tmp/prof/hot)
  hot.c:24 (discriminator 3)
\t    55f5770bc2d9 main+0x10 (/tmp/prof/hot)
  hot.c:30

hot 23375/23377 [001]  3626.730267:     250000 cpu-clock:ppp:
\tffffffff82235162 mas_topiary_replace+0x2 ([kernel.kallsyms])
  [kernel.kallsyms][ffffffff82235162]
\t    55f5770bc3d9 scale.constprop.0+0x10 (/tmp/prof/hot)
  hot.c:9

my prog 23375  3626.730400:     500000 cpu-clock:ppp:
\t    55f5770bc1d9 multiply+0x3e (inlined)
  hot.c:24
"""
PERF_FLAT = """\
# captured on    : Wed Nov 25
             hot 23456  3629.995745:     250000 cpu-clock:ppp:  ffffffff816a190e charge+0x4e ([kernel])
             hot 23456  3629.995990:     250000 cpu-clock:ppp:      55f5770bc1d9 multiply+0x3e (/tmp/hot)
"""
GPROF = """\
Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 75.00      0.75     0.75    48000     0.01     0.01  cube
 25.00      1.00     0.25        6    16.67    66.67  multiply
  0.00      1.00     0.00                             main

 %         the percentage of the total running time of the
time       program used by this function.
"""
GRAPH = """
             Call graph (explanation follows)

index % time    self  children    called     name
                0.25    0.75       6/6           main [2]
[1]    100.0    0.25    0.75       6         multiply [1]
                0.75    0.00   48000/48000       cube [3]
-----------------------------------------------
"""
GPROF_LINES = """\
Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  Ts/call  Ts/call  name
 75.00      0.75     0.75                             multiply (hot.c:24 @ 1285)
 25.00      1.00     0.25                             multiply (hot.c:20 @ 1280)
  0.00      1.00     0.00        6     0.00     0.00  cube (hot.c:15 @ 11c9)
"""
STACKS = """\
<module> (slow.py:14);main (slow.py:11);rows (slow.py:5) 60
<module> (slow.py:14);main (slow.py:11);Grid.rows (slow.py:5);rows (slow.py:4) 20
load (<frozen importlib>:5);rows (other/slow.py:5) 15
 5
"""
MULTIPLY, LOOP = (19, 26), (21, 24)


def test_perf_counts_callers_and_lines() -> None:
    found = profile_of(PERF).of("/home/user/src/hot.c")
    assert found.share("multiply", MULTIPLY, LOOP) == Share(0.75, "loop")
    assert found.share("main", (28, 33), (29, 31)) == Share(0.25, "loop")
    assert found.share("scale", (6, 12), (8, 9)) == Share(0.25, "loop")
    assert found.share("scale", (6, 12), (10, 11)) is None, "its lines are in the profile, and these are not"
    assert profile_of(PERF).of("/home/user/src/cold.c").share("multiply", MULTIPLY, LOOP) is None


def test_perf_without_lines_counts_for_functions() -> None:
    found = profile_of(PERF_FLAT).of("hot.c")
    assert found.share("multiply", MULTIPLY, LOOP) == Share(0.5, "function")
    assert found.share("scale", (6, 12), (8, 9)) is None


def test_gprof_has_the_time_of_callees_where_its_call_graph_is_there() -> None:
    assert profile_of(GPROF).of("hot.c").share("multiply", MULTIPLY, LOOP) == Share(0.25, "function")
    found = profile_of(GPROF + GRAPH).of("hot.c")
    assert found.share("multiply", MULTIPLY, LOOP) == Share(1.0, "function")
    assert found.share("cube", (14, 16), (15, 15)) == Share(0.75, "function")
    assert found.share("main", (28, 33), (29, 31)) is None


def test_gprof_by_line() -> None:
    found = profile_of(GPROF_LINES).of("hot.c")
    assert found.share("multiply", MULTIPLY, LOOP) == Share(0.75, "loop")


def test_stacks_count_once_for_recursion_and_in_their_own_file() -> None:
    found = profile_of(STACKS).of("/home/user/slow.py")
    assert found.share("Grid.rows", (1, 6), (3, 5)) == Share(0.8, "loop")
    assert found.share("Grid.rows", (1, 6), (5, 5)) == Share(0.8, "loop")
    assert found.share("Grid.rows", (1, 6), (4, 4)) == Share(0.2, "loop")
    names = profile_of("main;step;inner 3\nmain;step;step 1\nmain 4\n").of("a.c")
    assert names.share("step", (1, 9), (2, 3)) == Share(0.5, "function")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"int main(void) { return 0; }\n", "neither text of `perf script`"),
        (b"a;b 3\nnonsense\n", "line 2: neither"),
        (b"", "it has no samples"),
        (b"a;b 0\n", "it has no samples"),
        (b"Flat profile:\n\n no time accumulated\n", "has no rows"),
        (b"PERFILE2\x00\x01", "perf script -F +srcline -i"),
        (b"gmon\x00\x01", "gprof PROGRAM"),
        (b"<?xml version='1.0'?><svg/>", "it is a picture"),
        (b'{"$schema": "speedscope"}', "it is JSON"),
    ],
)
def test_what_is_no_profile_is_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    file = tmp_path / "profile.txt"
    file.write_bytes(data)
    with pytest.raises(WrongProfile) as wrong:
        read_profile(str(file))
    assert str(wrong.value).startswith(f"{file}: ") and words in str(wrong.value)
    with pytest.raises(WrongProfile, match="No such file"):
        read_profile(str(tmp_path / "none"))
