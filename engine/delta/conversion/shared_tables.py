"""A table of another format as a Delta table over the same files.

Columns keep the ids that the files have (column mapping of the mode `id`). Where files have no ids, all have to have a
column under one name, which is the physical one then (mode `name`). Statistics come from the footers. Where older files
have a narrower type of a column, the schema notes the change. Rows that are deleted by position become deletion vectors
in one new file.

Protocol: "Column Mapping", "Type Widening", "Deletion Vectors", "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from engine.delta.commit.footer_stats import FooterStats
from engine.delta.commit.marks import read_vector
from engine.delta.conversion.converted_files import READERS_MAX, ConvertedFiles, read_sized_footer
from engine.delta.conversion.footer_columns import (
    FooterColumns,
    NotShared,
    footer_columns,
    narrower_types,
    stored_name,
)
from engine.delta.definition.metadata_changes import MetadataChange, define_table
from engine.delta.definition.table_draft import Definition
from engine.delta.log.file_table import FILES_SCHEMA, make_batch, map_array
from engine.delta.schema.column_ids import keep_logical_name
from engine.delta.schema.column_mapping import BY_ID, BY_NAME, PHYSICAL_NAME
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.spec.properties import (
    COLUMN_MAPPING_MAX_ID,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    TYPE_WIDENING,
)
from engine.delta.spec.stats import FileStats
from engine.errors.copy_errors import COPY_ROWS, FilesNotShareable
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.paths import encode_path, is_absolute_path
from engine.storage.storage import Storage
from engine.storage.vector_files import write_vectors
from engine.table.column_metadata import COLUMN_ID
from engine.table.definition_changes import SetProperty
from engine.table.scan import FIELD_ID
from engine.table.shared_files import STORED_NAMES, SharedFiles
from engine.types.schema import DataType, StructField, StructType, format_data_type, map_fields

_DELTA = "delta"
_REWRITE = "Its own format may write the files again first (CALL system.rewrite_data_files)."
_DEFAULT = "CURRENT_DEFAULT"
_ALLOWS_DEFAULTS = "delta.feature.allowColumnDefaults"
_ITS_OWN = frozenset({"comment", _DEFAULT})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTable:
    """`files` are those of the Delta table; `written` is the file of vectors that was written for it, if any."""

    definition: Definition
    files: ConvertedFiles
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """What becomes of `shared`, whose folder is that of `storage`: `label` is its name for messages, `changes` are
    those of a new table, `now_ms` the time that files have. Without `has_bounds` statistics tell the numbers of rows
    alone.
    """

    label: str
    shared: SharedFiles
    storage: Storage
    changes: tuple[MetadataChange, ...]
    has_bounds: bool
    now_ms: int

    def refused(self, reason: str, advice: str = COPY_ROWS) -> FilesNotShareable:
        return FilesNotShareable(self.label, _DELTA, reason, advice)


def share_files(sharing: Sharing, ensure_live: Callable[[], None]) -> SharedTable:
    """Raises `FilesNotShareable`, `FooterNotReadable`, and the errors of `define_table`."""
    shared = sharing.shared
    paths = shared.files["path"].to_pylist()
    elsewhere = next(filter(is_absolute_path, paths), None)
    if elsewhere is not None:
        raise sharing.refused(f"{elsewhere} lies outside of the folder of the table")
    has_vectors = shared.files["deletion_vector"].null_count < len(paths)
    plain = _definition(sharing, BY_ID, {}, has_vectors=has_vectors)
    stats = FooterStats(sharing.storage, plain.config(sharing.label))

    def look(path: str) -> tuple[FooterColumns, FileStats, int]:
        ensure_live()
        footer, size = read_sized_footer(sharing.storage, path)  # what a table says of sizes, few readers look at
        columns = _columns(sharing, footer, path)
        found = stats.of_footer(footer, columns.positions) if sharing.has_bounds else FileStats()
        return columns, replace(found, num_records=footer.num_rows), size

    with ThreadPoolExecutor(READERS_MAX, "footers") as threads:
        found = list(threads.map(look, paths))
    narrower = narrower_types(columns for columns, _, _ in found)
    definition = _definition(sharing, _mode(sharing, [each for each, _, _ in found]), narrower, has_vectors=has_vectors)
    ensure_live()
    vectors, written = _vectors(sharing)
    batch = _batch(sharing, found, vectors, definition)
    num_bytes = sum(size for _, _, size in found)
    config = definition.config(sharing.label)
    files = ConvertedFiles(schema=config.schema, batches=(batch,), num_files=len(paths), num_bytes=num_bytes)
    return SharedTable(definition=definition, files=files, written=written)


def _columns(sharing: Sharing, footer: Any, path: str) -> FooterColumns:
    shared = sharing.shared
    try:
        found = footer_columns(footer, shared.schema)
    except NotShared as error:
        raise sharing.refused(f"{path}: {error}") from error
    lacking = shared.filled - found.ids
    if lacking:
        raise sharing.refused(f"{path} has no column with the id {min(lacking)}, for which the table has a default")
    return found


def _mode(sharing: Sharing, found: Sequence[FooterColumns]) -> str:
    """How columns are found in all these files."""
    if all(each.has_ids for each in found):
        return BY_ID
    has_names = all(STORED_NAMES in each.metadata for each in sharing.shared.schema.fields)
    if has_names and all(each.has_names for each in found):
        return BY_NAME
    reason = "some of its files have no field ids, and names alone do not tell the columns of all"
    raise sharing.refused(reason, _REWRITE)


# --- The definition ---------------------------------------------------------------------------------------------------


def _definition(
    sharing: Sharing, mode: str, narrower: Mapping[int, Sequence[DataType]], *, has_vectors: bool
) -> Definition:
    schema = _schema(sharing.shared.schema, narrower)
    changes: list[MetadataChange] = [SetProperty(key=COLUMN_MAPPING_MODE.key, value=mode), *sharing.changes]
    if has_vectors:
        changes.append(SetProperty(key=DELETION_VECTORS.key, value="true"))
    if narrower:
        changes.append(SetProperty(key=TYPE_WIDENING.key, value="true"))
    if any(_DEFAULT in column.metadata for column in schema.fields):
        changes.append(SetProperty(key=_ALLOWS_DEFAULTS, value="supported"))
    definition = define_table(
        sharing.label,
        schema,
        partition_columns=sharing.shared.partition_columns,
        changes=changes,
        new_name=keep_logical_name,
    )
    configuration = {**definition.metadata.configuration, COLUMN_MAPPING_MAX_ID.key: str(sharing.shared.max_id)}
    return replace(definition, metadata=replace(definition.metadata, configuration=configuration))


def _schema(schema: StructType, narrower: Mapping[int, Sequence[DataType]]) -> StructType:
    """With ids and physical names as Delta has them."""

    def mapped(item: StructField) -> StructField:
        number = item.metadata[FIELD_ID]
        metadata = {key: value for key, value in item.metadata.items() if key in _ITS_OWN}
        metadata |= {COLUMN_ID: number, PHYSICAL_NAME: stored_name(item)}
        if number in narrower:
            to = format_data_type(item.data_type)
            metadata[TYPE_CHANGES] = [{"fromType": format_data_type(each), "toType": to} for each in narrower[number]]
        return replace(item, metadata=metadata)

    return map_fields(schema, mapped)


# --- The files --------------------------------------------------------------------------------------------------------


def _vectors(sharing: Sharing) -> tuple[pa.Array, tuple[str, ...]]:
    """Those of the new table, and the names of the files that were written for them."""
    column = sharing.shared.files["deletion_vector"]
    if column.null_count == len(column):
        return pa.nulls(len(column), DELETION_VECTOR), ()
    found = column.to_pylist()
    rows = [read_vector(sharing.storage, each) for each in found]
    marked = [at for at, each in enumerate(rows) if len(each)]
    if not marked:
        return pa.nulls(len(column), DELETION_VECTOR), ()
    written, name = write_vectors(sharing.storage, [rows[at] for at in marked])
    vectors: list[Any] = [None] * len(rows)
    for at, vector in zip(marked, written, strict=True):
        vectors[at] = vector
    return pa.array(vectors, DELETION_VECTOR), (name,)


def _batch(
    sharing: Sharing, found: Sequence[tuple[FooterColumns, FileStats, int]], vectors: pa.Array, definition: Definition
) -> pa.RecordBatch:
    paths = sharing.shared.files["path"].to_pylist()
    config = definition.config(sharing.label)
    names = dict(zip(config.partition_columns, config.partition_keys, strict=True))
    values = [{names[name]: text for name, text in each.items()} for each in sharing.shared.partition_values]
    texts = [
        (replace(each, tight_bounds=False) if is_marked else each).to_json()
        for (_, each, _), is_marked in zip(found, vectors.is_valid().to_pylist(), strict=True)
    ]
    columns = {
        "log_path": pa.array(map(encode_path, paths), pa.string()),
        "size": pa.array([size for _, _, size in found], pa.int64()),
        "modification_time": pa.repeat(sharing.now_ms, len(paths)),
        "partition_values": map_array(values),
        "stats": pa.array(texts, pa.string()),
        "deletion_vector": vectors,
    }
    return make_batch(FILES_SCHEMA, columns, len(paths))
