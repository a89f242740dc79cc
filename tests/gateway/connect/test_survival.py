"""Malformed messages, random bytes and too many calls leave the port serving."""

from __future__ import annotations

import random
import socket
import threading
import uuid
from contextlib import suppress

import grpc
import pytest

from tests.gateway.connect.lab import Lab, execute_request, rows_of, table_of
from tests.gateway.http.conftest import eventually

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_METHODS = (
    *("ExecutePlan", "AnalyzePlan", "Config", "Interrupt", "ReattachExecute", "ReleaseExecute", "ReleaseSession"),
    *("FetchErrorDetails", "ArtifactStatus", "CloneSession", "GetStatus", "Unknown"),
)


def _streams(port: int, count: int, seed: int) -> None:
    """Sends random bytes on connections of their own, some of them after the beginning of HTTP/2."""
    chance = random.Random(seed)
    for number in range(count):
        content = chance.randbytes(chance.randrange(1, 400))
        if number % 2:
            frame = chance.randrange(12).to_bytes(1) + chance.randbytes(1) + chance.randbytes(4)
            content = _PREFACE + b"\0\0\0\4\0\0\0\0\0" + len(content).to_bytes(3) + frame + content
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.settimeout(0.05)
            connection.sendall(content)
            with suppress(OSError):
                connection.recv(1000)


def _mutated(chance: random.Random) -> bytes:
    """Returns a request with random changes."""
    session_id = str(uuid.UUID(int=chance.getrandbits(128)))
    content = bytearray(execute_request("SELECT 1", session_id).SerializeToString())
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(content))
        match chance.randrange(3):
            case 0:
                content[at] = chance.randrange(256)
            case 1:
                del content[at : at + chance.randrange(1, 20)]
            case _:  # one of three
                content[at:at] = chance.randbytes(chance.randrange(1, 20))
        content = content or bytearray(b"\0")
    return bytes(content)


def _messages(port: int, count: int, seed: int) -> set[grpc.StatusCode]:
    """Calls methods with mutated messages; returns the statuses."""
    chance, found = random.Random(seed), set()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        for number in range(count):
            method = channel.unary_stream(f"/spark.connect.SparkConnectService/{_METHODS[number % len(_METHODS)]}")
            try:
                list(method(_mutated(chance), timeout=60))
                found.add(grpc.StatusCode.OK)
            except grpc.RpcError as error:
                found.add(error.code())
    return found


_ANSWERS = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE,
}


def _ensure_survives(lab: Lab, count: int, seed: int) -> None:
    _streams(lab.port, count // 2, seed)
    assert _messages(lab.port, count // 2, seed) <= _ANSWERS
    assert rows_of(lab.client(), "SELECT 1") == [{"1": 1}]


def test_random_bytes_leave_the_port_serving(lab: Lab) -> None:
    _ensure_survives(lab, 200, 1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_bytes_leave_the_port_serving(lab: Lab) -> None:
    _ensure_survives(lab, 10_000, 2)
    names = [thread.name for thread in threading.enumerate()]
    assert "connect-watch" in names


def test_message_that_is_too_large_is_rejected() -> None:
    lab = Lab(message_bytes_max=100_000)
    try:
        request = execute_request("x" * 200_000, str(uuid.uuid4()))
        with pytest.raises(grpc.RpcError) as caught:
            list(lab.stub().ExecutePlan(request))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert rows_of(lab.client(), "SELECT 1") == [{"1": 1}]
    finally:
        lab.close()


def test_call_beyond_the_limit_is_rejected_and_waiting_ones_go_on() -> None:
    lab = Lab(calls_max=2)
    try:
        stub, session_id = lab.stub(), str(uuid.uuid4())
        waiting = [stub.ExecutePlan(execute_request(f"SLEEP {5 + n}", session_id)) for n in range(2)]
        assert eventually(lambda: len(lab.engine.runs) == 2)
        with pytest.raises(grpc.RpcError) as caught:
            list(stub.ExecutePlan(execute_request("SELECT 1", session_id)))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert [table_of(list(stream)).to_pylist() for stream in waiting] == [[{"slept": 5.0}], [{"slept": 6.0}]]
    finally:
        lab.close()


def _ensure_connects(port: int) -> grpc.Channel:
    """Returns a channel with a connection of its own that has answered."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
    request = execute_request("SELECT 1", str(uuid.uuid4())).SerializeToString()
    list(channel.unary_stream("/spark.connect.SparkConnectService/ExecutePlan")(request, timeout=60))
    return channel


def test_connection_beyond_the_limit_is_rejected_until_another_closes() -> None:
    lab = Lab(connections_max=2)
    try:
        first, second = _ensure_connects(lab.port), _ensure_connects(lab.port)
        with pytest.raises(grpc.RpcError) as caught:
            _ensure_connects(lab.port)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        first.close()
        opened: list[grpc.Channel] = []

        def is_open() -> bool:
            if not opened:
                with suppress(grpc.RpcError):
                    opened.append(_ensure_connects(lab.port))
            return bool(opened)

        assert eventually(is_open)
        for channel in (second, *opened):
            channel.close()
    finally:
        lab.close()


def test_deep_plan_is_rejected_and_the_port_serves(lab: Lab) -> None:
    content = b""
    for tag in (0x0A, 0x42) * 5_000:  # a relation, and its member `limit`
        content = bytes([tag]) + _varint(len(content)) + content
    plan = b"\x0a" + _varint(len(content)) + content
    request = execute_request("", str(uuid.uuid4())).SerializeToString() + b"\x1a" + _varint(len(plan)) + plan
    with grpc.insecure_channel(f"127.0.0.1:{lab.port}") as channel:
        with pytest.raises(grpc.RpcError, match=r"CONNECT_INVALID_PLAN\.CANNOT_PARSE"):
            list(channel.unary_stream("/spark.connect.SparkConnectService/ExecutePlan")(request))
    assert rows_of(lab.client(), "SELECT 1") == [{"1": 1}]


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
