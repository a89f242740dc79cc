"""Random histories with appends and all kinds of deletes: each snapshot has a model's rows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark

COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
    {"id": 3, "name": "part", "required": False, "type": "int"},
]
SPECS = [
    {"spec-id": 0, "fields": [{"source-id": 3, "field-id": 1000, "name": "part", "transform": "identity"}]},
    {"spec-id": 1, "fields": []},
]
Row = tuple[Any, ...]


@dataclass
class DataFile:
    entry: dict[str, Any]
    rows: list[Row]
    # The sequence number.
    number: int
    part: int
    gone: set[int] = field(default_factory=set)


class History:
    """A table and its expected content."""

    def __init__(self, folder: Path, seed: int, version: int) -> None:
        self.chance = random.Random(seed)
        self.table = HandmadeTable(
            folder, columns=COLUMNS, specs=SPECS, partition=[(1000, "part", "int")], version=version
        )
        self.files: list[DataFile] = []
        self.vectors: set[str] = set()
        self.expected: dict[int, Counter[Row]] = {}

    def step(self) -> None:
        number = len(self.table.snapshots) + 1
        entries: list[dict[str, Any]] = []
        spec = 0
        kind = self.chance.choice(["append", "append", "positions", "equality", "everywhere", "mixed"])
        if kind in ("append", "mixed") or not self.files:
            entries += [self.append(number) for _ in range(self.chance.randrange(1, 3))]
        if kind in ("positions", "mixed"):
            entries += self.positions(number)
        if kind in ("equality", "mixed"):
            entries.append(self.equality(number, self.chance.randrange(2)))
        if kind == "everywhere" and self.files:
            entries, spec = [self.equality(number, None)], 1
        if not entries:
            return
        snapshot = self.table.commit(*entries, spec=spec)
        live = (row for each in self.files for at, row in enumerate(each.rows) if at not in each.gone)
        self.expected[snapshot] = Counter(live)

    def append(self, number: int) -> dict[str, Any]:
        part = self.chance.randrange(2)
        found = [(self.value(5), self.value(3, "abc"), part) for _ in range(self.chance.randrange(1, 9))]
        ids, names, parts = (list(column) for column in zip(*found, strict=True))
        entry = self.table.data(
            {"id": pa_long(ids), "name": pa_text(names), "part": pa_int(parts)}, partition={"part": part}
        )
        self.files.append(DataFile(entry, found, number, part))
        return entry

    def value(self, count: int, texts: str | None = None) -> Any:
        at = self.chance.randrange(count + 1)
        return None if at == count else at if texts is None else texts[at]

    def positions(self, number: int) -> list[dict[str, Any]]:
        """Deletes by vectors in one Puffin file, or by a position delete file per partition."""
        part = self.chance.randrange(2)
        known = [each for each in self.files if each.part == part]
        if self.table.version > 2:
            selected = [each for each in known if each.entry["file_path"] not in self.vectors and not each.gone]
            deleted = {each.entry["file_path"]: self.some(each) for each in selected[:2]}
            for each in selected[:2]:
                each.gone |= set(deleted[each.entry["file_path"]])
            self.vectors |= set(deleted)
            return self.table.vectors(deleted, partition={"part": part}) if deleted else []
        places = [(each, at) for each in known for at in self.some(each)]
        for each, at in places:
            each.gone.add(at)
        if not places:
            return []
        paths = [each.entry["file_path"] for each, _ in places]
        return [self.table.positions(paths, [at for _, at in places], partition={"part": part})]

    def some(self, file: DataFile) -> list[int]:
        return sorted(self.chance.sample(range(len(file.rows)), self.chance.randrange(1, len(file.rows) + 1)))

    def equality(self, number: int, part: int | None) -> dict[str, Any]:
        """Deletes by one of three column sets; the same commit's rows stay."""
        by = self.chance.choice([[1], [2], [1, 2]])
        keys = [(self.value(5), self.value(3, "abc"), 0) for _ in range(2)]
        for each in self.files:
            if each.number < number and part in (None, each.part):
                matching = {tuple(key[id - 1] for id in by) for key in keys}
                each.gone |= {at for at, row in enumerate(each.rows) if tuple(row[id - 1] for id in by) in matching}
        columns = {"id": pa_long([key[0] for key in keys]), "name": pa_text([key[1] for key in keys])}
        own = {} if part is None else {"partition": {"part": part}}
        return self.table.equality(columns, by, **own)


def pa_long(values: list[Any]) -> Any:
    return pa.array(values, pa.int64())


def pa_int(values: list[Any]) -> Any:
    return pa.array(values, pa.int32())


def pa_text(values: list[Any]) -> Any:
    return pa.array(values, pa.string())


@pytest.mark.parametrize(("seed", "version"), [(1, 2), (3, 3)])
def test_every_snapshot_has_the_rows_of_the_model(session: LakeSession, lake: Path, seed: int, version: int) -> None:
    history = History(lake / f"h{seed}", seed, version)
    for _ in range(10):
        history.step()
    snapshots = list(history.expected)
    for snapshot in (*history.chance.sample(snapshots[:-1], 2), snapshots[-1]):
        found = rows(session, f"SELECT * FROM h{seed} VERSION AS OF {snapshot}")
        assert Counter(found) == history.expected[snapshot], snapshot
    low = sum(count for row, count in history.expected[snapshots[-1]].items() if row[0] is not None and row[0] < 3)
    assert rows(session, f"SELECT count(*) FROM h{seed} WHERE id < 3") == [(low,)]
    assert rows(session, f"SELECT count(*) FROM h{seed}") == [(history.expected[snapshots[-1]].total(),)]
