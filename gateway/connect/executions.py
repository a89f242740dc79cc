"""Executions: a client's operations, with the streams that send their responses.

A stream may end before the result: the client continues with ReattachExecute, on another connection if it likes, and
the responses follow the last one that it has received. A new stream replaces the former one. An execution without a
stream is abandoned after `DETACHED_S` seconds; one that is not reattachable ends with its stream.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import grpc

from catalog.conditions import ConnectStreamReplaced
from gateway.connect.proto import pb2
from gateway.connect.replies import Position, Reply, Response, Sent
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

logger = logging.getLogger(__name__)

# Time in seconds after which a stream is ended for the client to reattach: proxies cut long silent ones.
STREAM_S = 120.0
# Time in seconds that an execution waits for its client to reattach.
DETACHED_S = 300.0
_WAIT_S = 1.0


@dataclass(slots=True, eq=False)
class Execution:
    """One operation of a client; `digest` identifies its request, which a client may repeat."""

    operation_id: str
    operation: Operation
    session: Session
    reply: Reply
    digest: bytes
    tags: frozenset[str] = frozenset()
    is_reattachable: bool = False
    # The executions of the session, by operation id.
    siblings: dict[str, Execution] = field(default_factory=dict, repr=False)
    # Metrics of `observe`, complete when the operation has ended.
    observed: Sequence[pb2.ExecutePlanResponse.ObservedMetrics] = ()
    _stream: object | None = None
    _detached_since: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # Held while a response is made: the former stream may still wait for it.
    _producing: threading.Lock = field(default_factory=threading.Lock)

    def responses(self, context: grpc.ServicerContext, last: Position | None, stream_s: float) -> Iterator[Sent]:
        """Yields the responses after `last`, with ResultComplete as the last one unless the stream ends after
        `stream_s` seconds. Raises the statement's error, and `ConnectStreamReplaced`.
        """
        stream = object()
        with self._lock:
            self._stream = stream
        if not context.add_callback(lambda: self._detach(stream)):
            self._detach(stream)  # the client is already gone
            return
        until = time.monotonic() + stream_s
        while not self.operation.wait(_WAIT_S).is_final:
            if not self._continues(context, stream, until):
                return
        while self._continues(context, stream, until):
            with self._producing:
                following = self.reply.following(self.operation, last) if self._has_result() else None
            self._ensure_own(stream)
            self.session.last_used = time.monotonic()
            if following is None:
                end = Position(1 if last is None else last.index + 1)
                complete = pb2.ExecutePlanResponse(result_complete=pb2.ExecutePlanResponse.ResultComplete())
                complete.observed_metrics.extend(self.observed)
                yield end, Response(complete)
                self.operation.tell_end()
                if not self.is_reattachable:
                    self.end()
                return
            last = following[0]
            yield following

    def _has_result(self) -> bool:
        self.operation.ensure_result()
        return True

    def _continues(self, context: grpc.ServicerContext, stream: object, until: float) -> bool:
        """Returns False if the client is gone, or is to reattach. Raises `ConnectStreamReplaced`."""
        self._ensure_own(stream)
        self.session.last_used = time.monotonic()
        return bool(context.is_active()) and (not self.is_reattachable or time.monotonic() < until)

    def _ensure_own(self, stream: object) -> None:
        if self._stream is not None and self._stream is not stream:
            raise ConnectStreamReplaced()

    def _detach(self, stream: object) -> None:
        """Called when a stream has ended, for any reason, on gRPC's own thread."""
        with self._lock:
            if self._stream is not stream:
                return
            self._stream, self._detached_since = None, time.monotonic()

    def is_abandoned(self, detached_s: float) -> bool:
        """Returns True if no client continues: after `detached_s` seconds without a stream, or without reattaching."""
        return self._stream is None and (
            time.monotonic() - self._detached_since > (detached_s if self.is_reattachable else 0)
        )

    def end(self) -> None:
        """Cancels the operation if it runs, and releases its result."""
        self.siblings.pop(self.operation_id, None)
        self.session.forget(self.operation)
