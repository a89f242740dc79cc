"""Reads commits and log compactions: JSON in, Arrow columns out.

A log can have ten thousand commits, and a commit a million files, so this is bulk work. msgspec decodes the lines into
short-lived rows with only the fields that a table's state has, and every few thousand rows become an Arrow batch. For
adds with statistics this took 0.8 µs per action on one core, less than pyarrow's JSON reader (1.2 µs on two cores),
which also cannot read an object with arbitrary keys such as `partitionValues`. Rare actions (metadata, protocol,
transactions, domains) become `engine.delta.spec.actions` values, including their unknown fields.

Input that the fast decoder rejects (several objects on a line, one object on several lines, numbers instead of strings)
is parsed again by the tolerant decoder, which accepts it or reports the defect. A file without any action is rejected:
a crash or an interrupted copy leaves an empty commit file, which must not be read as an empty version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeAlias, assert_never

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.conditions import MalformedLogEntry
from engine.delta.log.file_table import CDC_SCHEMA, FILES_SCHEMA, TOMBSTONES_SCHEMA, make_batch, map_array
from engine.delta.spec.actions import (
    Action,
    Add,
    AddCdcFile,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Json,
    Metadata,
    Protocol,
    Remove,
    SetTransaction,
    Sidecar,
    parse_action,
    parse_json_stream,
)
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.types.arrow_types import RecordBatch

# For each row, its action's position in the sequence of all file actions read. The later action wins.
Order: TypeAlias = npt.NDArray[np.int64]

# Every commit has at least one action, if only its `commitInfo`, so an empty file is not a version without changes.
EMPTY = "it holds no action: it was written in part, or emptied"

_FLUSH_ROWS = 1 << 14
# Errors that the fast decoder raises for unsupported input.
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class FileRows:
    """File actions of one kind in columns, with their positions in the sequence of actions."""

    batches: tuple[RecordBatch, ...]
    orders: tuple[Order, ...]

    @property
    def num_rows(self) -> int:
        """Returns the number of file actions in all batches."""
        return sum(map(len, self.orders))

    def table(self, schema: Any) -> Any:
        """Returns the rows as a `pyarrow.Table` with their `schema`, in log order."""
        return pa.Table.from_batches(self.batches, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogActions:
    """The actions in a range of commits; only the newest action where newer ones supersede older ones."""

    protocol: Protocol | None
    metadata: Metadata | None
    set_transactions: dict[str, SetTransaction]
    # Includes the tombstones of removed domains.
    domain_metadata: dict[str, DomainMetadata]
    # From the last commit read.
    commit_info: CommitInfo | None
    adds: FileRows
    removes: FileRows
    cdc: FileRows
    sidecars: tuple[Sidecar, ...]


class CommitParser:
    """Parses commits, oldest first, and returns their `LogActions`."""

    def __init__(self, *, reconciled: bool = False) -> None:
        """Creates a parser. `reconciled`: the input is one checkpoint and has at most one action per subject."""
        self._said: set[tuple[str, str]] | None = set() if reconciled else None
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._transactions: dict[str, SetTransaction] = {}
        self._domains: dict[str, DomainMetadata] = {}
        self._commit_info: Callable[[], CommitInfo] | None = None
        self._sidecars: list[Sidecar] = []
        self._adds = _Columns(make_adds)
        self._removes = _Columns(make_removes)
        self._cdc = _Columns(_make_cdc)
        self._position = 0

    def feed(self, data: bytes, source: str) -> None:
        """Parses one commit. Raises `MalformedLogEntry` with `source`."""
        self._commit_info = None
        try:
            lines = _DECODER.decode_lines(data)
        except _REFUSED:
            self._feed_tolerantly(data, source)
            return
        if not lines:
            raise MalformedLogEntry(source, EMPTY)
        try:
            for line in lines:
                if line.add is not None:
                    self._adds.append(line.add, self._next())
                if line.remove is not None:
                    self._removes.append(line.remove, self._next())
                elif line.add is None:
                    self._take_line(line, source)
        except MalformedLogEntry as error:
            raise MalformedLogEntry(source, error.detail) from error

    def feed_compaction(self, data: bytes, source: str) -> range:
        """Parses one log compaction and returns its file actions' positions in the sequence of all file actions.

        Raises `MalformedLogEntry`, also for two actions about the protocol, the table, an application or a domain. The
        caller, who has all rows, must check if a file occurs twice.
        """
        first, self._said = self._position + 1, set()
        try:
            self.feed(data, source)
        finally:
            self._said = None
        return range(first, self._position + 1)

    def take_json(self, value: Json, source: str) -> None:
        """Parses one action from a JSON value, such as a checkpoint row. Raises `MalformedLogEntry` with `source`."""
        try:
            action = parse_action(value)
            if action is not None:
                self._take(action)
        except MalformedLogEntry as error:
            raise MalformedLogEntry(source, error.detail) from error

    def finish(self) -> LogActions:
        """Returns the reconciled actions of all parsed commits; the parser is not used after this."""
        return LogActions(
            protocol=self._protocol,
            metadata=self._metadata,
            set_transactions=self._transactions,
            domain_metadata=self._domains,
            commit_info=self._commit_info() if self._commit_info else None,
            adds=self._adds.finish(),
            removes=self._removes.finish(),
            cdc=self._cdc.finish(),
            sidecars=tuple(self._sidecars),
        )

    def _next(self) -> int:
        self._position += 1
        return self._position

    def _take_line(self, line: _Line, source: str) -> None:
        if line.cdc is not None:
            self._cdc.append(line.cdc, self._next())
        if _is_there(line.commit_info):
            # Any JSON is legal here and it is rarely read, so it is parsed on demand.
            raw = bytes(line.commit_info)
            self._commit_info = lambda: _commit_info(raw, source)
        if _is_there(line.protocol):
            self._take(_protocol(bytes(line.protocol)))
        for kind, raw_value in (
            (Metadata, line.meta_data),
            (SetTransaction, line.txn),
            (DomainMetadata, line.domain_metadata),
            (Sidecar, line.sidecar),
        ):
            if _is_there(raw_value):
                self._take(kind.from_json(_value(bytes(raw_value), source)))

    def _feed_tolerantly(self, data: bytes, source: str) -> None:
        values = list(parse_json_stream(data, source))
        if not values:
            raise MalformedLogEntry(source, EMPTY)
        for value in values:
            self.take_json(value, source)

    def _say_once(self, kind: str, subject: str) -> None:
        """Raises if reconciled input has a second action of this kind about the subject."""
        if self._said is None:
            return
        if (kind, subject) in self._said:
            raise MalformedLogEntry(kind, f"it is not reconciled: it has two actions {kind} {subject}".rstrip())
        self._said.add((kind, subject))

    def _take(self, action: Action) -> None:
        match action:
            case Metadata() | Protocol():
                self._say_once(action.WIRE_NAME, "")
            case SetTransaction():
                self._say_once(action.WIRE_NAME, action.app_id)
            case DomainMetadata():
                self._say_once(action.WIRE_NAME, action.domain)
            case Sidecar():
                self._say_once(action.WIRE_NAME, action.path)
            case Add() | Remove() | AddCdcFile() | CommitInfo() | CheckpointMetadata():
                pass
            case _:
                assert_never(action)
        match action:
            case Add():
                self._adds.append(action, self._next())
            case Remove():
                self._removes.append(action, self._next())
            case Metadata():
                self._metadata = action
            case Protocol():
                self._protocol = action
            case SetTransaction():
                self._transactions[action.app_id] = action
            case DomainMetadata():
                self._domains[action.domain] = action
            case CommitInfo():
                self._commit_info = lambda: action
            case Sidecar():
                self._sidecars.append(action)
            case AddCdcFile():
                self._cdc.append(action, self._next())
            case CheckpointMetadata():
                pass  # adds no information to its file name
            case _:
                assert_never(action)


def parse_commits(commits: Iterable[tuple[str, bytes]]) -> LogActions:
    """Parses commits, given as (name, bytes), oldest first."""
    parser = CommitParser()
    for source, data in commits:
        parser.feed(data, source)
    return parser.finish()


def parse_commit_info(data: bytes, source: str) -> CommitInfo | None:
    """Parses a commit's `commitInfo` and skips its other actions. Raises `MalformedLogEntry`."""
    try:
        lines = _COMMIT_INFO_DECODER.decode_lines(data)
    except _REFUSED:
        return parse_commits([(source, data)]).commit_info
    if not lines:
        raise MalformedLogEntry(source, EMPTY)
    infos = [line.commit_info for line in lines if _is_there(line.commit_info)]
    return _commit_info(bytes(infos[-1]), source) if infos else None


