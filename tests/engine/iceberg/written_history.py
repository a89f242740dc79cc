"""Random statements on an Iceberg table, a model with its expected content, and readers to compare."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.lake_sessions import rows, run

Row = dict[int, Any]
_MODES = ("copy-on-write", "merge-on-read")


@dataclass
class History:
    """A table `h`, and the rows that it should have. Columns have a number each, whatever they are called."""

    session: LakeSession
    folder: Path
    chance: random.Random
    name: str
    columns: dict[int, tuple[str, str]] = field(default_factory=lambda: {0: ("id", "BIGINT"), 1: ("s", "STRING")})
    stored: list[Row] = field(default_factory=list)
    # Each schema's columns, by its id.
    schemas: dict[int, dict[int, tuple[str, str]]] = field(default_factory=dict)
    tags: dict[str, tuple[list[str], Counter[Any]]] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    count: int = 0
    log: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.log.append(text)
        run(self.session, text)

    def create(self) -> None:
        version, mode = self.chance.choice([1, 2, 2, 3, 3]), self.chance.choice(_MODES)
        modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        divided = self.chance.choice(["", "PARTITIONED BY (bucket(2, id))", "PARTITIONED BY (truncate(1, s))"])
        self.say(
            f"CREATE TABLE {self.name} (id BIGINT, s STRING) USING iceberg {divided} "
            f"TBLPROPERTIES ('format-version' = '{version}', {modes})"
        )
        self.keep_schema()

    # --- Values ---

    def value(self, kind: str) -> Any:
        if self.chance.random() < 0.15:
            return None
        number = self.chance.randrange(12)
        return f"t{number}" if kind == "STRING" else number

    def names(self) -> list[str]:
        return [name for name, _ in self.columns.values()]

    def new_rows(self, count: int) -> list[Row]:
        return [{number: self.value(kind) for number, (_, kind) in self.columns.items()} for _ in range(count)]

    def values(self, made: list[Row]) -> str:
        listed = ", ".join(f"({', '.join(_literal(row[number]) for number in self.columns)})" for row in made)
        typed = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in self.columns.values())
        return f"SELECT {typed} FROM VALUES {listed} AS v({', '.join(self.names())})"

    def column(self) -> tuple[int, str, str]:
        number = self.chance.choice(list(self.columns))
        return number, *self.columns[number]

    def condition(self) -> tuple[str, Callable[[Row], bool]]:
        number, name, kind = self.column()
        value = self.value(kind)
        if value is None:
            return f"{name} IS NULL", lambda row: row.get(number) is None
        if self.chance.random() < 0.5:
            return f"{name} = {_literal(value)}", lambda row: row.get(number) == value
        return f"{name} >= {_literal(value)}", lambda row: row.get(number) is not None and row[number] >= value

    # --- Statements ---

    def insert(self) -> None:
        made = self.new_rows(self.chance.randrange(1, 12))
        self.say(f"INSERT INTO {self.name} {self.values(made)}")
        self.stored += made

    def overwrite(self) -> None:
        made = self.new_rows(3)
        self.say(f"INSERT OVERWRITE {self.name} {self.values(made)}")
        self.stored = made

    def delete(self) -> None:
        text, holds = self.condition()
        self.say(f"DELETE FROM {self.name} WHERE {text}")
        self.stored = [row for row in self.stored if not holds(row)]

    def update(self) -> None:
        text, holds = self.condition()
        number, name, kind = self.column()
        value = self.value(kind)
        self.say(f"UPDATE {self.name} SET {name} = {_literal(value)} WHERE {text}")
        self.stored = [{**row, number: value} if holds(row) else row for row in self.stored]

    def merge(self) -> None:
        made = {row[0]: row for row in self.new_rows(5) if row[0] is not None}
        if not made:
            return
        self.say(
            f"MERGE INTO {self.name} t USING ({self.values(list(made.values()))}) u ON t.id = u.id "
            "WHEN MATCHED AND u.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        known = {row.get(0) for row in self.stored}
        remaining = [row for row in self.stored if row.get(0) not in made]
        changed = [made[row[0]] for row in self.stored if row.get(0) in made and row[0] % 3]
        self.stored = [*remaining, *changed, *(row for key, row in made.items() if key not in known)]

    def add_column(self) -> None:
        self.count += 1
        name, kind = f"c{self.count}", self.chance.choice(["INT", "STRING"])
        self.say(f"ALTER TABLE {self.name} ADD COLUMN {name} {kind}")
        self.columns[self.count + 1] = (name, kind)

    def rename_column(self) -> None:
        added = [number for number in self.columns if number > 1]
        if added:
            number = self.chance.choice(added)
            self.count += 1
            name, kind = self.columns[number]
            self.say(f"ALTER TABLE {self.name} RENAME COLUMN {name} TO r{self.count}")
            self.columns[number] = (f"r{self.count}", kind)

    def drop_column(self) -> None:
        added = [number for number in self.columns if number > 1]
        if added:
            number = self.chance.choice(added)
            self.say(f"ALTER TABLE {self.name} DROP COLUMN {self.columns.pop(number)[0]}")

    def change_partitioning(self) -> None:
        if self.terms and self.chance.random() < 0.5:
            self.say(f"ALTER TABLE {self.name} DROP PARTITION FIELD {self.terms.pop()}")
            return
        self.count += 1
        term = self.chance.choice([f"bucket({self.count + 2}, id)", f"truncate({self.count + 1}, s)"])
        self.say(f"ALTER TABLE {self.name} ADD PARTITION FIELD {term} AS p{self.count}")
        self.terms.append(f"p{self.count}")

    def rewrite(self) -> None:
        call = self.chance.choice(
            [
                f"rewrite_data_files(table => '{self.name}', options => map('rewrite-all', 'true'))",
                f"rewrite_position_delete_files(table => '{self.name}', options => map('rewrite-all', 'true'))",
                f"rewrite_manifests('{self.name}')",
            ]
        )
        self.say(f"CALL system.{call}")

    def expire(self) -> None:
        self.say(f"CALL system.expire_snapshots(table => '{self.name}', older_than => now(), retain_last => 2)")

    def tag(self) -> None:
        if self.stored:
            name = f"at{len(self.log)}"
            self.say(f"ALTER TABLE {self.name} CREATE TAG {name}")
            metadata = self.metadata()
            (snapshot,) = (
                each for each in metadata["snapshots"] if each["snapshot-id"] == metadata["current-snapshot-id"]
            )
            columns = self.schemas[snapshot["schema-id"]]  # which may be older than the table's
            self.tags[name] = ([name for name, _ in columns.values()], _projected(self.stored, columns))

    STEPS = (insert, insert, insert, delete, delete, update, update, merge, merge, overwrite, add_column, rename_column)
    MORE = (drop_column, change_partitioning, rewrite, rewrite, expire, tag)

    def step(self) -> None:
        self.chance.choice((*self.STEPS, *self.MORE))(self)
        self.keep_schema()

    def keep_schema(self) -> None:
        self.schemas.setdefault(self.metadata()["current-schema-id"], dict(self.columns))

    def metadata(self) -> Any:
        return json.loads(_newest(self.folder / self.name).read_text())

    # --- Readers ---

    def expected(self) -> Counter[Any]:
        return _projected(self.stored, self.columns)

    def expected_texts(self) -> Counter[Any]:
        return Counter(tuple(None if cell is None else str(cell) for cell in row) for row in self.expected().elements())

    def check(self) -> None:
        listed = ", ".join(self.names())
        assert Counter(rows(self.session, f"SELECT {listed} FROM {self.name}")) == self.expected(), self.log
        file = _newest(self.folder / self.name)
        duck = open_duckdb().execute(f"SELECT {listed} FROM iceberg_scan('{file}')").fetchall()
        assert Counter(duck) == self.expected(), ("DuckDB", self.log)
        other = StaticTable.from_metadata(str(file)).scan(selected_fields=tuple(self.names())).to_arrow()
        found = zip(*(other[name].to_pylist() for name in self.names()), strict=True)
        assert Counter(found) == self.expected(), ("pyiceberg", self.log)

    def check_tags(self) -> None:
        other = StaticTable.from_metadata(str(_newest(self.folder / self.name)))
        for tag, (names, expected) in self.tags.items():
            found = rows(self.session, f"SELECT * FROM {self.name} VERSION AS OF '{tag}'")
            assert Counter(found) == expected, (tag, names, self.log)
            snapshot = other.snapshot_by_name(tag)
            assert snapshot is not None and other.schemas()[snapshot.schema_id or 0].column_names == names, self.log
            read = other.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
            reported = Counter(zip(*(read[name].to_pylist() for name in names), strict=True))
            assert reported == expected, ("pyiceberg", tag, names, self.log)


def _projected(stored: list[Row], columns: dict[int, tuple[str, str]]) -> Counter[Any]:
    return Counter(tuple(row.get(number) for number in columns) for row in stored)


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _newest(folder: Path) -> Path:
    return max((folder / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))
