"""Checks Parquet files from other writers for use as data files; columns are found by name.

These files have no field ids, so the table needs a name mapping. A file is accepted if each of its columns in the table
can be read as the table's type, and no required column is missing. Partition values come from folder names, which
contain them only for identity transforms.

Source: Iceberg table specification, "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, assert_never
from urllib.parse import unquote

import pyarrow as pa

from catalog.conditions import PartitionValueNotCastable
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.snapshot.footers import MappedName
from engine.iceberg.spec.partitions import PartitionField, TransformKind
from engine.iceberg.spec.types import (
    IcebergField,
    IcebergType,
    Kind,
    ListType,
    MapOfType,
    SimpleType,
    StructOfType,
    type_name,
)
from engine.iceberg.writing.partition_tuples import partition_key
from engine.types.partition_values import HIVE_NULL, parse_partition_value

_FIELD_ID = b"PARQUET:field_id"
_EPOCH = date(1970, 1, 1)
_EPOCH_TIME = datetime(1970, 1, 1)
_INTEGERS: Mapping[Kind, tuple[pa.DataType, ...]] = {
    Kind.INT: (pa.int8(), pa.int16(), pa.int32()),
    Kind.LONG: (pa.int8(), pa.int16(), pa.int32(), pa.int64()),
}
# Accepted Arrow types by kind; Spark's INT96 timestamps are handled by `_is_int96`.
_TAKEN: Mapping[Kind, Callable[[pa.DataType, SimpleType], bool]] = {
    Kind.BOOLEAN: lambda found, _: pa.types.is_boolean(found),
    Kind.INT: lambda found, _: found in _INTEGERS[Kind.INT],
    Kind.LONG: lambda found, _: found in _INTEGERS[Kind.LONG],
    Kind.FLOAT: lambda found, _: pa.types.is_float32(found),
    Kind.DOUBLE: lambda found, _: pa.types.is_float32(found) or pa.types.is_float64(found),
    Kind.DATE: lambda found, _: pa.types.is_date32(found),
    Kind.STRING: lambda found, _: pa.types.is_string(found) or pa.types.is_large_string(found),
    Kind.BINARY: lambda found, _: pa.types.is_binary(found) or pa.types.is_large_binary(found),
    Kind.TIMESTAMP: lambda found, _: pa.types.is_timestamp(found) and found.unit == "us" and found.tz is None,
    Kind.TIMESTAMPTZ: lambda found, _: pa.types.is_timestamp(found) and found.unit == "us" and found.tz is not None,
    Kind.DECIMAL: lambda found, kind: (
        pa.types.is_decimal128(found) and found.scale == kind.scale and found.precision <= kind.precision
    ),
}
_PARTITIONS = frozenset({Kind.BOOLEAN, Kind.INT, Kind.LONG, Kind.DATE, Kind.STRING, Kind.DECIMAL})


class NotTaken(Exception):
    """The reason why a file cannot be a data file in the table."""


def extended_mapping(mapping: Sequence[MappedName], fields: Sequence[IcebergField]) -> tuple[MappedName, ...]:
    """Returns a mapping that includes every column's current name.

    Raises `NotTaken` if the name denotes another column in existing files.
    """
    owners = {name: each.id for each in mapping for name in each.names}
    known = {each.id: each for each in mapping}
    extended = {}
    for field in fields:
        if owners.get(field.name, field.id) != field.id:
            reason = f"files of the table have the column {field.name} for another one that was called so"
            raise NotTaken(f"{reason}, and cannot have it for both")
        old = known.get(field.id) or MappedName(field.id, (), ())
        names = old.names if field.name in old.names else (*old.names, field.name)
        inner = extended_mapping(old.fields, [*_fields_of(field.type)])
        extended[field.id] = MappedName(field.id, names, inner)
    mapped = [extended.pop(each.id, each) if each.id is not None else each for each in mapping]
    return (*mapped, *extended.values())


def mapping_json(mapping: Sequence[MappedName]) -> list[dict[str, Any]]:
    """Returns the table property's JSON."""
    return [
        {
            **({} if each.id is None else {"field-id": each.id}),
            "names": list(each.names),
            **({"fields": mapping_json(each.fields)} if each.fields else {}),
        }
        for each in mapping
    ]


