"""Reads checkpoints (classic, multi-part, and v2 with sidecars) by column and in batches.

A checkpoint is a table with one column per action kind and one row per action. Two things are read from it separately:

* `read_small_actions`: protocol, metadata, transactions, domains, sidecars. Row groups in which these columns are null
  according to the Parquet statistics are skipped, so that reading a table's schema is cheap for any number of files.
* `read_adds`, `read_removes`: the files, as `FILES_SCHEMA` or `TOMBSTONES_SCHEMA` batches, one at a time. Only the
  columns in these schemas are decoded, and only one batch is in memory. Statistics that exist only as a struct are
  converted to JSON, so that later code handles one form. The reader verifies that no file identity occurs twice; for
  this it reads the removes' keys with the adds. See `engine.delta.checkpoint.unique_keys`.

A checkpoint's contents decide its form, not its name: a classic name may have a v2 body. A v2 checkpoint has its files
inline or in sidecars (Parquet under `_sidecars/`); its top level may be JSON.

Malformed contents raise `MalformedLogEntry`, a missing part raises `LogFileNotFound`. The caller may fall back to an
older checkpoint for both.

Protocol: "Checkpoints", "V2 Spec", "Sidecar Files", "Checkpoint Schema".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.conditions import LogFileNotFound, MalformedLogEntry
from engine.delta.checkpoint.unique_keys import UniqueKeys
from engine.delta.log.arrow_json import format_json, is_json_scalar
from engine.delta.log.commit_reader import CommitParser, LogActions
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA, make_batch
from engine.delta.log.log_segment import Checkpoint
from engine.delta.spec.actions import Sidecar, camel_case
from engine.delta.spec.paths import LOG_DIR, SIDECAR_DIR
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.paths import decode_path, is_absolute_path, resolve_path
from engine.storage.storage import Storage
from engine.types.arrow_types import Array, RecordBatch

_SMALL_BYTES = 1 << 16

_BATCH_ROWS = 1 << 14
# Statistics bytes per batch, so that long statistics reuse the memory that the previous batch released.
_BATCH_BYTES = 1 << 23
_BATCH_ROWS_MIN = 1 << 10
_STATS = "add.stats"
# The fields that determine a logical file's identity.
_KEYS_SCHEMA = pa.schema([("path", pa.string()), ("log_path", pa.string()), ("deletion_vector", DELETION_VECTOR)])
_SMALL_ACTIONS = ("protocol", "metaData", "txn", "domainMetadata", "sidecar")


class CheckpointReader:
    """Reads one checkpoint. Keeps no file open between calls."""

    def __init__(self, storage: Storage, checkpoint: Checkpoint) -> None:
        self._storage = storage
        self._checkpoint = checkpoint
        self._json = checkpoint.files[0].is_json
        self._actions: LogActions | None = None
        # Files that were read completely when opened, because each opening would be a request.
        self._small_files: dict[str, bytes] = {}

    def read_small_actions(self) -> LogActions:
        """Returns all actions except file actions.

        A JSON top level, which is read as a whole, includes its file actions.
        """
        if self._actions is None:
            # Actions in a checkpoint are reconciled ("Action Reconciliation"): a second
            # protocol or metadata means that the file is broken, where a commit's later
            # action would only be a rule's violation.
            parser = CommitParser(reconciled=True)
            for name in self._checkpoint.names:
                if self._json:
                    parser.feed(self._read_bytes(name), name)
                else:
                    self._feed_small_actions(parser, name)
            self._actions = parser.finish()
        return self._actions

    def read_adds(self) -> Iterator[RecordBatch]:
        """Yields `FILES_SCHEMA` batches with at most 16,384 rows."""
        return self._ensure_reconciled(self._adds(FILES_SCHEMA), self._removes(_KEYS_SCHEMA))

    def read_removes(self) -> Iterator[RecordBatch]:
        """Yields `TOMBSTONES_SCHEMA` batches."""
        return self._ensure_reconciled(self._removes(TOMBSTONES_SCHEMA), self._adds(_KEYS_SCHEMA))

    def _ensure_reconciled(
        self, batches: Iterator[RecordBatch], others: Iterator[RecordBatch]
    ) -> Iterator[RecordBatch]:
        """Yields `batches`. Raises after the last one if an identity occurs twice in them and `others`.

        They come from all files in the checkpoint, so that parts and sidecars may not overlap either.
        """
        keys = UniqueKeys()
        for batch in batches:
            keys.add(batch)
            yield batch
        for batch in others:
            keys.add(batch)
        if (path := keys.find_duplicate()) is not None:
            raise MalformedLogEntry(self._checkpoint.names[0], f"it is not reconciled: it mentions {path} twice")

    def _adds(self, schema: Any) -> Iterator[RecordBatch]:
        yield from self.read_small_actions().adds.batches
        yield from self._read_files("add", schema)

    def _removes(self, schema: Any) -> Iterator[RecordBatch]:
        yield from self.read_small_actions().removes.batches
        yield from self._read_files("remove", schema)

    def _file_names(self) -> list[str]:
        """Returns the files with file actions: the checkpoint's own Parquet files and its sidecars."""
        # "V2 Spec": file actions are either all in sidecars or all in the top level. Both
        # places are read, because the unique keys show a writer's mistake at no extra cost.
        names = [] if self._json else list(self._checkpoint.names)
        return names + [sidecar_path(sidecar) for sidecar in self.read_small_actions().sidecars]

    def _read_files(self, action: str, schema: Any) -> Iterator[RecordBatch]:
        for name in self._file_names():
            with self._open(name) as file:
                struct = _struct_of(file.schema_arrow, action)
                if struct is None:
                    continue
                leaves = _leaves(action, struct, schema)
                # "Checkpoint Schema": `stats` is absent if
                # `delta.checkpoint.writeStatsAsJson` is off; the typed `stats_parsed` then
                # has the values.
                if schema is FILES_SCHEMA and not _has_json_stats(file):
                    leaves += _parsed_stats_leaves(file.schema_arrow.field(action).type)
                groups = _row_groups_with(file, f"{action}.path")
                for column in self._read_structs(name, file, leaves, groups):
                    rows = _present(column)
                    if len(rows):
                        yield _convert(rows, schema)

    def _read_structs(self, name: str, file: Any, leaves: list[str], groups: list[int]) -> Iterator[Array]:
        """Yields an action's column in batches. Statistics are half the work; for large files a thread decodes them."""
        # A second reader per file pays for its own opening only if there is more than one
        # batch.
        if _STATS not in leaves or file.metadata.num_rows <= _BATCH_ROWS:
            yield from _iter_column(file, leaves, groups, _BATCH_ROWS)
            return
        rows = _rows_at_once(file)
        others = [leaf for leaf in leaves if leaf != _STATS]
        with self._open(name) as again, ThreadPoolExecutor(1, "statistics") as thread:
            texts = _ahead(thread, _iter_column(again, [_STATS], groups, rows))
            for column, text in zip(_iter_column(file, others, groups, rows), texts, strict=True):
                if len(column) != len(text):
                    raise ValueError("columns of unequal length")
                names = [field.name for field in column.type]
                children = [column.field(i) for i in range(len(names))]
                mask = column.is_null() if column.null_count else None
                yield pa.StructArray.from_arrays([*children, text.field(0)], [*names, "stats"], mask=mask)

    def _feed_small_actions(self, parser: CommitParser, name: str) -> None:
        with self._open(name) as file:
            # "Checkpoint Schema": a checkpoint may leave out the column of an action kind
            # that it has no row of.
            columns = [column for column in _SMALL_ACTIONS if _struct_of(file.schema_arrow, column) is not None]
            for column in columns:
                groups = _row_groups_with(file, f"{column}.")
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=[column]):
                    for value in _present(batch.column(0)).to_pylist():
                        parser.take_json({column: value}, name)

    def _read_bytes(self, name: str) -> bytes:
        try:
            return self._storage.read_bytes(name)
        except FileNotFoundError as error:
            raise LogFileNotFound(self._storage.path_of(name)) from error

    @contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        """Opens a `ParquetFile`. Errors inside the block name the file."""
        try:
            with self._open_input(name) as raw, _parquet_file(raw) as file:
                yield file
        except FileNotFoundError as error:
            raise LogFileNotFound(self._storage.path_of(name)) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise MalformedLogEntry(name, str(error)) from error

    def _open_input(self, name: str) -> BinaryIO:
        if (cached := self._small_files.get(name)) is not None:
            return BytesIO(cached)
        raw = self._storage.open_input(name)
        # The storage reads small objects as a whole, since each range would be a request; a
        # checkpoint is opened once for the small actions and again for the files.
        if isinstance(raw, BytesIO) and len(data := raw.getvalue()) <= _SMALL_BYTES:
            self._small_files[name] = data
        return raw


