"""Exposes a table in another format as a Delta table over the same files.

Columns keep their field ids from the files (column mapping mode `id`). If files have no ids, all must use the same
column name, which becomes the physical name (mode `name`). Statistics come from the footers. If older files have a
narrower type for a column, the schema records the type change. Position deletes become deletion vectors in one new
file.

Protocol: "Column Mapping", "Type Widening", "Deletion Vectors", "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.conditions import FilesNotShareable
from engine.delta.commit.footer_stats import FooterStats
from engine.delta.commit.merged_vectors import read_vector
from engine.delta.conversion.converted_files import READERS_MAX, ConvertedFiles, read_sized_footer
from engine.delta.conversion.footer_columns import FooterColumns, NotShared, footer_columns, stored_name
from engine.delta.definition.metadata_changes import MetadataChange, define_table
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.log.file_table import FILES_SCHEMA, make_batch, map_array, with_entries
from engine.delta.schema.column_ids import keep_logical_name
from engine.delta.schema.column_mapping import BY_ID, BY_NAME, PHYSICAL_NAME
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.spec.properties import COLUMN_MAPPING_MAX_ID, COLUMN_MAPPING_MODE, DELETION_VECTORS, TYPE_WIDENING
from engine.delta.spec.stats import FileStats
from engine.errors.table_errors import COPY_ROWS
from engine.storage.deletion_vectors import DELETION_VECTOR, Rows
from engine.storage.paths import encode_path, is_absolute_path
from engine.storage.storage import Storage
from engine.storage.vector_files import write_vectors
from engine.tables.column_metadata import COLUMN_ID, DEFAULT
from engine.tables.definition_changes import SetProperty
from engine.tables.scan import FIELD_ID
from engine.tables.shared_files import STORED_NAMES, SharedFiles
from engine.types.arrow_types import RecordBatch
from engine.types.schema import DataType, StructField, StructType, format_data_type, map_fields

_DELTA = "delta"
_BATCH_FILES = 4096
_REWRITE = "Its own format may write the files again first (CALL system.rewrite_data_files)."
_ALLOWS_DEFAULTS = "delta.feature.allowColumnDefaults"
_ITS_OWN = frozenset({"comment", DEFAULT})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTable:
    """`files` are the Delta table's files; `written` is the deletion vector file that was written for it, if any."""

    definition: Definition
    files: ConvertedFiles
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """The conversion of `shared`, whose directory is `storage`: `label` is its name for messages, `changes` belong to
    the new table, `now_ms` is the files' time. Without `has_bounds`, statistics contain row counts only.
    """

    label: str
    shared: SharedFiles
    storage: Storage
    changes: tuple[MetadataChange, ...]
    has_bounds: bool
    now_ms: int

    def not_shareable_error(self, reason: str, advice: str = COPY_ROWS) -> FilesNotShareable:
        """Returns the error with the table, the reason and the advice, by default to copy the rows."""
        return FilesNotShareable(self.label, _DELTA, reason, advice)


def share_files(sharing: Sharing, ensure_live: Callable[[], None]) -> SharedTable:
    """Converts the files. Raises `FilesNotShareable`, `FooterNotReadable`, and the errors of `define_table`.

    Between two batches only a row per file is kept.
    """
    files = sharing.shared.files
    # VACUUM, and access rights, concern the table's own folder.
    elsewhere = next((path for path in _texts(files["path"]) if is_absolute_path(path)), None)
    if elsewhere is not None:
        raise sharing.not_shareable_error(f"{elsewhere} lies outside of the folder of the table")
    has_vectors = files["deletion_vector"].null_count < files.num_rows
    plain = _definition(sharing, BY_ID, {}, has_vectors=has_vectors)
    looking = _FooterScan(sharing, plain.config(sharing.label))
    rows_by_file = _vectors_of_sharing(sharing)
    with ThreadPoolExecutor(READERS_MAX, "footers") as threads:
        for first in range(0, files.num_rows, _BATCH_FILES):
            looking.look(slice(first, min(first + _BATCH_FILES, files.num_rows)), rows_by_file, threads, ensure_live)
    definition = _definition(sharing, looking.mode(), looking.narrower, has_vectors=has_vectors)
    ensure_live()
    batches, written = _with_vectors(sharing, looking.batches, rows_by_file)
    converted = ConvertedFiles(
        schema=definition.config(sharing.label).schema,
        batches=batches,
        num_files=files.num_rows,
        num_bytes=looking.num_bytes,
    )
    return SharedTable(definition=definition, files=converted, written=written)


def _texts(column: pa.ChunkedArray) -> Iterator[str]:
    """Yields texts in chunks."""
    for batch in pa.table([column], ["texts"]).to_batches(max_chunksize=_BATCH_FILES):
        yield from batch.column(0).to_pylist()


