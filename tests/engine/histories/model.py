"""The model of a table: plain rows in DuckDB, changed by each statement's meaning.

The table is `t`. Besides its columns each row has `_key`, its identity while it exists, and `_change`, the number of
the statement that last created or changed it; so changes between two versions follow from the rows alone. A statement's
source rows are in `new`, numbered by `_n`. Each real version's rows are stored under its number. Rules that DuckDB
lacks (constraints, generated columns, empty text in a partition column, which is null) are applied here after each
statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tests.duck import open_duckdb
from tests.engine.histories.definition import Column, Definition, Role
from tests.engine.histories.values import TYPES, Sql
from tests.engine.peer_readers import Rows, comparable

SYSTEM = "_key, _change"


@dataclass
class Version:
    """A version of the real table, as the model recorded it."""

    definition: Definition
    table: str
    # Key -> row id, and last commit version, if the table tracks rows.
    row_ids: dict[int, tuple[int, int]]
    # True for a statement's last version: an ALTER TABLE may have changed less before.
    is_final: bool
    # True if columns may differ from earlier ones with the same names.
    is_replaced: bool


@dataclass
class Model:
    definition: Definition
    duck: duckdb.DuckDBPyConnection = field(default_factory=open_duckdb)
    versions: list[Version] = field(default_factory=list)
    change: int = 0
    # The version whose rows these are, by their keys.
    row_ids_from: int = -1
    tables_made: int = 0

    def create(self) -> None:
        self.duck.execute("SET threads = 1")  # the tables are small
        self.duck.execute("CREATE SEQUENCE keys")
        columns = ", ".join(f"{column.name} {column.sql_type.duck}" for column in self.definition.columns)
        self.duck.execute(f"CREATE TABLE t ({columns}, _key BIGINT, _change BIGINT)")

    # --- Questions

    def rows(self, query: str) -> Rows:
        """In comparable form, sorted."""
        return comparable(self.duck.execute(query).to_arrow_table())

    def raw(self, query: str) -> list[tuple[Any, ...]]:
        return self.duck.execute(query).fetchall()

    def count(self, table: str = "t", where: str = "true") -> int:
        ((found,),) = self.raw(f"SELECT count(*) FROM {table} WHERE {where}")
        return int(found)

    def ids(self) -> list[int]:
        return [each for (each,) in self.raw("SELECT id FROM t ORDER BY id, _key") if each is not None]

    # --- Effects of statements

    def fill_new(self, names: Sequence[str], rows: Iterable[Sequence[Sql]], extra: Sequence[Column] = ()) -> None:
        """Fills the source rows: `names` are columns in the table, or in `extra`."""
        known = {column.name: column for column in (*self.definition.columns, *extra)}
        columns = ", ".join(f"{name} {known[name].sql_type.duck}" for name in names)
        self.duck.execute(f"CREATE OR REPLACE TABLE new ({columns}, _n INT)")
        values = ", ".join(
            f"({', '.join(value.duck for value in row)}, {number})" for number, row in enumerate(rows, start=1)
        )
        self.duck.execute(f"INSERT INTO new VALUES {values}")

    def new_from(self, query: str) -> None:
        self.duck.execute(f"CREATE OR REPLACE TABLE new AS SELECT *, row_number() OVER () AS _n FROM ({query})")

    def insert(self, names: Sequence[str], query: str) -> None:
        """Inserts a query's rows for these columns; other columns get their defaults."""
        made = [column for column in self.definition.columns if column.default and column.name not in names]
        listed = "".join(f"{name}, " for name in (*names, *(column.name for column in made)))
        values = "".join(f"{column.default.duck}, " for column in made if column.default)
        self.duck.execute(
            f"INSERT INTO t ({listed}{SYSTEM}) "
            f"SELECT *, {values}nextval('keys'), {self.change} FROM (SELECT {', '.join(names)} FROM ({query}))"
        )

    def insert_new(self, names: Sequence[str]) -> None:
        self.insert(names, "SELECT * FROM new ORDER BY _n")

    def delete(self, condition: str) -> None:
        self.duck.execute(f"DELETE FROM t WHERE {condition}")

    def add_column(self, column: Column) -> None:
        self.duck.execute(f"ALTER TABLE t ADD COLUMN {column.name} {column.sql_type.duck}")
        self.definition = self.definition.with_column(column)

    def settle(self) -> None:
        """Computes derived values."""
        for name in self.definition.partitions:
            if TYPES[self.definition.column(name).of].name.duck == "VARCHAR":
                self.duck.execute(f"UPDATE t SET {name} = NULL WHERE {name} = ''")
        for column in self.definition.generated:
            assert column.made
            self.duck.execute(f"UPDATE t SET {column.name} = {column.made.duck}")

    def violated(self) -> str | None:
        """Returns the constraint that a new or changed row breaks: its condition has to be true."""
        for name, _, condition in self.definition.checks:
            if self.count(where=f"_change = {self.change} AND ({condition.duck}) IS NOT TRUE"):
                return name
        return None

    # --- Versions

    def keep_version(self, row_ids: dict[int, tuple[int, int]], times: int = 1, *, is_replaced: bool = False) -> None:
        """Records the current table as the next `times` versions."""
        self.tables_made += 1
        table = f"v{self.tables_made}"
        self.duck.execute(f"CREATE TABLE {table} AS SELECT * FROM t")
        self.row_ids_from = -1
        for number in range(times):
            self.versions.append(Version(self.definition, table, row_ids, number == times - 1, is_replaced))

    def forget_versions(self) -> None:
        self.versions.clear()

    def go_back(self, version: int = -1) -> None:
        """The table as it was in a version."""
        found = self.versions[version]
        self.duck.execute("DROP TABLE IF EXISTS t")
        self.duck.execute(f"CREATE TABLE t AS SELECT * FROM {found.table}")
        self.definition, self.row_ids_from = found.definition, version

    def columns_of(self, version: int) -> str:
        return ", ".join(self.versions[version].definition.names)

    def set_identity(self, values: dict[int, int]) -> None:
        """Sets the identity values that the real table gave to these keys."""
        name = self.definition.identity
        for key, value in values.items():
            self.duck.execute(f"UPDATE t SET {name} = {value} WHERE _key = {key}")

    def is_identity(self, name: str) -> bool:
        return self.definition.column(name).role is Role.IDENTITY
