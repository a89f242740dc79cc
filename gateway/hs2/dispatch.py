"""Dispatch of one message: finds the RPC, decodes, calls the service, and converts failures to responses.

There are three levels of failures, and the connection survives all but the last:

* the service raises: the RPC's response contains the error as its status;
* the method is unknown, or the body is malformed: a TApplicationException, which clients such as impyla provoke
  deliberately to detect the server. Unknown bodies are never decoded, since the message's end is known;
* the bytes are not a message: :class:`~gateway.hs2.messages.MalformedMessage`, after which the connection cannot be
  used.

hive-jdbc requests a finished statement's status before every single row. Except for its sequence number, that request
equals the preceding one, so :class:`StatusMemo` returns the preceding response while the statement's state is
unchanged.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from thrift.Thrift import TApplicationException, TMessageType

from catalog.conditions import ServerDraining
from catalog.errors import SqlError
from gateway.hs2.forwarding import find_target, forward, starts_statement
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
)
from gateway.hs2.metadata_calls import METADATA_CALLS
from gateway.hs2.service import HIVE_VERSION, Client, Encoded, Service, error_status
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.state.journal import KEY_BYTES

logger = logging.getLogger(__name__)

Pieces = tuple[bytes, ...]

_SUCCESS_FIELD, _STOP = b"\x0c\x00\x00", b"\x00"


@dataclass(frozen=True, slots=True)
class Rpc:
    """One method: its arguments' class, its implementation, and its response for an error status, if it has one."""

    arguments: type[Any]
    handle: Callable[[Service, Any, Client], Any]
    refuse: Callable[[Any], Any] | None


def _rpc(
    name: str, handle: Callable[[Service, Any, Client], Any], refuse: Callable[[Any], Any] | None
) -> tuple[str, Rpc]:
    return name, Rpc(getattr(TCLIService, f"{name}_args"), handle, refuse)


_no_token = Service.refuse_delegation_token
RPCS: Mapping[str, Rpc] = dict(
    (
        _rpc("OpenSession", Service.open_session, lambda status: t.TOpenSessionResp(status, HIVE_VERSION)),
        _rpc("CloseSession", Service.close_session, t.TCloseSessionResp),
        _rpc("SetClientInfo", Service.set_client_info, t.TSetClientInfoResp),
        # `infoValue` is required: without one, Java's clients cannot read the status.
        _rpc("GetInfo", Service.get_info, lambda status: t.TGetInfoResp(status, t.TGetInfoValue(stringValue=""))),
        _rpc("ExecuteStatement", Service.execute_statement, t.TExecuteStatementResp),
        _rpc("GetOperationStatus", Service.get_operation_status, t.TGetOperationStatusResp),
        _rpc("CancelOperation", Service.cancel_operation, t.TCancelOperationResp),
        _rpc("CloseOperation", Service.close_operation, t.TCloseOperationResp),
        _rpc("CloseImpalaOperation", Service.close_impala_operation, t.TCloseImpalaOperationResp),
        _rpc("GetResultSetMetadata", Service.get_result_set_metadata, t.TGetResultSetMetadataResp),
        _rpc("FetchResults", Service.fetch_results, t.TFetchResultsResp),
        _rpc("GetQueryId", Service.get_query_id, None),
        _rpc("GetLog", Service.get_log, lambda status: t.TGetLogResp(status, "")),
        _rpc("GetDelegationToken", _no_token, t.TGetDelegationTokenResp),
        _rpc("CancelDelegationToken", _no_token, t.TCancelDelegationTokenResp),
        _rpc("RenewDelegationToken", _no_token, t.TRenewDelegationTokenResp),
        _rpc("UploadData", Service.refuse_transfer, t.TUploadDataResp),
        _rpc("DownloadData", Service.refuse_transfer, t.TDownloadDataResp),
        *(
            _rpc(
                call.name,
                partial(lambda call, service, request, client: service.call_metadata(call, request, client), call),
                call.response,
            )
            for call in METADATA_CALLS
        ),
    )
)


class _NotForwarded(Exception):
    """The gateway that has the session has not responded."""

    def __init__(self, reason: SqlError) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class StatusMemo:
    """An ended statement's GetOperationStatus and its response, both split around the sequence number."""

    request: tuple[bytes, bytes]
    answer: tuple[bytes, bytes]
    operation: Operation
    state: OperationState

    def recall(self, message: bytes) -> bytes | None:
        """Returns the response with the message's sequence number; None for other messages and changed states."""
        head, rest = self.request
        at = len(head)
        if message[at + 4 :] != rest or not message.startswith(head) or self.operation.state is not self.state:
            return None
        return self.answer[0] + message[at : at + 4] + self.answer[1]