def _commit_info(data: bytes, source: str) -> CommitInfo:
    try:
        return CommitInfo.from_json(_value(data, source))
    except MalformedLogEntry as error:
        raise MalformedLogEntry(source, error.detail) from error


@lru_cache(maxsize=64)
def _protocol(data: bytes) -> Protocol:
    """Parses a protocol. Cached: tables share few distinct protocols, and listing all columns reads every table's."""
    return Protocol.from_json(_value(data, Protocol.WIRE_NAME))


def _value(data: bytes, source: str) -> Json:
    """Parses a `Raw` value: any JSON, including input that the fast decoder rejects."""
    try:
        return msgspec.json.decode(data)
    except _REFUSED:
        return next(parse_json_stream(data, source))


def _is_there(raw: msgspec.Raw) -> bool:
    """Returns whether the value is present. Null counts as absent."""
    return raw is not _ABSENT and bytes(raw) != b"null"


def make_adds(rows: Sequence[Any]) -> RecordBatch:
    """Builds a batch with `FILES_SCHEMA` from rows that have the attributes of `Add`."""
    columns = {
        "log_path": pa.array([row.path for row in rows], pa.string()),
        "size": pa.array([row.size for row in rows], pa.int64()),
        "modification_time": pa.array([row.modification_time for row in rows], pa.int64()),
        "data_change": pa.array([row.data_change for row in rows], pa.bool_()),
        "partition_values": map_array([row.partition_values for row in rows]),
        "stats": pa.array([row.stats or None for row in rows], pa.string()),
        "clustering_provider": pa.array([row.clustering_provider for row in rows], pa.string()),
        **_shared_columns(rows),
    }
    return make_batch(FILES_SCHEMA, columns, len(rows))


