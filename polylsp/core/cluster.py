"""The workers of a Dask cluster, each of which has this polylsp."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from polylsp import __version__

_SECONDS_TO_CONNECT = 10


class Unusable(Exception):
    """Processes or machines that cannot be had; the message is for the user."""


@contextmanager
def connected(address: str) -> Generator[Any]:
    """A client of the scheduler at an address; raises `Unusable`."""
    try:
        from distributed import Client
    except ImportError:
        raise Unusable("a cluster needs Dask: pip install 'polylsp[cluster]'") from None
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Unusable(f"no scheduler answers at {address}: start one with `dask scheduler`") from error
    with client:
        yield client


def check_workers(client: Any) -> None:
    """See that there are workers, each with this polylsp; raises `Unusable`."""

    def version() -> str:
        # Sent by value: a worker may not have polylsp.
        try:
            import polylsp
        except ImportError:
            return "none"
        return polylsp.__version__

    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
    except TimeoutError:
        raise Unusable("the cluster has no workers: start one with `dask worker`") from None
    for worker, found in client.run(version).items():
        if found != __version__:
            raise Unusable(f"polylsp is {__version__} here, and on worker {worker} it is {found}")
