"""Exports an Iceberg table's data files for tables in other formats.

A column with an identity transform in all files' specs becomes a partition column. Other transforms would require
columns that the other table does not have: their files contain the source column, and are pruned by its bounds alone.
The same applies to an identity transform that some files' specs lack; metrics must then prove that all files contain
the column.

Positions of deleted rows are passed along as deletion vectors. Equality deletes, files that are not Parquet, and types
that only Iceberg has are rejected.

Source: Iceberg table specification, "Column Projection", "Partition Transforms", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from catalog.conditions import FilesNotShareable, FolderOfTwoTables, PartitionValueNotCastable
from catalog.store.files import LOG_FOLDER, is_version
from engine.errors.table_errors import COPY_ROWS
from engine.iceberg.definition.columns import ID, spark_columns
from engine.iceberg.definition.properties import NAME_MAPPING
from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.partitions.partition_values import constant_texts, is_constant
from engine.iceberg.snapshot.file_kinds import file_kinds
from engine.iceberg.snapshot.footers import MappedName, parse_name_mapping
from engine.iceberg.snapshot.live_files import FilesOfTable
from engine.iceberg.snapshot.scans import identities
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import PartitionField
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, type_name, walk
from engine.storage.storage import Storage
from engine.tables.scan import FIELD_ID, FileKind
from engine.tables.shared_files import STORED_NAMES, SharedFiles
from engine.types.partition_values import format_partition_value, parse_partition_value
from engine.types.schema import DataType, StructField, StructType, map_fields

_REWRITE = "CALL system.rewrite_data_files with options => map('rewrite-all', 'true') writes all its files again first."
# Types that tables expose as others.
_OWN = frozenset(
    {
        Kind.UUID,
        Kind.TIME,
        Kind.TIMESTAMP_NS,
        Kind.TIMESTAMPTZ_NS,
        Kind.UNKNOWN,
        Kind.VARIANT,
        Kind.GEOMETRY,
        Kind.GEOGRAPHY,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """`data` has the data files' entries; messages use `label`."""

    label: str
    wanted: str
    metadata: TableMetadata
    schema: IcebergSchema
    data: pa.Table

    def not_shareable_error(self, reason: str, advice: str = COPY_ROWS) -> FilesNotShareable:
        return FilesNotShareable(self.label, self.wanted, reason, advice)


def ensure_not_converted(storage: Storage, label: str) -> None:
    """Raises `FolderOfTwoTables` if the folder has a Delta log, which names the same files."""
    if any(map(is_version, storage.list_names(LOG_FOLDER))):
        raise FolderOfTwoTables(label, "A change", f"delta.`{storage.root}`", f"its folder {LOG_FOLDER}")


def shared_files(source: FilesOfTable, label: str, wanted: str) -> SharedFiles:
    """Returns the files for a table in the format `wanted`. Raises `FilesNotShareable`."""
    data = source.live_files.data
    table = _Table(label=label, wanted=wanted, metadata=source.metadata, schema=source.iceberg_schema, data=data)
    if source.has_equality_deletes:
        raise table.not_shareable_error("it has rows that are deleted by their values", _REWRITE)
    if others := sorted(set(file_kinds(data, label).to_pylist()) - {FileKind.PARQUET.value}):
        raise table.not_shareable_error(f"it has data files in {others[0].upper()}", _REWRITE)
    _ensure_types(table)
    found = _partitioning(table)
    schema = _schema(table)
    values = {}
    for column, fields in found:
        type_ = schema.field(column.name)
        assert type_ is not None
        values[column.name] = _values(table, column, fields, type_.data_type)
    filled = (each.id for _, each in walk(table.schema.struct) if each.initial_default is not None)
    return SharedFiles(
        schema=schema,
        partition_columns=tuple(column.name for column, _ in found),
        partition_values=values,
        files=source.files,
        max_id=table.metadata.last_column_id,
        filled=frozenset(filled),
    )


def _schema(table: _Table) -> StructType:
    """Returns the columns with ids, comments, defaults, and the names in files without ids."""
    text = table.metadata.properties.get(NAME_MAPPING)
    names = None if text is None else dict(_mapped_names(parse_name_mapping(text)))

    def stored_field(field: StructField) -> StructField:
        metadata = {FIELD_ID if key == ID else key: each for key, each in field.metadata.items()}
        if names is not None:
            metadata[STORED_NAMES] = names.get(metadata[FIELD_ID], ())
        return replace(field, metadata=metadata)

    return map_fields(spark_columns(table.schema.struct), stored_field)


def _mapped_names(mapping: Iterable[MappedName]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for each in mapping:
        if each.id is not None:
            yield each.id, each.names
        yield from _mapped_names(each.fields)


def _ensure_types(table: _Table) -> None:
    for path, field in walk(table.schema.struct):
        if isinstance(field.type, SimpleType) and field.type.kind in _OWN:
            raise table.not_shareable_error(f"its column {'.'.join(path)} has the type {type_name(field.type)}")


# Columns, with the identity field by spec.
_Partitioning = list[tuple[IcebergField, Mapping[int, PartitionField]]]


def _partitioning(table: _Table) -> _Partitioning:
    """Returns the columns with the partition's value in all files. Raises `FilesNotShareable`."""
    specs = table.data[SPEC_ID].to_numpy()
    present = np.unique(specs).tolist() if len(specs) else [table.metadata.default_spec_id]
    fields = {
        spec: {each.source_id: each for each in identities(table.schema, table.metadata.specs[spec])}
        for spec in present
    }
    shared: _Partitioning = []
    for column in table.schema.fields:
        of = {spec: fields[spec][column.id] for spec in present if column.id in fields[spec]}
        if len(of) == len(present) and isinstance(column.type, SimpleType) and _has_texts(column.type):
            shared.append((column, of))
            continue
        for spec in of:
            if metric(table.data.filter(pa.array(specs == spec)), "value_counts", column.id).null_count:
                reason = f"nothing tells that all files have the column {column.name}, by which some are partitioned"
                raise table.not_shareable_error(reason, _REWRITE)
    return shared


def _has_texts(type_: SimpleType) -> bool:
    return is_constant(type_) or type_.kind is Kind.DECIMAL


def _values(table: _Table, column: IcebergField, fields: Mapping[int, PartitionField], data_type: DataType) -> pa.Array:
    """Returns a partition column's text for each file."""
    specs = table.data[SPEC_ID].to_numpy()
    assert isinstance(column.type, SimpleType)
    places = [np.flatnonzero(specs == spec) for spec in fields]
    parts = []
    for field, rows in zip(fields.values(), places, strict=True):
        found = constant_texts(table.data.take(pa.array(rows)), field, column.type).dictionary_encode()
        texts = [_text(table, column, text, data_type) for text in found.dictionary.to_pylist()]
        parts.append(pa.array(texts, pa.string()).take(found.indices))
    if not parts:
        return pa.nulls(0, pa.string())
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _text(table: _Table, column: IcebergField, text: str, data_type: DataType) -> str:
    try:
        found = format_partition_value(parse_partition_value(text, data_type), data_type)
    except PartitionValueNotCastable:
        found = None
    if found is None:  # also the empty text, which equals null there
        raise table.not_shareable_error(f"no partition of it can have the value {text!r} of the column {column.name}")
    return found
