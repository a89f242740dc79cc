"""The Avro schemas for written manifests and manifest lists, by format version.

Record names equal the reference implementation's, which some readers require. Field names equal the columns in decoded
manifests (`engine.iceberg.manifests.avro.NAMES`), which are the specification's.

Source: Iceberg table specification, "Manifests", "Manifest Lists", "Appendix A: Avro".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.iceberg.spec.types import Kind, SimpleType

_MAPS = (
    (108, "column_sizes", 117, 118, "long"),
    (109, "value_counts", 119, 120, "long"),
    (110, "null_value_counts", 121, 122, "long"),
    (137, "nan_value_counts", 138, 139, "long"),
    (125, "lower_bounds", 126, 127, "bytes"),
    (128, "upper_bounds", 129, 130, "bytes"),
)
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")
_PLAIN: dict[Kind, Any] = {
    Kind.BOOLEAN: "boolean",
    Kind.INT: "int",
    Kind.LONG: "long",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.DATE: {"type": "int", "logicalType": "date"},
    Kind.TIME: {"type": "long", "logicalType": "time-micros"},
    Kind.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    Kind.TIMESTAMPTZ: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    Kind.TIMESTAMP_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    Kind.TIMESTAMPTZ_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    Kind.STRING: "string",
    Kind.BINARY: "bytes",
}


def avro_type(type_: SimpleType, field_id: int) -> Any:
    """Returns the Avro type for a partition field's values. Raises `KeyError` for a type that partitions cannot have.

    A name may be defined once in a schema, and not every reader resolves references: each field has its own type.
    """
    if type_.kind is Kind.DECIMAL:
        return {
            "type": "fixed",
            "size": decimal_bytes(type_.precision),
            "logicalType": "decimal",
            "precision": type_.precision,
            "scale": type_.scale,
            "name": f"decimal_{type_.precision}_{type_.scale}_{field_id}",
        }
    if type_.kind is Kind.FIXED:
        return {"type": "fixed", "size": type_.length, "name": f"fixed_{type_.length}_{field_id}"}
    if type_.kind is Kind.UUID:
        return {"type": "fixed", "size": 16, "logicalType": "uuid", "name": f"uuid_fixed_{field_id}"}
    return _PLAIN[type_.kind]


def decimal_bytes(precision: int) -> int:
    """Returns the fewest bytes for every unscaled value with this precision."""
    digits: int = 10**precision - 1
    return (digits.bit_length() + 8) // 8


def partition_field(field_id: int, name: str, type_: Any) -> dict[str, Any]:
    """Returns a partition tuple's field with this Avro type."""
    return _optional(field_id, avro_name(name), type_)


def avro_name(name: str) -> str:
    """Returns a valid Avro name: other characters are replaced by their code."""
    first = "_" if name[:1].isdecimal() else ""
    return first + _NO_NAME.sub(lambda found: f"_x{ord(found[0]):X}", name)


def entry_schema(version: int, partition: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the manifest entries' schema; `partition` has the spec's fields from `partition_field`."""
    file = [
        *([] if version == 1 else [_required_field(134, "content", "int")]),
        _required_field(100, "file_path", "string"),
        _required_field(101, "file_format", "string"),
        _required_field(102, "partition", {"type": "record", "name": "r102", "fields": list(partition)}),
        _required_field(103, "record_count", "long"),
        _required_field(104, "file_size_in_bytes", "long"),
        *([_required_field(105, "block_size_in_bytes", "long")] if version == 1 else []),
        *(_map(*each) for each in _MAPS),
        _optional(131, "key_metadata", "bytes"),
        _optional(132, "split_offsets", {"type": "array", "items": "long", "element-id": 133}),
        *([] if version == 1 else [_optional(135, "equality_ids", _IDS)]),
        _optional(140, "sort_order_id", "int"),
        *([] if version < 3 else [_optional(142, "first_row_id", "long")]),
        *([] if version == 1 else [_optional(143, "referenced_data_file", "string")]),
        *([] if version < 3 else [_optional(144, "content_offset", "long")]),
        *([] if version < 3 else [_optional(145, "content_size_in_bytes", "long")]),
    ]
    numbers = [_optional(3, "sequence_number", "long"), _optional(4, "file_sequence_number", "long")]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _required_field(0, "status", "int"),
            _required_field(1, "snapshot_id", "long") if version == 1 else _optional(1, "snapshot_id", "long"),
            *([] if version == 1 else numbers),
            _required_field(2, "data_file", {"type": "record", "name": "r2", "fields": file}),
        ],
    }


def list_schema(version: int) -> dict[str, Any]:
    """Returns a manifest list's schema."""
    summary = {
        "type": "record",
        "name": "r508",
        "fields": [
            _required_field(509, "contains_null", "boolean"),
            _optional(518, "contains_nan", "boolean"),
            _optional(510, "lower_bound", "bytes"),
            _optional(511, "upper_bound", "bytes"),
        ],
    }
    numbers = [
        _required_field(517, "content", "int"),
        _required_field(515, "sequence_number", "long"),
        _required_field(516, "min_sequence_number", "long"),
    ]
    counts = [
        (504, "added_files_count", "int"),
        (505, "existing_files_count", "int"),
        (506, "deleted_files_count", "int"),
        (512, "added_rows_count", "long"),
        (513, "existing_rows_count", "long"),
        (514, "deleted_rows_count", "long"),
    ]
    return {
        "type": "record",
        "name": "manifest_file",
        "fields": [
            _required_field(500, "manifest_path", "string"),
            _required_field(501, "manifest_length", "long"),
            _required_field(502, "partition_spec_id", "int"),
            *([] if version == 1 else numbers),
            _required_field(503, "added_snapshot_id", "long"),
            *(_optional(*each) if version == 1 else _required_field(*each) for each in counts),
            _optional(507, "partitions", {"type": "array", "items": summary, "element-id": 508}),
            _optional(519, "key_metadata", "bytes"),
            *([_optional(520, "first_row_id", "long")] if version > 2 else []),
        ],
    }


_IDS = {"type": "array", "items": "int", "element-id": 136}


def _required_field(number: int, name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "field-id": number}


def _optional(number: int, name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", type_], "default": None, "field-id": number}


def _map(number: int, name: str, key: int, value: int, type_: str) -> dict[str, Any]:
    pair = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [_required_field(key, "key", "int"), _required_field(value, "value", type_)],
    }
    return _optional(number, name, {"type": "array", "items": pair, "logicalType": "map"})
