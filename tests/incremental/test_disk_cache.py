"""The cache on disk: whatever happens to it, values are right or missing, and the work goes on."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from polylsp.core.disk_cache import DiskCache

HOUR = 3600.0


def opened(folder: Path, version: str = "1", largest: int = 2**20, hour: float = 0) -> DiskCache:
    return DiskCache(folder, "facts", version, largest=largest, clock=lambda: hour * HOUR)


def files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("*.sqlite"))


def spoil(folder: Path, statement: str, *values: object) -> None:
    (file,) = folder.glob("*.sqlite")
    with sqlite3.connect(file) as database:
        database.execute(statement, values)
    database.close()


def test_a_value_is_there_for_who_comes_later(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.put("a", b"one")
    first.put("a", b"two")
    assert first.get("a") == b"two" and first.get("b") is None
    assert opened(tmp_path).get("a") == b"two"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET value = x'00' WHERE key = 'a'",
        "UPDATE entries SET value = 'one' WHERE key = 'a'",
        "UPDATE entries SET mark = x'00' WHERE key = 'a'",
        "UPDATE entries SET value = (SELECT value FROM entries WHERE key = 'b'),"
        " mark = (SELECT mark FROM entries WHERE key = 'b') WHERE key = 'a'",
    ],
)
def test_a_damaged_value_is_a_miss_and_makes_room_for_another(tmp_path: Path, statement: str) -> None:
    before = opened(tmp_path)
    before.put("a", b"one")
    before.put("b", b"other")
    before.close()
    spoil(tmp_path, statement)
    found = opened(tmp_path)
    assert found.get("a") is None and found.get("b") == b"other"
    found.put("a", b"one")
    assert found.get("a") == b"one"


@pytest.mark.parametrize("damage", [b"no database" * 1000, b"\0" * 50_000, b""])
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    before = opened(tmp_path)
    before.put("a", b"one")
    before.close()
    (file,) = tmp_path.glob("*.sqlite")
    file.write_bytes(damage)
    found = opened(tmp_path)
    assert found.get("a") is None and not found.problem
    found.put("a", b"one")
    assert opened(tmp_path).get("a") == b"one"
    assert len(files(tmp_path)) == 1


def test_a_file_that_is_damaged_while_it_is_open_is_replaced(tmp_path: Path) -> None:
    found = opened(tmp_path)
    for number in range(100):
        found.put(str(number), bytes(2000))
    found.close()
    found = opened(tmp_path)
    (file,) = tmp_path.glob("*.sqlite")
    content = bytearray(file.read_bytes())
    content[5000:] = b"\x55" * (len(content) - 5000)
    file.write_bytes(content)
    values = [found.get(str(number)) for number in range(100)]
    assert all(value in (None, bytes(2000)) for value in values) and None in values
    found.put("a", b"one")
    assert found.get("a") == b"one" and not found.problem


def test_a_folder_that_cannot_be_used_costs_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the place of the folder")
    with caplog.at_level(logging.INFO):
        found = opened(tmp_path / "file")
        found.put("a", b"one")
        assert found.get("a") is None and found.problem
        found.flush()
        found.close()
    assert len(caplog.records) == 1 and caplog.records[0].levelno == logging.WARNING


FILLS = """
import resource, signal, sys
from pathlib import Path
from polylsp.core.disk_cache import DiskCache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
found = DiskCache(Path(sys.argv[1]), "facts", "1")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
for number in range(2000):
    found.put(str(number), bytes(1000))
    found.get(str(number))
print(found.problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_full_disk_costs_one_line_in_the_log(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() and len(done.stderr.splitlines()) == 1, done.stderr


def test_the_size_is_bounded_and_what_was_used_last_stays(tmp_path: Path) -> None:
    def used_again(found: DiskCache) -> bool:
        return all(found.get(str(number)) is not None for number in range(10))

    before = opened(tmp_path, hour=0)
    for number in range(40):
        before.put(str(number), os.urandom(4000))
    before.close()
    for hour in range(1, 10):
        later = opened(tmp_path, hour=hour)
        assert used_again(later)
        later.flush()
        for number in range(100 * hour, 100 * hour + 50):
            later.put(str(number), os.urandom(4000))
        later.close()
    later = opened(tmp_path)
    assert used_again(later) and later.get("949") is not None
    assert not any(later.get(str(number)) for number in range(10, 40))
    later.close()
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 2**20
    later = opened(tmp_path)
    later.put("huge", bytes(2**20))
    assert later.get("huge") is None and later.get("949") is not None


def test_versions_do_not_see_each_other_and_old_ones_go(tmp_path: Path) -> None:
    for number, version in enumerate("abcd"):
        one = opened(tmp_path, version)
        assert one.get("k") is None
        one.put("k", version.encode())
        one.close()
        os.utime(tmp_path / f"facts-{version}.0.sqlite", (number, number))
    assert opened(tmp_path, "c").get("k") == b"c"
    assert files(tmp_path) == ["facts-b.0.sqlite", "facts-c.0.sqlite", "facts-d.0.sqlite"]


WRITES = """
import sys
from pathlib import Path
from polylsp.core.disk_cache import DiskCache
found = DiskCache(Path(sys.argv[1]), "facts", "1")
number = 0
while len(sys.argv) < 3 or number < int(sys.argv[2]):
    found.put(str(number), str(number).encode() * 500)
    number += 1
    if number == 20:
        print("some", flush=True)
print(found.problem, end="")
"""


def writer(folder: Path, *count: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITES, str(folder), *count], stdout=subprocess.PIPE)


def is_whole(folder: Path) -> bool:
    """Each value is right, and the database as well."""
    (file,) = folder.glob("*.sqlite")
    database = sqlite3.connect(file)
    keys = [key for (key,) in database.execute("SELECT key FROM entries")]
    (word,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    found = opened(folder)
    return bool(keys) and word == "ok" and all(found.get(key) == key.encode() * 500 for key in keys)


OPENS = """
import sys
from pathlib import Path
from polylsp.core.disk_cache import DiskCache
print("ready", flush=True)
for line in sys.stdin:
    print(DiskCache(Path(line.strip()), "facts", "1").problem, flush=True)
"""


def test_a_new_database_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENS]
    many = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(4)
    ]

    def answers() -> list[str]:
        return [each.stdout.readline() for each in many if each.stdout is not None]

    assert answers() == ["ready\n"] * 4
    for attempt in range(20):
        for each in many:
            assert each.stdin is not None
            each.stdin.write(f"{tmp_path / str(attempt)}\n")
        assert answers() == ["\n"] * 4
    for each in many:
        each.communicate()


def test_processes_write_at_once(tmp_path: Path) -> None:
    writers = [writer(tmp_path, "100") for _ in range(3)]
    assert [each.communicate()[0] for each in writers] == [b"some\n"] * 3
    assert is_whole(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_writer_that_is_killed_does_no_harm(tmp_path: Path) -> None:
    killed = writer(tmp_path)
    assert killed.stdout is not None and killed.stdout.readline() == b"some\n"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert is_whole(tmp_path)
    after = opened(tmp_path)
    after.put("a", b"one")
    assert after.get("a") == b"one" and not after.problem