def make_removes(rows: Sequence[Any]) -> RecordBatch:
    """Builds a batch with `TOMBSTONES_SCHEMA` from rows that have the attributes of `Remove`."""
    columns = {
        "log_path": pa.array([row.path for row in rows], pa.string()),
        "deletion_timestamp": pa.array([row.deletion_timestamp for row in rows], pa.int64()),
        "data_change": pa.array([row.data_change for row in rows], pa.bool_()),
        "extended_file_metadata": pa.array([row.extended_file_metadata for row in rows], pa.bool_()),
        "partition_values": map_array([row.partition_values for row in rows]),
        "size": pa.array([row.size for row in rows], pa.int64()),
        **_shared_columns(rows),
    }
    return make_batch(TOMBSTONES_SCHEMA, columns, len(rows))


def _make_cdc(rows: Sequence[Any]) -> RecordBatch:
    columns = {
        "log_path": pa.array([row.path for row in rows], pa.string()),
        "size": pa.array([row.size for row in rows], pa.int64()),
        "partition_values": map_array([row.partition_values for row in rows]),
        "tags": map_array([row.tags for row in rows]),
    }
    return make_batch(CDC_SCHEMA, columns, len(rows))


def _shared_columns(rows: Sequence[Any]) -> dict[str, Any]:
    columns = {
        "base_row_id": pa.array([row.base_row_id for row in rows], pa.int64()),
        "default_row_commit_version": pa.array([row.default_row_commit_version for row in rows], pa.int64()),
    }
    tags = [row.tags for row in rows]
    if any(tags):
        columns["tags"] = map_array(tags)
    vectors = [row.deletion_vector for row in rows]
    if any(vectors):
        columns["deletion_vector"] = pa.array(
            [
                None if vector is None else {field.name: getattr(vector, field.name) for field in DELETION_VECTOR}
                for vector in vectors
            ],
            DELETION_VECTOR,
        )
    return columns


