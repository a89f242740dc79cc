"""Random table histories: statements of all kinds in random order, also run in DuckDB, with the same rows after each.

DuckDB has no partitions, files or log, so it executes the statement's meaning: an overwrite is a DELETE and an INSERT.
Every version is compared cell by cell, older ones by time travel, the last one also through other readers; rejected
statements must leave no version. A history depends on its seed only, so that a failure can be repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import duckdb
import pytest

from engine.main import LakeSession
from tests.duck import open_duckdb
from tests.engine.histories.values import NEGATIVE_ZERO, NOT_CLUSTERED, NOT_COMPARED, Sql, Type
from tests.engine.histories.values import TYPES as UPDATED_TYPES
from tests.engine.lake_sessions import refuse, run, table, version_of
from tests.engine.peer_readers import PEERS, Rows, comparable
from tests.samples import some

pytestmark = pytest.mark.spark

STATEMENTS = 22


_DOUBLE = UPDATED_TYPES["double"]
TYPES = UPDATED_TYPES | {"double": Type(_DOUBLE.name, (NEGATIVE_ZERO, *_DOUBLE.values))}
COLUMNS = {
    "id": "long",
    "i": "int",
    "s": "string",
    "x": "double",
    "d": "date",
    "m": "decimal",
    "n": "stamp",
    "o": "boolean",
    "st": "struct",
    "l": "list",
    "p": "string",
    "q": "int",
}
PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"delta.columnMapping.mode": "name"},
    {"delta.columnMapping.mode": "id", "delta.checkpointInterval": "3"},
    {"delta.checkpointInterval": "2", "delta.dataSkippingNumIndexedCols": "3"},
    {"delta.enableDeletionVectors": "true", "delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "4"},
    {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"},
    {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name", "delta.checkpointInterval": "3"},
    {"delta.dataSkippingStatsColumns": "s,st.a,q", "delta.columnMapping.mode": "name", "delta.checkpointPolicy": "v2"},
)
LAYOUTS: tuple[tuple[str, ...], ...] = ((), ("p",), ("p", "q"), ("d",), ("n", "o"), ("m", "x"))


@dataclass
class TableHistory:
    """A table and its copy in DuckDB, in DuckDB's table t; DuckDB's `new` has a statement's rows."""

    random: Random
    session: LakeSession
    name: str
    layout: tuple[str, ...]
    properties: dict[str, str]
    duck: duckdb.DuckDBPyConnection = field(default_factory=open_duckdb)
    columns: dict[str, str] = field(default_factory=COLUMNS.copy)
    versions: list[tuple[tuple[str, ...], Rows]] = field(default_factory=list)
    rows_made: int = 0
    clustered: list[str] = field(default_factory=list)
    # A column's first name -> its current name.
    renamed: dict[str, str] = field(default_factory=dict)

    def create(self) -> None:
        ours = ", ".join(f"{name} {TYPES[of].name.ours}" for name, of in self.columns.items())
        duck = ", ".join(f"{name} {TYPES[of].name.duck}" for name, of in self.columns.items())
        layout = f"PARTITIONED BY ({', '.join(self.layout)})" if self.layout else ""
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in self.properties.items())
        run(self.session, f"CREATE TABLE {self.name} ({ours}) {layout} {f'TBLPROPERTIES ({listed})' * bool(listed)}")
        self.duck.execute(f"CREATE TABLE t ({duck})")

    # parts of statements

    def value(self, column: str) -> Sql:
        if column == "id":
            self.rows_made += 1
            return Sql(str(self.rows_made), str(self.rows_made))
        of = TYPES[self.columns[column]]
        if self.random.random() < 0.15:
            return Sql(f"CAST(NULL AS {of.name.ours})", "NULL")
        return self.random.choice(of.values)

    def leaf(self) -> Sql:
        column = self.random.choice([name for name, of in self.columns.items() if of not in NOT_COMPARED])
        value = self.random.choice(TYPES[self.columns[column]].values)
        if self.random.random() < 0.2:
            return Sql(*[f"{column} IS NULL"] * 2)
        if "st" in self.columns and self.random.random() < 0.1:
            return Sql("st.a >= 1", "st.a >= 1")
        sign = self.random.choice(("=", "<", ">=", "<>"))
        return Sql(f"{column} {sign} {value.ours}", f"{column} {sign} {value.duck}")

    def condition(self) -> Sql:
        found = self.leaf()
        while self.random.random() < 0.4:
            other, word = self.leaf(), self.random.choice(("AND", "OR", "AND NOT", "OR NOT"))
            found = Sql(*(f"({left} {word} {right})" for left, right in zip(found, other, strict=True)))
        return found

    def new_rows(self, columns: list[str] | None = None) -> str:
        """Returns VALUES for these columns, also put into DuckDB's table `new`; others are null."""
        columns = columns or list(self.columns)
        rows = [[self.value(column) for column in columns] for _ in range(self.random.choice((1, 2, 3, 7)))]
        self.duck.execute("CREATE OR REPLACE TABLE new AS SELECT * FROM t LIMIT 0")
        values = ", ".join(f"({', '.join(value.duck for value in row)})" for row in rows)
        self.duck.execute(f"INSERT INTO new ({', '.join(columns)}) VALUES {values}")
        return ", ".join(f"({', '.join(value.ours for value in row)})" for row in rows)

    def add_new(self) -> None:
        self.duck.execute("INSERT INTO t BY NAME SELECT * FROM new")

    def some_columns(self) -> list[str]:
        others = self.random.sample(list(self.columns)[1:], self.random.randrange(len(self.columns)))
        selected = ["id", *others]
        self.random.shuffle(selected)
        return selected

    # the statements

    def insert(self) -> None:
        run(self.session, f"INSERT INTO {self.name} VALUES {self.new_rows()}")
        self.add_new()

    def insert_some_columns(self) -> None:
        columns = self.some_columns()
        run(self.session, f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES {self.new_rows(columns)}")
        self.add_new()

    def insert_by_name(self) -> None:
        columns = self.some_columns()
        rows = f"SELECT * FROM VALUES {self.new_rows(columns)} AS v({', '.join(columns)})"
        run(self.session, f"INSERT INTO {self.name} BY NAME {rows}")
        self.add_new()

    def insert_itself(self) -> None:
        condition = self.condition()
        run(self.session, f"INSERT INTO {self.name} SELECT * FROM {self.name} WHERE {condition.ours}")
        self.duck.execute(f"INSERT INTO t SELECT * FROM t WHERE {condition.duck}")

    def keep_some(self) -> None:
        condition = self.condition()
        run(self.session, f"INSERT OVERWRITE {self.name} SELECT * FROM {self.name} WHERE {condition.ours}")
        self.duck.execute(f"DELETE FROM t WHERE ({condition.duck}) IS NOT TRUE")

    def overwrite(self) -> None:
        run(self.session, f"INSERT OVERWRITE {self.name} VALUES {self.new_rows()}")
        self.duck.execute("DELETE FROM t")
        self.add_new()

    def overwrite_partition(self) -> None:
        if not self.layout:
            return
        column = self.layout[0]
        value = self.random.choice(TYPES[self.columns[column]].values)
        others = [name for name in self.columns if name != column]
        rows = self.new_rows(others)
        run(self.session, f"INSERT OVERWRITE {self.name} PARTITION ({column} = {value.ours}) VALUES {rows}")
        stored = "NULL" if value.duck == "''" else value.duck
        self.duck.execute(f"DELETE FROM t WHERE {column} IS NOT DISTINCT FROM {stored}")
        self.duck.execute(f"UPDATE new SET {column} = {stored}")
        self.add_new()

    def overwrite_dynamically(self) -> None:
        if not self.layout:
            return
        rows = self.new_rows()
        run(self.session, "SET spark.sql.sources.partitionOverwriteMode = dynamic")
        run(self.session, f"INSERT OVERWRITE {self.name} VALUES {rows}")
        run(self.session, "SET spark.sql.sources.partitionOverwriteMode = static")
        self._empty_is_null("new")
        self._replace(list(self.layout), "IS NOT DISTINCT FROM")

    def replace_where(self) -> None:
        condition, names = self.condition(), ", ".join(self.columns)
        rows = f"SELECT * FROM VALUES {self.new_rows()} AS v({names})"
        self._empty_is_null("new")
        texts = [f"nullif({name}, '') AS {name}" if self._is_nulled(name) else name for name in self.columns]
        rows = f"SELECT * FROM (SELECT {', '.join(texts)} FROM ({rows})) WHERE {condition.ours}"
        run(self.session, f"INSERT INTO {self.name} REPLACE WHERE {condition.ours} {rows}")
        self.duck.execute(f"DELETE FROM t WHERE {condition.duck}")
        self.duck.execute(f"DELETE FROM new WHERE ({condition.duck}) IS NOT TRUE")
        self.add_new()

    def replace_using(self) -> None:
        comparable_columns = [name for name, of in self.columns.items() if of not in NOT_COMPARED and name != "id"]
        selected = self.random.sample(comparable_columns, 2)
        run(self.session, f"INSERT INTO {self.name} REPLACE USING ({', '.join(selected)}) VALUES {self.new_rows()}")
        self._empty_is_null("new")
        self._replace(selected, "=")

    def _replace(self, columns: list[str], sign: str) -> None:
        equal = " AND ".join(f"t.{name} {sign} new.{name}" for name in columns)
        self.duck.execute(f"DELETE FROM t WHERE EXISTS (SELECT 1 FROM new WHERE {equal})")
        self.add_new()

    def truncate(self) -> None:
        run(self.session, f"TRUNCATE TABLE {self.name}")
        self.duck.execute("DELETE FROM t")

    def add_column(self) -> None:
        name, of = f"c{len(self.versions)}", self.random.choice(list(TYPES))
        run(self.session, f"ALTER TABLE {self.name} ADD COLUMN {name} {TYPES[of].name.ours}")
        self.duck.execute(f"ALTER TABLE t ADD COLUMN {name} {TYPES[of].name.duck}")
        self.columns[name] = of

    def rename_column(self) -> None:
        if "delta.columnMapping.mode" not in self.properties:
            return
        old, new = self.random.choice(list(self.columns)[1:]), f"r{len(self.versions)}"
        if old == "st":
            return
        run(self.session, f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}")
        self.duck.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
        self.columns = {new if name == old else name: of for name, of in self.columns.items()}
        self.layout = tuple(new if name == old else name for name in self.layout)
        self.clustered = [new if name == old else name for name in self.clustered]
        first = next((first for first, name in self.renamed.items() if name == old), old)
        self.renamed[first] = new

    def drop_column(self) -> None:
        free = [name for name in list(self.columns)[1:] if name not in self.layout]
        if "delta.columnMapping.mode" not in self.properties or len(free) < 4:
            return
        name = self.random.choice(free)
        if name in self.properties.get("delta.dataSkippingStatsColumns", "").replace(".a", "").split(","):
            return
        if name in self.clustered:
            error = refuse(self.session, f"ALTER TABLE {self.name} DROP COLUMN {name}")
            assert error.condition == "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"
            return
        run(self.session, f"ALTER TABLE {self.name} DROP COLUMN {name}")
        self.duck.execute(f"ALTER TABLE t DROP COLUMN {name}")
        del self.columns[name]

    def cluster(self) -> None:
        """Clusters by some columns or by none; rejected if a table is partitioned, or lacks statistics for the
        columns.
        """
        usable = [name for name, of in self.columns.items() if of not in NOT_CLUSTERED and name not in self.layout]
        selected = self.random.sample(usable, self.random.randrange(4))
        listed = f"({', '.join(selected)})" if selected else "NONE"
        text = f"ALTER TABLE {self.name} CLUSTER BY {listed}"
        if selected and self.layout:
            refused = "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED"
            assert refuse(self.session, text).condition == refused
        elif not set(selected) <= self._measured():
            assert refuse(self.session, text).condition == "DELTA_CLUSTERING_COLUMN_MISSING_STATS"
        else:
            run(self.session, text)
            self.clustered = selected

    def _measured(self) -> set[str]:
        """Returns the columns with statistics that can be clustering columns in unpartitioned tables."""
        named = self.properties.get("delta.dataSkippingStatsColumns")
        if named is not None:
            return {self.renamed.get(name, name) for name in named.split(",")}
        return set(list(self.columns)[: int(self.properties.get("delta.dataSkippingNumIndexedCols", "32"))])

    def refuse_rows(self) -> None:
        """A constraint that the rows meet, then a row that does not; no file, no version, and the constraint goes."""
        run(self.session, f"ALTER TABLE {self.name} ADD CONSTRAINT few CHECK (id < 1000000)")
        nulls = ", ".join(["NULL"] * (len(self.columns) - 1))
        text = f"INSERT INTO {self.name} VALUES (1, {nulls}), (1000000, {nulls})"
        assert refuse(self.session, text).condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
        run(self.session, f"ALTER TABLE {self.name} DROP CONSTRAINT few")

    # invariants after each statement

    def _is_nulled(self, column: str) -> bool:
        """An empty text is null as a partition value (protocol)."""
        return column in self.layout and self.columns[column] == "string"

    def _empty_is_null(self, target: str) -> None:
        for column in filter(self._is_nulled, self.columns):
            self.duck.execute(f"UPDATE {target} SET {column} = NULL WHERE {column} = ''")

    def expected(self, text: str) -> Rows:
        return comparable(self.duck.execute(text).to_arrow_table())

    def check(self, lake: Path) -> None:
        self._empty_is_null("t")
        names = ", ".join(self.columns)
        expected = self.expected(f"SELECT {names} FROM t")
        assert comparable(table(self.session, f"SELECT {names} FROM {self.name}")) == expected
        while len(self.versions) <= version_of(lake, self.name):
            self.versions.append((tuple(self.columns), expected))

    def check_answers(self) -> None:
        """Checks counts, minimum and maximum values, from the log if possible, and the rows for a condition."""
        condition = self.condition()
        found = table(self.session, f"SELECT id FROM {self.name} WHERE {condition.ours}")
        assert comparable(found) == self.expected(f"SELECT id FROM t WHERE {condition.duck}"), condition.ours
        query = "count(*) AS n, " + ", ".join(
            f"{name}({column}) AS {name}_{column}"
            for column, of in self.columns.items()
            if of in ("long", "int", "date", "decimal", "stamp")
            for name in ("min", "max", "count")
        )
        for where in ("", f" WHERE {' AND '.join(f'{column} IS NOT NULL' for column in self.layout) or 'true'}"):
            found = table(self.session, f"SELECT {query} FROM {self.name}{where}")
            assert comparable(found) == self.expected(f"SELECT {query} FROM t{where}"), where

    def check_clustering(self) -> None:
        (detail,) = table(self.session, f"DESCRIBE DETAIL {self.name}").to_pylist()
        assert detail["clusteringColumns"] == self.clustered

    def check_past(self) -> None:
        version = self.random.randrange(len(self.versions))
        columns, expected = self.versions[version]
        found = table(self.session, f"SELECT * FROM {self.name} VERSION AS OF {version}")
        assert tuple(found.column_names) == columns and comparable(found) == expected, version

    def check_feed(self) -> None:
        """Checks that each version's feed, applied to the version before, yields the version."""
        if "delta.enableChangeDataFeed" not in self.properties:
            return
        names = ", ".join(self.columns)
        for version in range(1, len(self.versions)):
            (before, old), (after, new) = self.versions[version - 1 : version + 1]
            if before == after == tuple(self.columns):
                changes = f"FROM table_changes('{self.name}', {version}, {version}) WHERE _change_type ="
                deleted = comparable(table(self.session, f"SELECT {names} {changes} 'delete'"))
                coming = comparable(table(self.session, f"SELECT {names} {changes} 'insert'"))
                assert Counter(old) + Counter(coming) == Counter(new) + Counter(deleted), version


KINDS: tuple[tuple[Callable[[TableHistory], None], int], ...] = (
    (TableHistory.insert, 5),
    (TableHistory.insert_some_columns, 3),
    (TableHistory.insert_by_name, 3),
    (TableHistory.insert_itself, 1),
    (TableHistory.keep_some, 1),
    (TableHistory.overwrite, 1),
    (TableHistory.overwrite_partition, 2),
    (TableHistory.overwrite_dynamically, 2),
    (TableHistory.replace_where, 4),
    (TableHistory.replace_using, 3),
    (TableHistory.truncate, 1),
    (TableHistory.add_column, 1),
    (TableHistory.rename_column, 2),
    (TableHistory.drop_column, 1),
    (TableHistory.cluster, 2),
    (TableHistory.refuse_rows, 1),
)


def live(session: LakeSession, lake: Path, seed: int) -> None:
    random = Random(f"life {seed}")
    history = TableHistory(
        random, session, f"history{seed}", LAYOUTS[seed % len(LAYOUTS)], PROPERTIES[seed // 2 % len(PROPERTIES)]
    )
    history.create()
    history.check(lake)
    for kind in random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS], k=STATEMENTS):
        before = history.rows_made
        try:
            kind(history)
            history.check(lake)
        except BaseException as error:
            error.add_note(
                f"seed {seed}, {kind.__name__}, rows made before {before}, {history.layout} {history.properties}"
            )
            raise
    history.check_answers()
    history.check_clustering()
    history.check_past()
    history.check_feed()
    folder = lake / "default" / history.name
    for name, read in PEERS.items():
        if not _is_beyond(name, history):
            assert read(folder, list(history.columns)) == history.expected("SELECT * FROM t"), name


def _is_beyond(peer: str, history: TableHistory) -> bool:
    """DuckDB reads mapped partition columns as null after the columns changed (duckdb-delta #343)."""
    return peer == "duckdb" and bool(history.layout) and "delta.columnMapping.mode" in history.properties


@pytest.mark.parametrize("seed", some(range(3), (2,)))
def test_a_table_has_the_rows_that_its_statements_say(session: LakeSession, lake: Path, seed: int) -> None:
    live(session, lake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 150))
def test_many_tables_have_the_rows_that_their_statements_say(session: LakeSession, lake: Path, seed: int) -> None:
    live(session, lake, seed)
