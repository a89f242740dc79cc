"""The messages of Flight SQL, which clients send within an `Any` (FlightSql.proto and Flight.proto of Arrow 22).

PyArrow does not have their generated classes, so they are declared here, by number and type of their fields. They are
in a pool of their own: a process may have only one definition of a message in the default one.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, Message

from catalog.conditions import FlightFeatureNotSupported, FlightMessageInvalid

_PACKAGE = "gateway.flight"
_URL_PREFIX = "type.googleapis.com/arrow.flight.protocol.sql."
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "sfixed64": FieldDescriptorProto.TYPE_SFIXED64,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
}
_TABLE = "catalog string?, db_schema string?, table string"
_HANDLE = "prepared_statement_handle bytes"

# A message's fields with their types, in the order of their numbers, which begin at 1 unless one follows an `=`. `?`:
# the field may be unset, which is distinguished from its default; `*`: it is repeated. Enums are int32.
_MESSAGES = {
    "Any": "type_url string, value bytes",
    "CommandGetSqlInfo": "info uint32*",
    "CommandGetXdbcTypeInfo": "data_type int32?",
    "CommandGetCatalogs": "",
    "CommandGetDbSchemas": "catalog string?, db_schema_filter_pattern string?",
    "CommandGetTables": "catalog string?, db_schema_filter_pattern string?, table_name_filter_pattern string?, "
    "table_types string*, include_schema bool",
    "CommandGetTableTypes": "",
    "CommandGetPrimaryKeys": _TABLE,
    "CommandGetExportedKeys": _TABLE,
    "CommandGetImportedKeys": _TABLE,
    "CommandGetCrossReference": "pk_catalog string?, pk_db_schema string?, pk_table string, fk_catalog string?, "
    "fk_db_schema string?, fk_table string",
    "ActionCreatePreparedStatementRequest": "query string, transaction_id bytes?",
    "ActionCreatePreparedStatementResult": f"{_HANDLE}, dataset_schema bytes, parameter_schema bytes, is_update bool?",
    "ActionClosePreparedStatementRequest": _HANDLE,
    "ActionCancelQueryRequest": "info bytes",
    "ActionCancelQueryResult": "result int32",
    "CommandStatementQuery": "query string, transaction_id bytes?",
    "TicketStatementQuery": "statement_handle bytes",
    "CommandPreparedStatementQuery": _HANDLE,
    "CommandStatementUpdate": "query string, transaction_id bytes?",
    "CommandPreparedStatementUpdate": _HANDLE,
    "TableDefinitionOptions": "if_not_exist int32, if_exists int32",
    "CommandStatementIngest": "table_definition_options TableDefinitionOptions, table string, schema string?, "
    "catalog string?, temporary bool, transaction_id bytes?, options map<string>=1000",
    "DoPutUpdateResult": "record_count int64",
    "DoPutPreparedStatementResult": "prepared_statement_handle bytes?",
    # Of Flight.proto, without an `Any`. The value of an option is a oneof.
    "StringListValue": "values string*",
    "SessionOptionValue": "string_value string?, bool_value bool?, int64_value sfixed64?, double_value double?, "
    "string_list_value StringListValue",
    "SetSessionOptionsRequest": "session_options map<SessionOptionValue>",
    "SessionError": "value int32",
    "SetSessionOptionsResult": "errors map<SessionError>",
    "GetSessionOptionsRequest": "",
    "GetSessionOptionsResult": "session_options map<SessionOptionValue>",
    "CloseSessionRequest": "",
    "CloseSessionResult": "status int32",
    "CancelFlightInfoRequest": "info bytes",
    "CancelFlightInfoResult": "status int32",
    "RenewFlightEndpointRequest": "endpoint bytes",
    "BasicAuth": "username string=2, password string=3",
    # Of Spark Connect: a relation with rows, and one that names an input of a plan.
    "LocalRelation": "data bytes?",
    "NamedTable": "unparsed_identifier string",
    "Read": "named_table NamedTable",
    "Relation": "read Read=2, local_relation LocalRelation=11",
}


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="gateway/flight/flight_sql.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, declared in enumerate(filter(None, fields.split(", ")), 1):
            field, kind = declared.split(" ")
            kind, _, other = kind.partition("=")
            _declare(message, int(other or number), field, kind)
    return file


def _declare(message: DescriptorProto, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
    base = kind.rstrip("?*")
    is_map = kind.startswith("map<")
    if is_map:
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _declare(entry, 1, "key", "string")
        _declare(entry, 2, "value", kind[4:-1])
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{message.name}.{entry.name}"
    elif base in _SCALARS:
        field.type = _SCALARS[base]
    else:
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{base}"
    if is_map or kind.endswith("*"):
        field.label = FieldDescriptorProto.LABEL_REPEATED
    if kind.endswith("?"):
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def _classes() -> dict[str, type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_file().SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES
    }


_CLASSES = _classes()


def new_message(kind: str, **fields: Any) -> Any:
    """Returns a message of this kind."""
    return _CLASSES[kind](**fields)


def decode(kind: str, data: bytes) -> Any:
    """Raises `FlightMessageInvalid`."""
    try:
        return _CLASSES[kind].FromString(data)
    except DecodeError as error:
        raise FlightMessageInvalid(f"it is no {kind}") from error


def unpack(data: bytes) -> tuple[str, Any]:
    """Returns a message within an `Any` and the name of its kind. Raises `FlightMessageInvalid`, and
    `FlightFeatureNotSupported` for a kind that is not known.
    """
    wrapped = decode("Any", data)
    kind = wrapped.type_url.removeprefix(_URL_PREFIX)
    if not wrapped.type_url.startswith(_URL_PREFIX):
        raise FlightMessageInvalid("it is no message of Flight SQL")
    if kind not in _CLASSES:
        raise FlightFeatureNotSupported(f"The message {kind[:100]}")
    return kind, decode(kind, wrapped.value)


def pack(kind: str, **fields: Any) -> bytes:
    """Returns a message within an `Any`."""
    value = new_message(kind, **fields).SerializeToString()
    return bytes(new_message("Any", type_url=f"{_URL_PREFIX}{kind}", value=value).SerializeToString())
