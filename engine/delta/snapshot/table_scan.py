"""Converts a Delta table's files to a scan, the form that all table formats share.

Protocol: "Column Mapping", "Deletion Vectors", "Row Tracking".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import file_layout
from engine.delta.spec.properties import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from engine.storage.deletion_vectors import ABSOLUTE
from engine.storage.paths import paths_of
from engine.storage.storage import Storage
from engine.tables.scan import ReadColumn, RowTracking, Scan
from engine.types.schema import StructField, StructType, map_fields
from engine.types.sql_types import COLLATIONS, collated_cast

_VECTORS = ("deletion_vector", "selected_rows")
_PLACE = "path_or_inline_dv"


def table_scan(config: DeltaConfig, storage: Storage, files: pa.Table, relation: str, label: str) -> Scan:
    """Returns a scan over `files` (`FILES_SCHEMA` or a subset) in a table with configuration `config`."""
    return Scan(
        relation=relation,
        label=label,
        table_root=storage.root,
        schema=config.schema,
        layout=file_layout(config.schema, config.column_mapping_mode, config.metadata.partition_columns),
        partition_columns=config.metadata.partition_columns,
        files=with_decoded_vectors(files),
        file_places=storage.confinement.places,
        row_tracking=_row_tracking(config),
        read_as=collated_columns(config.schema, config.metadata.partition_columns),
    )


# Parquet's statistics compare bytes. With a collation two strings may be equal whose bytes
# are not, so that Spark must not push a comparison down.
def collated_columns(schema: StructType, constants: Collection[str]) -> Mapping[str, ReadColumn]:
    """Returns the columns whose strings have a collation. They are read as strings with binary comparison.

    Spark applies the collation to comparisons and grouping, while file pruning and file reading use plain strings.
    Protocol: RFC "Collations".
    """
    found = {}
    for field, read in zip(schema.fields, map_fields(schema, _without_collations).fields, strict=True):
        if read != field and field.name not in constants:
            found[field.name] = ReadColumn(data_type=read.data_type, text=collated_cast(field))
    return found


def _without_collations(field: StructField) -> StructField:
    return replace(field, metadata={key: value for key, value in field.metadata.items() if key != COLLATIONS})


def _row_tracking(config: DeltaConfig) -> RowTracking | None:
    # "Row Tracking": only with the property are all files certain to have ids; supported
    # alone gives nulls.
    if not config.is_enabled("rowTracking"):
        return None
    return RowTracking(
        row_id_column=config.get(ROW_ID_COLUMN), row_commit_version_column=config.get(ROW_COMMIT_VERSION_COLUMN)
    )


def with_decoded_vectors(files: pa.Table) -> pa.Table:
    """Returns the table with decoded deletion vector paths; the same object if no path is absolute."""
    for name in _VECTORS:
        if name in files.column_names and files[name].null_count < files.num_rows:
            chunks = [_decode_vector_paths(chunk) for chunk in files[name].chunks]
            if any(new is not old for new, old in zip(chunks, files[name].chunks, strict=True)):
                at = files.schema.get_field_index(name)
                files = files.set_column(at, files.schema.field(at), pa.chunked_array(chunks, files[name].type))
    return files


def _decode_vector_paths(vectors: pa.StructArray) -> pa.StructArray:
    absolute = pc.equal(vectors.field("storage_type"), ABSOLUTE)
    if not pc.any(absolute).as_py():
        return vectors
    texts = vectors.field(_PLACE)
    fields = [vectors.field(field.name) for field in vectors.type]
    fields[vectors.type.get_field_index(_PLACE)] = pc.if_else(absolute, paths_of(texts), texts)
    return pa.StructArray.from_arrays(fields, fields=list(vectors.type), mask=vectors.is_null())
