"""A little of what `make soak` does at length: random messages, after which the server knows what a fresh one
would know."""

from __future__ import annotations

import pytest

from tests.server.torture import session
from tests.server.torture_texts import position

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("seed", [1, 4])
async def test_after_random_messages_the_server_knows_what_a_fresh_one_would(seed: int) -> None:
    await session(seed, messages=250, burst=250)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
async def test_columns_are_counted_in_units_of_the_encoding(encoding: str, column: int) -> None:
    assert position("x\né😀i\n", 5, encoding) == {"line": 1, "character": column}
