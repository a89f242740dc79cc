"""Every registered statement on a table with a row filter and a mask.

eve has all privileges on the tables and their schema but owns nothing. `one` and `two` have the same rows visible to
eve and different hidden ones; `free` has no policies. A statement about `one` is either rejected with an error that
names it, or answers the same for `two`; it succeeds for `free`, which proves that neither privileges nor syntax cause
the rejection.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.runtime.statement import Statement
from engine.spark.session import SparkDriver
from engine.statements.alter_table.statement import AlterTable, TableChange
from engine.statements.describe.statement import DescribeTable
from engine.statements.listings.statement import (
    ListChecks,
    ListColumns,
    ListColumnStatistics,
    ListFiles,
    ListForeignKeys,
    ListLineage,
    ListPrimaryKeys,
    ListTables,
)
from engine.statements.parse import parse
from engine.statements.procedures.statement import Call, Procedure
from engine.statements.registry import STATEMENTS
from engine.statements.variables.statement import EvaluateQuery
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

REJECTED = "ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED"
USED = "COLUMN_USED_BY_POLICY"
COLUMNS = "tenant STRING, n BIGINT NOT NULL, ssn STRING, part INT"
VISIBLE = "('a', 1, '111', 1), ('a', 2, '222', 1)"
HIDDEN = {
    "one": "('b', 4242, 'zzone', 1)",
    "two": "('b', 5353, 'zztwo', 1), ('c', 6464, 'zzmore', 1)",
    "free": "('b', 7, 'x', 1)",
}
# Times and ids, which no two tables share.
DIFFERS = re.compile(
    r"\d{4}-\d\d-\d\d[ T][\d:.+Z]+|[0-9a-f]{8}-[0-9a-f-]{27}|\b17\d{8,14}\b|\w{3} \w{3} \d\d [\d:]+ \w+ \d{4}"
)

Written = str | Statement
CASES: list[tuple[Written, str | None]] = [
    # Queries, which read through the policies; and EXPLAIN, which shows files.
    ("SELECT * FROM {t}", None),
    ("DESCRIBE QUERY SELECT * FROM {t}", None),
    ("SET VAR v = (SELECT max(n) FROM {t})", None),
    ("EXPLAIN SELECT * FROM {t}", REJECTED),
    ("EXPLAIN DELETE FROM {t} WHERE n = 1", REJECTED),
    ("EXPLAIN INSERT INTO {t} SELECT * FROM {t}", REJECTED),
    ("CREATE TABLE shop.made_{name} AS SELECT * FROM {t}", None),
    ("CREATE VIEW shop.seen_{name} AS SELECT * FROM {t}", None),
    ("CREATE FUNCTION shop.total_{name}() RETURNS BIGINT RETURN (SELECT sum(n) FROM {t})", None),
    # Row changes.
    ("INSERT INTO {t} VALUES ('a', 3, '333', 1)", None),
    ("INSERT OVERWRITE {t} VALUES ('a', 3, '333', 1)", REJECTED),
    ("INSERT INTO {t} REPLACE WHERE n = 1 SELECT 'a', 1, '1', 1", REJECTED),
    ("DELETE FROM {t} WHERE n = 1", None),
    ("UPDATE {t} SET n = 3 WHERE n = 1", None),
    ("MERGE INTO {t} AS t USING (SELECT 1 AS n) AS s ON t.n = s.n WHEN MATCHED THEN DELETE", None),
    ("TRUNCATE TABLE {t}", REJECTED),
    ("COPY INTO {t} FROM '{files}' FILEFORMAT = PARQUET", REJECTED),
    # Files, history and statistics.
    ("DESCRIBE DETAIL {t}", REJECTED),
    ("DESCRIBE HISTORY {t}", REJECTED),
    ("SHOW PARTITIONS {t}", REJECTED),
    (ListFiles(table_parts=("shop", "{name}"), limit=10), REJECTED),
    (ListColumnStatistics(table_parts=("shop", "{name}")), REJECTED),
    (ListLineage(table_parts=("shop", "{name}")), None),
    ("VACUUM {t} DRY RUN", REJECTED),
    ("VACUUM {t}", None),
    ("OPTIMIZE {t} WHERE part = 1", REJECTED),
    ("OPTIMIZE {t}", None),
    ("REORG TABLE {t} WHERE part = 1 APPLY (PURGE)", REJECTED),
    ("REORG TABLE {t} APPLY (PURGE)", None),
    ("FSCK REPAIR TABLE {t} DRY RUN", REJECTED),
    ("FSCK REPAIR TABLE {t}", None),
    ("RESTORE TABLE {t} TO VERSION AS OF 1", "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"),
    ("GENERATE symlink_format_manifest FOR TABLE {t}", REJECTED),
    ("ANALYZE TABLE {t} COMPUTE STATISTICS", REJECTED),
    ("CREATE TABLE shop.cloned_{name} SHALLOW CLONE {t}", REJECTED),
    ("CALL system.snapshot(source_table => '{t}', table => 'shop.shot_{name}')", REJECTED),
    # Definitions, which anyone who can see a table may read.
    ("DESCRIBE TABLE EXTENDED {t}", None),
    (DescribeTable(table_parts=("shop", "{name}")), None),
    ("SHOW COLUMNS IN {t}", None),
    ("SHOW TBLPROPERTIES {t}", None),
    ("SHOW CREATE TABLE {t}", None),
    ("SHOW TABLE EXTENDED IN shop LIKE '{name}'", None),
    ("SHOW TABLES IN shop LIKE '{name}'", None),
    ("SHOW TABLES IN CATALOG spark_catalog SCHEMA LIKE 'shop' TABLE LIKE '{name}'", None),
    ("SHOW COLUMNS IN CATALOG spark_catalog SCHEMA LIKE 'shop' TABLE LIKE '{name}'", None),
    ("SHOW KEYS IN {t}", None),
    (ListTables(schema_pattern="shop", table_pattern="{name}"), None),
    (ListColumns(schema_pattern="shop", table_pattern="{name}"), None),
    (ListPrimaryKeys(table=("spark_catalog", "shop", "{name}")), None),
    (ListChecks(table=("spark_catalog", "shop", "{name}")), None),
    (ListForeignKeys(child=("spark_catalog", "shop", "{name}")), None),
    ("CREATE TABLE shop.alike_{name} LIKE {t}", None),
    ("COMMENT ON TABLE {t} IS 'c'", None),
    ("COMMENT ON COLUMN {t}.n IS 'c'", None),
    ("REFRESH TABLE {t}", None),
    ("SHOW LOCKS {t}", None),
    # ALTER TABLE.
    ("ALTER TABLE {t} ADD COLUMNS (more INT)", None),
    ("ALTER TABLE {t} REPLACE COLUMNS (tenant STRING, n BIGINT, ssn STRING, part INT, more INT)", USED),
    ("ALTER TABLE {t} RENAME COLUMN tenant TO other", USED),
    ("ALTER TABLE {t} DROP COLUMN ssn", USED),
    ("ALTER TABLE {t} ALTER COLUMN n COMMENT 'c'", None),
    ("ALTER TABLE {t} ALTER COLUMN n SET NOT NULL", REJECTED),
    ("ALTER TABLE {t} ADD CONSTRAINT c CHECK (n > 0)", REJECTED),
    ("ALTER TABLE {t} DROP CONSTRAINT IF EXISTS c", None),
    ("ALTER TABLE {t} ADD CONSTRAINT k PRIMARY KEY (n)", None),
    ("ALTER TABLE {t} RENAME CONSTRAINT c TO d", None),
    ("ALTER TABLE {t} DROP PRIMARY KEY IF EXISTS", None),
    ("ALTER TABLE {t} SET TBLPROPERTIES (a = 'b')", None),
    ("ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS (a)", None),
    ("ALTER TABLE {t} CLUSTER BY (n)", None),
    ("ALTER TABLE {t} RENAME TO shop.renamed_{name}", None),
    ("ALTER TABLE {t} SET LOCATION '{files}'", None),
    ("ALTER TABLE {t} DROP FEATURE columnMapping", None),
    ("ALTER TABLE {t} ALTER COLUMN n SYNC IDENTITY", None),
    ("ALTER TABLE {ice} ADD PARTITION FIELD bucket(4, n)", None),
    ("ALTER TABLE {ice} WRITE ORDERED BY n", None),
    ("ALTER TABLE {ice} SET IDENTIFIER FIELDS n", None),
    ("ALTER TABLE {ice} CREATE BRANCH b", None),
    # Iceberg's procedures.
    ("CALL system.ancestors_of('{ice}')", REJECTED),
    ("CALL system.rollback_to_snapshot('{ice}', {snapshot})", REJECTED),
    ("CALL system.rollback_to_timestamp('{ice}', TIMESTAMP '2020-01-01 00:00:00')", REJECTED),
    ("CALL system.set_current_snapshot('{ice}', {snapshot})", REJECTED),
    ("CALL system.cherrypick_snapshot('{ice}', {snapshot})", REJECTED),
    ("CALL system.publish_changes('{ice}', 'w')", REJECTED),
    ("CALL system.fast_forward('{ice}', 'main', 'main')", REJECTED),
    ("CALL system.add_files('{ice}', '`parquet`.`{files}`')", REJECTED),
    ("CALL system.expire_snapshots('{ice}')", None),
    ("CALL system.remove_orphan_files('{ice}')", None),
    ("CALL system.remove_orphan_files(table => '{ice}', dry_run => true)", REJECTED),
    ("CALL system.rewrite_manifests('{ice}')", None),
    ("CALL system.rewrite_data_files('{ice}')", None),
    ("CALL system.rewrite_data_files(table => '{ice}', where => 'n > 5')", REJECTED),
    ("CALL system.rewrite_position_delete_files('{ice}')", None),
    # Its policies and privileges, which MANAGE allows to change.
    ("SHOW POLICIES ON TABLE {t}", None),
    ("SHOW GRANTS ON TABLE {t}", None),
    ("ALTER TABLE {t} SET TAGS ('a' = 'b')", None),
    ("ALTER TABLE {t} DROP ROW FILTER", None),
    ("ALTER TABLE {t} ALTER COLUMN ssn DROP MASK", None),
    ("GRANT SELECT ON TABLE {t} TO bob", None),
    ("REVOKE SELECT ON TABLE {t} FROM bob", None),
    ("CONVERT TO DELTA {t}", None),
    ("DROP TABLE {t}", None),
]
NOT_ABOUT_TABLES = {
    "AlterCatalog AlterGroup AlterOwner AlterView ChangeFile CreateCatalog CreateGroup CreateLocation CreatePolicy",
    "CreateSchema CreateToken CreateVolume DeclareVariables DescribeCatalog DescribeFunction DescribePolicy",
    "DescribeSchema DescribeVolume DropCatalog DropFunction DropGroup DropLocation DropPolicy DropSchema DropVariable",
    "DropView DropVolume FindFunctions FindSchemas GetFile ListEntries ListFunctions ListSchemas ListVolume",
    "RegisterTable RenameVolume ResetSetting RevokeToken SetSetting ShowCatalogs ShowCollations ShowCurrentNamespace",
    "ShowFunctions ShowGroups ShowLocations ShowProcedures ShowSchemas ShowSettings ShowTokens ShowUsers ShowViews",
    "ShowVolumes UseCatalog UseSchema",
}
NOT_FROM_TEXT = {EvaluateQuery}
# `free`'s conditions after privileges and policies pass: the statement requires another table.
REQUIRES_MORE = {
    "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
    "DELTA_CONSTRAINT_DOES_NOT_EXIST",
    "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
    "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_UNSUPPORTED_DROP_COLUMN",
    "DELTA_UNSUPPORTED_RENAME_COLUMN",
    "ICEBERG_PROCEDURE_REFUSED",
}


class Tables:
    """Sets with the three tables; a set is reused until a statement has changed a table in it."""

    def __init__(self, folder: Path, driver: SparkDriver) -> None:
        self.files = folder / "files"
        (folder / "lake").mkdir()
        self.files.mkdir()
        self._lake = GuardedLake(folder / "lake", (str(self.files),))
        self.people = People(self._lake, driver)
        self._numbers = itertools.count()
        self._fresh: dict[bool, int] = {}
        for text in (
            "CREATE SCHEMA shop",
            "ALTER SCHEMA shop OWNER TO ann",
            "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
            f"CREATE EXTERNAL LOCATION files URL '{self.files}'",
            "GRANT ALL PRIVILEGES ON EXTERNAL LOCATION files TO eve",
        ):
            self.people.rows("root", text)
        for text in (
            "CREATE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a'",
            "CREATE FUNCTION shop.blank(ssn STRING) RETURNS STRING RETURN '***'",
            "GRANT ALL PRIVILEGES, MANAGE ON SCHEMA shop TO eve",
        ):
            self.people.rows("ann", text)
        self.people.rows("eve", "DECLARE VARIABLE v BIGINT")
        pq.write_table(pa.table({"tenant": ["a"], "n": [9], "ssn": ["9"], "part": [1]}), self.files / "a.parquet")

    def number(self, *, is_iceberg: bool) -> int:
        """Returns the number of an unchanged set of tables."""
        if is_iceberg not in self._fresh:
            self._fresh[is_iceberg] = number = next(self._numbers)
            using = "USING iceberg" if is_iceberg else "USING delta"
            for name, hidden in HIDDEN.items():
                table = f"shop.{name}_{number}"
                texts = [
                    f"CREATE TABLE {table} ({COLUMNS}) {using} PARTITIONED BY (part)",
                    *(f"INSERT INTO {table} VALUES {rows}" for rows in (VISIBLE, hidden)),
                ]
                if name != "free":
                    texts.append(f"ALTER TABLE {table} SET ROW FILTER shop.mine ON (tenant)")
                    texts.append(f"ALTER TABLE {table} ALTER COLUMN ssn SET MASK shop.blank")
                for text in texts:
                    self.people.rows("ann", text)
        return self._fresh[is_iceberg]

    def forget(self, *, is_iceberg: bool) -> None:
        self._fresh.pop(is_iceberg, None)

    def run(self, written: Written, name: str) -> str | SqlError:
        """Run a statement as eve: its answer about the table `name`, without times and ids, or the error."""
        names = {"t": f"shop.{name}", "ice": f"shop.{name}", "name": name, "files": str(self.files), "snapshot": "1"}
        if "{snapshot}" in str(written) and name.startswith("free"):
            first = f"SELECT snapshot_id FROM spark_catalog.shop.{name}.snapshots ORDER BY committed_at LIMIT 1"
            names["snapshot"] = str(self.people.rows("ann", first)[0][0])
        try:
            rows = self.people.rows("eve", filled(written, names))
        except SqlError as error:
            return error
        return DIFFERS.sub("…", str(sorted(map(str, rows)))).replace(name, "{name}")


def filled(written: Any, names: Mapping[str, str]) -> Any:
    """Returns `written` with the table names filled in, in a text and in all texts in a value."""
    if isinstance(written, str):
        return written.format(**names)
    if isinstance(written, tuple):
        return tuple(filled(each, names) for each in written)
    if not is_dataclass(written) or isinstance(written, type):
        return written
    return replace(written, **{each.name: filled(getattr(written, each.name), names) for each in fields(written)})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Tables]:
    found = Tables(tmp_path_factory.mktemp("effects"), spark_driver)
    yield found
    found.people.close()


@pytest.mark.parametrize(("written", "condition"), CASES, ids=[str(written)[:70] for written, _ in CASES])
def test_a_statement_is_rejected_or_reveals_nothing(tables: Tables, written: Written, condition: str | None) -> None:
    is_iceberg = "{ice}" in str(written)
    number = tables.number(is_iceberg=is_iceberg)
    first, second, free = (tables.run(written, f"{name}_{number}") for name in ("one", "two", "free"))
    if not isinstance(first, SqlError) or not isinstance(free, SqlError):
        tables.forget(is_iceberg=is_iceberg)
    if condition is not None:
        assert isinstance(first, SqlError) and first.condition == condition, first
        assert isinstance(second, SqlError) and second.condition == condition, second
    else:
        assert not isinstance(first, SqlError) or isinstance(free, SqlError), first
        assert str(first).replace(f"one_{number}", "") == str(second).replace(f"two_{number}", "")
        for secret in ("4242", "zz", "5353", "6464"):
            assert secret not in str(first)
    assert not isinstance(free, SqlError) or free.condition in REQUIRES_MORE, free


NAMES = {"t": "s.t", "ice": "s.t", "name": "t", "files": "/f", "snapshot": "1"}


def test_each_registered_statement_has_a_case() -> None:
    """Including each ALTER TABLE change, and each procedure."""
    values = [parse(filled(each, NAMES)) if isinstance(each, str) else each for each, _ in CASES]
    kinds = {type(each) for each in values}
    others = {name for names in NOT_ABOUT_TABLES for name in names.split()}
    assert {kind.__name__ for kind in STATEMENTS.keys() - kinds - NOT_FROM_TEXT} == others
    changes = {type(change) for each in values if isinstance(each, AlterTable) for change in each.changes}
    assert set(get_args(TableChange)) == changes
    assert set(get_args(Procedure)) == {type(each.procedure) for each in values if isinstance(each, Call)}