class _FooterScan:
    """Information from the footers: file rows, and properties that all files share."""

    def __init__(self, sharing: Sharing, config: DeltaConfig) -> None:
        self._sharing = sharing
        self._config = config
        self._stats = FooterStats(sharing.storage, config)
        self._has_ids = True
        self._has_names = all(STORED_NAMES in each.metadata for each in sharing.shared.schema.fields)
        # Types for fields in files, if they differ from the table's.
        self.narrower: dict[int, dict[DataType, None]] = {}
        self.batches: list[RecordBatch] = []
        self.num_bytes = 0

    def mode(self) -> str:
        """Returns how columns are found in all these files. Raises `FilesNotShareable`."""
        if self._has_ids or self._has_names:
            return BY_ID if self._has_ids else BY_NAME
        reason = "some of its files have no field ids, and names alone do not tell the columns of all"
        raise self._sharing.not_shareable_error(reason, _REWRITE)

    def look(
        self, at: slice, rows_by_file: Mapping[int, Rows], threads: ThreadPoolExecutor, ensure_live: Callable[[], None]
    ) -> None:
        """Reads the footers for these rows; files in `rows_by_file` have deleted rows."""
        shared, count = self._sharing.shared, at.stop - at.start
        paths = shared.files["path"].slice(at.start, count).to_pylist()

        def read(place: int, path: str) -> tuple[FooterColumns, str, int]:
            ensure_live()
            return self._read(path, has_deleted_rows=place in rows_by_file)

        texts, sizes = [], []
        for columns, text, size in threads.map(read, range(at.start, at.stop), paths):
            self._add_columns(columns)
            texts.append(text)
            sizes.append(size)
        self.num_bytes += sum(sizes)
        keys = zip(self._config.partition_columns, self._config.partition_keys, strict=True)
        values = {key: shared.partition_values[name].slice(at.start, count) for name, key in keys}
        rows = {
            "log_path": pa.array(map(encode_path, paths), pa.string()),
            "size": pa.array(sizes, pa.int64()),
            "modification_time": pa.repeat(self._sharing.now_ms, count),
            "partition_values": with_entries(map_array([{}] * count), values),
            "stats": pa.array(texts, pa.string()),
        }
        self.batches.append(make_batch(FILES_SCHEMA, rows, count))

    def _read(self, path: str, *, has_deleted_rows: bool) -> tuple[FooterColumns, str, int]:
        sharing = self._sharing
        footer, size = read_sized_footer(sharing.storage, path)  # few readers verify the sizes that a table records
        columns = _columns(sharing, footer, path)
        found = self._stats.of_footer(footer, columns.positions) if sharing.has_bounds else FileStats()
        found = replace(found, num_records=footer.num_rows, tight_bounds=False if has_deleted_rows else None)
        return columns, found.to_json(), size

    def _add_columns(self, columns: FooterColumns) -> None:
        self._has_ids &= columns.has_ids
        self._has_names &= columns.has_names
        for number, data_type in columns.narrower.items():
            self.narrower.setdefault(number, {})[data_type] = None


def _columns(sharing: Sharing, footer: Any, path: str) -> FooterColumns:
    shared = sharing.shared
    try:
        found = footer_columns(footer, shared.schema)
    except NotShared as error:
        raise sharing.not_shareable_error(f"{path}: {error}") from error
    # An Iceberg default fills in a column that the file lacks; Delta would read null.
    lacking = shared.filled - found.ids
    if lacking:
        raise sharing.not_shareable_error(
            f"{path} has no column with the id {min(lacking)}, for which the table has a default"
        )
    return found


# --- The definition ---------------------------------------------------------------------------------------------------


def _definition(
    sharing: Sharing, mode: str, narrower: Mapping[int, Iterable[DataType]], *, has_vectors: bool
) -> Definition:
    schema = _schema(sharing.shared.schema, narrower)
    changes: list[MetadataChange] = [SetProperty(key=COLUMN_MAPPING_MODE.key, value=mode), *sharing.changes]
    if has_vectors:
        changes.append(SetProperty(key=DELETION_VECTORS.key, value="true"))
    if narrower:
        changes.append(SetProperty(key=TYPE_WIDENING.key, value="true"))
    if any(DEFAULT in column.metadata for column in schema.fields):
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


def _schema(schema: StructType, narrower: Mapping[int, Iterable[DataType]]) -> StructType:
    """Adds ids and physical names in Delta's form."""

    def table_field(item: StructField) -> StructField:
        number = item.metadata[FIELD_ID]
        metadata = {key: value for key, value in item.metadata.items() if key in _ITS_OWN}
        metadata |= {COLUMN_ID: number, PHYSICAL_NAME: stored_name(item)}
        if number in narrower:
            to = format_data_type(item.data_type)
            metadata[TYPE_CHANGES] = [{"fromType": format_data_type(each), "toType": to} for each in narrower[number]]
        return replace(item, metadata=metadata)

    return map_fields(schema, table_field)


# --- The files --------------------------------------------------------------------------------------------------------


def _vectors_of_sharing(sharing: Sharing) -> dict[int, Rows]:
    """Returns the rows deleted by position, by file number."""
    column = sharing.shared.files["deletion_vector"]
    if column.null_count == len(column):
        return {}
    numbers = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    found = (read_vector(sharing.storage, each) for each in column.take(pa.array(numbers)).to_pylist())
    return {number: rows for number, rows in zip(numbers.tolist(), found, strict=True) if len(rows)}


def _with_vectors(
    sharing: Sharing, batches: Sequence[RecordBatch], rows_by_file: Mapping[int, Rows]
) -> tuple[tuple[RecordBatch, ...], tuple[str, ...]]:
    """Returns the files with the new table's deletion vectors, and the names of the vector files written."""
    if not rows_by_file:
        return tuple(batches), ()
    written, name = write_vectors(sharing.storage, list(rows_by_file.values()))
    vectors = dict(zip(rows_by_file, written, strict=True))
    first = 0
    merged = []
    at = FILES_SCHEMA.get_field_index("deletion_vector")
    for batch in batches:
        column = pa.array(map(vectors.get, range(first, first + batch.num_rows)), DELETION_VECTOR)
        merged.append(batch.set_column(at, FILES_SCHEMA.field(at), column))
        first += batch.num_rows
    return tuple(merged), (name,)