class Dispatcher:
    """Processes one client's messages."""

    def __init__(self, service: Service, client: Client) -> None:
        self._service = service
        self._client = client
        self._memo: StatusMemo | None = None
        # The key of the last session that was found here: most calls are for it.
        self._here = b""

    def answer(self, message: bytes) -> Pieces:
        """Returns the response to one message, in pieces, so that rows are not copied.

        Raises :class:`~gateway.hs2.messages.MalformedMessage` for malformed bytes.
        """
        recalled = self.recall(message)
        if recalled is not None:
            return (recalled,)
        header = parse_header(message)
        if header.kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            raise MalformedMessage(f"a message of kind {header.kind} is no call")
        rpc = RPCS.get(header.name)
        if rpc is None:
            logger.debug("unknown method %s", header.name)
            return _exception(header, TApplicationException.UNKNOWN_METHOD, f"Unknown function {header.name}")
        try:
            request = decode_struct(rpc.arguments, message[header.body_at :]).req
        except MalformedMessage as error:
            return _exception(header, TApplicationException.PROTOCOL_ERROR, str(error))
        if request is None:
            return _exception(header, TApplicationException.PROTOCOL_ERROR, f"{header.name} has no request")
        self._client.finished_operation = None
        try:
            try:
                return self._forward(header, request, message) or self._answer(message, header, rpc, request)
            except ServerDraining as error:  # since the call was examined
                return self._forward(header, request, message) or self._refuse(header, rpc, error)
        except _NotForwarded as error:
            return self._refuse(header, rpc, error.reason)

    def _forward(self, header: Header, request: Any, message: bytes) -> Pieces | None:
        """Returns the reply of the gateway that has the session; None if it is here.

        Raises `SessionNotHere` for a call that was forwarded to the wrong gateway.
        """
        forwarder, client = self._service.forwarder, self._client
        if forwarder is None or client.identity is None:
            return None
        guid = find_target(request)
        if guid is not None and guid[:KEY_BYTES] == self._here and forwarder.has_all_sessions:
            return None
        target = None if guid is None else uuid.UUID(bytes=guid)
        if client.is_forwarded:
            if target is not None:
                forwarder.ensure_here(target, starts_statement=starts_statement(header.name))
            return None
        try:
            reply = forward(forwarder, target, header.name, message, client, client.identity)
        except SqlError as error:
            raise _NotForwarded(error) from error
        if reply is not None:
            return (reply,)
        self._here = b"" if guid is None else guid[:KEY_BYTES]
        return None

    def _answer(self, message: bytes, header: Header, rpc: Rpc, request: Any) -> Pieces:
        response = self._call(rpc, request)
        # Checked last: a statement is only cancelled by the hand-over after the session is elsewhere.
        forwarder = self._service.forwarder
        if forwarder is not None and forwarder.has_left and not starts_statement(header.name):
            if (forwarded := self._forward(header, request, message)) is not None:
                self._client.before_last = self._client.afterwards = None
                return forwarded
        pieces = self._reply(header, response)
        return pieces if response is None else self._memorize(message, header, pieces)

    def _refuse(self, header: Header, rpc: Rpc, reason: SqlError) -> Pieces:
        refused = rpc.refuse(error_status(reason)) if rpc.refuse else None
        return self._reply(header, None if refused is None else (encode_struct(refused),))

    def _reply(self, header: Header, response: Pieces | None) -> Pieces:
        if response is None:
            return _exception(header, TApplicationException.INTERNAL_ERROR, f"{header.name} failed")
        return (format_header(header.name, TMessageType.REPLY, header.sequence), _SUCCESS_FIELD, *response, _STOP)

    def recall(self, message: bytes) -> bytes | None:
        """Returns the response if it is known from the preceding message, else None. Never blocks."""
        return self._memo.recall(message) if self._memo else None

    def follow_up(self) -> None:
        """Starts follow-up work on other threads; called after the response was created, preferably after it was sent.

        Never raises: the response does not depend on it.
        """
        afterwards, self._client.afterwards = self._client.afterwards, None
        try:
            if afterwards:
                afterwards()
        except Exception:
            logger.exception("what follows an answer to %s could not begin", self._client.peer.address)

    def _call(self, rpc: Rpc, request: Any) -> Pieces | None:
        """Returns the response struct, or None for an error that the RPC cannot express. Raises `ServerDraining`.

        The second of the three outermost handlers that catch any exception; `describe` logs unexpected ones.
        """
        try:
            response = rpc.handle(self._service, request, self._client)
            return response.pieces if isinstance(response, Encoded) else (encode_struct(response),)
        except ServerDraining:
            raise
        except Exception as error:  # noqa: BLE001
            status = error_status(error)
            return (encode_struct(rpc.refuse(status)),) if rpc.refuse else None

    def _memorize(self, message: bytes, header: Header, pieces: Pieces) -> Pieces:
        """Returns `pieces`, and caches them if they are an ended statement's status."""
        operation = self._client.finished_operation
        if operation is not None:
            reply = b"".join(pieces)
            at = header.body_at - 4  # the sequence number has the same position in both
            self._memo = StatusMemo(
                (message[:at], message[header.body_at :]),
                (reply[:at], reply[header.body_at :]),
                operation,
                operation.state,
            )
        return pieces


def _exception(header: Header, kind: int, text: str) -> Pieces:
    return (format_exception(header.name, header.sequence, kind, text),)
