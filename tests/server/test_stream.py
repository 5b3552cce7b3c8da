"""Messages cut out of a stream of bytes, however it arrives, and found again after bytes that are none."""

from __future__ import annotations

import json
import random
import tracemalloc

import pytest

from polylsp.server.protocol import Lost, Stream

ONE, TWO = b'{"one":1}', b'{"two":"\xc3\xa9"}'


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def read(data: bytes, size: int) -> list[bytes | str]:
    """Items of a stream that arrives in pieces of a size; lost bytes are scanned again."""
    stream, found = Stream(), []
    for at in range(0, len(data), size):
        for each in stream.feed(data[at : at + size]):
            if isinstance(each, Lost):
                found.append("lost")
                continue
            try:
                json.loads(each)
            except ValueError:
                found.append("lost")
                stream.read_again(each)
            else:
                found.append(each)
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 30, 10_000])
@pytest.mark.parametrize(
    ("before", "lost"),
    [
        (b"", 0),
        (b"\r\n\n", 0),
        (b"Content-Type: x; charset=utf-8\r\n", 0),
        (b"X-Unknown: 5\r\n", 0),
        (b"garbage", 1),
        (b"garbage\r\n", 1),
        (b"x" * 20_000, 1),
        (b"a: b\r\n" * 5000, 1),
        (b"Content-Length: 3\r\n\r\n" + ONE, 1),
        (b"Content-Length: 12\r\n\r\n" + ONE, 1),
        (b"Content-Length: 9999\r\n\r\n" + ONE, 1),
        (b"Content-Length: 999999999999\r\n\r\n" + ONE, 1),
        (b"Content-Length: 99999999999999999999999999\r\n\r\n" + ONE, 1),
        (b"Content-Length: -5\r\n\r\n", 1),
        (b"Content-Length: 0\r\n\r\n", 1),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 1),
        (b"Content-Type: x\r\n\r\n" + ONE, 1),
    ],
)
def test_the_messages_after_broken_ones_are_found(before: bytes, lost: int, size: int) -> None:
    found = read(framed(ONE) + before + framed(TWO) + framed(ONE), size)
    assert found[0] == ONE and found[-2:] == [TWO, ONE]
    assert (found.count("lost") >= 1) == (lost == 1)
    assert len(found) - found.count("lost") == 3


@pytest.mark.parametrize(
    "name", [b"content-length", b"CONTENT-LENGTH", b"Content-length", b"Content-Length "]
)
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_name_is_written_in_any_case(name: bytes, end: bytes) -> None:
    assert read(name + b":  9  " + end + end + ONE, 5) == [ONE]


def test_a_body_may_hold_what_looks_like_a_header_in_a_text() -> None:
    body = json.dumps({"text": "Content-Length: 5\r\n\r\nhello" * 100}).encode()
    pretty = json.dumps({"text": "Content-Length: 5", "more": [1, 2]}, indent=1).encode()
    for size in (1, 64, 10_000):
        assert read(framed(body) + framed(pretty) + framed(ONE), size) == [body, pretty, ONE]


def test_a_length_beyond_all_memory_reserves_none() -> None:
    tracemalloc.start()
    found = read(b"Content-Length: %d\r\n\r\n" % 10**12 + framed(ONE), 100)
    assert found == ["lost", ONE]
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_garbage_without_end_is_not_kept() -> None:
    stream = Stream()
    tracemalloc.start()
    assert sum(len(list(stream.feed(b"x" * 2**16))) for _ in range(200)) == 1
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert list(stream.feed(framed(ONE))) == [ONE]


def test_random_damage_costs_no_message_far_from_it() -> None:
    draw = random.Random(5)
    for _ in range(300):
        bodies = [json.dumps({"n": n, "pad": "x" * draw.randrange(60)}).encode() for n in range(30)]
        data = bytearray(b"".join(map(framed, bodies)))
        at = draw.randrange(len(data) // 2)
        data[at : at + draw.randrange(1, 40)] = draw.randbytes(draw.randrange(30))
        found = read(bytes(data), draw.choice((1, 13, 200, 10_000)))
        assert found[-8:] == bodies[-8:], (at, found)
