"""INSERT … REPLACE WHERE and REPLACE USING: matched rows are replaced, all others stay, in one version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from engine.delta.commit.transaction import Transaction
from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table_of, version_of
from tests.engine.peer_readers import deltalake_rows
from tests.samples import some, with_slow

pytestmark = pytest.mark.spark

OLD = [(1, "a", 1), (2, None, 1), (3, "c", 2), (4, "d", None)]


LAYOUTS = {
    "plain": "",
    "partitioned": " PARTITIONED BY (p)",
    "by name": " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "partitioned by id": " PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
    "vectors": " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
}


@pytest.fixture(params=LAYOUTS.values(), ids=[*LAYOUTS])
def things(session: LakeSession, request: pytest.FixtureRequest) -> None:
    """Creates at least two files, with at most two rows each."""
    run(session, "DROP TABLE IF EXISTS things")
    run(session, f"CREATE TABLE things (k INT, s STRING, p INT, g INT GENERATED ALWAYS AS (k * 2)){request.param}")
    run(session, "INSERT INTO things (k, s, p) VALUES (1, 'a', 1), (2, NULL, 1)")
    run(session, "INSERT INTO things (k, s, p) VALUES (3, 'c', 2), (4, 'd', NULL)")


REPLACED = [
    ("REPLACE WHERE k = 1", "(1, 'x', 1)", [2, 3, 4], [(1, "x", 1)]),
    ("REPLACE WHERE k < 3", "(0, 'x', 9)", [3, 4], [(0, "x", 9)]),
    ("REPLACE WHERE k > 100", "(101, 'x', 1)", [1, 2, 3, 4], [(101, "x", 1)]),
    ("REPLACE WHERE s IS NULL", "(9, NULL, 1)", [1, 3, 4], [(9, None, 1)]),
    ("REPLACE WHERE s > 'a'", "(9, 'b', 1)", [1, 2], [(9, "b", 1)]),
    ("REPLACE WHERE p = 1 AND k <> 1", "(9, 'b', 1)", [1, 3, 4], [(9, "b", 1)]),
    ("REPLACE WHERE g = 4 OR p IS NULL", "(2, 'b', 1)", [1, 3], [(2, "b", 1)]),
    ("REPLACE WHERE true", "(9, 'b', 1)", [], [(9, "b", 1)]),
    ("REPLACE USING (k)", "(1, 'x', 7), (4, 'y', 7), (5, 'z', 7)", [2, 3], [(1, "x", 7), (4, "y", 7), (5, "z", 7)]),
    ("REPLACE USING (s)", "(9, NULL, 1), (9, 'c', 1)", [1, 2, 4], [(9, None, 1), (9, "c", 1)]),
    ("REPLACE USING (p, K)", "(1, 'x', 1), (3, 'y', 1)", [2, 3, 4], [(1, "x", 1), (3, "y", 1)]),
    (
        "REPLACE USING (k)",
        "(1, 'x', 1), (2, 'x', 1), (3, 'x', 1), (4, 'x', 1)",
        [],
        [(k, "x", 1) for k in (1, 2, 3, 4)],
    ),
]


def _order(row: tuple[Any, ...]) -> str:
    return str(row)


def _in_layouts() -> list[Any]:
    """Returns conditions on the partition column in two layouts, others in one; the rest is slow."""
    cases = []
    for row, case in enumerate(REPLACED):
        for column, layout in enumerate(LAYOUTS.values()):
            is_selected = (row + column) % len(LAYOUTS) < (2 if "p" in re.findall(r"\w+", case[0]) else 1)
            cases.append(pytest.param(layout, *case, marks=() if is_selected else pytest.mark.slow))
    return cases


@pytest.mark.parametrize(("things", "clause", "values", "remaining", "new"), _in_layouts(), indirect=["things"])
def test_the_rows_of_the_condition_are_replaced(
    session: LakeSession,
    lake: Path,
    things: None,
    clause: str,
    values: str,
    remaining: list[int],
    new: list[tuple[Any, ...]],
) -> None:
    source = f"SELECT col1 AS k, col2 AS s, col3 AS p, col1 * 2 AS g FROM VALUES {values}"
    assert run(session, f"INSERT INTO things {clause} {source}") == len(new)
    expected = sorted([row for row in OLD if row[0] in remaining] + new, key=_order)
    expected = [(*row, row[0] * 2) for row in expected]
    assert sorted(rows(session, "SELECT * FROM things"), key=_order) == sorted(expected, key=_order)
    assert version_of(lake, "things") == 3
    log = actions(lake, "things", 3)
    (info,) = [action["commitInfo"] for action in log if "commitInfo" in action]
    added = {action["add"]["path"] for action in log if "add" in action}
    removed = {action["remove"]["path"] for action in log if "remove" in action}
    added, removed = added - removed, removed - added  # a file in both got a deletion vector
    metrics = info["operationMetrics"]
    assert int(metrics["numOutputRows"]) == len(new) + int(metrics.get("numCopiedRows", 0))
    assert int(metrics["numRemovedFiles"]) == len(removed)
    if "numCopiedRows" in metrics:
        assert int(metrics["numDeletedRows"]) == len(OLD) - len(remaining)
    if "k > 100" in clause:
        assert not removed, "a file without such a row is not touched"
    assert len(added) <= len(removed) + len({row[2] for row in new})


def test_another_reader_sees_the_same(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE seen (k INT, s STRING)")
    run(session, "INSERT INTO seen SELECT id, string(id) FROM range(0, 20, 1, 2)")
    run(session, "INSERT INTO seen REPLACE WHERE k % 5 = 0 VALUES (100, 'new')")
    expected = sorted([(k, str(k)) for k in range(20) if k % 5] + [(100, "new")])
    assert sorted(tuple(row.values()) for row in table_of(lake, "seen").to_pylist()) == expected


REPLACED_CASES = [
    # clauses, an INSERT without its table, keys of the replaced rows
    ("", "REPLACE WHERE k % 5 = 0 VALUES (100, 'new', 1)", {0, 5}),
    ("", "REPLACE USING (s) VALUES (100, '3', 1), (101, 'x', 1)", {3}),
    ("", "AS old REPLACE ON (old.k + 1 = new.k) (SELECT 8 AS k, 'x' AS s, 0 AS p) AS new", {7}),
    ("PARTITIONED BY (p)", "REPLACE WHERE k IN (1, 2) VALUES (1, 'new', 7)", {1, 2}),
    ("PARTITIONED BY (p)", "REPLACE WHERE p = 1 AND k > 2 VALUES (100, 'new', 1), (101, NULL, 1)", {3, 5, 7, 9}),
    ("MAPPED PARTITIONED BY (p)", "REPLACE WHERE s >= '8' VALUES (100, '9', NULL)", {8, 9}),
    ("MAPPED", "REPLACE WHERE k < 0 VALUES (-1, NULL, NULL)", set()),
    ("", "REPLACE WHERE k >= 0 VALUES (3, 'all', 1)", set(range(10))),
]


def _made(session: LakeSession, clauses: str, *properties: str) -> None:
    """Ten rows in two files at least."""
    mapped = ["'delta.columnMapping.mode' = 'name'"] if "MAPPED" in clauses else []
    listed = ", ".join((*properties, *mapped))
    layout = clauses.replace("MAPPED", "")
    run(session, "DROP TABLE IF EXISTS kept")
    run(session, f"CREATE TABLE kept (k INT, s STRING, p INT) {layout} TBLPROPERTIES ({listed})")
    for first in (0, 5):
        values = f"SELECT id, string(id), id % 2 FROM range({first}, {first + 5}, 1, 1)"
        run(session, f"INSERT INTO kept {values}")


@pytest.mark.parametrize(("clauses", "text", "gone"), with_slow(REPLACED_CASES, (1, 3, 6)))
def test_rows_that_stay_keep_their_ids(
    session: LakeSession, lake: Path, clauses: str, text: str, gone: set[int]
) -> None:
    _made(session, clauses, "'delta.enableRowTracking' = 'true'")
    query = "SELECT _metadata.row_id, _metadata.row_commit_version, k, s, p FROM kept"
    before = set(rows(session, query))
    for _ in range(2):  # ids are taken over from files that took them over
        run(session, f"INSERT INTO kept {text}")
        after = set(rows(session, query))
        stayed = {row for row in before if row[2] not in gone}
        new = after - stayed
        assert stayed <= after and len({row[0] for row in after}) == len(after)
        assert new and {row[1] for row in new} == {version_of(lake, "kept")}
        assert not {row[0] for row in new} & {row[0] for row in before}
        before, gone = after, set() if "ON (" in text else {row[2] for row in new}
    assert deltalake_rows(lake / "default" / "kept", ["k"]) == sorted(((row[2],) for row in after), key=repr)


@pytest.mark.parametrize(("clauses", "text", "gone"), with_slow(REPLACED_CASES, (0, 2, 4, 7)))
def test_the_feed_tells_the_rows_that_went_and_came(
    session: LakeSession, lake: Path, clauses: str, text: str, gone: set[int]
) -> None:
    _made(session, clauses, "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'")
    before = rows(session, "SELECT * FROM kept")
    run(session, f"INSERT INTO kept {text}")
    after = rows(session, "SELECT * FROM kept")
    version = version_of(lake, "kept")
    feed = rows(session, f"SELECT _change_type, k, s, p FROM table_changes('kept', {version})")
    deleted = [row[1:] for row in feed if row[0] == "delete"]
    inserted = [row[1:] for row in feed if row[0] == "insert"]
    assert len(feed) == len(deleted) + len(inserted)
    assert sorted(row[0] for row in deleted) == sorted(gone)
    assert sorted(after, key=_order) == sorted([row for row in before if row not in deleted] + inserted, key=_order)
    written = [action["cdc"] for action in actions(lake, "kept", version) if "cdc" in action]
    is_partly = 0 < len(gone) < 10
    assert bool(written) == is_partly
    (info,) = [action["commitInfo"] for action in actions(lake, "kept", version) if "commitInfo" in action]
    assert info["tags"]["delta.rowTracking.preserved"] == ("true" if is_partly or not gone else "false")
    for each in written:
        assert each["path"].startswith("_change_data/") and each["dataChange"] is False
        assert (lake / "default" / "kept" / unquote(each["path"])).stat().st_size == each["size"]
    if "MAPPED" not in clauses:
        reported = pa.table(DeltaTable(lake / "default" / "kept").load_cdf(version).read_all()).to_pylist()
        shown = [(row["_change_type"], row["k"], row["s"], row["p"]) for row in reported]
        assert sorted(shown, key=_order) == sorted(feed, key=_order)


def test_a_feed_has_the_columns_that_come_with_the_new_rows(session: LakeSession, lake: Path) -> None:
    _made(session, "", "'delta.enableChangeDataFeed' = 'true'")
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO kept REPLACE WHERE k = 1 SELECT 1 AS k, 'x' AS s, 3 AS p, 4 AS q")
    feed = rows(session, f"SELECT _change_type, k, s, p, q FROM table_changes('kept', {version_of(lake, 'kept')})")
    assert sorted(feed) == [("delete", 1, "1", 1, None), ("insert", 1, "x", 3, 4)]


def test_change_files_of_a_write_that_fails_are_removed(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _made(session, "", "'delta.enableChangeDataFeed' = 'true'")
    before = sorted((lake / "default" / "kept").rglob("*.parquet"))

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Transaction, "commit", fail)
    with pytest.raises(OSError, match="no space"):
        run(session, "INSERT INTO kept REPLACE WHERE k = 1 VALUES (1, 'x', 1)")
    assert sorted((lake / "default" / "kept").rglob("*.parquet")) == before


@pytest.mark.parametrize(
    "name", some(("t", "n", "old", "__old_rows", "__new_rows", "__scan_0"), ("n", "old", "__new_rows"))
)
def test_a_field_is_not_taken_for_the_column_of_its_name(session: LakeSession, name: str) -> None:
    run(session, "DROP TABLE IF EXISTS fields")
    run(session, f"CREATE TABLE fields (x INT, {name} STRUCT<x: INT>)")
    run(session, "INSERT INTO fields VALUES (1, named_struct('x', 2)), (2, named_struct('x', 1))")
    run(session, f"INSERT INTO fields REPLACE WHERE {name}.x = 1 VALUES (3, named_struct('x', 1))")
    assert rows(session, "SELECT * FROM fields ORDER BY x") == [(1, {"x": 2}), (3, {"x": 1})]
    run(session, "INSERT INTO fields REPLACE USING (x) VALUES (1, named_struct('x', 3))")
    assert rows(session, "SELECT * FROM fields ORDER BY x") == [(1, {"x": 3}), (3, {"x": 1})]


REFUSED = [
    ("REPLACE WHERE k = 1 VALUES (2, 'x', 1, 4)", "DELTA_REPLACE_WHERE_MISMATCH"),
    ("REPLACE WHERE nope = 1 VALUES (2, 'x', 1, 4)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("REPLACE USING (nope) VALUES (2, 'x', 1, 4)", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
]


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_impossible_replacement_changes_nothing(
    session: LakeSession, lake: Path, things: None, text: str, condition: str
) -> None:
    assert refuse(session, f"INSERT INTO things {text}").condition == condition
    assert version_of(lake, "things") == 2 and len(rows(session, "SELECT * FROM things")) == 4


def test_if_not_exists_leaves_a_partition_that_is_there(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE parts (v INT, p STRING) PARTITIONED BY (p)")
    for part, value, count in (("a", 1, 1), ("a", 2, 0), ("b", 3, 1)):
        text = f"INSERT OVERWRITE parts PARTITION (p = '{part}') IF NOT EXISTS VALUES ({value})"
        assert run(session, text) == count
    assert rows(session, "SELECT p, v FROM parts ORDER BY p") == [("a", 1), ("b", 3)]
    error = refuse(session, "INSERT OVERWRITE parts PARTITION (p) IF NOT EXISTS VALUES (1, 'a')")
    assert error.condition == "UNSUPPORTED_FEATURE.STATEMENT"


QUALIFIED = [
    ("kinds.k = 1", [1]),
    ("`Kinds`.`K` = 1 AND default.kinds.s = 'a'", [1]),
    ("spark_catalog.default.kinds.k IN (1, 2) -- these\n", [1, 2]),
    ("kinds.kinds.x = 1", [2]),
    ("kinds.x = 1", [2]),
    ("default.kinds.kinds.x = 2", [1]),
    ("exists(array(k), kinds -> kinds = 2)", [2]),
]


def test_a_column_alone_is_a_condition(session: LakeSession) -> None:
    """Not a column list, as Spark reads parentheses after a name."""
    run(session, "CREATE OR REPLACE TABLE flags AS SELECT * FROM VALUES (true), (false) AS v(flag)")
    run(session, "INSERT INTO flags REPLACE WHERE (flag) VALUES (true), (true)")
    assert sorted(rows(session, "SELECT * FROM flags")) == [(False,), (True,), (True,)]
    run(session, "DELETE FROM flags WHERE (flag)")
    assert rows(session, "SELECT * FROM flags") == [(False,)]


@pytest.mark.parametrize(("condition", "gone"), with_slow(QUALIFIED, (1, 4)))
def test_columns_may_have_the_table_in_front(session: LakeSession, lake: Path, condition: str, gone: list[int]) -> None:
    """Column `kinds` in table `kinds` is a struct: `kinds.x` can only be its field, `kinds.k` is a column."""
    run(session, "DROP TABLE IF EXISTS kinds")
    run(session, "CREATE TABLE kinds (k INT, s STRING, kinds STRUCT<x: INT>)")
    run(session, "INSERT INTO kinds VALUES (1, 'a', named_struct('x', 2)), (2, 'b', named_struct('x', 1))")
    run(session, f"INSERT INTO kinds REPLACE WHERE {condition} SELECT * FROM kinds WHERE false")
    assert [row[0] for row in rows(session, "SELECT * FROM kinds")] == [k for k in (1, 2) if k not in gone]
    (info,) = [action["commitInfo"] for action in actions(lake, "kinds", 2) if "commitInfo" in action]
    assert "\n" not in info["operationParameters"]["predicate"]


UNDECIDED = [
    ("k", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ("NULL", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ("rand() < 0.5", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
    ("k = 1 AND uuid() = 'x'", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
    ("input_file_name() = 'x'", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
    ("k = max(k)", "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ("count(*) > 1", "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ("row_number() OVER (ORDER BY k) = 1", "INVALID_WHERE_CONDITION"),
    ("explode(array(true))", "INVALID_WHERE_CONDITION"),
    ("k IN (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("EXISTS (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("p = 1 AND (SELECT true)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("_metadata.file_name = 'x'", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ("things._METADATA.row_index = 1", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ("other.k = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("k = 1, p = 2", "PARSE_SYNTAX_ERROR"),
]


@pytest.mark.parametrize("things", [" PARTITIONED BY (p)"], indirect=True)
@pytest.mark.parametrize(("text", "condition"), UNDECIDED)
def test_conditions_that_cannot_decide_are_refused(
    session: LakeSession, lake: Path, things: None, text: str, condition: str
) -> None:
    before = sorted((lake / "default" / "things").rglob("*.parquet"))
    error = refuse(session, f"INSERT INTO things REPLACE WHERE {text} VALUES (1, 'x', 1, 2)")
    assert error.condition == condition
    assert version_of(lake, "things") == 2
    assert sorted((lake / "default" / "things").rglob("*.parquet")) == before
