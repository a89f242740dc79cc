"""Thrift calls for a session of another gateway: the message is sent to its HTTP port, and its reply returned."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from typing import Any

from catalog.conditions import GatewayConnectionLost, SessionInTransfer
from engine.runtime.identity import Identity
from gateway.forwarding.forwarder import Forwarder, OutgoingCall
from gateway.forwarding.http_client import NoResponse
from gateway.forwarding.signed_calls import ForwardedCall
from gateway.hs2.service import Client
from gateway.state.records import saved_identity

PATH = "/cliservice"
_CONTENT_TYPE = "application/x-thrift"
# The calls that are not repeated if the owner ends without a response: the statement may have begun.
_ONCE = "ExecuteStatement"
_OPENS = "OpenSession"
# The calls that do not begin anything in their session; the others wait for the next owner while it drains.
_OF_STATEMENTS = frozenset(
    ("CloseSession", "SetClientInfo", "GetInfo", "GetOperationStatus", "CancelOperation", "CloseOperation")
    + ("CloseImpalaOperation", "GetResultSetMetadata", "FetchResults", "GetQueryId", "GetLog")
)


def find_target(request: Any) -> bytes | None:
    """Returns the 16 bytes of the id in a request's handle; None for a request without a well-formed one."""
    operation, session = getattr(request, "operationHandle", None), getattr(request, "sessionHandle", None)
    identifier = operation.operationId if operation else session.sessionId if session else None
    guid = identifier.guid if identifier else None
    return guid if guid is not None and len(guid) == 16 else None


def starts_statement(name: str) -> bool:
    """Returns True if the call begins a statement or a metadata call."""
    return name not in _OF_STATEMENTS


def forward(
    forwarder: Forwarder, target: uuid.UUID | None, name: str, message: bytes, client: Client, identity: Identity
) -> bytes | None:
    """Returns the reply of the gateway that has the session, or that opens it while this one drains; None if the call
    has to be processed here.

    Raises errors as :meth:`Forwarder.forward` does.
    """
    if target is None:
        if name != _OPENS:
            return None
    elif not forwarder.must_forward(target, starts_statement=starts_statement(name)):
        return None
    call = ForwardedCall(
        identity=saved_identity(identity),
        peer=client.peer.address,
        is_encrypted=client.peer.is_encrypted,
        base_url=client.links.base_url if client.links is not None else "",
    )
    headers = [("Content-Type", _CONTENT_TYPE), ("User-Agent", client.agent)]
    may_repeat = name != _ONCE
    outgoing = OutgoingCall(call, "POST", PATH, headers, message, may_repeat)
    if target is None:
        response = forwarder.forward_new(outgoing)
    else:
        response = forwarder.forward(target, outgoing, starts_statement=starts_statement(name))
    if response is None:
        return None
    client.is_forwarding = True
    try:
        content = response.read()
    except NoResponse as error:
        raise GatewayConnectionLost() from error
    if response.status != HTTPStatus.OK:  # for example, it is still starting
        raise SessionInTransfer(forwarder.wait_s)
    return content
