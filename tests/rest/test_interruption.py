"""Statements that wait for a REST catalog, or for others that wait for it, and are cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from catalog.conditions import StatementCancelled
from catalog.rest.client import RestClient
from catalog.rest.names import RestNames
from catalog.rest.vended import StorageOptions, VendedOptions
from catalog.store.interruption import Interruption, interrupted_by
from engine.concurrency.cancel import CancelToken
from tests.rest.catalog_server import CLIENT_ID, CLIENT_SECRET
from tests.rest.conftest import RestServer

SLOW_S, SOON_S = 30.0, 5.0


class Early(CancelToken):
    """Cancelled after it was looked at, and before there is a connection."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self.cancel()
        super().on_cancel(callback)


@contextmanager
def cancelled(by: Interruption) -> Iterator[None]:
    """Checks that the block soon ends by a cancellation."""
    began = time.monotonic()
    with interrupted_by(by), pytest.raises(StatementCancelled):
        yield
    assert time.monotonic() - began < SOON_S


@contextmanager
def soon() -> Iterator[CancelToken]:
    token = CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    with cancelled(token):
        yield token
    timer.join()


@pytest.fixture
def slow(server: RestServer) -> Iterator[RestServer]:
    yield server
    server.release()
    server.faults()


def test_a_request_that_is_not_connected_yet(slow: RestServer) -> None:
    client = slow.client(timeout_s=SLOW_S)
    client.ensure_answers()
    slow.faults({"method": "GET", "contains": "/shop", "holds": True})
    with cancelled(Early()):
        client.has_namespace(("shop",))
    slow.release()
    assert client.has_namespace(("shop",))  # it is not taken for one that does not answer


def test_retry_pause_before_next_catalog_request(slow: RestServer) -> None:
    client = RestClient(slow.options(timeout_s=SLOW_S))
    client.ensure_answers()
    busy = {"status": 503, "retry_after": 9}
    slow.faults(*({"method": "GET", "contains": "/shop", **busy} for _ in range(3)))
    with soon():
        client.has_namespace(("shop",))


def test_a_token_that_is_not_given_out(slow: RestServer) -> None:
    client = slow.client(timeout_s=SLOW_S, token="", credential=f"{CLIENT_ID}:{CLIENT_SECRET}")
    slow.faults({"method": "POST", "contains": "/tokens", "holds": True})
    with soon():
        client.has_namespace(("shop",))
    slow.release()
    assert client.has_namespace(("shop",))


def test_shared_request_survives_the_disconnect_of_another_waiter(slow: RestServer) -> None:
    """Only the calling thread is connected to the catalog."""
    slow.faults({"method": "GET", "contains": "/namespaces/shop/tables", "holds": True})
    names = RestNames(slow.client(timeout_s=SLOW_S))
    requested = threading.Event()

    def ask() -> StorageOptions:
        requested.set()
        list(names.client.tables(("shop",)))
        return StorageOptions(options={})

    vended = VendedOptions(StorageOptions(options={}, ends_ms=0), ask)
    for wait in (vended.newest, names.learn_places):
        slow.requests()
        first = threading.Thread(target=wait)
        first.start()
        _wait(lambda: any("/shop/tables" in each for each in slow.requests()))
        with soon():
            wait()
        slow.release()
        first.join(SLOW_S)
        assert not first.is_alive()
        slow.faults({"method": "GET", "contains": "/namespaces/shop/tables", "holds": True})


def _wait(has_come: Callable[[], bool]) -> None:
    ends = time.monotonic() + SLOW_S
    while not has_come():
        assert time.monotonic() < ends, "it does not come"
        time.sleep(0.02)
