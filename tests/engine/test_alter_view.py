"""ALTER VIEW: RENAME, AS and properties; temporary views behave as in Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.names import TableName
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.results import ResultStream
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark


@pytest.fixture
def views(session: LakeSession) -> Iterator[LakeSession]:
    for text in (
        "CREATE SCHEMA changed",
        "CREATE SCHEMA other",
        "USE changed",
        "CREATE TABLE t (a INT, b STRING)",
        "INSERT INTO t VALUES (1, 'x')",
        "CREATE VIEW v (k COMMENT 'key') COMMENT 'about' TBLPROPERTIES ('p' = '1', 'q' = '2') AS SELECT a FROM t",
        "CREATE TEMPORARY VIEW tv AS SELECT 1 AS one",
    ):
        run(session, text)
    yield session
    run(session, "DROP SCHEMA changed CASCADE")
    run(session, "DROP SCHEMA other CASCADE")


def test_rename_keeps_the_view_and_its_grants_and_frees_its_name(engine: LakeEngine, views: LakeSession) -> None:
    run(views, "GRANT SELECT ON VIEW v TO `bob`")
    run(views, "ALTER VIEW v RENAME TO w")
    assert rows(views, "SELECT k FROM w") == [(1,)]
    assert rows(views, "SHOW TBLPROPERTIES w") == [("p", "1"), ("q", "2")]
    assert refuse(views, "SELECT * FROM v").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(views, "ALTER VIEW changed.w RENAME TO other.v")
    assert rows(views, "SELECT k FROM other.v") == [(1,)]  # its names lead to the schema in which it was made
    assert rows(views, "SHOW VIEWS LIKE 'v'") == []
    assert rows(views, "SHOW VIEWS IN other LIKE 'v'") == [("other", "v", False)]
    entry = engine._sources.catalog.view().resolve(TableName("spark_catalog", "other", "v"))
    assert [grant.principal.name for grant in entry.grants] == ["bob"]


def test_comments_on_columns_stay_until_another_query(views: LakeSession) -> None:
    run(views, "COMMENT ON COLUMN changed.v.K IS 'new'")
    assert rows(views, "DESCRIBE v") == [("k", "int", "new")]
    run(views, "ALTER VIEW v SET TBLPROPERTIES ('p' = '2')")
    run(views, "COMMENT ON COLUMN v.k IS NULL")
    assert rows(views, "DESCRIBE v") == [("k", "int", None)]
    assert refuse(views, "COMMENT ON COLUMN v.a IS 'no'").condition == "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"
    assert refuse(views, "COMMENT ON COLUMN tv.one IS 'no'").condition == "EXPECT_TABLE_NOT_VIEW"


def test_another_query_keeps_comment_and_properties_and_has_its_own_columns_and_settings(views: LakeSession) -> None:
    run(views, "SET spark.sql.ansi.enabled = false")
    run(views, "ALTER VIEW v AS SELECT b, int(b) AS n FROM t")
    run(views, "RESET")
    assert rows(views, "SELECT * FROM v") == [("x", None)]
    assert rows(views, "DESCRIBE v") == [("b", "string", None), ("n", "int", None)]
    assert rows(views, "SHOW TBLPROPERTIES v") == [("p", "1"), ("q", "2")]
    assert ("Comment", "about", "") in rows(views, "DESCRIBE EXTENDED v")
    run(views, "ALTER VIEW v AS WITH c AS (SELECT 2 AS two) SELECT * FROM c")
    assert rows(views, "SELECT * FROM v") == [(2,)]
    run(views, "ALTER VIEW v SELECT 3 AS three")
    assert rows(views, "SELECT three FROM v") == [(3,)]
    refused = refuse(views, "ALTER VIEW v SET LOCATION '/x'")
    assert refused.condition == "UNSUPPORTED_STATEMENT" and "ALTER VIEW … SET LOCATION" in str(refused)


def test_properties_are_set_and_unset(views: LakeSession) -> None:
    run(views, "ALTER VIEW v SET TBLPROPERTIES ('q' = '3', 'r' = '4', 'comment' = 'new')")
    assert rows(views, "SHOW TBLPROPERTIES v") == [("p", "1"), ("q", "3"), ("r", "4")]
    assert ("Comment", "new", "") in rows(views, "DESCRIBE EXTENDED v")
    run(views, "ALTER VIEW v UNSET TBLPROPERTIES ('p', 'comment')")
    assert rows(views, "SHOW TBLPROPERTIES v") == [("q", "3"), ("r", "4")]
    assert not [row for row in rows(views, "DESCRIBE EXTENDED v") if row[0] == "Comment" and row[1]]
    assert refuse(views, "ALTER VIEW v UNSET TBLPROPERTIES ('p')").condition == "UNSET_NONEXISTENT_PROPERTIES"
    run(views, "ALTER VIEW v UNSET TBLPROPERTIES IF EXISTS ('p', 'q')")
    assert rows(views, "SHOW TBLPROPERTIES v") == [("r", "4")]
    assert rows(views, "SELECT k FROM v") == [(1,)]


def test_a_temporary_view_changes_its_name_and_its_query(views: LakeSession) -> None:
    run(views, "CREATE TEMPORARY VIEW v AS SELECT 'temporary' AS t")
    run(views, "ALTER VIEW v AS SELECT 'changed' AS t")
    assert rows(views, "SELECT * FROM v") == [("changed",)] and rows(views, "SELECT * FROM changed.v") == [(1,)]
    assert refuse(views, "ALTER VIEW v RENAME TO tv").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert refuse(views, "ALTER VIEW v RENAME TO other.w").condition == "UNSUPPORTED_FEATURE.STATEMENT"
    run(views, "ALTER VIEW v RENAME TO w")
    assert rows(views, "SELECT * FROM w") == [("changed",)] and rows(views, "SELECT * FROM v") == [(1,)]
    run(views, "DROP VIEW w")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ALTER VIEW t RENAME TO u", "EXPECT_VIEW_NOT_TABLE"),
        ("ALTER VIEW t AS SELECT 1", "EXPECT_VIEW_NOT_TABLE"),
        ("ALTER VIEW t SET TBLPROPERTIES ('a' = 'b')", "EXPECT_VIEW_NOT_TABLE"),
        ("ALTER VIEW t UNSET TBLPROPERTIES ('a')", "EXPECT_VIEW_NOT_TABLE"),
        ("ALTER VIEW t WITH SCHEMA TYPE EVOLUTION", "EXPECT_VIEW_NOT_TABLE"),
        ("ALTER TABLE v RENAME TO u", "EXPECT_TABLE_NOT_VIEW"),
        ("ALTER VIEW nope RENAME TO u", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER VIEW nope AS SELECT 1", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER VIEW nope SET TBLPROPERTIES ('a' = 'b')", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER VIEW v RENAME TO t", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("ALTER VIEW v RENAME TO nowhere.u", "SCHEMA_NOT_FOUND"),
        ("ALTER VIEW v AS SELECT k FROM v", "RECURSIVE_VIEW"),
        ("ALTER VIEW v AS SELECT one FROM tv", "INVALID_TEMP_OBJ_REFERENCE"),
        ("ALTER VIEW v AS SELECT 1 AS a, 2 AS a", "COLUMN_ALREADY_EXISTS"),
        ("ALTER VIEW v WITH SCHEMA SOMETIMES", "PARSE_SYNTAX_ERROR"),
        ("CREATE VIEW u WITH SCHEMA BINDING WITH SCHEMA BINDING AS SELECT 1", "PARSE_SYNTAX_ERROR"),
        ("CREATE TEMPORARY VIEW u WITH SCHEMA TYPE EVOLUTION AS SELECT 1", "UNSUPPORTED_CLAUSE"),
        ("ALTER VIEW tv SET TBLPROPERTIES ('a' = 'b')", "EXPECT_PERMANENT_VIEW_NOT_TEMP"),
        ("ALTER VIEW tv UNSET TBLPROPERTIES ('a')", "EXPECT_PERMANENT_VIEW_NOT_TEMP"),
        ("ALTER VIEW tv WITH SCHEMA TYPE EVOLUTION", "EXPECT_PERMANENT_VIEW_NOT_TEMP"),
        ("ALTER VIEW information_schema.tables RENAME TO u", "FORBIDDEN_OPERATION"),
        ("ALTER VIEW information_schema.tables SET TBLPROPERTIES ('a' = 'b')", "FORBIDDEN_OPERATION"),
        ("ALTER VIEW information_schema.tables AS SELECT 1", "FORBIDDEN_OPERATION"),
    ],
)
def test_unsupported_view_change_is_reported(views: LakeSession, text: str, condition: str) -> None:
    assert refuse(views, text).condition == condition
    assert rows(views, "SELECT k FROM v") == [(1,)]


def test_a_rename_onto_the_name_that_a_view_reads_is_an_error_of_the_reader(views: LakeSession) -> None:
    run(views, "CREATE VIEW w AS SELECT k FROM v")
    run(views, "DROP VIEW v")
    run(views, "ALTER VIEW w RENAME TO v")
    assert refuse(views, "SELECT * FROM v").condition == "RECURSIVE_VIEW"
    run(views, "ALTER VIEW v AS SELECT 1 AS k")
    assert rows(views, "SELECT * FROM v") == [(1,)]


def test_show_views_has_databricks_column_on_request(views: LakeSession) -> None:
    def answer(text: str) -> ResultStream:
        request = StatementRequest(identity=Identity("ann"))
        return views.execute(text, with_changes(request, shows_materialized=True))

    names = ["namespace", "viewName", "isTemporary", "isMaterialized"]
    found = next(iter(answer("SHOW VIEWS IN changed LIKE 'v'").batches()))
    assert found.to_pylist() == [dict(zip(names, ("changed", "v", False, False), strict=True))]
    assert answer("SHOW TABLES IN changed").schema.names == ["namespace", "tableName", "isTemporary"]
    assert rows(views, "SHOW VIEWS IN changed LIKE 'v'") == [("changed", "v", False)]
    run(views, "SET gateway.show_tables.hive_shape = true")
    assert answer("SHOW VIEWS IN changed").schema.names == ["tab_name"]
