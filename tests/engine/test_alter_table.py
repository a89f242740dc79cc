"""ALTER TABLE and COMMENT ON: all readers see the altered table; a rejected statement leaves no version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import refuse, rows, run, table, version_of
from tests.engine.peer_readers import PEERS, comparable

pytestmark = pytest.mark.spark

MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
WIDENING = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
BOTH = ("deltalake", "duckdb")


@dataclass(frozen=True, kw_only=True)
class Alteration:
    """A table with `columns` that has the rows `before`, is altered, and then has the rows `after` too."""

    columns: str
    before: str
    changes: tuple[str, ...]
    after: str | None = None
    names: list[str]
    expected: list[tuple[Any, ...]]
    operation: str
    # As in DESCRIBE HISTORY; JSON is compared by value.
    parameters: dict[str, Any]
    peers: tuple[str, ...] = BOTH


def column(name: str, sql_type: str, **others: Any) -> dict[str, Any]:
    return {"name": name, "type": sql_type, "nullable": True, "metadata": {}} | others


ALTERATIONS = {
    "add columns, one in a struct, with positions and a comment": Alteration(
        columns="(id INT, s STRUCT<a: INT>)",
        before="(1, named_struct('a', 1))",
        changes=("ADD COLUMNS (n INT COMMENT 'new' AFTER id, s.b STRING FIRST, last DATE)",),
        after="(2, 5, named_struct('b', 'x', 'a', 3), DATE'2024-01-01')",
        names=["id", "n", "s", "last"],
        expected=[(1, None, {"b": None, "a": 1}, None), (2, 5, {"b": "x", "a": 3}, "2024-01-01")],
        operation="ADD COLUMNS",
        parameters={
            "columns": [
                {"column": column("n", "integer", metadata={"comment": "new"}), "position": "AFTER id"},
                {"column": column("s.b", "string"), "position": "FIRST"},
                {"column": column("last", "date")},
            ]
        },
    ),
    "add a field to the structs of an array": Alteration(
        columns="(id INT, l ARRAY<STRUCT<a: INT>>)",
        before="(1, array(named_struct('a', 1)))",
        changes=("ADD COLUMN l.element.b INT",),
        after="(2, array(named_struct('a', 2, 'b', 3)))",
        names=["id", "l"],
        expected=[(1, [{"a": 1, "b": None}]), (2, [{"a": 2, "b": 3}])],
        operation="ADD COLUMNS",
        parameters={"columns": [{"column": column("l.element.b", "integer")}]},
    ),
    "map an existing table, then rename": Alteration(
        columns="(id INT, old STRING, p STRING) PARTITIONED BY (p)",
        before="(1, 'x', 'a')",
        changes=(
            "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "RENAME COLUMN p TO part",
            "RENAME COLUMN old TO `new, name`",
        ),
        after="(2, 'y', 'b')",
        names=["id", "new, name", "part"],
        expected=[(1, "x", "a"), (2, "y", "b")],
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": "old", "newColumnPath": "new, name"},
        peers=("deltalake",),  # DuckDB looks up a renamed partition column's values by the new name
    ),
    "rename a nested field": Alteration(
        columns=f"(id INT, s STRUCT<a: INT, b: STRUCT<c: INT>>) {MAPPED}",
        before="(1, named_struct('a', 1, 'b', named_struct('c', 2)))",
        changes=("RENAME COLUMN s.b.c TO d",),
        after="(2, named_struct('a', 3, 'b', named_struct('d', 4)))",
        names=["id", "s"],
        expected=[(1, {"a": 1, "b": {"d": 2}}), (2, {"a": 3, "b": {"d": 4}})],
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": "s.b.c", "newColumnPath": "s.b.d"},
    ),
    "drop columns, and add one of the same name": Alteration(
        columns=f"(id INT, gone STRING, s STRUCT<a: INT, b: INT>) {MAPPED}",
        before="(1, 'x', named_struct('a', 1, 'b', 2))",
        changes=("ADD COLUMN other INT", "DROP COLUMNS (gone, s.b, other)", "ADD COLUMN gone STRING"),
        after="(2, named_struct('a', 2), 'y')",
        names=["id", "s", "gone"],
        expected=[(1, {"a": 1}, None), (2, {"a": 2}, "y")],
        operation="ADD COLUMNS",
        parameters={"columns": [{"column": column("gone", "string")}]},
    ),
    "drop columns that may be missing": Alteration(
        columns=f"(id INT, gone STRING) {MAPPED}",
        before="(1, 'x')",
        changes=("DROP COLUMN IF EXISTS gone, never",),
        names=["id"],
        expected=[(1,)],
        operation="DROP COLUMNS",
        parameters={"columns": ["gone", "never"]},
    ),
    "move and comment": Alteration(
        columns="(a INT, b INT, c INT)",
        before="(1, 2, 3)",
        changes=("ALTER COLUMN c FIRST", "ALTER COLUMN a AFTER b"),
        after="(6, 5, 4)",
        names=["c", "b", "a"],
        expected=[(3, 2, 1), (6, 5, 4)],
        operation="CHANGE COLUMN",
        parameters={"column": column("a", "integer"), "position": "AFTER b"},
    ),
    "several columns at once": Alteration(
        columns="(a INT NOT NULL, b INT)",
        before="(1, 2)",
        changes=("ALTER COLUMN a DROP NOT NULL, b COMMENT 'second'",),
        after="(NULL, 3)",
        names=["a", "b"],
        expected=[(1, 2), (None, 3)],
        operation="CHANGE COLUMNS",
        parameters={
            "columns": [
                {"column": column("a", "integer")},
                {"column": column("b", "integer", metadata={"comment": "second"})},
            ]
        },
    ),
    "widen types, in a struct and an array too": Alteration(
        columns=f"(b TINYINT, s STRUCT<f: FLOAT>, l ARRAY<SMALLINT>, d DECIMAL(5, 2), i INT) {WIDENING}",
        before="(1, named_struct('f', 0.5), array(2), 1.25, 7)",
        changes=(
            "ALTER COLUMN s.f TYPE DOUBLE, l.element TYPE INT, d TYPE DECIMAL(10, 4), i TYPE DOUBLE",
            "ALTER COLUMN b TYPE BIGINT",
        ),
        after="(9999999999, named_struct('f', 0.1), array(99999), 123456.5, 0.5)",
        names=["b", "s", "l", "d", "i"],
        expected=[
            (1, {"f": 0.5}, [2], "1.25", 7.0),
            (9999999999, {"f": 0.1}, [99999], "123456.5", 0.5),
        ],
        operation="CHANGE COLUMN",
        parameters={"column": column("b", "long")},
        peers=("duckdb",),
    ),
    "longer texts, and Hive's way to say it": Alteration(
        columns="(c VARCHAR(2), d CHAR(2), e VARCHAR(3))",
        before="('ab', 'x', 'e')",
        changes=(
            "ALTER COLUMN d TYPE STRING",
            "ALTER COLUMN e TYPE VARCHAR(5)",
            "CHANGE COLUMN c c VARCHAR(4) COMMENT 'l'",
        ),
        after="('abcd', 'xyz', 'fffff')",
        names=["c", "d", "e"],
        expected=[("ab", "x ", "e"), ("abcd", "xyz", "fffff")],
        operation="CHANGE COLUMN",
        parameters={
            "column": column("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(4)", "comment": "l"})
        },
    ),
    "not null where every row has a value": Alteration(
        columns="(id INT, s STRUCT<a: INT>)",
        before="(1, named_struct('a', 1))",
        changes=("ALTER COLUMN s.a SET NOT NULL", "ALTER COLUMN id SET NOT NULL"),
        after="(2, named_struct('a', 2))",
        names=["id", "s"],
        expected=[(1, {"a": 1}), (2, {"a": 2})],
        operation="CHANGE COLUMN",
        parameters={"column": column("id", "integer", nullable=False)},
    ),
    "a default for the rows to come": Alteration(
        columns="(id INT, d STRING) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        before="(1, NULL)",
        changes=("ALTER COLUMN d SET DEFAULT concat('n', 'o')",),
        after="(2, DEFAULT)",
        names=["id", "d"],
        expected=[(1, None), (2, "no")],
        operation="CHANGE COLUMN",
        parameters={"column": column("d", "string", metadata={"CURRENT_DEFAULT": "concat('n', 'o')"})},
        peers=(),
    ),
    "replace columns": Alteration(
        columns=f"(a INT COMMENT 'first', gone INT, s STRUCT<x: INT, y: INT>) {MAPPED}",
        before="(1, 2, named_struct('x', 3, 'y', 4))",
        changes=("REPLACE COLUMNS (s STRUCT<z: INT, x: INT> COMMENT 'moved', new STRING, a INT)",),
        after="(named_struct('z', 5, 'x', 6), 'n', 7)",
        names=["s", "new", "a"],
        expected=[({"z": None, "x": 3}, None, 1), ({"z": 5, "x": 6}, "n", 7)],
        operation="REPLACE COLUMNS",
        parameters={"columns": None},
    ),
    "a constraint over good rows": Alteration(
        columns="(id INT, s STRUCT<a: INT>)",
        before="(1, named_struct('a', 1))",
        changes=("ADD CONSTRAINT small CHECK (s.a < 10 AND id IS NOT NULL)",),
        after="(2, named_struct('a', 9))",
        names=["id", "s"],
        expected=[(1, {"a": 1}), (2, {"a": 9})],
        operation="ADD CONSTRAINT",
        parameters={"name": "small", "expr": "s.a < 10 AND id IS NOT NULL"},
    ),
    "a constraint less": Alteration(
        columns="(id INT, CONSTRAINT Positive CHECK (id > 0))",
        before="(1)",
        changes=("DROP CONSTRAINT IF EXISTS nope", "DROP CONSTRAINT positive"),
        after="(-1)",
        names=["id"],
        expected=[(-1,), (1,)],
        operation="DROP CONSTRAINT",
        parameters={"name": "positive", "expr": "id > 0", "existed": True},
    ),
    "a constraint with another name": Alteration(
        columns="(id INT, CONSTRAINT Positive CHECK (id > 0))",
        before="(1)",
        changes=("RENAME CONSTRAINT positive TO Natural", "ADD CONSTRAINT positive CHECK (id < 9)"),
        after="(2)",
        names=["id"],
        expected=[(1,), (2,)],
        operation="ADD CONSTRAINT",
        parameters={"name": "positive", "expr": "id < 9"},
    ),
    "properties": Alteration(
        columns="(id INT) TBLPROPERTIES ('mine' = '1')",
        before="(1)",
        changes=(
            "SET TBLPROPERTIES ('DELTA.appendonly' = 'TRUE', 'other' = '2')",
            "UNSET TBLPROPERTIES ('never', 'delta.appendOnly')",
            "UNSET TBLPROPERTIES IF EXISTS ('mine', 'never')",
        ),
        names=["id"],
        expected=[(1,)],
        operation="UNSET TBLPROPERTIES",
        parameters={"properties": ["mine", "never"], "ifExists": True},
    ),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_table_is_read_equal(session: LakeSession, lake: Path, name: str) -> None:
    case = ALTERATIONS[name]
    run(session, "DROP TABLE IF EXISTS altered")
    run(session, f"CREATE TABLE altered {case.columns}")
    run(session, f"INSERT INTO altered VALUES {case.before}")
    for change in case.changes:
        run(session, f"ALTER TABLE altered {change}")
    operation, parameters = history(session, "altered")
    if case.after is not None:
        run(session, f"INSERT INTO altered VALUES {case.after}")
    found = table(session, "SELECT * FROM altered")
    assert found.column_names == case.names
    assert plain(comparable(found)) == plain([tuple(map(cell, row)) for row in case.expected])
    for peer in case.peers:
        assert PEERS[peer](lake / "default" / "altered", case.names) == comparable(found), peer
    assert operation == case.operation
    for key, value in case.parameters.items():
        if isinstance(value, str):
            assert parameters[key] == value
        elif value is not None:
            assert without_ids(json.loads(parameters[key])) == value
    assert parameters.keys() == case.parameters.keys()


def cell(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case dict():
            return tuple((key, cell(item)) for key, item in value.items())
        case list():
            return tuple(map(cell, value))
        case _:
            return value


def plain(found: list[tuple[Any, ...]]) -> list[str]:
    """Dates and decimals as their text."""
    return sorted(
        repr(tuple(str(item) if not isinstance(item, tuple | None) else item for item in row)) for row in found
    )


def without_ids(value: Any) -> Any:
    """Returns column metadata without the fields that column mapping adds."""
    match value:
        case dict():
            return {key: without_ids(item) for key, item in value.items() if not key.startswith("delta.columnMapping.")}
        case list():
            return [without_ids(item) for item in value]
        case _:
            return value


def history(session: LakeSession, name: str) -> tuple[str, dict[str, str]]:
    """Returns the newest version's operation and parameters."""
    (row,) = table(session, f"DESCRIBE HISTORY {name} LIMIT 1").to_pylist()
    return row["operation"], dict(row["operationParameters"])