class _Columns:
    """Collects rows and converts them to batches, to bound the number of row objects."""

    def __init__(self, make: Callable[[Sequence[Any]], RecordBatch]) -> None:
        self._make = make
        self._rows: list[Any] = []
        self._positions: list[int] = []
        self._batches: list[RecordBatch] = []
        self._orders: list[Order] = []

    def append(self, row: Any, position: int) -> None:
        self._rows.append(row)
        self._positions.append(position)
        if len(self._rows) == _FLUSH_ROWS:
            self._flush()

    def finish(self) -> FileRows:
        self._flush()
        return FileRows(tuple(self._batches), tuple(self._orders))

    def _flush(self) -> None:
        if self._rows:
            try:
                self._batches.append(self._make(self._rows))
            except (pa.ArrowException, OverflowError) as error:  # a number outside its type's range
                raise MalformedLogEntry("a file action", str(error)) from error
            self._orders.append(np.array(self._positions, np.int64))
            self._rows.clear()
            self._positions.clear()


# --- Types for msgspec: the fields that a table's state has, named like the actions --------------------------------


_Int = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
_Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Vector(msgspec.Struct, gc=False, rename="camel"):
    storage_type: str
    path_or_inline_dv: str = msgspec.field(name="pathOrInlineDv")
    size_in_bytes: _Int
    cardinality: _Long
    offset: _Int | None = None


class _AddRow(msgspec.Struct, gc=False, rename="camel"):
    path: str
    size: _Long
    partition_values: dict[str, str | None] | None = None
    modification_time: _Long | None = None
    data_change: bool | None = None
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: _Vector | None = None
    base_row_id: _Long | None = None
    default_row_commit_version: _Long | None = None
    clustering_provider: str | None = None


class _RemoveRow(msgspec.Struct, gc=False, rename="camel"):
    path: str
    deletion_timestamp: _Long | None = None
    data_change: bool | None = None
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: _Long | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: _Vector | None = None
    base_row_id: _Long | None = None
    default_row_commit_version: _Long | None = None


class _CdcRow(msgspec.Struct, gc=False, rename="camel"):
    path: str
    size: _Long
    partition_values: dict[str, str | None] | None = None
    tags: dict[str, str | None] | None = None


# Default for a field that the line lacks. (`Raw | None` would accept null only.)
_ABSENT = msgspec.Raw(b"")


class _Line(msgspec.Struct, gc=False, rename="camel"):
    add: _AddRow | None = None
    remove: _RemoveRow | None = None
    cdc: _CdcRow | None = None
    meta_data: msgspec.Raw = _ABSENT
    protocol: msgspec.Raw = _ABSENT
    txn: msgspec.Raw = _ABSENT
    domain_metadata: msgspec.Raw = _ABSENT
    sidecar: msgspec.Raw = _ABSENT
    commit_info: msgspec.Raw = _ABSENT


class _CommitInfoLine(msgspec.Struct, gc=False, rename="camel"):
    commit_info: msgspec.Raw = _ABSENT


_COMMIT_INFO_DECODER = msgspec.json.Decoder(_CommitInfoLine)
_DECODER = msgspec.json.Decoder(_Line)
