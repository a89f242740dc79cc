"""Tables after statements, read without our code except snapshots and deletion vectors.

Two runs have the same outcome if their tables have equal rows, definitions, and ids for existing rows. New rows' ids
depend on the number of written files, so they must only be unique. A change feed is not compared: applied from an empty
table, it must yield each version's rows and finally the table's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.discovery.other_tables import OtherTables
from engine.delta.snapshot.row_files import load_deleted_rows
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.storage.storage import Storage, open_storage

Row = tuple[tuple[str, str], ...]
_ROW_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
_ROW_ID = "_metadata.row_id"
# Properties with random names, or with versions.
_OF_EACH_RUN = (
    _ROW_ID_COLUMN,
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.requireCheckpointProtectionBeforeVersion",
)

_CHANGE_TYPE = "_change_type"
_SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


@dataclass(frozen=True)
class Outcome:
    """The statements' answers, and the state after them: each table's rows and definition."""

    said: tuple[str, ...]
    tables: str


def open_in(lake: Path, location: str) -> Storage:
    storage = open_storage(location, allowed_roots=(str(lake),))
    others = OtherTables((str(lake),))
    storage.find_others = lambda _: others
    return storage


def outcome(lake: Path, said: Sequence[str], given: Mapping[str, int], *, keeps_all: bool = True) -> Outcome:
    """Returns the outcome; fails if a table is inconsistent; `keeps_all`: in each version, not only the newest. `given`
    are the tables' row id high-water marks before the statements (`row_ids_given`).
    """
    folders = _tables(lake)
    found = {folder.name: _state(lake, folder, given.get(folder.name, 0), keeps_all) for folder in folders}
    for folder in folders if keeps_all else ():
        for path in _named_in_log(folder):
            assert _file(folder, path).exists(), f"{path} of an older version is gone"
    return Outcome(tuple(said), json.dumps(found, sort_keys=True, default=str))


def row_ids_given(lake: Path) -> dict[str, int]:
    """Returns each row-tracking table's number of assigned row ids."""
    given = {}
    for folder in _tables(lake):
        for action in (each for _, actions in _commits(folder) for each in actions):
            domain = action.get("domainMetadata", {})
            if domain.get("domain") == "delta.rowTracking":
                given[folder.name] = json.loads(domain["configuration"])["rowIdHighWaterMark"] + 1
    return given


def _tables(lake: Path) -> list[Path]:
    return sorted({path.parent.parent for path in lake.glob("default/*/_delta_log/*.json")})


def _state(lake: Path, folder: Path, given: int, keeps_all: bool) -> dict[str, Any]:
    """Returns the newest version's rows, columns and properties; fails if a file is missing, or if one is in no
    version.
    """
    snapshot = Snapshot.load(open_in(lake, str(folder)))
    referred = set(_named_in_log(folder))
    stray = {str(path.relative_to(folder)) for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts}
    assert not stray - referred, f"files in no version: {stray - referred}"
    properties = dict(sorted(snapshot.metadata.configuration.items()))
    rows = [row for file in snapshot.files.to_pylist() for row in _rows_of(snapshot, file)]
    if keeps_all and properties.get("delta.enableChangeDataFeed") == "true":
        _check_feed(snapshot, folder, Counter(_without_id(row) for row in rows))
    return {
        "rows": sorted((_comparable(row, given) for row in rows), key=repr),
        "columns": snapshot.schema.names,
        "properties": properties | {key: "set" for key in _OF_EACH_RUN if key in properties},
        "row ids": _ids_are_unique(rows),
    }


def _ids_are_unique(rows: Sequence[Row]) -> bool:
    ids = [value for row in rows for name, value in row if name == _ROW_ID]
    assert len(ids) == len(set(ids)), f"two rows of one id: {sorted(ids)}"
    return bool(ids)


def _comparable(row: Row, given: int) -> dict[str, str]:
    """Returns the row without a new id."""
    return {name: value for name, value in row if name != _ROW_ID or int(value) < given}


def _without_id(row: Row) -> Row:
    return tuple(each for each in row if each[0] != _ROW_ID)