def _fields_of(type_: IcebergType) -> Iterator[IcebergField]:
    match type_:
        case StructOfType(fields=fields):
            yield from fields
        case ListType(element=element):
            yield element
        case MapOfType(key=key, value=value):
            yield from (key, value)
        case SimpleType():
            return
        case _:
            assert_never(type_)


def ensure_foreign(footer: Any, fields: Sequence[IcebergField], in_folders: frozenset[int]) -> None:
    """Checks a file. Raises `NotTaken`, also for another table's files. `in_folders` are fields with values in folder
    names.
    """
    columns = list(footer.schema.to_arrow_schema())
    named = {field.name: field for field in fields}
    for column in columns:
        if has_id(column):
            raise NotTaken(f"its column {column.name} has a field id, so that it is a file of another table")
        found = named.get(column.name)
        if found is not None and found.id in in_folders:
            raise NotTaken(f"it has the column {column.name}, which the names of its folders say")
    ensure_columns(columns, footer, fields, in_folders)
    if not named.keys() & {column.name for column in columns}:
        raise NotTaken("it has no column of the table")


def ensure_columns(
    columns: Sequence[pa.Field], footer: Any, fields: Sequence[IcebergField], of_partitions: frozenset[int]
) -> None:
    """Checks columns. Raises `NotTaken`. `columns` are the file's, under the names in `fields`; the values of the
    fields `of_partitions` come from elsewhere.
    """
    known = {field.name: field for field in fields}
    folded = {field.name.casefold(): field for field in fields}
    for column in columns:
        found = known.get(column.name)
        if found is None:
            if column.name.casefold() in folded:
                other = folded[column.name.casefold()].name
                raise NotTaken(f"its column {column.name} is spelled otherwise in the table, {other}")
            continue
        _ensure_type(column, found, column.name, footer)
    names = {column.name for column in columns}
    for field in fields:
        if field.required and field.id not in of_partitions:
            _ensure_no_nulls(footer, field, names)


def has_id(column: pa.Field) -> bool:
    """Returns True if a file's column has an id."""
    return field_id(column) is not None


def has_ids(column: pa.Field) -> bool:
    """Returns True if a file's column, or a nested field at any depth, has an id."""
    inner = [column.type.field(number) for number in range(column.type.num_fields)]
    return has_id(column) or any(map(has_ids, inner))


def field_id(column: pa.Field) -> int | None:
    """Returns a file column's id."""
    text = (column.metadata or {}).get(_FIELD_ID)
    return int(text) if text is not None and int(text) >= 0 else None


def _ensure_type(column: pa.Field, field: IcebergField, path: str, footer: Any) -> None:
    found, wanted = column.type, field.type
    if isinstance(wanted, StructOfType) and pa.types.is_struct(found):
        inner = {each.name: each for each in wanted.fields}
        for part in found:
            if part.name in inner:
                _ensure_type(part, inner[part.name], f"{path}.{part.name}", footer)
        missing = [each.name for each in wanted.fields if each.required and each.name not in {p.name for p in found}]
        if missing:
            raise NotTaken(f"its column {path} has no {missing[0]}, which the table requires")
        return
    if isinstance(wanted, ListType) and (pa.types.is_list(found) or pa.types.is_large_list(found)):
        return _ensure_type(found.value_field, wanted.element, f"{path}.element", footer)
    if isinstance(wanted, MapOfType) and pa.types.is_map(found):
        _ensure_type(found.key_field, wanted.key, f"{path}.key", footer)
        return _ensure_type(found.item_field, wanted.value, f"{path}.value", footer)
    if isinstance(wanted, SimpleType):
        taken = _TAKEN.get(wanted.kind)
        if taken is not None and taken(found, wanted):
            return
        if wanted.kind is Kind.TIMESTAMPTZ and _is_int96(footer, path):
            return
    raise NotTaken(f"its column {path} has the type {found}, and the table's is {type_name(wanted)}")


