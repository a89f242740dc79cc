"""The server's side of Thrift's SASL handshake, mechanism PLAIN, as a state machine without a socket.

A negotiation message is a status byte, a big-endian u32 length and that many bytes. A client sends

    START "PLAIN"                           the mechanism
    OK or COMPLETE  authzid NUL user NUL password     (RFC 4616; Hive's JDBC says COMPLETE, Python clients OK)

and the server ends with COMPLETE and no bytes, after which every Thrift message of either side is a frame (u32 length,
bytes: SASL's quality of protection "auth"). A mechanism the server has not is answered BAD, wrong credentials ERROR,
each with a text that clients show; the connection then ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from catalog.errors import SqlError

HEADER = struct.Struct(">BI")
MESSAGE_BYTES_MAX = 64 * 1024
"""Longest message of a client that is not yet known; a name and a password fit many times."""


class SaslStatus(IntEnum):
    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class SaslState(Enum):
    EXPECT_START = auto()
    EXPECT_CREDENTIALS = auto()
    ACCEPTED = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back to the client."""

    status: SaslStatus
    text: str = ""

    def encode(self) -> bytes:
        payload = self.text.encode()
        return HEADER.pack(self.status, len(payload)) + payload


class SaslNegotiation:
    """One connection's handshake: `receive` each message until `state` is ACCEPTED or REFUSED.

    `authenticate` turns user and password into a principal or raises an :class:`~catalog.errors.SqlError`.
    """

    def __init__(self, authenticate: Callable[[str, str], str]) -> None:
        self.state = SaslState.EXPECT_START
        self.principal: str | None = None
        self._authenticate = authenticate

    def receive(self, status: int, payload: bytes) -> Reply | None:
        """The reply to one message; None where the client speaks next. Not to be called after the end."""
        match self.state, status:
            case SaslState.EXPECT_START, SaslStatus.START:
                return self._start(payload)
            case SaslState.EXPECT_CREDENTIALS, SaslStatus.OK | SaslStatus.COMPLETE:
                return self._log_in(payload)
            case _:
                return self._refuse(SaslStatus.BAD, f"Status {status} is not expected here.")

    def _start(self, payload: bytes) -> Reply | None:
        mechanism = payload.decode("ascii", "replace")
        if mechanism != "PLAIN":
            return self._refuse(SaslStatus.BAD, f"The mechanism {mechanism!r} is not supported, only PLAIN is.")
        self.state = SaslState.EXPECT_CREDENTIALS
        return None

    def _log_in(self, payload: bytes) -> Reply:
        try:
            identity, user, password = payload.decode("utf-8").split("\0")
        except ValueError:  # also what a wrong encoding is
            return self._refuse(SaslStatus.ERROR, "The credentials are no PLAIN message.")
        if identity not in ("", user):
            return self._refuse(SaslStatus.ERROR, "Acting for another user is not allowed.")
        try:
            self.principal = self._authenticate(user, password)
        except SqlError as error:
            return self._refuse(SaslStatus.ERROR, str(error))
        self.state = SaslState.ACCEPTED
        return Reply(SaslStatus.COMPLETE)

    def _refuse(self, status: SaslStatus, text: str) -> Reply:
        self.state = SaslState.REFUSED
        return Reply(status, text)
