"""Log lines: complete JSON, the call that a line belongs to, and no secrets."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading

import pytest

from engine.runtime.trace_parent import trace_parent_of
from gateway.configuration.config import LogFormat
from gateway.observability.log_format import JsonFormatter, TextFormatter, format_step, set_up_log
from gateway.sessions.call_context import CallContext, working_for

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALL = CallContext(
    request_id="r1", session_id="s1", statement_id="t1", user="ann", trace_parent=f"00-{TRACE}-{1:016x}-01"
)


def record(message: str, *arguments: object, exception: bool = False) -> logging.LogRecord:
    return logging.LogRecord(
        "engine.x", logging.WARNING, "", 0, message, arguments, sys.exc_info() if exception else None
    )


def logged(message: str, *arguments: object, exception: bool = False) -> dict[str, str]:
    line = JsonFormatter().format(record(message, *arguments, exception=exception))
    assert "\n" not in line
    found: dict[str, str] = json.loads(line)
    return found


@pytest.mark.parametrize("text", ["plain", 'password="a\'b" and more', "two\nlines", "ünï \u2028 \x00", "token='x', y"])
def test_an_object_is_whole_whatever_it_says(text: str) -> None:
    found = logged("%s", text)
    assert found["level"] == "WARNING" and found["logger"] == "engine.x" and found["time"].endswith("Z")
    assert "a'b" not in found["message"]


def test_a_line_says_for_what_it_is() -> None:
    assert "statement_id" not in logged("idle")
    with working_for(CALL):
        found = logged("busy")
        assert TextFormatter().format(record("busy")).endswith("engine.x: busy [statement=t1 session=s1 request=r1]")
    named = {"request_id": "r1", "session_id": "s1", "statement_id": "t1", "user": "ann", "trace_id": TRACE}
    assert named.items() <= found.items()


def test_a_traceback_is_a_field_without_secrets() -> None:
    try:
        raise ValueError("password='hunter2'")
    except ValueError:
        found = logged("failed", exception=True)
        text = TextFormatter().format(record("failed", exception=True))
    assert "ValueError: password=***" in found["exception"] and "Traceback" in found["exception"]
    assert "Traceback" in text and "hunter2" not in text


@pytest.fixture
def log() -> io.StringIO:
    stream = io.StringIO()
    set_up_log("INFO", LogFormat.JSON, stream)
    return stream


def test_error_that_ends_a_thread_is_logged(log: io.StringIO) -> None:
    thread = threading.Thread(target=lambda: 1 // 0, name="lost")
    thread.start()
    thread.join()
    logging.getLogger("x").debug("too little")
    (line,) = log.getvalue().splitlines()
    found = json.loads(line)
    assert found["message"] == "the thread lost ended by an error of ours" and "ZeroDivisionError" in found["exception"]


def test_operator_messages_are_json_objects() -> None:
    found = json.loads(format_step("[  0.1 s] ready", logging.INFO))
    assert (found["logger"], found["level"], found["message"]) == ("delta-gateway", "INFO", "[  0.1 s] ready")


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", True),
        (f"01-{TRACE}-00f067aa0ba902b7-01-what", True),
        (f"00-{TRACE}-00f067aa0ba902b7-01-what", False),
        (f"ff-{TRACE}-00f067aa0ba902b7-01", False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", False),
        ("00", False),
        (None, False),
    ],
)
def test_a_trace_parent_follows_its_standard(given: str | None, is_taken: bool) -> None:
    assert (trace_parent_of(given) is not None) is is_taken
