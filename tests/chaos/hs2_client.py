"""A HiveServer2 client whose session and operations outlive its connection: it reconnects and uses the same handles."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from TCLIService import TCLIService
from TCLIService import ttypes as t
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from tests.chaos.errors import Disconnected, Forgotten, Rejected

_UNFINISHED = (t.TOperationState.PENDING_STATE, t.TOperationState.RUNNING_STATE, t.TOperationState.INITIALIZED_STATE)


class Hs2Client:
    """One client without authentication. After an error of the transport the next call opens another connection."""

    def __init__(self, port: int, timeout_s: float) -> None:
        self._port, self._timeout_s = port, timeout_s
        self._transport: TBufferedTransport | None = None
        self._client: Any = None
        self._session: Any = None

    def open_session(self) -> None:
        request = t.TOpenSessionReq(client_protocol=t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6, configuration={})
        self._session = self._call("OpenSession", request).sessionHandle

    def execute(self, text: str) -> Any:
        """Returns the operation's handle, which the server sends before the statement ends."""
        request = t.TExecuteStatementReq(sessionHandle=self._session, statement=text, runAsync=True)
        return self._call("ExecuteStatement", request).operationHandle

    def status(self, handle: Any) -> Any:
        """Returns the TGetOperationStatusResp."""
        return self._call("GetOperationStatus", t.TGetOperationStatusReq(operationHandle=handle))

    def fetch(self, handle: Any, rows_max: int) -> tuple[int, list[list[Any]]]:
        """Returns the position of the next page's first row, and its columns, which have numbers or text."""
        next_rows = t.TFetchOrientation.FETCH_NEXT
        request = t.TFetchResultsReq(operationHandle=handle, orientation=next_rows, maxRows=rows_max)
        results = self._call("FetchResults", request).results
        columns = [(column.i64Val or column.i32Val or column.stringVal).values for column in results.columns]
        return results.startRowOffset, columns

    def close_operation(self, handle: Any) -> None:
        self._call("CloseOperation", t.TCloseOperationReq(operationHandle=handle))

    def close_session(self) -> None:
        """Ends the session as far as the server answers."""
        if self._session is not None:
            with suppress(Disconnected, Forgotten, Rejected):
                self._call("CloseSession", t.TCloseSessionReq(sessionHandle=self._session))
        self.disconnect()

    def disconnect(self) -> None:
        if self._transport:
            with suppress(OSError, TTransportException):
                self._transport.close()
        self._transport = None

    def _call(self, method: str, request: Any) -> Any:
        try:
            if self._transport is None:
                socket = TSocket("127.0.0.1", self._port)
                socket.setTimeout(1000 * self._timeout_s)
                self._transport = TBufferedTransport(socket)
                self._transport.open()
                self._client = TCLIService.Client(TBinaryProtocol(self._transport))
            answer = getattr(self._client, method)(request)
        except (TTransportException, OSError, EOFError) as error:
            self.disconnect()
            raise Disconnected(str(error)) from error
        status = answer.status
        message = str(status.errorMessage)
        if status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS or "INVALID_HANDLE" in message:
            raise Forgotten(message)
        if status.statusCode == t.TStatusCode.ERROR_STATUS:
            raise Rejected(message)
        return answer


def is_running(status: Any) -> bool:
    return status.operationState in _UNFINISHED


def has_succeeded(status: Any) -> bool:
    return bool(status.operationState == t.TOperationState.FINISHED_STATE)