# --- Rejected statements ---------------------------------------------------------------------------------------------

STIFF = (
    "(id INT, v INT, base INT, g INT GENERATED ALWAYS AS (base + 1), s STRUCT<a: INT>, t VARCHAR(3), "
    "CONSTRAINT known CHECK (id > 0 AND s.a IS NOT NULL)) TBLPROPERTIES ('delta.appendOnly' = 'true')"
)
LOOSE = (
    "(id INT, p INT, g INT GENERATED ALWAYS AS (id + 1), s STRUCT<a: INT>, CONSTRAINT known CHECK (id > 0)) "
    "PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
)
REFUSED = [
    ("stiff", "ADD CONSTRAINT big CHECK (id > 1)", "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "big (id > 1)"),
    ("stiff", "ADD CONSTRAINT unknown CHECK (v > 0)", "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "1 rows in"),
    ("stiff", "ADD CONSTRAINT number CHECK (id)", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", "number"),
    ("stiff", "ADD CONSTRAINT known CHECK (id > 0)", "DELTA_CONSTRAINT_ALREADY_EXISTS", "known"),
    ("stiff", "ADD CONSTRAINT KNOWN CHECK (id > 0)", "DELTA_CONSTRAINT_ALREADY_EXISTS", "KNOWN"),
    ("stiff", "ADD CONSTRAINT none CHECK (nope > 0)", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES", "nope"),
    ("stiff", "DROP CONSTRAINT nope", "DELTA_CONSTRAINT_DOES_NOT_EXIST", "nope"),
    ("stiff", "RENAME CONSTRAINT nope TO other", "DELTA_CONSTRAINT_DOES_NOT_EXIST", "nope"),
    ("stiff", "RENAME COLUMN v TO w", "DELTA_UNSUPPORTED_RENAME_COLUMN", "v"),
    ("stiff", "DROP COLUMN v", "DELTA_UNSUPPORTED_DROP_COLUMN", "v"),
    ("stiff", "DROP COLUMN nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("stiff", "ADD COLUMN x INT NOT NULL", "DELTA_OPERATION_NOT_ALLOWED_DETAIL", "x"),
    ("stiff", "ADD COLUMN V STRING", "DELTA_DUPLICATE_COLUMNS_FOUND", "v"),
    ("stiff", "ADD COLUMN v.x INT", "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT", "v"),
    ("stiff", "ADD COLUMN nope.x INT", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("stiff", "ADD COLUMN x INT AFTER nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("stiff", "ADD COLUMN `a b` INT", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "a b"),
    ("stiff", "ADD COLUMN x TIMESTAMP_NTZ", "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", "timestampNtz"),
    (
        "stiff",
        "ADD COLUMN x INT DEFAULT 1",
        "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        "x",
    ),
    ("stiff", "ALTER COLUMN v TYPE STRING", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "to string"),
    ("stiff", "ALTER COLUMN v TYPE BIGINT", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "to long"),
    ("stiff", "ALTER COLUMN t TYPE VARCHAR(2)", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "to varchar(2)"),
    ("stiff", "ALTER COLUMN v SET NOT NULL", "DELTA_NEW_NOT_NULL_VIOLATION", "v"),
    ("stiff", "ALTER COLUMN v SET DEFAULT 1", "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED", "v"),
    ("stiff", "ALTER COLUMN s.a SET DEFAULT 1", "UNSUPPORTED_DEFAULT_VALUE.WITHOUT_SUGGESTION", "s.a"),
    ("stiff", "ALTER COLUMN nope COMMENT 'x'", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("stiff", "REPLACE COLUMNS (id INT)", "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE", "base"),
    ("stiff", "SET TBLPROPERTIES ('delta.constraints.x' = '1')", "DELTA_ADD_CONSTRAINTS", "delta.constraints.x"),
    ("stiff", "SET TBLPROPERTIES ('delta.appendonyl' = '1')", "DELTA_UNKNOWN_CONFIGURATION", "delta.appendOnly"),
    (
        "stiff",
        "SET TBLPROPERTIES ('delta.appendOnly' = 'maybe')",
        "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED",
        "true or false",
    ),
    ("stiff", "SET TBLPROPERTIES ('delta.minWriterVersion' = '2')", "DELTA_INVALID_PROTOCOL_DOWNGRADE", "2"),
    ("stiff", "SET TBLPROPERTIES ('delta.minReaderVersion' = 'x')", "DELTA_PROTOCOL_PROPERTY_NOT_INT", "x"),
    ("stiff", "SET TBLPROPERTIES ('delta.feature.nope' = 'supported')", "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", "nope"),
    (
        "stiff",
        "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
        "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        "id",
    ),
    (
        "stiff",
        "SET TBLPROPERTIES ('delta.columnMapping.maxColumnId' = '9')",
        "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        "maxColumnId",
    ),
    ("loose", "RENAME COLUMN id TO w", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", "known"),
    ("loose", "RENAME COLUMN s TO P", "DELTA_DUPLICATE_COLUMNS_FOUND", "p"),
    ("loose", "DROP COLUMN id", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", "known"),
    ("loose", "DROP COLUMN p", "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", "p"),
    ("loose", "DROP COLUMN s.a", "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA", "s.a"),
    ("loose", "DROP COLUMN nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("loose", "ALTER COLUMN id TYPE BIGINT", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", "known"),
    ("loose", "ALTER COLUMN g TYPE SMALLINT", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "g"),
    ("loose", "ALTER COLUMN s TYPE STRUCT<b: INT>", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "s"),
    (
        "loose",
        "REPLACE COLUMNS (id INT, p STRING, g INT, s STRUCT<a: INT>)",
        "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
        "p cannot be changed from integer to string",
    ),
    ("nowhere", "ADD COLUMN x INT", "TABLE_OR_VIEW_NOT_FOUND", "nowhere"),
    ("a_view", "ADD COLUMN x INT", "EXPECT_TABLE_NOT_VIEW", "a_view"),
]


@pytest.fixture(scope="module")
def stiff(engine: LakeEngine) -> Iterator[None]:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, f"CREATE TABLE stiff {STIFF}")
    run(session, "INSERT INTO stiff (id, s) VALUES (1, named_struct('a', 1))")
    run(session, f"CREATE TABLE loose {LOOSE}")
    run(session, "INSERT INTO loose (id, p) VALUES (1, 1)")
    run(session, "CREATE VIEW a_view AS SELECT 1 AS a")
    yield
    session.close()


@pytest.mark.parametrize(("name", "change", "condition", "reported"), REFUSED)
def test_a_refused_change_leaves_the_table(
    session: LakeSession, lake: Path, stiff: None, name: str, change: str, condition: str, reported: str
) -> None:
    error = refuse(session, f"ALTER TABLE {name} {change}")
    assert (error.condition, reported in error.full_message) == (condition, True), error
    if (lake / "default" / name).exists():
        assert version_of(lake, name) == 1


def test_renamed_constraint_holds_under_its_new_name_without_reading_rows(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE checked (id INT, CONSTRAINT Positive CHECK (id > 0))")
    run(session, "INSERT INTO checked VALUES (1)")
    before = DeltaTable(lake / "default" / "checked").metadata().configuration
    run(session, "ALTER TABLE checked RENAME CONSTRAINT positive TO Natural")
    assert history(session, "checked") == ("RENAME CONSTRAINT", {"oldName": "positive", "newName": "Natural"})
    after = DeltaTable(lake / "default" / "checked").metadata().configuration
    assert after == {key.replace("positive", "natural"): value for key, value in before.items()}
    error = refuse(session, "INSERT INTO checked VALUES (-1)")
    assert error.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES" and "natural" in error.full_message
    assert rows(session, "SELECT * FROM checked") == [(1,)]
    run(session, "ALTER TABLE checked DROP CONSTRAINT natural")
    run(session, "INSERT INTO checked VALUES (-1)")


# --- Comments, names --------------------------------------------------------------------------------------------------


def test_comments_are_the_logs(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE told (id INT COMMENT 'old') COMMENT 'before'")
    run(session, "COMMENT ON TABLE told IS 'after'")
    run(session, "COMMENT ON COLUMN told.id IS NULL")
    assert DeltaTable(lake / "default" / "told").metadata().description == "after"
    assert [row[2] for row in rows(session, "DESCRIBE told")] == [None]
    operation, parameters = history(session, "told")
    assert (operation, json.loads(parameters["column"])) == ("CHANGE COLUMN", column("id", "integer"))
    run(session, "COMMENT ON TABLE told IS NULL")
    assert history(session, "told") == ("SET TBLPROPERTIES", {"properties": '{"comment":null}'})
    extended = {row[0]: row[1] for row in rows(session, "DESCRIBE EXTENDED told")}
    assert "before" not in str(extended.get("Comment")), "the catalog has no comment of its own"


def test_a_renamed_table_keeps_its_folder_and_its_name_is_free(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE shape (id INT)")
    run(session, "INSERT INTO shape VALUES (1)")
    run(session, "ALTER TABLE shape RENAME TO form")
    assert refuse(session, "SELECT * FROM shape").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "CREATE TABLE shape (other INT)")
    assert refuse(session, "ALTER TABLE shape RENAME TO form").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    run(session, "DROP TABLE shape")
    assert rows(session, "SELECT * FROM form") == [(1,)], "the old name's new table lay elsewhere"
    path = f"delta.`{lake}/default/shape`"
    assert refuse(session, f"ALTER TABLE {path} RENAME TO other").condition == "DELTA_CANNOT_RENAME_PATH"
    run(session, f"ALTER TABLE {path} ADD COLUMN n INT")
    assert rows(session, "SELECT * FROM form") == [(1, None)]


# --- Concurrent writes ------------------------------------------------------------------------------------------------


def test_rows_added_during_constraint_check_satisfy_it(engine: LakeEngine, session: LakeSession, lake: Path) -> None:
    """Either the rows come first and break the rule, or the rule does and refuses the rows; never both in a version."""

    def statement(text: str) -> str:
        other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
        try:
            run(other, text)
            return "done"
        except SqlError as error:
            return error.condition
        finally:
            other.close()

    for attempt in range(3):
        name = f"contested_{attempt}"
        run(session, f"CREATE TABLE {name} (id INT)")
        run(session, f"INSERT INTO {name} VALUES (1)")
        texts = (f"ALTER TABLE {name} ADD CONSTRAINT c CHECK (id > 0)", f"INSERT INTO {name} VALUES (-1)")
        with ThreadPoolExecutor(2) as threads:
            ruled, inserted = threads.map(statement, texts)
        assert (ruled, inserted).count("done") == 1, (ruled, inserted)
        constrained = "delta.constraints.c" in DeltaTable(lake / "default" / name).metadata().configuration
        assert constrained == (ruled == "done")
        assert sorted(rows(session, f"SELECT * FROM {name}")) == ([(1,)] if constrained else [(-1,), (1,)])
