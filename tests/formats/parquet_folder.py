"""A second table format, as small as one can be: a folder of Parquet files and numbered lists of them.

Version n of a table is `<root>/versions/<n>.json`, put there if absent: its columns, its partition columns and the live
files with their sizes, numbers of rows and partition values. Files without statistics are read whatever the condition.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.concurrency.retry import RetryPolicy
from engine.errors.statement_errors import StatementNotSupported
from engine.errors.table_errors import DeltaError
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.table.changes import Bound, TableChanges
from engine.table.history import HISTORY_SCHEMA
from engine.table.operations import CommitDescription, TableOperation
from engine.table.rules import Constraint, PlainRules, TableRules
from engine.table.scan import NO_FILES, Scan
from engine.table.snapshot import TableDetails, TableSnapshot
from engine.table.transaction import DataFile, NewFiles, TableFolder
from engine.types.schema import StructType, parse_schema

NAME = "folder"
_SUPPORTED = frozenset({TableOperation.READ, TableOperation.APPEND, TableOperation.OVERWRITE})
_FILES = NO_FILES.schema.append(pa.field("rows", pa.int64())).append(pa.field("deletion_vector", DELETION_VECTOR))


@dataclass(eq=False)
class LostRace(DeltaError, condition="FOLDER_CONCURRENT_WRITE", sqlstate="2D521"):
    table: str
    template = "Another writer made the next version of {table}. Run the statement again."


@dataclass(frozen=True)
class FolderSnapshot:
    table_root: str
    version: int
    content: Mapping[str, Any]

    format = NAME
    checks: tuple[Constraint, ...] = ()
    partition_generations: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> StructType:
        return parse_schema(json.dumps(self.content["schema"]))

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(self.content["partition_columns"])

    @property
    def rules(self) -> PlainRules:
        return PlainRules(schema=self.schema, partition_columns=self.partition_columns)

    @property
    def details(self) -> TableDetails:
        return TableDetails(description=self.content["comment"], properties=self.content["properties"])

    @property
    def files(self) -> pa.Table:
        rows = [{**each, "partition_values": list(each["partition_values"].items())} for each in self.content["files"]]
        return pa.Table.from_pylist(rows, _FILES)

    @property
    def num_files(self) -> int:
        return len(self.content["files"])

    @property
    def size_bytes(self) -> int:
        return sum(each["size"] for each in self.content["files"])

    def ensure_supported(self, operation: TableOperation) -> None:
        if operation not in _SUPPORTED:
            raise StatementNotSupported(f"{operation.value.capitalize()} a {NAME} table")

    def scan(self, relation: str, label: str) -> Scan:
        return Scan(
            relation=relation,
            label=label,
            table_root=self.table_root,
            schema=self.schema,
            partition_columns=self.partition_columns,
            files=self.files.select(NO_FILES.schema.names),
        )

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        return TableColumns(schema=self.schema, partition_columns=self.partition_columns, time_zone=time_zone)

    def partition_texts(self) -> pa.Table:
        values = [each["partition_values"] for each in self.content["files"]]
        texts = [pa.array([one[name] for one in values], pa.string()) for name in self.partition_columns]
        return pa.table([pa.chunked_array([each.dictionary_encode()]) for each in texts], self.partition_columns)

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        return FilePruning(self.columns(time_zone), self.num_files, lambda name: self.partition_texts().column(name))

    def counted_files(self) -> CountedFiles:
        statistics = pa.table({"num_records": self.files["rows"], "tight_bounds": pa.nulls(self.num_files, pa.bool_())})
        return CountedFiles(files=self.files, statistics=statistics)

    def history(self, limit: int | None = None) -> pa.Table:
        versions = range(self.version, -1, -1)[:limit]
        return pa.Table.from_pylist([{"version": version} for version in versions], HISTORY_SCHEMA)

    def is_gone(self) -> bool:
        return not _path(self.table_root, self.version).exists()


@dataclass(frozen=True)
class Folder:
    root: str

    def ensure_writable(self) -> None:
        Path(self.root).mkdir(parents=True, exist_ok=True)

    def delete(self, name: str) -> None:
        (Path(self.root) / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class FolderFiles:
    entries: tuple[dict[str, Any], ...]
    extremes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
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


@dataclass(frozen=True)
class FolderCommit:
    root: str
    version: int

    def is_whole(self, *, with_files: bool) -> bool:
        return _path(self.root, self.version).exists()

    def take_back(self) -> None:
        _path(self.root, self.version).unlink()


class FolderTransaction:
    def __init__(self, root: str, before: FolderSnapshot | None, content: Mapping[str, Any]) -> None:
        self.root, self.before, self.content = root, before, content
        self.files = {each["path"]: each for each in content["files"]}

    def read_whole_table(self) -> pa.Table:
        assert self.before is not None
        return self.before.files

    def add_files(self, new: NewFiles) -> None:
        assert isinstance(new, FolderFiles)
        self.files |= {each["path"]: each for each in new.entries}

    def stage_removes(self, files: pa.Table) -> None:
        for path in files["path"].to_pylist():
            del self.files[path]

    @property
    def is_empty(self) -> bool:
        return list(self.files.values()) == self.content["files"]

    def commit(self, policy: RetryPolicy | None = None) -> FolderCommit:
        version = 0 if self.before is None else self.before.version + 1
        path = _path(self.root, version)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(path, "x") as file:
                json.dump({**self.content, "files": list(self.files.values())}, file)
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

    def folder(self, location: str) -> Folder:
        return Folder(location)

    def describe_files(
        self, folder: TableFolder, rules: TableRules, files: Sequence[DataFile], measured: Collection[str] = ()
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

    def create(
        self, location: str, definition: object, description: CommitDescription, now_ms: int
    ) -> FolderTransaction:
        assert isinstance(definition, PlainRules)
        content = {
            "schema": json.loads(definition.schema.to_json()),
            "partition_columns": definition.partition_columns,
            "comment": definition.comment,
            "properties": dict(definition.properties),
            "files": [],
        }
        return FolderTransaction(location, None, content)

    def begin(self, snapshot: TableSnapshot, description: CommitDescription, label: str) -> FolderTransaction:
        assert isinstance(snapshot, FolderSnapshot)
        return FolderTransaction(snapshot.table_root, snapshot, snapshot.content)

    def changes(self, snapshot: TableSnapshot, start: Bound, end: Bound | None, *, allow_outside: bool) -> TableChanges:
        raise StatementNotSupported("The change data feed of a folder table")


def _path(root: str, version: int) -> Path:
    return Path(root) / "versions" / f"{version}.json"
