"""Messages of Delta's extension of Spark Connect, which `delta.tables.DeltaTable` sends within an `Any`.

Neither PySpark nor this package has the generated classes of Delta's protocol, so the messages are declared here, by
number and type of their fields (delta/connect/{base,relations,commands}.proto of Delta 4.4). Their package has another
name, since a process may have only one definition of a message: on the wire, a name is in the type's URL alone.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, Message

from catalog.conditions import ConnectPlanUnreadable
from gateway.connect.proto import pb2

_PACKAGE = "gateway.connect.delta"
_RELATION, _COMMAND = "DeltaRelation", "DeltaCommand"
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
}
_SPARK = {"Relation", "Expression", "DataType"}
_TEXTS = "map<string>"

# A message's fields with their types, in the order of their numbers, which begin at 1. `?`: the field may be unset,
# which a client distinguishes from its default; `*`: it is repeated.
_MESSAGES = {
    "Path": "path string, hadoop_conf map<string>",
    "DeltaTable": "path Path, table_or_view_name string?",
    "Table": "table DeltaTable",
    "ConvertToDelta": "identifier string, partition_schema_string string?, partition_schema_struct DataType",
    "RestoreTable": "table DeltaTable, version int64?, timestamp string?",
    "IsDeltaTable": "path string",
    "Assignment": "field Expression, value Expression",
    "DeleteFromTable": "target Relation, condition Expression",
    "UpdateTable": "target Relation, condition Expression, assignments Assignment*",
    "Star": "",
    "Assignments": "assignments Assignment*",
    "Action": "condition Expression, delete_action Star, update_action Assignments, update_star_action Star, "
    "insert_action Assignments, insert_star_action Star",
    "MergeIntoTable": "target Relation, source Relation, condition Expression, matched_actions Action*, "
    "not_matched_actions Action*, not_matched_by_source_actions Action*, with_schema_evolution bool",
    "OptimizeTable": "table DeltaTable, partition_filters string*, zorder_columns string*",
    _RELATION: "scan Table, describe_history Table, describe_detail Table, convert_to_delta ConvertToDelta, "
    "restore_table RestoreTable, is_delta_table IsDeltaTable, delete_from_table DeleteFromTable, "
    "update_table UpdateTable, merge_into_table MergeIntoTable, optimize_table OptimizeTable",
    "CloneTable": "table DeltaTable, target string, version int32?, timestamp string?, is_shallow bool, replace bool, "
    "properties map<string>",
    "VacuumTable": "table DeltaTable, retention_hours double?",
    "UpgradeTableProtocol": "table DeltaTable, reader_version int32, writer_version int32",
    "Generate": "table DeltaTable, mode string",
    "IdentityInfo": "start int64, step int64, allow_explicit_insert bool",
    "Column": "name string, data_type DataType, nullable bool, generated_always_as string?, comment string?, "
    "identity_info IdentityInfo",
    "CreateDeltaTable": "mode int32, table_name string?, location string?, comment string?, columns Column*, "
    "partitioning_columns string*, properties map<string>, clustering_columns string*",
    "AddFeatureSupport": "table DeltaTable, feature_name string",
    "DropFeatureSupport": "table DeltaTable, feature_name string, truncate_history bool",
    _COMMAND: "clone_table CloneTable, vacuum_table VacuumTable, upgrade_table_protocol UpgradeTableProtocol, "
    "generate Generate, create_delta_table CreateDeltaTable, add_feature_support AddFeatureSupport, "
    "drop_feature_support DropFeatureSupport",
}


def _file() -> FileDescriptorProto:
    imported = [
        pb2.Relation.DESCRIPTOR.file.name,
        pb2.Expression.DESCRIPTOR.file.name,
        pb2.DataType.DESCRIPTOR.file.name,
    ]
    file = FileDescriptorProto(name="gateway/connect/delta.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.extend(dict.fromkeys(imported))
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, declared in enumerate(filter(None, fields.split(", ")), 1):
            _declare(message, number, *declared.split(" "))
    return file


def _declare(message: DescriptorProto, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
    base = kind.rstrip("?*")
    if kind == _TEXTS:
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _declare(entry, 1, "key", "string")
        _declare(entry, 2, "value", "string")
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{message.name}.{entry.name}"
    elif base in _SCALARS:
        field.type = _SCALARS[base]
    else:
        package = "spark.connect" if base in _SPARK else _PACKAGE
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{package}.{base}"
    if kind == _TEXTS or kind.endswith("*"):
        field.label = FieldDescriptorProto.LABEL_REPEATED
    if kind.endswith("?"):
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def _class(name: str) -> type[Message]:
    found: type[Message] = message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    return found


_POOL = descriptor_pool.Default()
_POOL.AddSerializedFile(_file().SerializeToString())
_CLASSES = {f"delta.connect.{name}": _class(name) for name in (_RELATION, _COMMAND)}


def decode_delta(extension: AnyMessage) -> Any:
    """Returns the message in an extension of a relation or a command; None if it is not Delta's. Raises
    `ConnectPlanUnreadable`.
    """
    kind = _CLASSES.get(extension.type_url.rpartition("/")[2])
    if kind is None:
        return None
    try:
        return kind.FromString(extension.value)
    except DecodeError as error:
        raise ConnectPlanUnreadable("the message of DeltaTable is malformed") from error


def kind_of(message: Any) -> str:
    """Returns the name of the only member that a relation or a command has; empty: one of a newer client."""
    members = [descriptor.name for descriptor, _ in message.ListFields()]
    return members[0] if len(members) == 1 else ""
