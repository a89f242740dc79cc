"""Random tables' logs: commits by hand, and other writers' later maintenance.

A checkpoint or log compaction replaces its commits, most of which are deleted if allowed. An unreconciled one has past
actions in addition to their replacements.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.delta.spec.deletion_vectors import inline_deletion_vector
from tests.fuzz.foreign_columns import Column
from tests.fuzz.foreign_kinds import Kind
from tests.fuzz.foreign_tables import DataFile, Table, random_file

Action = dict[str, Any]
FILES_MAX = 6

_DEAD = (
    ("delta.generationExpression", "CAST(id AS INT)"),
    ("delta.identity.start", 1),
    ("delta.identity.step", 1),
    ("delta.identity.allowExplicitInsert", False),
    ("CURRENT_DEFAULT", "7"),
)
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        (
            "deletionVector",
            pa.struct(
                [
                    ("storageType", pa.string()),
                    ("pathOrInlineDv", pa.string()),
                    ("offset", pa.int32()),
                    ("sizeInBytes", pa.int32()),
                    ("cardinality", pa.int64()),
                ]
            ),
        ),
    ]
)
_STRINGS = pa.map_(pa.string(), pa.string())
_CHECKPOINT = pa.schema(
    [
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", _STRINGS),
                ]
            ),
        ),
        ("add", _ADD),
        (
            "remove",
            pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_()), _ADD[6]]),
        ),
    ]
)


class LogWriter:
    """Writes a table commit by commit."""

    def __init__(self, random: Random, table: Table) -> None:
        self._random, self._table = random, table
        self._log = table.folder / "_delta_log"
        self._log.mkdir(parents=True)
        self._commits: list[list[Action]] = []
        # Path -> the live add.
        self._added: dict[str, Action] = {}

    def write(self) -> None:
        self._commit([{"protocol": _protocol(self._table)}, {"metaData": self._metadata()}])
        for number in range(self._random.randint(2, FILES_MAX)):
            file = random_file(self._random, self._table, number)
            self._table.live.append(file)
            self._commit([self._add(file), *self._changes()])
        self._fold()

    def _commit(self, actions: list[Action]) -> None:
        path = self._log / f"{len(self._commits):020}.json"
        path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
        self._commits.append(actions)

    def _metadata(self) -> Action:
        table = self._table
        fields = [_field(table, column) for column in (*table.columns, *table.partitions)]
        if table.kinds & {Kind.DEAD_METADATA, Kind.DEAD_METADATA_ALTERED} and _is_legacy(table):
            for item in fields[1:]:
                key, value = self._random.choice(_DEAD)
                item["metadata"][key] = value
        configuration = {}
        if table.mode != "none":
            configuration = {"delta.columnMapping.mode": table.mode, "delta.columnMapping.maxColumnId": "60"}
        return {
            "id": "7f1a0c52-0000-4000-8000-000000000003",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [column.name for column in table.partitions],
            "configuration": configuration,
        }

    def _add(self, file: DataFile) -> Action:
        path = quote(file.path)
        if Kind.ABSOLUTE_PATHS in self._table.kinds and self._random.random() < 0.5:
            scheme = self._random.choice(("", "file:", "file://"))
            path = scheme + quote(str(self._table.folder / file.path))
        body = {
            "path": path,
            "partitionValues": file.partition_texts,
            "size": file.size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
        }
        if Kind.STATISTICS in self._table.kinds and self._random.random() < 0.8:
            body["stats"] = json.dumps(_stats(self._random, self._table, file))
        self._added[file.path] = body
        return {"add": body}

    def _changes(self) -> list[Action]:
        """Returns a file that goes, and one whose rows go."""
        actions: list[Action] = []
        older = self._table.live[:-1]
        if Kind.REMOVES in self._table.kinds and older and self._random.random() < 0.3:
            gone = self._random.choice(older)
            self._table.live.remove(gone)
            older.remove(gone)
            actions.append(_remove(self._added.pop(gone.path)))
        if Kind.VECTORS in self._table.kinds and older and self._random.random() < 0.5:
            file = self._random.choice(older)
            before = self._added[file.path]
            count = self._random.randint(1, len(file.rows))
            file.deleted = sorted(set(file.deleted) | set(self._random.sample(range(len(file.rows)), count)))
            after = {**before, "deletionVector": inline_deletion_vector(np.array(file.deleted, np.int64)).to_json()}
            if "stats" in after:
                after["stats"] = json.dumps({**json.loads(after["stats"]), "tightBounds": False})
            self._added[file.path] = after
            actions += [_remove(before), {"add": after}]
        return actions

    # --- Checkpoints and log compactions ---------------------------------------------------------------------------

    def _fold(self) -> None:
        kinds, last = self._table.kinds, len(self._commits) - 1
        if kinds & {Kind.CHECKPOINT, Kind.CHECKPOINT_DOUBLED}:
            version = self._random.randint(1, last)
            actions = _reconciled(self._commits[: version + 1])
            if Kind.CHECKPOINT_DOUBLED in kinds:
                actions = _newest_first(self._commits[: version + 1])
            elif self._random.random() < 0.5:
                for number in range(version):
                    (self._log / f"{number:020}.json").unlink()
            _write_checkpoint(self._log, version, actions)
        if kinds & {Kind.COMPACTION, Kind.COMPACTION_DOUBLED} and last >= 2:
            first = self._random.randint(0, last - 1)
            end = self._random.randint(first + 1, last)
            commits = self._commits[first : end + 1]
            actions = _newest_first(commits) if Kind.COMPACTION_DOUBLED in kinds else _reconciled(commits)
            text = "".join(json.dumps(action) + "\n" for action in actions)
            (self._log / f"{first:020}.{end:020}.compacted.json").write_text(text, encoding="utf-8")


def _is_legacy(table: Table) -> bool:
    return Kind.VECTORS not in table.kinds and table.mode == "none"


def _protocol(table: Table) -> Action:
    if _is_legacy(table):
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    features = [*(["deletionVectors"] if Kind.VECTORS in table.kinds else []), "columnMapping"]
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}


def _field(table: Table, column: Column) -> Action:
    data_type: Any = column.type
    if column.fields:
        data_type = {"type": "struct", "fields": [_field(table, inner) for inner in column.fields]}
    keys = {"delta.columnMapping.id": column.number, "delta.columnMapping.physicalName": column.physical}
    metadata = {} if table.mode == "none" else keys
    return {"name": column.name, "type": data_type, "nullable": True, "metadata": metadata}


def _remove(add: Action) -> Action:
    body = {"path": add["path"], "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
    if "deletionVector" in add:
        body["deletionVector"] = add["deletionVector"]
    return {"remove": body}


def _stats(random: Random, table: Table, file: DataFile) -> Action:
    """Returns statistics for some columns. Partition columns' statistics cover the file's values, and must be
    ignored.
    """
    stats: Action = {"numRecords": len(file.rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for column in table.columns:
        values = [row[column.name] for row in file.rows if row[column.name] is not None]
        if column.fields or random.random() < 0.2:
            continue
        stats["nullCount"][column.physical] = len(file.rows) - len(values)
        if values and column.type != "boolean":
            stats["minValues"][column.physical] = _stat(min(values))
            stats["maxValues"][column.physical] = _stat(max(values))
    for column in table.partitions:
        if Kind.IN_FILES in table.kinds and random.random() < 0.5:
            stats["nullCount"][column.physical] = random.choice((0, len(file.rows)))
    return stats


def _stat(value: Any) -> Any:
    match value:
        case dt.datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        case dt.date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:
            return value


def _key(body: Action) -> tuple[str, str]:
    return body["path"], json.dumps(body.get("deletionVector"))


def _reconciled(commits: Sequence[list[Action]]) -> list[Action]:
    """Returns each key's newest action."""
    singles: dict[str, Action] = {}
    files: dict[tuple[str, str], Action] = {}
    for action in (action for commit in commits for action in commit):
        ((kind, body),) = action.items()
        if kind in ("add", "remove"):
            files[_key(body)] = action
        else:
            singles[kind] = action
    return [*singles.values(), *files.values()]


def _newest_first(commits: Sequence[list[Action]]) -> list[Action]:
    return [action for commit in reversed(commits) for action in commit]


def _write_checkpoint(log: Path, version: int, actions: list[Action]) -> None:
    rows = []
    for action in actions:
        ((kind, body),) = action.items()
        rows.append({kind: {name: list(v.items()) if name in _MAPS else v for name, v in body.items()}})
        if kind == "metaData":
            options = list(body["format"]["options"].items())
            rows[-1]["metaData"]["format"] = {"provider": "parquet", "options": options}
    table = pa.Table.from_pylist(rows, schema=_CHECKPOINT)
    pq.write_table(table, log / f"{version:020}.checkpoint.parquet")
    (log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": len(actions)}))


_MAPS = ("partitionValues", "configuration")
