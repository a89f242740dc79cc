"""Finds the gateway that has a session, and forwards requests to it.

An id shows its session (`gateway/state/journal.py`), and the session's journal is in its owner's folder, so no index is
needed. While a session changes its owner, after a crash or during a drain, requests wait for the new one.

    the owner has not received the request, or responds that it no longer has the session (421)
                            the request is sent to the next owner
    the owner ends without a response
                            a request that may be repeated is; for another one the client gets an error, as for a
                            connection that was lost
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from catalog.conditions import GatewayConnectionLost, SessionInTransfer, SessionNotHere, StateLost, TooManyCalls
from engine.runtime.identity import Identity
from gateway.forwarding.http_client import NoResponse, NotReached, Request, Response, send
from gateway.forwarding.signed_calls import HEADER, CallSigner, ForwardedCall
from gateway.registry import Registry
from gateway.state.addresses import Address
from gateway.state.journal import StateStore, key_of
from gateway.state.records import saved_identity

logger = logging.getLogger(__name__)

_PAUSE_S = 0.05
# Time in seconds for another gateway's list of sessions or statements.
_LIST_S = 3.0
# Scans of the state folder for an id before it is unknown: a session may be moved during one.
_SCANS = 2
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class OutgoingCall:
    """A request to forward. `may_repeat` is False if its effect must not happen twice."""

    call: ForwardedCall
    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    may_repeat: bool


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """The owner's address; None while the session changes its owner."""

    address: Address | None


