"""A minimal second table format: a folder with Parquet files and numbered file lists.

A table's version n is `<root>/versions/<n>.json`, put if absent: its columns, partition columns and live files with
sizes, row counts and partition values. Files without statistics are read for any condition.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.conditions import DeltaError, FilesNotShareable, StatementNotSupported
from catalog.errors import declare_error
from engine.concurrency.retry import RetryPolicy
from engine.errors.table_errors import COPY_ROWS
from engine.pruning.estimates import DistinctCounts
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import DELETION_VECTOR, Rows
from engine.storage.storage import Storage, open_storage
from engine.tables.changes import Bound, TableChanges
from engine.tables.config import Constraint, TableConfig, UnconstrainedConfig
from engine.tables.definition import TableDefinition, TableDetails
from engine.tables.definition_changes import AddColumn, DefinitionChange, DropColumn, SetDescription, SetProperty
from engine.tables.operations import HISTORY_SCHEMA, CommitDescription, CommitSearch, IdempotentWrite, TableOperation
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows
from engine.tables.scan import NO_FILES, Scan
from engine.tables.shared_files import SharedFiles
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import DataFile, NewFiles
from engine.types.schema import StructType, parse_schema

NAME = "folder"
_SUPPORTED = frozenset(
    {
        TableOperation.READ,
        TableOperation.APPEND,
        TableOperation.OVERWRITE,
        TableOperation.DML,
        TableOperation.METADATA,
    }
)
_FILES = NO_FILES.schema.append(pa.field("rows", pa.int64())).append(pa.field("deletion_vector", DELETION_VECTOR))


LostRace = declare_error(
    "FOLDER_CONCURRENT_WRITE",
    {
        "class": "LostRace",
        "sqlstate": "2D521",
        "parameters": "table: str",
        "message": "Another writer made the next version of {table}. Run the statement again.",
    },
    DeltaError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderDefinition(UnconstrainedConfig):
    """A table definition and its constraints: only columns, a comment, and uninterpreted properties."""

    schema: StructType
    partition_columns: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def config(self, table: str) -> FolderDefinition:
        return self

    def details(self, table: str) -> TableDetails:
        return TableDetails(description=self.comment, properties=self.properties)

    def ensure_supported(self, operation: TableOperation) -> None:
        if operation not in _SUPPORTED:
            raise StatementNotSupported(f"{operation.value.capitalize()} a {NAME} table")

    @property
    def partition_keys(self) -> tuple[str, ...]:
        return self.partition_columns


def _redefined(definition: FolderDefinition, changes: Iterable[DefinitionChange]) -> FolderDefinition:
    """Columns are found by their names in the files, so new ones may come and others go."""
    for change in changes:
        match change:
            case AddColumn(field=column, parent=(), position=None) if not column.metadata.keys() - {"comment"}:
                definition = replace(definition, schema=StructType((*definition.schema.fields, column)))
            case DropColumn(path=(name,)):
                left = tuple(each for each in definition.schema.fields if each.name != name)
                definition = replace(definition, schema=StructType(left))
            case SetProperty(key=key, value=value):
                definition = replace(definition, properties={**definition.properties, key: value})
            case SetDescription(text=text):
                definition = replace(definition, comment=text)
            case _:
                raise StatementNotSupported(f"{type(change).__name__} in a {NAME} table")
    return definition


@dataclass(frozen=True)
class FolderSnapshot:
    table_root: str
    version: int
    content: Mapping[str, Any]

    format = NAME
    checks: tuple[Constraint, ...] = ()
    partition_generations: Mapping[str, str] = field(default_factory=dict)

    @property
    def stamp(self) -> str:
        return str(self.version)

    @cached_property
    def definition(self) -> FolderDefinition:
        content = self.content
        return FolderDefinition(
            schema=parse_schema(json.dumps(content["schema"])),
            partition_columns=tuple(content["partition_columns"]),
            comment=content["comment"],
            properties=content["properties"],
        )

    @property
    def schema(self) -> StructType:
        return self.definition.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.definition.partition_columns

    @property
    def table_config(self) -> FolderDefinition:
        return self.definition

    @property
    def details(self) -> TableDetails:
        return self.definition.details(self.table_root)

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        return sorted(self.definition.properties.items())

    def change_definition(self, label: str, changes: Iterable[DefinitionChange]) -> FolderDefinition:
        return _redefined(self.definition, changes)

    def replace_definition(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> FolderDefinition:
        return _redefined(FolderDefinition(schema=schema, partition_columns=partition_columns), changes)

    def metadata_table(self, name: str) -> None:
        return None

    def find_commit(self, transaction_id: str, since_ms: int, *, changes_rows: bool) -> CommitSearch:
        return CommitSearch(is_complete=False)

    def last_write_of(self, app_id: str) -> int | None:
        return None

    @property
    def files(self) -> pa.Table:
        return _table(self.content["files"])

    @property
    def storage(self) -> Storage:
        return open_storage(self.table_root)

    @property
    def row_files(self) -> FolderRowFiles:
        return FolderRowFiles(self)

    @property
    def num_files(self) -> int:
        return len(self.content["files"])

    @property
    def size_bytes(self) -> int:
        return sum(each["size"] for each in self.content["files"])

    def ensure_supported(self, operation: TableOperation) -> None:
        self.definition.ensure_supported(operation)

    def scan(self, relation: str, label: str) -> Scan:
        return Scan(
            relation=relation,
            label=label,
            table_root=self.table_root,
            schema=self.schema,
            partition_columns=self.partition_columns,
            files=self.files,
        )

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan:
        return self.scan(relation, label)

    def narrow(self, condition: Predicate) -> FolderSnapshot:
        return self

    @property
    def left_out(self) -> tuple[int, int]:
        return 0, 0

    def unresolved_deletes(self, relation: str, label: str) -> None:
        return None

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        return TableColumns(schema=self.schema, partition_columns=self.partition_columns, time_zone=time_zone)

    def partition_texts(self) -> pa.Table:
        values = [each["partition_values"] for each in self.content["files"]]
        texts = [pa.array([one[name] for one in values], pa.string()) for name in self.partition_columns]
        return pa.table([pa.chunked_array([each.dictionary_encode()]) for each in texts], self.partition_columns)

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        return FilePruning(self.columns(time_zone), self.num_files, lambda name: self.partition_texts().column(name))

    def shown_partitions(self) -> pa.Table:
        texts, physical = self.partition_texts(), self.columns().physical_partition_columns
        return pa.table([texts.column(name).cast(pa.string()) for name in physical], list(self.partition_columns))

    def counted_files(self, columns: Collection[str]) -> CountedFiles:
        statistics = pa.table({"num_records": self.files["rows"], "tight_bounds": pa.nulls(self.num_files, pa.bool_())})
        return CountedFiles(files=self.files, statistics=statistics)

    @property
    def distinct_counts(self) -> DistinctCounts:
        return DistinctCounts()

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        raise FilesNotShareable(label, wanted, "nothing says the ids of its columns", COPY_ROWS)

    def history(self, limit: int | None = None) -> pa.Table:
        versions = range(self.version, -1, -1)[:limit]
        return pa.Table.from_pylist([{"version": version} for version in versions], HISTORY_SCHEMA)

    def is_gone(self) -> bool:
        return not _path(self.table_root, self.version).exists()


@dataclass(frozen=True)
class FolderRowFiles:
    """Rows go with their files, which are written again without them: no row is ever deleted in a file."""

    snapshot: FolderSnapshot

    def scan(self, rules: TableConfig, files: pa.Table, relation: str, label: str) -> Scan:
        return replace(
            self.snapshot.scan(relation, label),
            schema=rules.schema,
            partition_columns=rules.partition_columns,
            files=files,
        )

    def readable(self, files: pa.Table) -> pa.Table:
        return files

    def predicate(self, predicate: Predicate, time_zone: tzinfo | None) -> FilePredicate:
        return lambda files: pa.repeat(True, files.num_rows)

    def partitions(self, files: Any) -> None:
        return None

    def keep_partitions(self, files: pa.Table) -> bool:
        return True

    def live_rows(self, files: pa.Table) -> pa.Array:
        return files["rows"]

    def deleted_rows(self, files: pa.Table) -> list[Rows]:
        return [np.empty(0, np.int64)] * files.num_rows

    def mark(self, files: pa.Table, rows: Sequence[Rows]) -> FilesWithDeletedRows:
        raise AssertionError("it has no such capability")


@dataclass(frozen=True)
class FolderFiles:
    entries: tuple[dict[str, Any], ...]
    min_max_values: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    empty: tuple[str, ...] = ()

    @property
    def num_files(self) -> int:
        return len(self.entries)

    @property
    def num_rows(self) -> int:
        return sum(each["rows"] for each in self.entries)

    @property
    def num_bytes(self) -> int:
        return sum(each["size"] for each in self.entries)

    @property
    def files(self) -> pa.Table:
        return _table(self.entries)

    def with_others(self, others: Self) -> Self:
        return replace(self, entries=(*self.entries, *others.entries), empty=(*self.empty, *others.empty))


@dataclass(frozen=True)
class FolderCommit:
    root: str
    version: int

    def is_whole(self, *, with_files: bool) -> bool:
        return _path(self.root, self.version).exists()

    def take_back(self) -> None:
        _path(self.root, self.version).unlink()


class FolderTransaction:
    def __init__(
        self, root: str, before: FolderSnapshot | None, definition: FolderDefinition, description: CommitDescription
    ) -> None:
        self.description = description
        self.root, self.before, self.definition = root, before, definition
        self.files = {each["path"]: each for each in before.content["files"]} if before else {}

    def read_whole_table(self) -> pa.Table:
        assert self.before is not None
        return self.before.files

    def add_files(self, new: NewFiles) -> None:
        assert isinstance(new, FolderFiles)
        self.files |= {each["path"]: each for each in new.entries}

    def stage_removes(self, files: pa.Table) -> None:
        for path in files["path"].to_pylist():
            del self.files[path]

    def remove_all_files(self) -> None:
        self.files = {}

    def depend_on(self, predicate: FilePredicate, paths: Any) -> None:
        """Any other commit is a conflict."""

    def depend_on_rows_alone(self, rows_by_path: Mapping[str, Rows]) -> None:
        raise AssertionError("it has no such capability")

    def add_deleted_rows(self, updated: FilesWithDeletedRows) -> None:
        raise AssertionError("it has no such capability")

    def add_change_files(self, new: NewFiles) -> None:
        raise AssertionError("it has no such capability")

    def note_loads(self, files: pa.Table) -> tuple[str, ...]:
        raise StatementNotSupported(f"COPY INTO a {NAME} table")

    def note_write(self, with_numbers: IdempotentWrite, now_ms: int) -> None:
        raise StatementNotSupported(f"A numbered write to a {NAME} table")

    def identify(self, transaction_id: str) -> None:
        """Its versions have no transaction id."""

    def define(self, definition: TableDefinition, changes: Iterable[DefinitionChange] = ()) -> None:
        assert isinstance(definition, FolderDefinition)
        self.definition = _redefined(definition, changes)

    @property
    def is_empty(self) -> bool:
        before = self.before
        return (
            before is not None
            and list(self.files.values()) == before.content["files"]
            and self.definition == before.definition
        )

    def commit(self, policy: RetryPolicy | None = None) -> FolderCommit:
        version = 0 if self.before is None else self.before.version + 1
        path = _path(self.root, version)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "schema": json.loads(self.definition.schema.to_json()),
            "partition_columns": self.definition.partition_columns,
            "comment": self.definition.comment,
            "properties": dict(self.definition.properties),
            "files": list(self.files.values()),
        }
        try:
            with open(path, "x") as file:
                json.dump(content, file)
        except FileExistsError as error:
            raise LostRace(self.root) from error
        return FolderCommit(self.root, version)


class FolderFormat:
    name = NAME

    def load(self, location: str, version: int | None = None) -> FolderSnapshot:
        if version is None:
            version = max(int(name.removesuffix(".json")) for name in os.listdir(Path(location) / "versions"))
        return FolderSnapshot(location, version, json.loads(_path(location, version).read_text()))

    def find(self, location: str) -> FolderSnapshot | None:
        return self.load(location) if (Path(location) / "versions").is_dir() else None

    def load_at(self, location: str, timestamp_ms: int) -> FolderSnapshot:
        raise StatementNotSupported("A time of a folder table")

    def find_reference(self, location: str, name: str) -> None:
        return None

    def prepare_location(self, location: str, definition: TableDefinition) -> str:
        return location

    def folder(self, location: str) -> Storage:
        return open_storage(location)

    def describe_files(
        self, folder: Storage, rules: TableConfig, files: Sequence[DataFile], measured: Collection[str] = ()
    ) -> FolderFiles:
        counts = [pq.read_metadata(f"{folder.root}/{file.path}").num_rows for file in files]
        entries = (
            {
                "path": file.path,
                "size": file.size,
                "modification_time": file.modification_time,
                "partition_values": dict(file.partition_values),
                "rows": count,
            }
            for file, count in zip(files, counts, strict=True)
            if count
        )
        empty = tuple(file.path for file, count in zip(files, counts, strict=True) if not count)
        return FolderFiles(tuple(entries), empty=empty)

    def condition_for_format(self, condition: str, sqlstate: str) -> tuple[str, str]:
        return condition, sqlstate

    def stored_properties(self, written: Mapping[str, str]) -> Mapping[str, str]:
        return written

    def define(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> FolderDefinition:
        if any(not column.nullable or column.metadata.keys() - {"comment"} for column in schema.fields):
            raise StatementNotSupported(f"NOT NULL, DEFAULT and GENERATED columns in a {NAME} table")
        return _redefined(FolderDefinition(schema=schema, partition_columns=partition_columns), changes)

    def create(
        self, location: str, definition: TableDefinition, description: CommitDescription, now_ms: int
    ) -> FolderTransaction:
        assert isinstance(definition, FolderDefinition)
        return FolderTransaction(location, None, definition, description)

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> FolderTransaction:
        assert isinstance(snapshot, FolderSnapshot)
        return FolderTransaction(snapshot.table_root, snapshot, snapshot.definition, description)

    def changes(
        self,
        snapshot: TableSnapshot,
        start: Bound,
        end: Bound | None,
        *,
        allow_outside: bool,
        requires_feed: bool = True,
    ) -> TableChanges:
        raise StatementNotSupported("The change data feed of a folder table")


def _table(entries: Sequence[Mapping[str, Any]]) -> pa.Table:
    rows = [{**each, "partition_values": list(each["partition_values"].items())} for each in entries]
    return pa.Table.from_pylist(rows, _FILES)


def _path(root: str, version: int) -> Path:
    return Path(root) / "versions" / f"{version}.json"
