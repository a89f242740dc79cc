"""The server side of Thrift's SASL handshake as a state machine without a socket.

A negotiation message is a status byte, a big-endian u32 length and that many bytes. A client sends

    START mechanism                         its name, such as PLAIN
    OK or COMPLETE  message                 the mechanism's own (Hive's JDBC sends COMPLETE, Python clients OK)

The server responds with OK and the mechanism's challenge if there is one, and ends with COMPLETE, after which every
Thrift message in either direction is a frame (u32 length, bytes: SASL's quality of protection "auth"). An unsupported
mechanism gets BAD, wrong credentials ERROR, each with a text that clients show; the connection then ends.
`gateway/authenticators` implements the mechanisms.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import assert_never

from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import KERBEROS_REFUSED, Accepted, Authenticator, Challenge, Exchange, Mechanism
from gateway.authenticators.peer import Peer

HEADER = struct.Struct(">BI")
# Maximum message length for an unauthenticated client; a name and a password, or a Kerberos ticket, are far smaller.
MESSAGE_BYTES_MAX = 64 * 1024


class SaslStatus(IntEnum):
    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class SaslState(Enum):
    EXPECT_START = auto()
    EXPECT_MESSAGE = auto()
    ACCEPTED = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class Reply:
    """A response to the client."""

    status: SaslStatus
    payload: bytes = b""

    def encode(self) -> bytes:
        """Returns the response with the header of Thrift's SASL transport: status byte and length."""
        return HEADER.pack(self.status, len(self.payload)) + self.payload


class SaslNegotiation:
    """One connection's handshake: pass each message to `receive` until `state` is ACCEPTED or REFUSED."""

    def __init__(self, authenticator: Authenticator, peer: Peer) -> None:
        self.state = SaslState.EXPECT_START
        self.identity: Identity | None = None
        self._authenticator = authenticator
        self._peer = peer
        self._exchange: Exchange | None = None

    def receive(self, status: int, payload: bytes) -> Reply | None:
        """Returns the response to one message; None if the client sends next. Must not be called after the end."""
        match self.state, status:
            case SaslState.EXPECT_START, SaslStatus.START:
                return self._start(payload)
            case SaslState.EXPECT_MESSAGE, SaslStatus.OK | SaslStatus.COMPLETE:
                return self._go_on(payload)
            case _:  # any other pair, from the client's bytes
                return self._refuse(SaslStatus.BAD, f"Status {status} is not expected here.")

    def _start(self, payload: bytes) -> Reply | None:
        name = payload.decode("ascii", "replace")
        known = self._authenticator.mechanisms
        if name not in known:
            hint = f" {KERBEROS_REFUSED}" if name.startswith("GSS") else ""
            text = f"The mechanism {name!r} is not supported, only {', '.join(known)}.{hint}"
            return self._refuse(SaslStatus.BAD, text)
        self._exchange = self._authenticator.begin(Mechanism(name), self._peer)
        self.state = SaslState.EXPECT_MESSAGE
        return None

    def _go_on(self, payload: bytes) -> Reply:
        assert self._exchange is not None
        try:
            answer = self._exchange.receive(payload)
        except SqlError as error:
            return self._refuse(SaslStatus.ERROR, str(error))
        match answer:
            case Challenge(message):
                return Reply(SaslStatus.OK, message)
            case Accepted(identity, message):
                self.identity = identity
                self.state = SaslState.ACCEPTED
                return Reply(SaslStatus.COMPLETE, message)
            case _:
                assert_never(answer)

    def _refuse(self, status: SaslStatus, text: str) -> Reply:
        self.state = SaslState.REFUSED
        return Reply(status, text.encode())