class Forwarder:
    """Forwards requests. Thread-safe."""

    def __init__(self, state: StateStore, signer: CallSigner, registry: Registry, forwards_max: int) -> None:
        """Creates the forwarder. At most `forwards_max` requests are forwarded at the same time: gateways whose threads
        all wait for each other would never respond.
        """
        self._state = state
        self.signer = signer
        self._registry = registry
        self._forwards_max = forwards_max
        self._places = threading.BoundedSemaphore(forwards_max)
        # A request waits for a session's next owner for at most this time in seconds.
        self.wait_s = state.wait_s

    @property
    def has_left(self) -> bool:
        """Returns True if this process has left its sessions to another one, or may have lost them."""
        if self._registry.is_suspended:
            return True
        try:
            self._state.lease.ensure_held()
        except StateLost:
            return True
        return False

    @property
    def has_all_sessions(self) -> bool:
        """Returns True while a session that was here is still here."""
        return not self._registry.is_draining and not self.has_left

    def is_here(self, object_id: uuid.UUID) -> bool:
        """Returns True if this process has the id's session."""
        if self.has_left:
            return False
        key = key_of(object_id)
        if self._state.is_restoring(key):
            return False
        return self._state.has_journal(key) or self._registry.holds(object_id)

    def ensure_here(self, object_id: uuid.UUID, *, starts_statement: bool) -> None:
        """Raises `SessionNotHere` for a request that was forwarded to this process, but belongs to the next owner."""
        if not self.is_here(object_id) or (starts_statement and self._registry.is_draining):
            raise SessionNotHere()

    def must_forward(self, object_id: uuid.UUID, *, starts_statement: bool) -> bool:
        """Returns False if the request is processed here. A statement that begins while this process ends is the next
        owner's, if there is another gateway.
        """
        is_leaving = starts_statement and self._registry.is_draining and bool(self._state.other_addresses())
        return is_leaving or not self.is_here(object_id)

    def forward(self, object_id: uuid.UUID, outgoing: OutgoingCall, *, starts_statement: bool) -> Response | None:
        """Returns the owner's response; None if the session is here, or unknown everywhere.

        Raises `SessionInTransfer`, `GatewayConnectionLost` and `TooManyCalls`.
        """
        if not self.must_forward(object_id, starts_statement=starts_statement):
            return None

        def send_to(address: Address) -> Response | None:
            return self._send(object_id, _Elsewhere(address), outgoing)

        return self.reach(object_id, send_to, starts_statement=starts_statement)

    def reach(
        self, object_id: uuid.UUID, send_to: Callable[[Address], _Answer | None], *, starts_statement: bool = False
    ) -> _Answer | None:
        """Returns what `send_to` returns for the owner's address; None if the session is here, or unknown everywhere.

        While it returns None, which means that this gateway is not the owner any more, the next owner is looked for.
        Raises `SessionInTransfer` and `TooManyCalls`.
        """
        if not self._places.acquire(timeout=self.wait_s):
            raise TooManyCalls(self._forwards_max)
        try:
            while starts_statement and self._registry.is_draining and self.is_here(object_id):
                time.sleep(_PAUSE_S)  # until the running statements have ended, and the sessions are left to the others
            end = time.monotonic() + self.wait_s
            while (owner := self._locate(object_id)) is not None:
                if owner.address is not None and (answer := send_to(owner.address)) is not None:
                    return answer
                if time.monotonic() > end:
                    raise SessionInTransfer(self.wait_s)
                time.sleep(_PAUSE_S)
            return None
        finally:
            self._places.release()

    def other_addresses(self) -> Sequence[Address]:
        """Returns the addresses of the other gateways."""
        return tuple(self._state.other_addresses())

    def forward_new(self, outgoing: OutgoingCall) -> Response | None:
        """Returns another gateway's response to a request that opens a session, if this process drains and there is
        another one; otherwise None. Raises `GatewayConnectionLost` and `TooManyCalls`.
        """
        if not self._registry.is_draining:
            return None
        if not self._places.acquire(timeout=self.wait_s):
            raise TooManyCalls(self._forwards_max)
        try:
            for address in self._state.other_addresses():
                try:
                    return send(address, self._signed(address, outgoing), _before(time.monotonic() + self.wait_s))
                except NotReached:
                    continue
                except NoResponse as error:
                    raise GatewayConnectionLost() from error
            return None
        finally:
            self._places.release()

    def ask_others(self, path: str, identity: Identity) -> Iterator[bytes]:
        """Yields the responses of the other gateways to GET `path`, without those that do not respond in time."""
        call = ForwardedCall(identity=saved_identity(identity), peer="")
        for address in self._state.other_addresses():
            outgoing = OutgoingCall(call, "GET", path, (), b"", may_repeat=True)
            try:
                response = send(address, self._signed(address, outgoing), _before(time.monotonic() + _LIST_S))
                content = response.read()
            except (NotReached, NoResponse) as error:
                logger.info("the gateway at %s:%d does not respond: %s", address.host, address.port, error)
                continue
            if response.status == HTTPStatus.OK:
                yield content

    def _signed(self, address: Address, outgoing: OutgoingCall) -> Request:
        signature = self.signer.sign(outgoing.call, outgoing.method, outgoing.target, outgoing.body)
        headers = [*outgoing.headers, ("Host", f"{address.host}:{address.port}"), (HEADER, signature)]
        return Request(outgoing.method, outgoing.target, headers, outgoing.body)

    def _send(self, object_id: uuid.UUID, owner: _Elsewhere, outgoing: OutgoingCall) -> Response | None:
        """Returns the response; None if the request has to be sent to the next owner."""
        assert owner.address is not None
        request = self._signed(owner.address, outgoing)
        try:
            response = send(owner.address, request, lambda: self._locate(object_id) == owner)
        except NotReached:
            return None
        except NoResponse as error:
            if outgoing.may_repeat:
                return None
            raise GatewayConnectionLost() from error
        if response.status == HTTPStatus.MISDIRECTED_REQUEST:
            response.close()
            return None
        return response

    def _locate(self, object_id: uuid.UUID) -> _Elsewhere | None:
        """Returns where the session is; None if it is here, or nowhere."""
        key = key_of(object_id)
        for scan in range(_SCANS):
            if scan:
                time.sleep(_PAUSE_S)
            if self.is_here(object_id):
                return None
            if (place := self._state.locate(key)) is not None:
                return _Elsewhere(place.address)
        return None


# Creates a forwarder for at most a number of calls at the same time.
OpenForwarder = Callable[[int], Forwarder]


def _before(end: float) -> Callable[[], bool]:
    return lambda: time.monotonic() < end