def _iter_column(file: Any, leaves: list[str], groups: list[int], rows: int) -> Iterator[Array]:
    for batch in file.iter_batches(rows, row_groups=groups, columns=leaves):
        yield batch.column(0)


def _rows_at_once(file: Any) -> int:
    """Returns the number of rows with about `_BATCH_BYTES` of statistics, according to the footer."""
    metadata = file.metadata
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    size = sum(column.total_uncompressed_size for column in columns if column.path_in_schema == _STATS)
    fitting: int = _BATCH_BYTES * metadata.num_rows // max(size, 1)
    return min(_BATCH_ROWS, max(_BATCH_ROWS_MIN, fitting))


def _ahead(thread: ThreadPoolExecutor, items: Iterator[Array]) -> Iterator[Array]:
    """Yields the items. `thread` prepares each one while the previous one is processed."""
    upcoming = thread.submit(next, items, None)
    while (item := upcoming.result()) is not None:
        upcoming = thread.submit(next, items, None)
        yield item


def _parquet_file(raw: BinaryIO) -> Any:
    """Opens a Parquet file; page checksums are verified if the writer stored them."""
    return pq.ParquetFile(raw, pre_buffer=False, page_checksum_verification=True)


def sidecar_path(sidecar: Sidecar) -> str:
    """Returns a sidecar's file: a name under `_sidecars` or an absolute path, encoded like data file paths."""
    path = resolve_path(decode_path(sidecar.path))
    return path if is_absolute_path(path) else f"{LOG_DIR}/{SIDECAR_DIR}/{path}"


