"""Random single-row replacements in tables with row tracking, a change data feed and deletion vectors.

Each version is compared with a dict by row id: its rows, their ids and last commit versions, and the exact change feed.
Deletions come from another writer, by deletion vectors, and from us; the next statement copies the remaining rows, or
adds to the vectors. A history depends on its seed only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.delta.commit.transaction import Transaction
from engine.delta.log.file_table import FILES_SCHEMA
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import LakeSession
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.lake_sessions import rows, run, version_of
from tests.samples import some

pytestmark = pytest.mark.spark

STATEMENTS = 9
LAYOUTS = (
    ("", ""),
    ("PARTITIONED BY (p)", ""),
    ("PARTITIONED BY (p)", ", 'delta.columnMapping.mode' = 'name'"),
    ("", ", 'delta.columnMapping.mode' = 'id', 'delta.checkpointInterval' = '3'"),
)
PARTS = ("NULL", "'a'", "'b c%'")
TEXTS = ("NULL", "'x'", "'y'")
Row = tuple[Any, ...]


@dataclass
class TableHistory:
    """`found` is the expected content: row id -> row and the version that last changed it."""

    random: Random
    session: LakeSession
    folder: Path
    layout: tuple[str, str]
    # If our own statements write vectors; others may in any case.
    has_vectors: bool
    found: dict[int, tuple[Row, int]] = field(default_factory=dict)
    keys_made: int = 0

    def create(self) -> None:
        clause, more = self.layout
        features = "'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true'"
        vectors = "enableDeletionVectors' = 'true'" if self.has_vectors else "feature.deletionVectors' = 'supported'"
        properties = f"{features}, 'delta.{vectors}{more}"
        run(self.session, f"DROP TABLE IF EXISTS {self.folder.name}")
        columns = "k INT, s STRING, p STRING"
        run(self.session, f"CREATE TABLE {self.folder.name} ({columns}) {clause} TBLPROPERTIES ({properties})")

    def new_rows(self, key: int | None = None) -> list[tuple[int, str, str]]:
        made = []
        for _ in range(self.random.choice((1, 2, 5, 9))):
            self.keys_made += 1
            selected = self.keys_made if key is None else key
            made.append((selected, self.random.choice(TEXTS), self.random.choice(PARTS)))
        return made

    def some_key(self) -> int:
        return self.random.randrange(self.keys_made + 1)

    # The statements; each returns the ids of deleted rows.

    def insert(self) -> set[int]:
        run(self.session, f"INSERT INTO {self.folder.name} VALUES {_values(self.new_rows())}")
        return set()

    def selected_rows(self, key: int) -> tuple[str, Callable[[Row], bool]]:
        return self.random.choice(
            (
                (f"k = {key}", lambda row: row[0] == key),
                (f"k % 3 = {key % 3}", lambda row: row[0] % 3 == key % 3),
                (f"k = {key} OR s = 'x'", lambda row: row[0] == key or row[1] == "x"),
                (f"k = {key} OR p IS NULL", lambda row: row[0] == key or row[2] is None),
                (f"k = {key} OR p = 'a' AND s IS NULL", lambda row: row[0] == key or row[1:] == (None, "a")),
            )
        )

    def delete_where(self) -> set[int]:
        condition, deleted = self.selected_rows(self.some_key())
        gone = {row_id for row_id, (row, _) in self.found.items() if deleted(row)}
        assert run(self.session, f"DELETE FROM {self.folder.name} WHERE {condition}") == len(gone)
        return gone

    def replace_where(self) -> set[int]:
        key = self.some_key()
        condition, deleted = self.selected_rows(key)
        values = _values(self.new_rows(key))
        run(self.session, f"INSERT INTO {self.folder.name} REPLACE WHERE {condition} VALUES {values}")
        return {row_id for row_id, (row, _) in self.found.items() if deleted(row)}

    def replace_using(self) -> set[int]:
        new = self.new_rows(self.some_key())
        selected = self.random.choice(((0,), (0, 1), (1, 2), (2, 0)))
        listed = ", ".join("ksp"[column] for column in selected)
        run(self.session, f"INSERT INTO {self.folder.name} REPLACE USING ({listed}) VALUES {_values(new)}")
        wanted = {tuple(_plain(row)[column] for column in selected) for row in new}
        wanted = {values for values in wanted if None not in values}
        return {
            row_id for row_id, (row, _) in self.found.items() if tuple(row[column] for column in selected) in wanted
        }

    def replace_on(self) -> set[int]:
        new = self.new_rows(self.some_key())
        query = f"(SELECT * FROM VALUES {_values(new)} AS v(k, s, p)) AS new"
        run(self.session, f"INSERT INTO {self.folder.name} AS old REPLACE ON (old.k + 1 = new.k) {query}")
        return {row_id for row_id, (row, _) in self.found.items() if row[0] + 1 == new[0][0]}

    def delete(self) -> set[int]:
        """Deletes some rows in some files, by vectors that include earlier ones."""
        snapshot = load_snapshot(str(self.folder))
        query = f"SELECT _metadata.file_name, _metadata.row_index, _metadata.row_id FROM {self.folder.name}"
        live: dict[str, dict[int, int]] = {}
        for name, index, row_id in rows(self.session, query):
            live.setdefault(name, {})[index] = row_id
        gone: set[int] = set()
        before, after = [], []
        for file in snapshot.files.select(FILES_SCHEMA.names).to_pylist():
            here = live[file["path"].rsplit("/", 1)[-1]]
            selected = [index for index in here if self.random.random() < 0.3]
            if not 0 < len(selected) < len(here):
                continue
            gone |= {here[index] for index in selected}
            deleted = sorted({*range(json.loads(file["stats"])["numRecords"])} - here.keys() | {*selected})
            before.append(file)
            after.append({**file, "deletion_vector": asdict(inline_deletion_vector(np.array(deleted, np.int64)))})
        if before:
            transaction = Transaction.on(snapshot, CommitDescription(name="DELETE", operation=TableOperation.OVERWRITE))
            transaction.stage_removes(pa.Table.from_pylist(before, FILES_SCHEMA))
            transaction.stage_adds(pa.RecordBatch.from_pylist(after, FILES_SCHEMA))
            transaction.commit()
        return gone

    def check(self, lake: Path, gone: set[int]) -> None:
        name, version = self.folder.name, version_of(lake, self.folder.name)
        query = f"SELECT _metadata.row_id, _metadata.row_commit_version, k, s, p FROM {name}"
        now = {row[0]: (row[2:], row[1]) for row in rows(self.session, query)}
        stays = {row_id: of for row_id, of in self.found.items() if row_id not in gone}
        assert {row_id: now.get(row_id) for row_id in stays} == stays
        came = {row_id: of for row_id, of in now.items() if row_id not in stays}
        assert not came.keys() & self.found.keys() and {of[1] for of in came.values()} <= {version}
        assert len(rows(self.session, f"SELECT k FROM {name}")) == len(now)
        reported = Counter(rows(self.session, f"SELECT _change_type, k, s, p FROM table_changes('{name}', {version})"))
        expected = Counter(("delete", *self.found[row_id][0]) for row_id in gone)
        expected.update(("insert", *of[0]) for of in came.values())
        assert reported == expected
        self.found = now


def _values(new: list[tuple[int, str, str]]) -> str:
    return ", ".join(f"({key}, {text}, {part})" for key, text, part in new)


def _plain(row: tuple[int, str, str]) -> Row:
    return tuple(None if value == "NULL" else value.strip("'") if isinstance(value, str) else value for value in row)


def live(session: LakeSession, lake: Path, seed: int) -> None:
    random = Random(f"replacements {seed}")
    layout, has_vectors = LAYOUTS[seed % len(LAYOUTS)], seed % 8 in (0, 3, 5, 6)
    history = TableHistory(random, session, lake / "default" / f"replaced{seed}", layout, has_vectors)
    history.create()
    kinds = (
        TableHistory.insert,
        TableHistory.delete,
        TableHistory.delete_where,
        TableHistory.replace_where,
        TableHistory.replace_using,
        TableHistory.replace_on,
    )
    for kind in (TableHistory.insert, *random.choices(kinds, (2, 2, 4, 3, 2, 2), k=STATEMENTS)):
        before = version_of(lake, history.folder.name)
        try:
            gone = kind(history)
            if version_of(lake, history.folder.name) > before:
                history.check(lake, gone)
            else:
                assert not gone
        except BaseException as error:
            error.add_note(f"seed {seed}, {kind.__name__}, version {before}, {history.layout}")
            raise


@pytest.mark.parametrize("seed", some(range(2), (0,)))
def test_replaced_rows_keep_ids_and_report_changes(session: LakeSession, lake: Path, seed: int) -> None:
    live(session, lake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 60))
def test_replaced_rows_of_many_tables_keep_ids_and_report_changes(session: LakeSession, lake: Path, seed: int) -> None:
    live(session, lake, seed)
