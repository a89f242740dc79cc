"""Calls for a session of another gateway: sent to its Spark Connect port, and its responses returned.

A client sends the registry's id of its session with each request, and the id shows the session's owner (see
`gateway/forwarding`). The request is not changed. Its metadata has the client's identity under a signature, in place of
the credentials. The client's first call has no id yet; it opens a session where it arrives.

    the owner cannot be reached, or responds that the session is not there
                            the request is sent to the next owner
    the owner ends before its response does
                            the client gets UNAVAILABLE, after which it repeats its request or continues the operation
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status

from catalog.conditions import ForwardedRequestRefused, SessionNotHere
from gateway.connect.client_sessions import Call
from gateway.connect.proto import pb2
from gateway.forwarding.forwarder import Forwarder
from gateway.forwarding.signed_calls import HEADER, ForwardedCall
from gateway.process.tls import certificate_name
from gateway.state.addresses import Address
from gateway.state.records import saved_identity

logger = logging.getLogger(__name__)

KEY = HEADER.lower()
_SECONDS = 1000
_SENT_MAX = 1000
# Time in seconds for a gateway to release a session that may be another one's.
_RELEASE_S = 5.0
# A suspended owner answers no ping; its port permits one each 10 s.
_OPTIONS = [
    ("grpc.keepalive_time_ms", 15 * _SECONDS),
    ("grpc.keepalive_timeout_ms", 5 * _SECONDS),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
]


class OwnerFailed(Exception):
    """The owner has ended the call with an error, which is the client's."""

    def __init__(self, error: grpc.RpcError) -> None:
        super().__init__(str(error))
        self.error: Any = error

    def abort(self, context: grpc.ServicerContext) -> None:
        """Ends the client's call with the owner's status. Raises."""
        context.set_trailing_metadata(self.error.trailing_metadata() or ())
        context.abort(self.error.code(), self.error.details() or "")


@dataclass(slots=True)
class Elsewhere:
    """Sends calls to the owners of their sessions. Thread-safe; call `close` at the end."""

    forwarder: Forwarder
    _channels: dict[Address, grpc.Channel] = field(default_factory=dict)
    # The sessions of recent calls, by user and client's id.
    _sent: OrderedDict[tuple[object, str], uuid.UUID] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def verify(self, header: str, method: str, data: bytes) -> ForwardedCall:
        """Returns the call that another gateway has signed. Raises `ForwardedRequestRefused`."""
        call = self.forwarder.signer.verify(header, "POST", method, data)
        if call.identity is None:
            raise ForwardedRequestRefused("it has no identity")
        return call

    def responses(self, method: str, data: bytes, request: Any, call: Call) -> Iterator[bytes] | None:
        """Returns the owner's encoded responses; None if the session is here, or unknown everywhere.

        Raises `SessionNotHere` for a call that another gateway has sent here in vain, `OwnerFailed`, and what
        :meth:`Forwarder.reach` raises.
        """
        session_id = self._session_id(request, call)
        if session_id is None:
            is_release = isinstance(request, pb2.ReleaseSessionRequest) and not call.is_forwarded
            return self._released_elsewhere(method, data, call) if is_release else None
        if call.is_forwarded:
            self.forwarder.ensure_here(session_id, starts_statement=False)
            return None
        if not self.forwarder.must_forward(session_id, starts_statement=False):
            return None
        return self.forwarder.reach(session_id, lambda address: self._send(address, method, data, call))

    def _released_elsewhere(self, method: str, data: bytes, call: Call) -> Iterator[bytes] | None:
        """Releases a session of which this gateway has had no other call, at the gateway that has it: the request has
        only the client's id, which the registry's id does not follow from. Returns None if none has it.
        """
        for address in self.forwarder.other_addresses():
            try:
                sent = self._send(address, method, data, call, _RELEASE_S)
                responses = [pb2.ReleaseSessionResponse.FromString(one) for one in sent or ()]
            except OwnerFailed as failure:
                logger.info("the gateway at %s:%d releases no session: %s", address.host, address.port, failure)
                continue
            if any(one.server_side_session_id for one in responses):
                return iter([one.SerializeToString() for one in responses])
        return None

    def _session_id(self, request: Any, call: Call) -> uuid.UUID | None:
        """Returns the registry's id of the session; None for a client that has none yet."""
        key = call.identity.owner, str(request.session_id)
        observed = str(getattr(request, "client_observed_server_side_session_id", ""))
        try:
            with self._lock:
                if not observed:  # ReleaseSession has no field for it, and the first call no value
                    return self._sent.get(key)
                found = self._sent[key] = uuid.UUID(observed)
                self._sent.move_to_end(key)
                while len(self._sent) > _SENT_MAX:
                    self._sent.popitem(last=False)
                return found
        except ValueError:
            return None

    def close(self) -> None:
        """Closes the channels to other gateways; calls in flight fail."""
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()

    def _send(
        self, address: Address, method: str, data: bytes, call: Call, timeout_s: float | None = None
    ) -> Iterator[bytes] | None:
        if not address.connect_port:
            return None
        signed = ForwardedCall(
            identity=saved_identity(call.identity), peer=call.peer.address, is_encrypted=call.peer.is_encrypted
        )
        signature = self.forwarder.signer.sign(signed, "POST", method, data)
        metadata = [(key, value) for key, value in call.metadata.items() if key in ("x-request-id", "traceparent")]
        # On the wire, a method with one response differs in nothing else.
        sent: Any = self._channel(address).unary_stream(method)(
            data, metadata=[*metadata, (KEY, signature)], timeout=timeout_s
        )
        if not call.context.add_callback(sent.cancel):
            sent.cancel()  # the client is gone
        try:
            first = next(sent, None)
        except grpc.RpcError as error:
            if _is_elsewhere(error):
                return None
            raise OwnerFailed(error) from error
        return iter(()) if first is None else _read(first, sent)

    def _channel(self, address: Address) -> grpc.Channel:
        with self._lock:
            channel = self._channels.get(address)
            if channel is None:
                # Its gateway has been started again, or has another certificate.
                is_former = {key: (key.host, key.port) == (address.host, address.port) for key in self._channels}
                for former in [key for key, replaced in is_former.items() if replaced]:
                    self._channels.pop(former).close()
                channel = self._channels[address] = _open_channel(address)
            return channel


def _read(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chain((first,), rest)
    except grpc.RpcError as error:
        raise OwnerFailed(error) from error


def _open_channel(address: Address) -> grpc.Channel:
    host = f"[{address.host}]" if ":" in address.host else address.host
    target = f"{host}:{address.connect_port}"
    if address.certificate is None:
        return grpc.insecure_channel(target, _OPTIONS)
    # The certificate in the state folder is the only one that is accepted; its names are those that clients use.
    credentials = grpc.ssl_channel_credentials(address.certificate.encode())
    name = ("grpc.ssl_target_name_override", certificate_name(address.certificate))
    return grpc.secure_channel(target, credentials, [*_OPTIONS, name])


def _is_elsewhere(error: Any) -> bool:
    """Returns True if the owner has not received the call, or does not have its session."""
    if error.code() is not grpc.StatusCode.UNAVAILABLE:
        return False
    status = rpc_status.from_call(error)
    if status is None:  # gRPC's own error
        return "failed to connect" in (error.details() or "").lower()
    info = ErrorInfo()
    is_ours = any(detail.Unpack(info) for detail in status.details if detail.Is(ErrorInfo.DESCRIPTOR))
    return is_ours and info.metadata["errorClass"] == SessionNotHere.condition
