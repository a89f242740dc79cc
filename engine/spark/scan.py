"""Encodes a scan for Java: its name and location as JSON, its files as an Arrow table.

The Java side (`ScanFiles`, `PrunedFileIndex`) parses constants and resolves paths.

Only the column metadata that Spark needs is sent: comments, declared lengths and string collations. Spark interprets
other keys too (`EXISTS_DEFAULT` would fill in values that old files lack, although the table defines null), and a log
may contain any key. Columns with type void are in no file: they are read as missing booleans, hence null.

Protocol: "Column Mapping", "Reader Requirements for Column Mapping".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import MalformedLogEntry
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.spark.schema import FormatJson, RowTrackingJson, ScanJson
from engine.tables.scan import FileFormat, FileLayout, RowTracking, Scan
from engine.types.schema import DataType, PrimitiveType, StructField, StructType, map_fields
from engine.types.sql_types import COLLATIONS, collations_of

# Columns with deletion vectors in a scan's files, each sent as a constant with its own name.
_VECTORS = ("deletion_vector", "selected_rows", "told_rows")
# The offset for the only vector in a file, after the format version.
_FIRST_OFFSET = 1


def scan_requests(scans: Sequence[Scan]) -> list[ScanJson]:
    """Returns the request that `StatementRequest.Scan` reads, for each scan; scans over the same files have the same
    `source`.
    """
    sources: dict[int, int] = {}
    return [_request(scan, sources.setdefault(id(scan.files), len(sources))) for scan in scans]


def _request(scan: Scan, source: int) -> ScanJson:
    layout = _layout(scan)
    return {
        "relation": scan.relation,
        "metadata": scan.metadata,
        "root": scan.table_root,
        "shown_root": scan.shown_root,
        "allowed_roots": list(scan.file_places.allowed),
        "excluded_roots": list(scan.file_places.excluded),
        "accepts_hard_links": scan.file_places.accepts_hard_links,
        "lease": scan.credentials_id,
        "source": source,
        "hidden": scan.is_hidden,
        "bytes": pc.sum(scan.files["size"]).as_py() or 0,
        "schema": logical_json(scan.schema),
        "read": logical_json(_read_schema(scan)) if scan.read_as else None,
        "shown": {name: each.text for name, each in scan.read_as.items()},
        "physical": physical_json(layout.schema),
        "by_id": layout.by_id,
        "partition_columns": list(scan.partition_columns),
        "path_columns": list(scan.path_columns),
        "vectors": {column: _unused_name(scan, f"__{column}") for column in _vectors(scan)},
        "format": _format(scan.format, infers=scan.infers) if scan.format else None,
        "row_tracking": _row_tracking(scan, scan.row_tracking, by_id=layout.by_id) if scan.row_tracking else None,
    }


def _read_schema(scan: Scan) -> StructType:
    """Returns the columns as they are read. For columns in `read_as` the metadata describes the displayed type."""
    read = {name: each.data_type for name, each in scan.read_as.items()}
    fields = (
        replace(each, data_type=read[each.name], metadata={}) if each.name in read else each
        for each in scan.schema.fields
    )
    return StructType(tuple(fields))


def _format(format_: FileFormat, *, infers: bool) -> FormatJson:
    return {"kind": format_.kind.value, "options": dict(format_.options), "infers": infers}


def _layout(scan: Scan) -> FileLayout:
    if scan.layout is not None:
        return scan.layout
    plain = map_fields(scan.schema, lambda item: replace(item, metadata={}))
    return FileLayout(schema=plain, partition_keys=scan.partition_columns)


def _row_tracking(scan: Scan, tracking: RowTracking, *, by_id: bool) -> RowTrackingJson:
    return {
        "base_row_id": _unused_name(scan, "__base_row_id"),
        "default_row_commit_version": _unused_name(scan, "__default_row_commit_version"),
        "row_id_column": tracking.row_id_column,
        "row_commit_version_column": tracking.row_commit_version_column,
        "field_ids": tracking.field_ids if by_id else None,  # with any id Spark rejects files without ids
    }


def _unused_name(scan: Scan, name: str) -> str:
    """Returns an unused name for a constant."""
    taken = {column.casefold() for column in scan.schema.names}
    while name in taken:
        name += "_"
    return name


def _vectors(scan: Scan) -> list[str]:
    """Returns the vector columns that contain any vector."""
    files = scan.files
    return [name for name in _VECTORS if name in files.column_names and files[name].null_count < files.num_rows]


def file_list(scan: Scan, rows: pa.Array | None = None) -> pa.Table:
    """Returns the columns that `ScanFiles` reads: path, size, modification time, then each constant as text.

    `rows` are positions in the scan's files; None: all.
    """
    vectors = _vectors(scan)
    row_tracking = ("base_row_id", "default_row_commit_version") if scan.row_tracking else ()
    files = scan.files.select(["path", "size", "modification_time", "partition_values", *vectors, *row_tracking])
    if rows is not None:
        files = files.take(rows)
    columns = {
        "path": files["path"].cast(pa.string()),
        "size": files["size"].cast(pa.int64()),
        "modification_time": pc.fill_null(files["modification_time"].cast(pa.int64()), 0),  # some writers omit it
    }
    constants = [_values_of(files["partition_values"], key) for key in _layout(scan).partition_keys]
    if scan.empty_is_null:
        # "Partition Value Serialization": an empty string means null, but Spark would read
        # it as an empty string.
        constants = [_without_empty(texts) for texts in constants]
    for name in vectors:
        constants.append(pa.chunked_array([vector_texts(chunk) for chunk in files[name].chunks], pa.string()))
    constants += [_without_nulls(files, name).cast(pa.string()) for name in row_tracking]
    return pa.table(columns | {f"constant{position}": texts for position, texts in enumerate(constants)})


def _without_nulls(files: pa.Table, name: str) -> pa.ChunkedArray:
    if files[name].null_count:
        path = files["path"].filter(files[name].is_null())[0].as_py()
        raise MalformedLogEntry(f"The entry of {path}", f"it has no {name}, though the table tracks its rows")
    return files[name]


def _without_empty(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.min(pc.binary_length(texts)).as_py() != 0:
        return texts
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _values_of(maps: pa.ChunkedArray, key: str) -> pa.ChunkedArray:
    """Returns the value for `key` in each map; null if absent."""
    # The last value, as in JSON objects with a repeated key.
    chunks = [pc.map_lookup(chunk, pa.scalar(key), "last").cast(pa.string()) for chunk in maps.chunks]
    return pa.chunked_array(chunks, pa.string())


def vector_texts(vectors: pa.Array) -> pa.Array:
    """Returns deletion vector descriptors in the form for `DeletionVector.java`; null without a vector."""
    storage = vectors.field("storage_type")
    places = vectors.field("path_or_inline_dv")
    numbers = [vectors.field(name) for name in ("offset", "size_in_bytes", "cardinality")]
    # Only the reader may assume an offset. For the vector's id an absent one differs from 1
    # ("Derived Fields").
    numbers[0] = pc.coalesce(numbers[0], _FIRST_OFFSET)
    texts = pc.binary_join_element_wise(storage, *(number.cast(pa.string()) for number in numbers), places, " ")
    return pc.if_else(vectors.is_valid(), texts, pa.scalar(None, pa.string()))


_SHOWN = ("comment", CHAR_VARCHAR_TYPE)


def logical_json(schema: StructType) -> str:
    """Returns the columns with logical names."""
    return map_fields(schema, _displayed_field).to_json()


def physical_json(schema: StructType) -> str:
    """Returns the columns as in `FileLayout.schema`."""
    return map_fields(schema, lambda item: item, _readable).to_json()


def _displayed_field(item: StructField) -> StructField:
    metadata = {key: item.metadata[key] for key in _SHOWN if key in item.metadata}
    if collations := collations_of(item):
        metadata[COLLATIONS] = collations
    return replace(item, metadata=metadata)


def _readable(data_type: DataType) -> DataType:
    return PrimitiveType.BOOLEAN if data_type is PrimitiveType.VOID else data_type