def _rows_of(snapshot: Snapshot, file: Mapping[str, Any]) -> Iterator[Row]:
    """Yields the rows in a snapshot's file."""
    vector = file["deletion_vector"]
    deleted = DeletionVectorDescriptor(**vector) if vector is not None else None
    constants = dict(file["partition_values"] or ())
    return _rows_in(snapshot, file["path"], constants, deleted, file.get("base_row_id"))


def _rows_in(
    snapshot: Snapshot,
    path: str,
    constants: Mapping[str, str | None],
    deleted: DeletionVectorDescriptor | None,
    base_row_id: int | None = None,
) -> Iterator[Row]:
    """Yields each non-null column with its text, and the row's id if the table has ids."""
    rows = pq.ParquetFile(_file(Path(snapshot.table_root), path)).read()
    if base_row_id is not None:
        rows = rows.append_column(_ROW_ID, _row_ids(snapshot, rows, base_row_id))
    if deleted is not None:
        with_deletes = load_deleted_rows(snapshot.storage, deleted)
        rows = rows.take(np.setdiff1d(np.arange(rows.num_rows), with_deletes))
    names = [*snapshot.schema.names, _CHANGE_TYPE, _ROW_ID]
    for row in rows.to_pylist():
        values = {**row, **constants}
        yield tuple((name, str(values[name])) for name in names if values.get(name) is not None)


def _row_ids(snapshot: Snapshot, rows: pa.Table, base_row_id: int) -> pa.Array:
    name = snapshot.metadata.configuration.get(_ROW_ID_COLUMN)
    remaining = rows.column(name).to_pylist() if name in rows.column_names else [None] * rows.num_rows
    return pa.array([base_row_id + at if each is None else each for at, each in enumerate(remaining)], pa.int64())


# --- The change feed -------------------------------------------------------------------------------------------------


def _check_feed(snapshot: Snapshot, folder: Path, expected: Counter[Row]) -> None:
    """Checks that the versions' change feeds yield the table's rows."""
    rows: Counter[Row] = Counter()
    for version, actions in _commits(folder):
        for sign, row in _changes(snapshot, actions):
            rows[row] += sign
        assert all(count >= 0 for count in rows.values()), f"version {version} takes rows that are not there: {rows}"
    assert +rows == expected, f"the change feed makes {+rows}"


def _changes(snapshot: Snapshot, actions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Row]]:
    """Returns changes from change files if a version has some, otherwise from its adds and removes."""
    reported = [(0, action["cdc"]) for action in actions if "cdc" in action]
    moved = [
        (sign, action[kind]) for action in actions for kind, sign in (("add", 1), ("remove", -1)) if kind in action
    ]
    for sign, action in reported or [(sign, action) for sign, action in moved if action["dataChange"]]:
        vector = action.get("deletionVector")
        deleted = _descriptor(vector) if vector else None
        for row in _rows_in(snapshot, unquote(action["path"]), action.get("partitionValues") or {}, deleted):
            kind = dict(row).get(_CHANGE_TYPE)
            plain = tuple(each for each in row if each[0] != _CHANGE_TYPE)
            yield (_SIGNS[kind] if kind else sign), plain


# --- The log as text -------------------------------------------------------------------------------------------------


def _commits(folder: Path) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    for log in sorted(folder.glob("_delta_log/*.json")):
        yield int(log.stem), [json.loads(line) for line in log.read_text().splitlines()]


def _named_in_log(folder: Path) -> Iterator[str]:
    """Yields data files, change files and deletion vector files."""
    for action in (action for _, actions in _commits(folder) for each in actions for action in each.values()):
        if "path" in action:
            yield unquote(action["path"])
        vector = action.get("deletionVector")
        if vector and vector["storageType"] == "u":
            yield deletion_vector_path(_descriptor(vector))


def _descriptor(vector: Mapping[str, Any]) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type=vector["storageType"],
        path_or_inline_dv=vector["pathOrInlineDv"],
        offset=vector.get("offset"),
        size_in_bytes=vector["sizeInBytes"],
        cardinality=vector["cardinality"],
    )


def _file(folder: Path, path: str) -> Path:
    path = path.removeprefix("file:")
    return Path(path) if path.startswith("/") else folder / path
