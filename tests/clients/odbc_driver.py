"""An ODBC driver's calls for Spark (Simba's, as Tableau and Power BI ship it), over a raw Thrift client.

It executes a query asynchronously, polls its status until it has ended, gets its schema, and fetches blocks until a
response has no more rows or is empty; then it closes it. Catalog functions are the calls with the same names, fetched
in the same way.
"""

from __future__ import annotations

import base64
from types import TracebackType
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client
from tests.gateway.hs2.wire import settle

Row = tuple[Any, ...]
BLOCK_ROWS = 10_000
_MEMBERS = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")
_SUCCESS = (t.TStatusCode.SUCCESS_STATUS, t.TStatusCode.SUCCESS_WITH_INFO_STATUS)


class Refused(Exception):
    """A call or a statement failed: its SQLSTATE and message."""


class OdbcDriver:
    """A connection with a session; `port` is Thrift's, or HTTP's if a `path` is given."""

    def __init__(self, port: int, path: str = "", version: int = 7, **opening: Any) -> None:
        if path:
            self._transport: Any = THttpClient(f"http://127.0.0.1:{port}{path}")
            credentials = base64.b64encode(b"ada:x").decode()
            self._transport.setCustomHeaders({"Authorization": f"Basic {credentials}"})
        else:
            self._transport = TBufferedTransport(TSocket("127.0.0.1", port))
        self._transport.open()
        self.client = Client(TBinaryProtocol(self._transport, string_length_limit=1 << 30))
        opened = _checked(self.client.OpenSession(t.TOpenSessionReq(version, username="ada", **opening)))
        self.session = opened.sessionHandle

    def __enter__(self) -> OdbcDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.CloseSession(t.TCloseSessionReq(self.session))
        self._transport.close()

    def info(self, info_type: int) -> Any:
        """Returns an SQLGetInfo value."""
        value = _checked(self.client.GetInfo(t.TGetInfoReq(self.session, info_type))).infoValue
        members = ("stringValue", "smallIntValue", "integerBitmask", "integerFlag", "binaryValue", "lenValue")
        return next(held for member in members if (held := getattr(value, member)) is not None)

    def catalog(self, name: str, **fields: Any) -> tuple[list[str], list[Row]]:
        """Returns a catalog function's columns and rows, for example `GetTables`."""
        request = getattr(t, f"T{name}Req")(self.session, **fields)
        return self._read(_checked(getattr(self.client, name)(request)).operationHandle)

    def execute(self, text: str, **fields: Any) -> Any:
        """Returns the handle for a successfully ended statement."""
        request = t.TExecuteStatementReq(self.session, text, runAsync=True, **fields)
        operation = _checked(self.client.ExecuteStatement(request)).operationHandle
        ended = _checked(settle(self.client, operation))
        operation.hasResultSet = ended.hasResultSet
        if ended.operationState != t.TOperationState.FINISHED_STATE:
            self.client.CloseOperation(t.TCloseOperationReq(operation))
            raise Refused(f"{ended.sqlState} {ended.errorMessage}")
        return operation

    def query(self, text: str) -> tuple[list[str], list[Row]] | None:
        """Returns a statement's columns and rows, or None without a result set."""
        operation = self.execute(text)
        if operation.hasResultSet:
            return self._read(operation)
        self.client.CloseOperation(t.TCloseOperationReq(operation))
        return None

    def _read(self, operation: Any) -> tuple[list[str], list[Row]]:
        described = _checked(self.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)))
        rows: list[Row] = []
        while True:
            fetched = _checked(self.client.FetchResults(t.TFetchResultsReq(operation, 0, BLOCK_ROWS)))
            block = list(zip(*map(_values, fetched.results.columns), strict=True))
            rows += block
            if not fetched.hasMoreRows or not block:
                break
        _checked(self.client.CloseOperation(t.TCloseOperationReq(operation)))
        return [column.columnName for column in described.schema.columns], rows


def _values(column: Any) -> list[Any]:
    held = next(found for member in _MEMBERS if (found := getattr(column, member)) is not None)
    return [None if _is_null(held.nulls, index) else value for index, value in enumerate(held.values)]


def _is_null(nulls: bytes, index: int) -> bool:
    return index // 8 < len(nulls) and bool(nulls[index // 8] >> index % 8 & 1)


def _checked(response: Any) -> Any:
    if response.status.statusCode not in _SUCCESS:
        raise Refused(f"{response.status.sqlState} {response.status.errorMessage}")
    return response
