"""The same calls over an interface that is not a connection: bytes in, bytes out, for one identity at a time.

HTTP carries one call per request, and says with each who calls. A session of such a client belongs to its identity
and to no connection, so it ends by CloseSession, or with what it runs when no call came for too long. A client that
hangs up while a synchronous statement runs, of which it has no handle yet, ends that statement: nobody else can.
"""

from __future__ import annotations

import logging

from catalog.conditions import MalformedThriftMessage
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.messages import MalformedMessage
from gateway.hs2.service import Client, Service
from gateway.hs2.watch import Watch
from gateway.results.row_links import LinkedRows, RowLinks

logger = logging.getLogger(__name__)


class Conversation:
    """The calls of one HTTP connection, one after the other; what is remembered of one speeds up the next."""

    def __init__(self, service: Service, watch: Watch, peer: Peer, descriptor: int) -> None:
        """`descriptor` is of the client's socket, open for as long as a call is answered."""
        self._service = service
        self._watch = watch
        self._peer = peer
        self._descriptor = descriptor
        self._client = Client(peer, is_connected=False)
        self._dispatcher = Dispatcher(service, self._client)

    def answer(self, message: bytes, identity: Identity, links: RowLinks | None, agent: str = "") -> bytes:
        """The reply to one message of the program `agent`; rows may be `links`, where there are some. Raises
        :class:`MalformedThriftMessage` for bytes that are none.
        """
        if self._client.identity != identity:  # a proxy sends the requests of many users on one connection
            self._client = Client(self._peer, identity, is_connected=False)
            self._dispatcher = Dispatcher(self._service, self._client)
        self._client.links = links
        self._client.agent = agent
        try:
            with self._watch.over(self._descriptor, self._hang_up):
                return b"".join(self._dispatcher.answer(message))
        except MalformedMessage as error:
            raise MalformedThriftMessage(str(error)) from error
        finally:
            self._dispatcher.follow_up()
            self._service.detach_sessions(self._client)

    def recall(self, message: bytes, identity: Identity) -> bytes | None:
        """The reply if it is known from the message before, at once."""
        return self._dispatcher.recall(message) if identity == self._client.identity else None

    def _hang_up(self) -> None:
        try:
            self._service.cancel_awaited(self._client)
        except Exception:
            logger.exception("a statement of %s could not be cancelled", self._peer.address)


class Conversations:
    """Made by the Thrift server, mounted on the HTTP port."""

    def __init__(self, service: Service, watch: Watch) -> None:
        self._service = service
        self._watch = watch

    def begin(self, peer: Peer, descriptor: int) -> Conversation:
        """For a new connection of the client at `peer`."""
        return Conversation(self._service, self._watch, peer, descriptor)

    def linked_rows(self, rows: LinkedRows, peer: Peer) -> bytes:
        """The document that a link leads to, which the client at `peer` follows; who has the link may read it."""
        return self._service.linked_rows(rows, peer)
