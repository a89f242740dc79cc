"""Session states as JSON: the same state after a round trip, and errors for a malformed one."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from catalog.conditions import SessionStateNotReadable
from catalog.entries import FunctionColumn, FunctionEntry, FunctionParameter, ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName
from engine.binding.bound import FileView
from engine.runtime.identity import Identity, Method
from engine.runtime.session_state import SessionState, temporary_name
from engine.runtime.variables import RowValue, Variable
from engine.saved_session import from_saved, to_saved
from engine.sql.query.values import FilesAt
from engine.tables.scan import FileFormat, FileKind
from engine.types.schema import ArrayType, PrimitiveType, StructField, StructType

ANN = Identity("ann", frozenset({"sales"}), method=Method.PASSWORD)
START = SessionState(identity=ANN, catalog="spark_catalog", schema="default")
CURRENT = SchemaName("spark_catalog", "shop")
INT_ROW = json.dumps({"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True, "metadata": {}}]})
SEVEN = base64.b64encode(bytes(8) + (7).to_bytes(8, "little")).decode()
VIEW = ViewEntry(
    name=temporary_name("Orders"),
    text="SELECT id AS `Id`, 'ü' AS u FROM orders",
    current=CURRENT,
    columns=(
        ViewColumn(name="Id", source="id", type="int", comment="c"),
        ViewColumn(name="u", source="u", type="string"),
    ),
    properties=(("p", "q"),),
    comment="all of them",
    settings=(("spark.sql.ansi.enabled", "false"), ("spark.sql.session.timeZone", "Asia/Tokyo")),
)
FUNCTION = FunctionEntry(
    name=temporary_name("twice"),
    parameters=(FunctionParameter(name="n", type="int", default="1"),),
    returns="int",
    body="n * 2",
    current=CURRENT,
    deterministic=True,
    settings=(("spark.sql.ansi.enabled", "false"),),
)
TABLE_FUNCTION = FunctionEntry(
    name=temporary_name("f"),
    parameters=(),
    returns="TABLE",
    body="(SELECT n FROM t)",
    current=CURRENT,
    columns=(("n",), ()),
    table_columns=(FunctionColumn(name="n", type="int", comment="c"),),
)
COLUMNS = StructType((StructField("a", PrimitiveType.INTEGER), StructField("b", ArrayType(PrimitiveType.STRING))))
FILES = FilesAt(
    path="/data/a b",
    format=FileFormat(kind=FileKind.CSV, options=(("header", "true"),)),
    recursive=True,
    schema=COLUMNS,
)
FILE_VIEW = FileView(
    name=temporary_name("files"), text="SELECT * FROM files", current=CURRENT, files=FILES, schema=COLUMNS
)
X = Variable(name="x", value=RowValue(INT_ROW, SEVEN, 0), default="3 + 4")

STATES = {
    "as opened": START,
    "at a schema of another catalog": SessionState(identity=ANN, catalog="Other", schema="ä b"),
    "with settings of Spark, the gateway, and a driver": START.with_value("spark.sql.ansi.enabled", "false")
    .with_value("spark.sql.session.timeZone", "Europe/Berlin")
    .with_value("gateway.statement.timeout", "30")
    .with_value("autocommit", "true")
    .with_value("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    .with_value("airflow.ctx.dag_id", "daily: ${load}")
    .with_value("hivevar:country", "'DE'"),
    "with a setting that is for administrators": START.with_value(
        "spark.gateway.optimizer.largeInLists.enabled", "false"
    ),
    "with temporary views": START.with_temporary_view(VIEW).with_temporary_view(
        ViewEntry(name=temporary_name("v"), text="SELECT 1", current=START.current)
    ),
    "with views of files": START.with_temporary_view(FILE_VIEW).with_temporary_view(
        replace(FILE_VIEW, name=temporary_name("inferred"), files=replace(FILES, schema=None, recursive=False))
    ),
    "with temporary functions": START.with_temporary_function(FUNCTION).with_temporary_function(TABLE_FUNCTION),
    "with a variable": START.with_declared([X], or_replace=False),
}


def through_json(saved: Mapping[str, object]) -> dict[str, object]:
    value: dict[str, object] = json.loads(json.dumps(saved))
    return value


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_state_is_the_same_after_a_round_trip(state: SessionState) -> None:
    assert from_saved(ANN, through_json(to_saved(state))) == state


def test_identity_is_not_saved_but_taken_from_the_new_login() -> None:
    saved = to_saved(START)
    assert "ann" not in json.dumps(saved)
    assert from_saved(Identity("bob"), saved) == SessionState(
        identity=Identity("bob"), catalog="spark_catalog", schema="default"
    )


def test_restored_views_are_found_by_their_name_in_any_case() -> None:
    restored = from_saved(ANN, through_json(to_saved(START.with_temporary_view(VIEW))))
    assert restored.temporary_view(("session", "ORDERS")) == VIEW


FULL = to_saved(
    START.with_value("gateway.statement.timeout", "30")
    .with_temporary_view(VIEW)
    .with_temporary_function(FUNCTION)
    .with_declared([X], or_replace=False)
)
VARIABLE = {"name": "x", "default": "1", "row_type": INT_ROW, "row": SEVEN, "column": 0}
PERSISTENT = {"kind": "view", "catalog": "c", "schema": "s", "name": "v", "text": "SELECT 1"}
FULL_VIEW = {**PERSISTENT, "catalog": "system", "schema": "session", "current_catalog": "c", "current_schema": "s"}
FULL_FILES = {"path": "/p", "kind": "csv", "options": [], "recursive": False, "columns": COLUMNS.to_json()}
MALFORMED: Mapping[str, Mapping[str, object]] = {
    "no catalog": {"catalog": None},
    "a field of a newer release": {"cursors": []},
    "a setting that is not text": {"settings": {"gateway.statement.timeout": 30}},
    "an unknown setting of Spark": {"settings": {"spark.sql.nosuch": "1"}},
    "a setting that reaches the machine": {"settings": {"spark.driver.extraJavaOptions": "-Dx=y"}},
    "a value that the setting does not allow": {"settings": {"spark.sql.ansi.enabled": "maybe"}},
    "a view that is a text": {"temporary_views": ["v"]},
    "a view without text": {
        "temporary_views": [{**PERSISTENT, "catalog": "system", "schema": "session", "text": None}]
    },
    "a function among the views": {"temporary_views": FULL["temporary_functions"]},
    "a view among the functions": {"temporary_functions": FULL["temporary_views"]},
    "a view of a catalog": {"temporary_views": [{**PERSISTENT, "current_catalog": "c", "current_schema": "s"}]},
    "a view of files without a path": {"temporary_views": [{**FULL_VIEW, "files": {"kind": "csv"}}]},
    "a view of files in an unknown format": {
        "temporary_views": [{**FULL_VIEW, "files": {**FULL_FILES, "kind": "xml"}}]
    },
    "a view of files with a malformed schema": {
        "temporary_views": [{**FULL_VIEW, "files": {**FULL_FILES, "columns": "{}"}}]
    },
    "a variable without value": {"variables": [{"name": "x", "default": "1"}]},
    "a variable with an unknown field": {"variables": [{**VARIABLE, "collation": "UNICODE"}]},
    "a value that is not base64": {"variables": [{**VARIABLE, "row": "?"}]},
    "a value that is cut off": {"variables": [{**VARIABLE, "row": SEVEN[:8]}]},
    "a value of a column that its row lacks": {"variables": [{**VARIABLE, "column": 1}]},
    "a value whose type is not JSON": {"variables": [{**VARIABLE, "row_type": "int"}]},
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_state_is_rejected(fields: Mapping[str, object]) -> None:
    with pytest.raises(SessionStateNotReadable) as caught:
        from_saved(ANN, {**FULL, **fields})
    assert (caught.value.condition, caught.value.sqlstate) == ("SESSION_STATE_NOT_READABLE", "58030")


@pytest.mark.parametrize("missing", FULL)
def test_state_without_a_field_is_rejected(missing: str) -> None:
    with pytest.raises(SessionStateNotReadable, match=missing):
        from_saved(ANN, {key: value for key, value in FULL.items() if key != missing})


def test_state_of_the_malformed_cases_is_readable_unchanged() -> None:
    assert from_saved(ANN, {**FULL, "variables": [VARIABLE]}).variables.variables["x"].value == X.value
    assert TableName("system", "session", "Orders") == from_saved(ANN, FULL).temporary_views["orders"].name
