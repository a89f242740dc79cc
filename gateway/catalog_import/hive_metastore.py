"""Reads a Hive metastore by Thrift (`hive_metastore.thrift` of Apache Hive; unauthenticated, binary protocol).

Only a few fields of a few structures are needed, so values are decoded by their wire types to `{field id: value}`
instead of by classes generated for the whole interface.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from gateway.catalog_import.objects import (
    Grantee,
    ImportedGrant,
    ImportedObject,
    ImportedSchema,
    ImportedTable,
    ImportedView,
    ObjectName,
    Skipped,
)

TIMEOUT_S = 60.0
_MESSAGE_BYTES_MAX = 1 << 30

Struct = Mapping[int, Any]
# A field to send: its id, wire type and value; a struct's value is a sequence of such fields.
Field = tuple[int, int, Any]

# Values of the enumerations HiveObjectType and PrincipalType.
_DATABASE, _TABLE = 2, 3
_PRINCIPALS = {1: Grantee.USER, 2: Grantee.GROUP, 3: Grantee.GROUP}
_PRIVILEGES = {
    "ALL": "ALL PRIVILEGES",
    "SELECT": "SELECT",
    "INSERT": "MODIFY",
    "UPDATE": "MODIFY",
    "DELETE": "MODIFY",
    "CREATE": "CREATE TABLE",
}


class MetastoreError(Exception):
    """The metastore could not be read; the text is for people."""


class HiveMetastore:
    """A connection to a metastore; not thread-safe."""

    def __init__(self, host: str, port: int) -> None:
        socket = TSocket(host, port)
        socket.setTimeout(TIMEOUT_S * 1000)
        self._transport = TBufferedTransport(socket)
        self._protocol = TBinaryProtocol(self._transport, string_length_limit=_MESSAGE_BYTES_MAX)
        self._sequence = itertools.count()
        self._address = f"{host}:{port}"

    def __enter__(self) -> HiveMetastore:
        try:
            self._transport.open()
        except TException as error:
            raise MetastoreError(f"the metastore {self._address} cannot be reached: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()

    def objects(self) -> Iterator[ImportedObject]:
        """Yields all databases, tables and views with their grants."""
        for database in self._call("get_all_databases"):
            yield from self._database(database)

    def _database(self, database: str) -> Iterator[ImportedObject]:
        name = ObjectName((database,))
        yield ImportedSchema(name, self._call("get_database", _text(1, database)).get(2, ""))
        yield from self._grants("SCHEMA", name, _DATABASE, database, "")
        for table in self._call("get_all_tables", _text(1, database)):
            full = ObjectName((database, table))
            yield _table_object(full, self._call("get_table", _text(1, database), _text(2, table)))
            yield from self._grants("TABLE", full, _TABLE, database, table)

    def _grants(self, kind: str, name: ObjectName, type_: int, database: str, table: str) -> Iterator[ImportedObject]:
        reference = [(1, TType.I32, type_), _text(2, database), *([_text(3, table)] if table else [])]
        # Without a principal, the metastore returns every principal's privileges on the object.
        for granted in self._call("list_privileges", (3, TType.STRUCT, reference)):
            privilege = granted[4].get(1, "").upper()
            if (known := _PRIVILEGES.get(privilege)) is None:
                yield Skipped(name, f"the privilege {privilege} of {granted[2]} has no counterpart")
            else:
                yield ImportedGrant(known, kind, name, _PRINCIPALS[granted[3]], granted[2])

    def _call(self, function: str, *arguments: Field) -> Any:
        try:
            sequence = next(self._sequence)
            self._protocol.writeMessageBegin(function, TMessageType.CALL, sequence)
            _write_struct(self._protocol, arguments)
            self._protocol.writeMessageEnd()
            self._transport.flush()
            _, kind, received = self._protocol.readMessageBegin()
            answer = _read_struct(self._protocol)
            self._protocol.readMessageEnd()
        except (TException, OSError, EOFError) as error:
            raise MetastoreError(f"{function} of the metastore {self._address} failed: {error}") from error
        if kind == TMessageType.EXCEPTION or 0 not in answer:
            # An exception of the interface is the only field, and its first field is its message.
            raised: Struct = answer if kind == TMessageType.EXCEPTION else next(iter(answer.values()), {})
            raise MetastoreError(f"{function} of the metastore {self._address} failed: {raised.get(1) or 'no result'}")
        if received != sequence:
            raise MetastoreError(f"the metastore {self._address} answered another request")
        return answer[0]


def _table_object(name: ObjectName, table: Struct) -> ImportedObject:
    parameters: Mapping[str, str] = table.get(9, {})
    storage: Struct = table.get(7, {})
    if table.get(12) == "VIRTUAL_VIEW":
        return ImportedView(name, table.get(10, ""), _current(parameters, name), parameters.get("comment", ""))
    if table.get(12) == "MATERIALIZED_VIEW":
        return Skipped(name, "materialized views are not served")
    if parameters.get("table_type", "").upper() == "ICEBERG":
        return ImportedTable(name, "iceberg", storage.get(2, ""), parameters.get("metadata_location", ""))
    serde: Struct = storage.get(7, {})
    # Spark records the location of a table that is not Hive's in the serialization's parameters; the other one may be a
    # placeholder.
    location = serde.get(3, {}).get("path") or storage.get(2, "")
    format_ = parameters.get("spark.sql.sources.provider") or storage.get(3, "").rpartition(".")[2] or "unknown"
    return ImportedTable(name, format_.lower(), location)


def _current(parameters: Mapping[str, str], name: ObjectName) -> ObjectName:
    """Returns the schema in which Spark created a view; Hive qualifies the names in a view's text."""
    count = int(parameters.get("view.catalogAndNamespace.numParts", "0"))
    parts = [parameters.get(f"view.catalogAndNamespace.part.{index}", "") for index in range(count)]
    return ObjectName((parts[-1],)) if parts else ObjectName(name.parts[:-1])


def _text(field_id: int, value: str) -> Field:
    return field_id, TType.STRING, value


def _write_struct(protocol: TBinaryProtocol, fields: Sequence[Field]) -> None:
    protocol.writeStructBegin("")
    for field_id, kind, value in fields:
        protocol.writeFieldBegin("", kind, field_id)
        if kind == TType.STRUCT:
            _write_struct(protocol, value)
        elif kind == TType.I32:
            protocol.writeI32(value)
        else:
            protocol.writeString(value)
        protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()


def _read_struct(protocol: TBinaryProtocol) -> dict[int, Any]:
    found: dict[int, Any] = {}
    protocol.readStructBegin()
    while True:
        _, kind, field_id = protocol.readFieldBegin()
        if kind == TType.STOP:
            return found
        found[field_id] = _read_value(protocol, kind)


def _read_value(protocol: TBinaryProtocol, kind: int) -> Any:
    match kind:
        case TType.STRUCT:
            return _read_struct(protocol)
        case TType.LIST | TType.SET:
            item, count = protocol.readListBegin()
            return [_read_value(protocol, item) for _ in range(count)]
        case TType.MAP:
            key, value, count = protocol.readMapBegin()
            return {_read_value(protocol, key): _read_value(protocol, value) for _ in range(count)}
        case TType.STRING:
            return protocol.readString()
        case TType.BOOL:
            return protocol.readBool()
        case TType.BYTE:
            return protocol.readByte()
        case TType.I16:
            return protocol.readI16()
        case TType.I32:
            return protocol.readI32()
        case TType.I64:
            return protocol.readI64()
        case TType.DOUBLE:
            return protocol.readDouble()
        case _:  # a wire type of a later Thrift
            raise TException(f"unknown wire type {kind}")
