"""Values in UPDATE and MERGE: constraints, defaults, nested fields, new columns; and rejected assignments."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import actions, refuse, rows, run, version_of
from tests.samples import some

pytestmark = pytest.mark.spark

CONSTRAINTS = """
CREATE TABLE ruled (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  k INT NOT NULL,
  v VARCHAR(3) DEFAULT 'd',
  twice INT GENERATED ALWAYS AS (k * 2),
  n STRUCT<a: INT, b: STRUCT<c: STRING, d: INT>>,
  CONSTRAINT small CHECK (k < 100)
) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'delta.enableDeletionVectors' = '{vectors}')"""

CHANGES = [
    # statement, rows affected, the table without ids
    ("UPDATE ruled SET k = k + 10 WHERE k = 1", 1, [(2, "b", 4, "y", 2), (11, "a", 22, "x", 1)]),
    ("UPDATE ruled SET v = DEFAULT, n.b.c = 'z' WHERE k = 2", 1, [(2, "d", 4, "z", 2), (11, "a", 22, "x", 1)]),
    ("UPDATE ruled SET twice = 4, v = 'q' WHERE k = 2", 1, [(2, "q", 4, "z", 2), (11, "a", 22, "x", 1)]),
    (
        "UPDATE ruled SET n.a = 7, n.b.d = n.a WHERE ruled.k = 2",
        1,
        [(2, "q", 4, "z", 1), (11, "a", 22, "x", 1)],
    ),
    (
        "MERGE INTO ruled r USING (SELECT 2 AS k, 'm' AS v UNION ALL SELECT 3, NULL) s ON r.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v, n = named_struct('a', 1, 'b', named_struct('c', 'w', 'd', 0)) "
        "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, DEFAULT)",
        2,
        [(2, "m", 4, "w", 0), (3, "d", 6, None, None), (11, "a", 22, "x", 1)],
    ),
    ("UPDATE ruled SET v = 'no' WHERE k = (SELECT min(k) - 10 FROM ruled)", 0, None),
]

REFUSED = [
    ("UPDATE ruled SET k = 100", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
    ("UPDATE ruled SET k = NULL", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),  # before NOT NULL, as in Delta
    ("UPDATE ruled SET twice = 1", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
    ("UPDATE ruled SET v = 'long'", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
    ("UPDATE ruled SET id = 1", "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"),
    ("UPDATE ruled SET k = DATE'2024-01-01' WHERE k = 12345", "INCOMPATIBLE_DATA_FOR_TABLE"),
    ("UPDATE ruled SET nope = 1", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("UPDATE ruled SET k = nope", "UNRESOLVED_COLUMN"),
    ("UPDATE ruled SET k = 1, K = 2", "DELTA_CONFLICT_SET_COLUMN"),
    ("UPDATE ruled SET n = NULL, n.a = 2", "DELTA_CONFLICT_SET_COLUMN"),
    ("UPDATE ruled SET k.a = 2", "DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT"),
    ("UPDATE ruled SET k = max(k)", "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ("UPDATE ruled SET k = explode(array(1, 2))", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    ("UPDATE ruled SET k = 1 WHERE rand() < 2", "DELTA_NON_DETERMINISTIC"),
    ("MERGE INTO ruled USING other o ON ruled.k = o.k WHEN MATCHED THEN UPDATE SET *", "DELTA_MERGE_UNRESOLVED"),
    ("MERGE INTO ruled r USING twins s ON r.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v", "DELTA_MULTIPLE_SOURCE_ROW"),
    (
        "MERGE INTO ruled r USING other s ON r.k = s.k WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'a'",
        "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
    ),
    (
        "MERGE INTO ruled r USING other s ON r.k = s.k WHEN NOT MATCHED THEN INSERT (k) VALUES (r.k)",
        "UNRESOLVED_COLUMN",
    ),
    ("MERGE INTO ruled r USING other s ON r.k = s.k AND rand() < 2 WHEN MATCHED THEN DELETE", "DELTA_NON_DETERMIN"),
    ("MERGE INTO ruled r USING other s ON r.k = s.k WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)", "DELTA_VIOLATE"),
    (
        "MERGE INTO ruled r USING other s ON r.k = s.k WHEN NOT MATCHED THEN INSERT (v) VALUES ('a')",
        "DELTA_MISSING_NOT",
    ),
    ("MERGE INTO ruled r USING other s ON r.k WHEN MATCHED THEN DELETE", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
]


@pytest.mark.parametrize("vectors", some(("false", "true"), ("true",)))
def test_constraints_apply_to_changed_rows(session: LakeSession, lake: Path, vectors: str) -> None:
    for name in ("ruled", "other", "twins"):
        run(session, f"DROP TABLE IF EXISTS {name}")
    run(session, CONSTRAINTS.format(vectors=vectors))
    run(session, "CREATE TABLE other AS SELECT 500 AS k, 'o' AS v")
    run(session, "CREATE TABLE twins AS SELECT * FROM VALUES (2, 'o'), (2, 'p') AS t(k, v)")
    run(
        session,
        "INSERT INTO ruled (k, v, n) SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, 'a', named_struct('a', 1, 'b', named_struct('c', 'x', 'd', 1))), "
        "(2, 'b', named_struct('a', 1, 'b', named_struct('c', 'y', 'd', 2)))",
    )
    ids = dict(rows(session, "SELECT k, id FROM ruled"))
    for text, affected, expected in CHANGES:
        assert run(session, text) == affected, text
        if expected is not None:
            assert rows(session, "SELECT k, v, twice, n.b.c, n.b.d FROM ruled ORDER BY k") == expected, text
    after = dict(rows(session, "SELECT k, id FROM ruled"))
    assert after[11] == ids[1] and after[2] == ids[2] and after[3] > max(ids.values())
    before = version_of(lake, "ruled")
    for text, condition in REFUSED if vectors == "true" else REFUSED[:4]:
        error = refuse(session, text)
        assert (error.condition or "").startswith(condition), (text, error)
        assert version_of(lake, "ruled") == before
        if condition == "DELTA_MULTIPLE_SOURCE_ROW":
            assert '{"k":2}' in str(error)


def test_a_source_is_read_once_and_its_columns_may_be_new(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE grown (k INT, v INT) PARTITIONED BY (k)")
    run(session, "INSERT INTO grown VALUES (1, 1), (2, 2)")
    text = (
        "MERGE WITH SCHEMA EVOLUTION INTO grown t USING (SELECT id AS k, CAST(rand() * 1000000 AS INT) AS r, "
        "CAST(NULL AS INT) AS z FROM range(1, 4)) s ON t.k = s.k WHEN MATCHED AND s.r % 2 = 0 THEN UPDATE SET * "
        "WHEN MATCHED THEN UPDATE SET v = -1, r = s.r WHEN NOT MATCHED THEN INSERT *"
    )
    assert run(session, text) == 3
    found = rows(session, "SELECT k, v, r FROM grown ORDER BY k")
    assert [row[0] for row in found] == [1, 2, 3] and found[2][1] is None
    assert all(v == (k if r % 2 == 0 else -1) for k, v, r in found[:2])
    assert [name for name, *_ in rows(session, "DESCRIBE grown")][:4] == ["k", "v", "r", "z"]
    files = {str(path) for path in (lake / "default" / "grown").rglob("*.parquet")}
    named = {action["add"]["path"] for at in range(1, 3) for action in actions(lake, "grown", at) if "add" in action}
    assert len(files) == len(named)


def test_new_columns_of_a_source_come_without_rows_too(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE waiting (k INT)")
    text = "INTO waiting t USING (SELECT 1 AS k, 2 AS z) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *"
    assert run(session, f"MERGE WITH SCHEMA EVOLUTION {text}") == 0 and version_of(lake, "waiting") == 1
    assert [name for name, *_ in rows(session, "DESCRIBE waiting")] == ["k", "z"]
    assert run(session, f"MERGE WITH SCHEMA EVOLUTION {text}") == 0 and version_of(lake, "waiting") == 1


def test_parameters_keep_their_places(session: LakeSession) -> None:
    run(session, "CREATE TABLE marked (k INT, v INT)")
    run(session, "INSERT INTO marked VALUES (1, 1), (2, 2), (3, 3)")
    run(session, "DECLARE OR REPLACE VARIABLE more INT DEFAULT 100")
    for text, values, affected in (
        ("UPDATE marked SET v = ? + more, k = k + ? WHERE k = ?", (10, 5, 1), 1),
        ("DELETE FROM marked WHERE v IN (?, ?)", (2, 9), 1),
        (
            "MERGE INTO marked t USING (SELECT ? AS k) s ON t.k = s.k + ? WHEN MATCHED AND t.v > ? "
            "THEN UPDATE SET v = ? WHEN NOT MATCHED BY SOURCE AND t.k = ? THEN UPDATE SET v = ?",
            (5, 1, 100, 7, 3, 8),
            2,
        ),
    ):
        parameters = [Parameter(value=str(value), sql_type="int") for value in values]
        result = session.execute(text, StatementRequest(identity=Identity("ann")), parameters)
        result.close()
        assert result.rows_modified == affected, text
    assert rows(session, "SELECT * FROM marked ORDER BY k") == [(3, 8), (6, 7)]


def test_an_append_only_table_takes_new_rows_alone(session: LakeSession) -> None:
    run(session, "CREATE TABLE kept (k INT) TBLPROPERTIES ('delta.appendOnly' = 'true')")
    run(session, "INSERT INTO kept VALUES (1)")
    merge = "MERGE INTO kept USING (VALUES (1), (2)) s(k) ON kept.k = s.k"
    assert run(session, f"{merge} WHEN NOT MATCHED THEN INSERT *") == 1
    for text in ("UPDATE kept SET k = 2", f"{merge} WHEN MATCHED THEN DELETE"):
        assert refuse(session, text).condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    counts = session.execute(
        f"{merge} WHEN NOT MATCHED THEN INSERT *", StatementRequest(identity=Identity("ann"))
    ).row_counts
    assert counts is not None and counts.named == {
        "num_affected_rows": 0,
        "num_updated_rows": 0,
        "num_deleted_rows": 0,
        "num_inserted_rows": 0,
    }


def test_merge_accepts_target_and_source_of_equal_names(session: LakeSession) -> None:
    run(session, "CREATE SCHEMA news")
    run(session, "CREATE TABLE twin AS SELECT 1 AS k, 1 AS v UNION ALL SELECT 2, 2")
    run(session, "CREATE TABLE news.twin AS SELECT 1 AS k, 7 AS v UNION ALL SELECT 2, 4 UNION ALL SELECT 3, 3")
    merge = "MERGE INTO twin USING news.twin ON default.twin.k = news.twin.k AND news.twin.v > 0"
    assert run(
        session,
        f"{merge} WHEN MATCHED AND spark_catalog.news.twin.v > 5 THEN UPDATE SET default.twin.v = news.twin.v * 10 "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT (k, v) VALUES (news.twin.k, news.twin.v * 10)",
    ) == 3  # fmt: skip
    assert rows(session, "SELECT * FROM twin ORDER BY k") == [(1, 70), (2, 4), (3, 30)]
    run(session, "UPDATE default.twin SET default.twin.v = spark_catalog.default.twin.k WHERE default.twin.k > 1")
    run(session, "DELETE FROM default.twin WHERE spark_catalog.default.twin.v = 2")
    assert run(session, "MERGE INTO twin t USING news.twin ON t.k = twin.k WHEN NOT MATCHED THEN INSERT *") == 1
    assert rows(session, "SELECT * FROM twin ORDER BY k") == [(1, 70), (2, 4), (3, 3)]
    several = merge.replace("= news.twin.k", "< news.twin.k")
    assert '{"k":1}' in str(refuse(session, f"{several} WHEN MATCHED THEN UPDATE SET v = news.twin.v"))
    error = refuse(session, "MERGE INTO twin USING news.twin ON twin.k = news.twin.k WHEN MATCHED THEN DELETE")
    assert error.condition == "AMBIGUOUS_REFERENCE"
