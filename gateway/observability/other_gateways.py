"""Sessions and statements of the other gateways with the same state folder.

Each gateway keeps its own in memory. A list of all asks the others by forwarded requests to the routes of
`gateway/http/activity.py`, which answer these with values of this module. A gateway that does not respond in time is
left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from engine.runtime.activity import SessionRow
from engine.runtime.identity import Identity
from gateway.forwarding.forwarder import Forwarder
from gateway.observability.history import StatementInfo

logger = logging.getLogger(__name__)

STATEMENTS_PATH = "/api/2.0/sql/history/queries"
SESSIONS_PATH = "/api/2.0/sql/sessions"
# Number of a gateway's newest statements in the others' lists.
_STATEMENTS_MAX = 1000
_Value = TypeVar("_Value")


def encode_statements(statements: Iterable[StatementInfo]) -> bytes:
    """Returns the response to another gateway: the newest statements."""
    newest = sorted(statements, key=lambda info: info.created_ms, reverse=True)[:_STATEMENTS_MAX]
    return msgspec.json.encode(newest)


def encode_sessions(sessions: Iterable[SessionRow]) -> bytes:
    """Returns the response to another gateway."""
    return msgspec.json.encode(list(sessions))


def all_statements(
    own: Iterable[StatementInfo], forwarder: Forwarder | None, identity: Identity
) -> Iterator[StatementInfo]:
    """Yields the statements of all gateways that are visible to `identity`: running ones, then ended ones, each newest
    first. `own` are this gateway's, in this order.
    """
    others = _of_others(forwarder, STATEMENTS_PATH, identity, list[StatementInfo])
    if not others:
        yield from own
        return
    # A statement that has changed its gateway is in the histories of both.
    found = {info.id: info for infos in (*others, own) for info in infos}
    yield from sorted(found.values(), key=lambda info: (info.state.is_terminal, -(info.ended_ms or info.created_ms)))


def all_sessions(own: Iterable[SessionRow], forwarder: Forwarder | None, identity: Identity) -> Iterator[SessionRow]:
    """Yields the sessions of all gateways that `identity` may see."""
    yield from own
    for rows in _of_others(forwarder, SESSIONS_PATH, identity, list[SessionRow]):
        yield from rows


def _of_others(forwarder: Forwarder | None, path: str, identity: Identity, kind: type[_Value]) -> list[_Value]:
    found: list[_Value] = []
    for content in forwarder.ask_others(path, identity) if forwarder is not None else ():
        try:
            found.append(msgspec.json.decode(content, type=kind))
        except msgspec.MsgspecError as error:  # it has another release
            logger.warning("another gateway's list cannot be read: %s", error)
    return found
