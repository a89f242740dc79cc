"""Too deeply nested expressions are rejected with an error that reports it, anywhere in a statement."""

from __future__ import annotations

import pytest

from tests.engine.bare_lake import BareLake

DEPTH = 20_000
NUMBER, CONDITION = f"{'(' * DEPTH}1{')' * DEPTH}", f"{'(' * DEPTH}id > 0{')' * DEPTH}"

STATEMENTS = {
    "a generated column": f"CREATE TABLE deep (id INT, x INT GENERATED ALWAYS AS ({NUMBER}))",
    "a CHECK of a new table": f"CREATE TABLE deep (id INT, CHECK ({CONDITION}))",
    "a CHECK": f"ALTER TABLE t ADD CONSTRAINT c CHECK ({CONDITION})",
    "a default": f"CREATE TABLE deep (id INT DEFAULT {NUMBER})",
    "a default of a column": f"ALTER TABLE t ALTER COLUMN id SET DEFAULT {NUMBER}",
    "a query": f"SELECT {NUMBER}",
    "a view": f"CREATE VIEW v AS SELECT {NUMBER}",
    "a function": f"CREATE FUNCTION f() RETURNS INT RETURN {NUMBER}",
    "a DELETE": f"DELETE FROM t WHERE {CONDITION}",
    "an UPDATE": f"UPDATE t SET id = {NUMBER}",
    "a MERGE": f"MERGE INTO t USING t AS s ON {CONDITION.replace('id', 't.id')} WHEN MATCHED THEN DELETE",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> BareLake:
    found = BareLake(tmp_path_factory.mktemp("deep"))
    found.answer("CREATE TABLE t (id INT) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')")
    return found


@pytest.mark.parametrize("case", STATEMENTS)
def test_deep_expression_is_rejected(lake: BareLake, case: str) -> None:
    error = lake.refuse(STATEMENTS[case])
    assert (error.condition, error.sqlstate) == ("FAILED_TO_PARSE_TOO_COMPLEX", "54001")
    assert lake.rows("SHOW COLUMNS IN t") == [("id",)]