def _is_int96(footer: Any, path: str) -> bool:
    columns = [footer.schema.column(number) for number in range(len(footer.schema))]
    return any(each.path == path and each.physical_type == "INT96" for each in columns)


def _ensure_no_nulls(footer: Any, field: IcebergField, names: set[str]) -> None:
    """Checks a required column. Raises `NotTaken`."""
    if field.name not in names:
        raise NotTaken(f"it has no column {field.name}, which the table requires")
    if not isinstance(field.type, SimpleType):
        raise NotTaken(f"nothing tells whether its column {field.name}, which the table requires, has nulls")
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        (chunk,) = [each for each in map(group.column, range(group.num_columns)) if each.path_in_schema == field.name]
        if chunk.statistics is None or not chunk.statistics.has_null_count:
            raise NotTaken(f"nothing tells whether its column {field.name}, which the table requires, has nulls")
        if chunk.statistics.null_count:
            raise NotTaken(f"its column {field.name} has nulls, which the table does not allow")


# --- Partitions ---


def partition_fields(definition: IcebergDefinition) -> dict[str, tuple[PartitionField, IcebergField]]:
    """Returns the partition fields by folded column name. Raises `NotTaken` for transforms."""
    columns = {each.id: each for each in definition.iceberg_schema.struct.fields}
    found = {}
    for field in definition.spec.fields:
        if field.transform.kind is TransformKind.VOID:
            continue
        column = columns.get(field.source_id)
        is_known = column is not None and isinstance(column.type, SimpleType) and column.type.kind in _PARTITIONS
        if field.transform.kind is not TransformKind.IDENTITY or column is None or not is_known:
            raise NotTaken(f"folders do not tell the values of the table's partition field {field.name}")
        found[column.name.casefold()] = (field, column)
    return found


def folder_texts(path: str) -> dict[str, str | None]:
    """Returns the values in folder names, by folded column name. Raises `NotTaken` if two folders have the same
    column.
    """
    found: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, equals, text = part.partition("=")
        column = unquote(name).casefold()
        if equals and column in found:
            raise NotTaken(f"the names of the folders of {path} say two values of the column {column}")
        if equals:
            found[column] = None if text == HIVE_NULL else unquote(text)
    return found


def partition_values(
    texts: Mapping[str, str | None],
    fields: Mapping[str, tuple[PartitionField, IcebergField]],
    definition: IcebergDefinition,
) -> dict[str, str | None]:
    """Returns values in the form that `engine.iceberg.writing.partition_tuples` parses. Raises `NotTaken`."""
    if texts.keys() != fields.keys():
        said, wanted = (", ".join(sorted(each)) or "none" for each in (texts, fields))
        raise NotTaken(f"its folders say values of the columns {said}, and the table is partitioned by {wanted}")
    values = {}
    for name, (field, column) in fields.items():
        text = value_text(texts[name], column, definition)
        if text is None and column.required:
            raise NotTaken(f"its folders say that {column.name} is null, which the table does not allow")
        values[partition_key(field)] = text
    return values


def value_text(text: str | None, column: IcebergField, definition: IcebergDefinition, zone: tzinfo = UTC) -> str | None:
    """Returns a partition text in the form that `engine.iceberg.writing.partition_tuples` parses; `zone` applies to
    timestamps without one. Raises `NotTaken`.
    """
    assert isinstance(column.type, SimpleType)
    if text is None:
        return None
    if column.type.kind is Kind.STRING:
        return f"x{text.encode().hex()}"
    field = definition.schema.field(column.name)
    assert field is not None
    try:
        value = parse_partition_value(text, field.data_type, zone)
    except PartitionValueNotCastable as error:
        raise NotTaken(f"{text!r} in the names of its folders is no {type_name(column.type)}") from error
    match value:
        case None:
            raise NotTaken(f"the names of its folders say no value of {column.name}")
        case bool():
            return "true" if value else "false"
        case datetime():
            since = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return str((since - _EPOCH_TIME) // timedelta(microseconds=1))
        case date():
            return str((value - _EPOCH).days)
        case bytes():
            return f"x{value.hex()}"
        case Decimal():
            return f"{value:f}"
        case str() | int() | float():
            return str(value)
        case _:
            assert_never(value)
