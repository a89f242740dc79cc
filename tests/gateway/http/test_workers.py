"""The threads that answer requests: as many as wait, never more than allowed, and few again after a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gateway.http import workers as workers_module
from gateway.http.connection import State
from gateway.http.wire import Answer, parse_head
from gateway.http.wire import Request as WholeRequest
from gateway.http.workers import Workers
from tests.gateway.http.conftest import eventually

NAME = "pool-of-a-test"
REQUEST = WholeRequest(
    head=parse_head(b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: failing-1\r\n\r\n", 0), body=b"", peer="127.0.0.1"
)


class Asking:
    """The part of a connection that a worker needs."""

    rest, peer, state = None, "127.0.0.1", State.ANSWERING

    def __init__(self, request: WholeRequest | None = REQUEST) -> None:
        self.request, self.is_closed = request, False
        self.answered, self.content = threading.Event(), b""

    def close(self) -> None:
        self.is_closed = True

    def answer(self, answer: Answer) -> None:
        self.content = answer.content
        self.answered.set()


class Pool:
    """Workers whose handler waits until it is let go."""

    def __init__(self, threads: int, threads_max: int) -> None:
        self.let_go, self.given_back = threading.Event(), list[object]()
        self.workers = Workers(NAME, self.handle, self.given_back.append, threads=threads, threads_max=threads_max)
        self.workers.start()

    def handle(self, request: WholeRequest, connection: object) -> Answer:
        assert self.let_go.wait(60)
        return Answer(content=b"", is_last=False)

    def put(self, count: int) -> list[Asking]:
        asking = [Asking() for _ in range(count)]
        for one in asking:
            self.workers.put(one)  # type: ignore[arg-type]
        return asking

    def stop(self) -> None:
        self.let_go.set()
        self.workers.stop(60)


def running() -> int:
    return sum(thread.name.startswith(NAME) for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    yield
    assert running() == 0


@pytest.mark.parametrize(
    ("threads", "threads_max", "requests", "expected"), [(2, 2, 9, 2), (2, 20, 9, 9), (0, 3, 9, 3), (4, 20, 1, 4)]
)
def test_a_pool_grows_with_the_requests_that_wait(threads: int, threads_max: int, requests: int, expected: int) -> None:
    pool = Pool(threads, threads_max)
    asking = pool.put(requests)
    assert eventually(lambda: running() == expected)
    pool.let_go.set()
    assert all(one.answered.wait(60) for one in asking)
    assert eventually(lambda: len(pool.given_back) == requests)
    pool.stop()


def test_connection_without_a_request_ends_and_its_thread_continues() -> None:
    pool = Pool(1, 1)
    pool.let_go.set()
    broken, whole = Asking(None), Asking()
    for one in (broken, whole):
        pool.workers.put(one)  # type: ignore[arg-type]
    assert whole.answered.wait(60)
    assert broken.is_closed and not broken.answered.is_set() and not whole.is_closed
    assert eventually(lambda: pool.given_back == [broken, whole])
    pool.stop()


def test_a_pool_shrinks_and_grows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "_IDLE_S", 0.02)
    pool = Pool(1, 20)
    for _ in range(2):
        pool.let_go.clear()
        asking = pool.put(10)
        assert eventually(lambda: running() == 10)
        pool.let_go.set()
        assert all(one.answered.wait(60) for one in asking)
        assert eventually(lambda: running() == 1)
    pool.stop()


def test_a_handler_that_raises_costs_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    pool = Pool(1, 1)
    pool.workers._handler = lambda request, connection: 1 / 0  # type: ignore[assignment,return-value]
    for _ in range(3):
        (one,) = pool.put(1)
        assert one.answered.wait(60) and b"\r\nX-Request-Id: failing-1\r\n" in one.content
    assert caplog.text.count("ended by an error of ours") == 3
    pool.stop()


def test_a_request_is_no_more_counted_when_its_answer_leaves() -> None:
    """A client sends the next one as soon as it has that, and is not to be refused for it."""
    pool, seen = Pool(1, 1), list[bool]()
    (one,) = pool.put(1)
    set_answered = one.answered.set

    def look() -> None:
        seen.append(pool.workers.is_full)
        set_answered()

    one.answered.set = look  # type: ignore[method-assign]
    assert pool.workers.is_full
    pool.let_go.set()
    assert one.answered.wait(60) and seen == [False]
    pool.stop()
