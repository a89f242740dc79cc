"""Messages: golden bytes, the runtime's own decoding of our output, and no harm from any foreign bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

from gateway.hs2.gen import TCLIService
from gateway.hs2.gen import ttypes as t
from gateway.hs2.messages import (
    Header,
    MalformedMessage,
    decode_struct,
    encode_struct,
    format_exception,
    format_header,
    parse_header,
    read_message,
)

MAX = 1 << 16


def taker(content: bytes) -> Callable[[int], bytes]:
    stream = io.BytesIO(content)

    def take(count: int) -> bytes:
        taken = stream.read(count)
        if len(taken) < count:
            raise EOFError
        return taken

    return take


def call(name: str, request: Any, sequence: int = 7) -> bytes:
    arguments = getattr(TCLIService, f"{name}_args")(request)
    return format_header(name, TMessageType.CALL, sequence) + encode_struct(arguments)


HANDLE = t.TSessionHandle(t.THandleIdentifier(b"\xff" * 16, b"\x00" * 16))
MESSAGES = [
    call("OpenSession", t.TOpenSessionReq(5, "ada", "x", {"k": "v"}, client_protocol_i64=42247)),
    call("GetInfo", t.TGetInfoReq(HANDLE, t.TGetInfoType.CLI_DBMS_NAME)),
    call("GetTables", t.TGetTablesReq(HANDLE, None, "%", "t_1", ["TABLE", "VIEW"])),
    call(
        "ExecuteStatement",
        t.TExecuteStatementReq(
            HANDLE,
            "SELECT 'é'",
            {"a": "b"},
            True,
            3,
            parameters=[t.TSparkParameter(1, value=None), t.TSparkParameter()],
        ),
    ),
]


def test_a_header_is_what_the_specification_says() -> None:
    header = format_header("GetInfo", TMessageType.CALL, -2)
    assert header.hex(" ") == "80 01 00 01 00 00 00 07 47 65 74 49 6e 66 6f ff ff ff fe"
    assert parse_header(header + b"\0") == Header("GetInfo", TMessageType.CALL, -2, len(header))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: parse_header(message).name)
def test_an_unframed_message_ends_where_it_ends(message: bytes) -> None:
    take = taker(message + b"next")
    assert read_message(take, MAX) == message
    assert take(4) == b"next"


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: parse_header(message).name)
def test_struct_round_trip(message: bytes) -> None:
    header = parse_header(message)
    kind = getattr(TCLIService, f"{header.name}_args")
    assert encode_struct(decode_struct(kind, message[header.body_at :])) == message[header.body_at :]


def test_unknown_fields_are_skipped_whatever_they_hold() -> None:
    request = encode_struct(t.TGetLogReq(t.TOperationHandle(t.THandleIdentifier(b"\xfe" * 16, b"\xff"), 0, True)))
    unknown = b"\x0b\x0f\xff" + (3).to_bytes(4, "big") + b"\xff\xfe\xfd"  # a string that is no UTF-8, field 4095
    assert decode_struct(t.TGetLogReq, unknown + request) == decode_struct(t.TGetLogReq, request)


def test_an_exception_reads_as_the_runtime_reads_it() -> None:
    message = format_exception("GetFoo", 9, TApplicationException.UNKNOWN_METHOD, "Unknown function GetFoo")
    protocol = TBinaryProtocol(TMemoryBuffer(message), strictRead=True)
    assert protocol.readMessageBegin() == ("GetFoo", TMessageType.EXCEPTION, 9)
    error = TApplicationException()
    error.read(protocol)
    assert (error.type, error.message) == (TApplicationException.UNKNOWN_METHOD, "Unknown function GetFoo")


HEAD = format_header("X", TMessageType.CALL, 1)
LONG = b"\x7f\xff\xff\xff"
MALFORMED = [
    b"\x80\x02" + HEAD[2:],  # another version
    b"\x80\x01\x00\x01\x00\x00\x10\x00" + b"n" * 5000,  # a name with 4,096 bytes
    HEAD + b"\x0c\x00\x01" * 100,  # nested too deeply
    HEAD + b"\x01\x00\x01\x00",  # a field with type void
    HEAD + b"\x0b\x00\x01" + LONG,  # a 2 GiB string
    HEAD + b"\x0f\x00\x01\x0a" + LONG,  # two thousand million numbers
    HEAD + b"\x0d\x00\x01\x0a\x0a" + LONG,
]


@pytest.mark.parametrize("content", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_message_is_rejected_early(content: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_message(taker(content), MAX)


@given(st.binary(max_size=200) | st.binary(max_size=100).map(HEAD.__add__))
@example(HEAD)
@example(b"\x80\x01\x00\x01\xff\xff\xff\xff")
def test_foreign_bytes_give_a_message_or_the_one_error(content: bytes) -> None:
    try:
        message = read_message(taker(content), MAX)
    except (MalformedMessage, EOFError):
        return
    assert content.startswith(message)


@given(st.binary(max_size=60))
@example(b"")
@example(b"\x0c\x00\x01\x0d\x00\x04\x0b\x0b" + LONG)
@example(b"\x0c\x00\x01\x0f" + (1288).to_bytes(2, "big") + b"\x0c" + LONG)
def test_foreign_headers_and_bodies_give_a_value_or_the_one_error(content: bytes) -> None:
    for parse in (parse_header, lambda body: decode_struct(TCLIService.ExecuteStatement_args, body)):
        try:
            parse(content)
        except MalformedMessage:
            continue


@settings(max_examples=50)
@given(st.sampled_from(MESSAGES), st.data())
def test_damaged_messages_give_a_value_or_the_one_error(message: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(message) - 1))
    damaged = message[:at] + data.draw(st.binary(min_size=1, max_size=3)) + message[at + 1 :]
    try:
        whole = read_message(taker(damaged), MAX)
        header = parse_header(whole)
        decode_struct(getattr(TCLIService, f"{parse_header(message).name}_args"), whole[header.body_at :])
    except (MalformedMessage, EOFError):
        return


def test_the_walk_knows_every_type_that_has_a_size() -> None:
    sizes = {TType.BOOL: 1, TType.BYTE: 1, TType.I16: 2, TType.I32: 4, TType.I64: 8, TType.DOUBLE: 8}
    for kind, size in sizes.items():
        message = HEAD + bytes([kind]) + b"\0\1" + bytes(size) + b"\0"
        assert read_message(taker(message), MAX) == message
