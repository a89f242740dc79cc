"""DESCRIBE HISTORY's operation parameters for writes match delta-spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import run, table

CREATED = {"isManaged": "true", "description": None, "partitionBy": "[]", "clusterBy": "[]", "properties": "{}"}
BY_DAY = {**CREATED, "description": "a text", "partitionBy": '["day"]'}
APPEND = {"mode": "Append", "partitionBy": "[]"}
STATEMENTS: list[tuple[str, str, Mapping[str, str | None], set[str]]] = [
    ("CREATE TABLE told (id INT, day INT)", "CREATE TABLE", CREATED, set()),
    ("INSERT INTO told VALUES (1, 1)", "WRITE", APPEND, set()),
    (
        "CREATE OR REPLACE TABLE told (id INT, day INT) PARTITIONED BY (day) COMMENT 'a text'",
        "CREATE OR REPLACE TABLE",
        BY_DAY,
        {"numRemovedFiles", "numRemovedBytes"},
    ),
    ("INSERT INTO told VALUES (1, 1), (2, 2)", "WRITE", APPEND, set()),
    ("INSERT WITH SCHEMA EVOLUTION INTO told VALUES (3, 3)", "WRITE", {**APPEND, "canMergeSchema": "true"}, set()),
    (
        "INSERT OVERWRITE told VALUES (4, 4)",
        "WRITE",
        {"mode": "Overwrite", "partitionBy": "[]"},
        {"numRemovedFiles", "numRemovedBytes"},
    ),
    (
        "REPLACE TABLE told AS SELECT 1 AS id",
        "REPLACE TABLE AS SELECT",
        CREATED,
        {"numRemovedFiles", "numRemovedBytes", "numFiles", "numOutputRows", "numOutputBytes"},
    ),
]


@pytest.fixture(scope="module")
def history_rows(engine: Any) -> list[dict[str, Any]]:
    session: LakeSession = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for statement, *_ in STATEMENTS:
        run(session, statement)
    found: list[dict[str, Any]] = table(session, "DESCRIBE HISTORY told").to_pylist()
    session.close()
    return found[::-1]


@pytest.mark.parametrize("version", range(len(STATEMENTS)), ids=[row[0] for row in STATEMENTS])
def test_parameters_and_metrics(history_rows: list[dict[str, Any]], version: int) -> None:
    _, operation, parameters, metrics = STATEMENTS[version]
    assert history_rows[version]["operation"] == operation
    assert dict(history_rows[version]["operationParameters"]) == parameters
    found = dict(history_rows[version]["operationMetrics"])
    assert metrics <= found.keys()
    if "numRemovedFiles" in metrics:
        assert int(found["numRemovedFiles"]) > 0 and int(found["numRemovedBytes"]) > 0