def _struct_of(schema: Any, column: str) -> Any:
    """Returns the struct type for an action's column, or None if the checkpoint lacks the column."""
    index = schema.get_field_index(column)
    if index < 0:
        return None
    data_type = schema.field(index).type
    if not pa.types.is_struct(data_type):
        raise ValueError(f"column {column} is {data_type}, not a struct")
    return data_type


def _leaves(action: str, struct: Any, schema: Any) -> list[str]:
    """Returns the Parquet columns to decode: the schema's columns that the checkpoint has, and always `path`."""
    present = {struct.field(i).name for i in range(struct.num_fields)}
    if "path" not in present:
        raise ValueError(f"column {action} has no field path")
    wanted = ["path", *(camel_case(field.name) for field in schema if field.name not in ("path", "log_path"))]
    return [f"{action}.{name}" for name in wanted if name in present]


def _row_groups_with(file: Any, prefix: str) -> list[int]:
    """Returns the row groups in which a column under `prefix` may have a value, by the footer's statistics."""
    metadata = file.metadata
    if metadata.num_row_groups == 0:
        return []
    first = metadata.row_group(0)
    columns = [i for i in range(first.num_columns) if first.column(i).path_in_schema.startswith(prefix)]
    return [
        group
        for group in range(metadata.num_row_groups)
        if not columns or any(_may_hold_values(metadata.row_group(group).column(i)) for i in columns)
    ]


def _may_hold_values(column: Any) -> bool:
    # Without statistics for the column chunk, a row group may contain an action and must be
    # read.
    statistics = column.statistics
    return statistics is None or not statistics.has_null_count or statistics.null_count < column.num_values


def _present(column: Array) -> Array:
    """Returns the rows that contain an action of this kind."""
    if column.null_count == 0:
        return column
    if column.null_count == len(column):
        return column.slice(0, 0)
    return column.filter(column.is_valid())


def _has_json_stats(file: Any) -> bool:
    """Returns whether statistics are written as JSON. Otherwise they may exist as a struct."""
    metadata = file.metadata
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for i in range(row_group.num_columns):
            column = row_group.column(i)
            if column.path_in_schema == _STATS and _may_hold_values(column):
                return True
    return False


def _parsed_stats_leaves(struct: Any) -> list[str]:
    """Returns the columns in `stats_parsed` that JSON can represent."""
    index = struct.get_field_index("stats_parsed")
    return [] if index < 0 else list(_json_leaves(struct.field(index).type, "add.stats_parsed"))


def _json_leaves(data_type: Any, path: str) -> Iterator[str]:
    if pa.types.is_struct(data_type):
        for field in data_type:
            yield from _json_leaves(field.type, f"{path}.{field.name}")
    elif is_json_scalar(data_type):
        yield path


def _convert(rows: Array, schema: Any) -> RecordBatch:
    fields = {field.name: rows.field(i) for i, field in enumerate(rows.type)}
    columns = {
        "log_path" if field.name == "path" else field.name: _column(field, fields)
        for field in schema
        if field.name != "log_path" and camel_case(field.name) in fields
    }
    if "stats_parsed" in fields:
        columns["stats"] = format_json(fields["stats_parsed"])
    columns["log_path"] = _texts(columns["log_path"])
    if columns["log_path"].null_count:
        raise ValueError("an action without a path")
    batch = make_batch(schema, columns, len(rows))
    batch.validate(full=True)  # invalid UTF-8 would otherwise only fail when displayed; costs 40 ms per million files
    return batch


def _column(field: Any, fields: Mapping[str, Array]) -> Array:
    array = fields[camel_case(field.name)]
    if field.name == "deletion_vector":
        return _vectors(array)
    if field.name == "stats":
        array = array.cast(pa.string())
        # Some writers store an empty text where the file has no statistics; as JSON it
        # would be malformed.
        shortest = pc.min(pc.binary_length(array)).as_py()
        return array if shortest != 0 else pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
    return array


def _texts(array: Array) -> Array:
    """Casts to string. Some writers omit the string annotation."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_binary(array.type)):
        raise ValueError(f"a path of type {array.type}")
    return array.cast(pa.string())


def _vectors(array: Array) -> Array:
    """Returns descriptors with our field order. Some writers represent an absent one as a struct with nulls."""
    if array.null_count == len(array):
        return array
    if not pa.types.is_struct(array.type) or array.type.get_field_index("storageType") < 0:
        raise ValueError("a deletion vector that is no descriptor")
    names = {field.name: i for i, field in enumerate(array.type)}
    storage_type = array.field(names["storageType"])
    children = [
        array.field(names[camel_case(field.name)]).cast(field.type)
        if camel_case(field.name) in names
        else pa.nulls(len(array), field.type)
        for field in DELETION_VECTOR
    ]
    absent = pc.or_(array.is_null(), storage_type.is_null())
    return pa.StructArray.from_arrays(children, fields=list(DELETION_VECTOR), mask=absent)
