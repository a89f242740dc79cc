"""The same calls over an interface without connections: bytes in, bytes out, for one identity at a time.

HTTP carries one call per request, each with its caller's credentials. A client's session belongs to its identity and
not to a connection, so it ends by CloseSession, or expires with its statements when no call has arrived for too long.
If a client disconnects during a synchronous statement, for which it has no handle yet, the statement is cancelled:
nobody else can cancel it.
"""

from __future__ import annotations

import logging

from catalog.conditions import MalformedThriftMessage
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.messages import MalformedMessage
from gateway.hs2.service import Client, Service
from gateway.results.row_links import LinkedRows, RowLinks
from gateway.sessions.watch import Watch

logger = logging.getLogger(__name__)


class Conversation:
    """The calls on one HTTP connection, one after the other; state from one call speeds up the next."""

    def __init__(self, service: Service, watch: Watch, peer: Peer, descriptor: int) -> None:
        """Begins a conversation; `descriptor` is the client's socket, open while a call is processed."""
        self._service = service
        self._watch = watch
        self._peer = peer
        self._descriptor = descriptor
        self._client = Client(peer, is_connected=False, descriptor=descriptor)
        self._dispatcher = Dispatcher(service, self._client)

    def answer(
        self, message: bytes, identity: Identity, links: RowLinks | None, agent: str = "", *, is_forwarded: bool = False
    ) -> bytes:
        """Returns the response to one message from the program `agent`; rows may be `links`, if given.

        Raises :class:`MalformedThriftMessage` for malformed bytes, and :class:`SessionNotHere` if the message
        `is_forwarded` by another gateway and the session is not here.
        """
        if self._client.identity != identity:  # a proxy sends many users' requests on one connection
            self._client = Client(self._peer, identity, is_connected=False, descriptor=self._descriptor)
            self._dispatcher = Dispatcher(self._service, self._client)
        self._client.links = links
        self._client.agent = agent
        self._client.is_forwarded = is_forwarded
        try:
            with self._watch.over(self._descriptor, self._hang_up):
                reply = b"".join(self._dispatcher.answer(message))
            if before_last := self._client.take_before_last():
                before_last()
            return reply
        except MalformedMessage as error:
            raise MalformedThriftMessage(str(error)) from error
        finally:
            self._dispatcher.follow_up()
            self._service.detach_sessions(self._client)

    def recall(self, message: bytes, identity: Identity) -> bytes | None:
        """Returns the response immediately if it is known from the preceding message."""
        return self._dispatcher.recall(message) if identity == self._client.identity else None

    def _hang_up(self) -> None:
        try:
            self._service.cancel_awaited(self._client)
        except Exception:
            logger.exception("a statement of %s could not be cancelled", self._peer.address)


class Conversations:
    """Created by the Thrift server, mounted on the HTTP port."""

    def __init__(self, service: Service, watch: Watch) -> None:
        self._service = service
        self._watch = watch

    def begin(self, peer: Peer, descriptor: int) -> Conversation:
        """Begins a conversation on a new connection from the client at `peer`."""
        return Conversation(self._service, self._watch, peer, descriptor)

    def linked_rows(self, rows: LinkedRows, peer: Peer) -> bytes:
        """Returns a link's document for the client at `peer`; holding the link is the permission."""
        return self._service.linked_rows(rows, peer)
