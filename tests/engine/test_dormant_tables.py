"""Tables from older writers whose metadata mentions features that their protocol does not support."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.foreign_tables import column, write_table
from tests.engine.lake_sessions import actions, refuse, rows, run, version_of

GENERATED = (column("d", "date"), column("y", delta__generationExpression="year(d)"))
IDENTITY = (
    column("d", "date"),
    column(
        "y",
        "long",
        delta__identity__start=1,
        delta__identity__step=1,
        delta__identity__allowExplicitInsert=False,
        delta__identity__highWaterMark=7,
    ),
)
DAY = datetime.date(2024, 1, 1)

CHANGES = {
    "a property": "SET TBLPROPERTIES ('a' = 'b')",
    "a column": "ADD COLUMN z INT",
    "a comment": "ALTER COLUMN d COMMENT 'a day'",
    "a legacy version": "SET TBLPROPERTIES ('delta.minWriterVersion' = '6')",
    "features by name": (
        "SET TBLPROPERTIES ('delta.feature.generatedColumns' = 'supported',"
        " 'delta.feature.identityColumns' = 'supported')"
    ),
    "the mapping": "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
}
PROTOCOLS = {
    "(1, 2)": {"minReaderVersion": 1, "minWriterVersion": 2},
    "(1, 3)": {"minReaderVersion": 1, "minWriterVersion": 3},
}


def ints(**columns: list[int]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def metadata_of(lake: Path, name: str, version: int) -> dict[str, Any]:
    return next(action["metaData"] for action in actions(lake, name, version) if "metaData" in action)


def column_keys(metadata: dict[str, Any]) -> set[str]:
    return {key for field in json.loads(metadata["schemaString"])["fields"] for key in field["metadata"]}


@pytest.mark.diagonals("alter", "kind", step=2)
@pytest.mark.parametrize("alter", CHANGES)
@pytest.mark.parametrize("kind", ["generated", "identity"])
def test_columns_are_ordinary_before_and_after_a_change_of_metadata(
    lake: Path, session: LakeSession, kind: str, alter: str
) -> None:
    name = f"{kind}_{alter}".replace(" ", "_")
    columns = GENERATED if kind == "generated" else IDENTITY
    write_table(lake / "default" / name, columns, pa.table({"d": [DAY]}), partition={"y": "1999"})
    query = f"SELECT d, y FROM {name} WHERE d = DATE'2024-01-01' ORDER BY y"
    assert rows(session, query) == [(DAY, 1999)]
    run(session, f"INSERT INTO {name} VALUES (DATE'2024-01-01', 2000)")
    run(session, f"INSERT INTO {name} (d) VALUES (DATE'2024-01-01')")
    given = [(DAY, None), (DAY, 1999), (DAY, 2000)]
    assert rows(session, query) == given
    run(session, f"ALTER TABLE {name} {CHANGES[alter]}")
    assert not {key for key in column_keys(metadata_of(lake, name, 3)) if key.startswith(("delta.gen", "delta.iden"))}
    assert rows(session, query) == given
    values = "DATE'2024-01-01', 2001" + (", 1" if alter == "a column" else "")
    run(session, f"INSERT INTO {name} VALUES ({values})")
    assert rows(session, query) == [*given, (DAY, 2001)]
    protocols = [action["protocol"] for action in actions(lake, name, 3) if "protocol" in action]
    upgrades = alter in ("a legacy version", "features by name", "the mapping")
    assert bool(protocols) is upgrades


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("columns", [GENERATED, IDENTITY], ids=["generated", "identity"])
def test_dormant_table_is_described_normally(
    lake: Path, session: LakeSession, columns: tuple[dict[str, Any], ...], protocol: str
) -> None:
    name = f"told_{len(columns[1]['metadata'])}_{protocol[4]}"
    write_table(
        lake / "default" / name, columns, pa.table({"d": [DAY]}), partition={"y": "1999"}, protocol=PROTOCOLS[protocol]
    )
    ((shown,),) = rows(session, f"SHOW CREATE TABLE {name}")
    assert "GENERATED" not in shown
    reported = rows(
        session,
        f"SELECT is_identity, generation_expression FROM information_schema.columns WHERE table_name = '{name}'",
    )
    assert reported == [("NO", None)] * 2
    run(session, f"CREATE TABLE {name}_like LIKE {name}")
    assert column_keys(metadata_of(lake, f"{name}_like", 0)) == set()
    run(session, f"INSERT INTO {name}_like VALUES (DATE'2024-01-01', 1999)")
    run(session, f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    run(session, f"ALTER TABLE {name} RENAME COLUMN d TO e")
    assert rows(session, f"SELECT e, y FROM {name}") == [(DAY, 1999)]


LISTED = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", "invariants"]}


@pytest.mark.parametrize("columns", [GENERATED, IDENTITY], ids=["generated", "identity"])
def test_a_protocol_that_lists_features_does_not_take_rows_before_it_is_mended(
    lake: Path, session: LakeSession, columns: tuple[dict[str, Any], ...]
) -> None:
    name = f"listed_{len(columns[1]['metadata'])}"
    write_table(lake / "default" / name, columns, pa.table({"d": [DAY]}), partition={"y": "1999"}, protocol=LISTED)
    assert rows(session, f"SELECT y FROM {name} WHERE d = DATE'2024-01-01'") == [(1999,)]
    error = refuse(session, f"INSERT INTO {name} VALUES (DATE'2024-01-01', 1998)")
    assert error.condition == "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"
    run(session, f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = 'b')")
    run(session, f"INSERT INTO {name} VALUES (DATE'2024-01-01', 1998)")
    assert rows(session, f"SELECT y FROM {name} ORDER BY y") == [(1998,), (1999,)]


UUIDS = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
}
MAPPED: dict[str, Any] = {"delta__columnMapping__id": 1, "delta__columnMapping__physicalName": "col-1"}

# Properties, column metadata keys, the version after an unrelated ALTER, the properties that it leaves.
DORMANT: dict[str, tuple[dict[str, str], dict[str, Any], tuple[int, int], set[str]]] = {
    "constraints": ({"delta.constraints.c": "a > 0"}, {}, (1, 3), {"delta.constraints.c"}),
    "defaults": ({}, {"CURRENT_DEFAULT": "7"}, (1, 2), set()),
    "change data": ({"delta.enableChangeDataFeed": "true"}, {}, (1, 7), {"delta.enableChangeDataFeed"}),
    "mapping": (
        {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
        MAPPED,
        (1, 2),
        set(),
    ),
    "mapping by id": (
        {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1"},
        MAPPED,
        (1, 2),
        set(),
    ),
    "row tracking": ({"delta.enableRowTracking": "true", **UUIDS}, {}, (1, 2), set()),
    "iceberg": ({"delta.enableIcebergCompatV2": "true"}, {}, (1, 2), set()),
    "partition columns": ({"delta.enableMaterializePartitionColumnsFeature": "true"}, {}, (1, 2), set()),
    "deletion vectors": ({"delta.enableDeletionVectors": "true"}, {}, (3, 7), {"delta.enableDeletionVectors"}),
    "type widening": ({"delta.enableTypeWidening": "true"}, {}, (3, 7), {"delta.enableTypeWidening"}),
    "checkpoints": ({"delta.checkpointPolicy": "v2"}, {}, (3, 7), {"delta.checkpointPolicy"}),
    "timestamps": (
        {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "0"},
        {},
        (1, 7),
        {
            "delta.enableInCommitTimestamps",
            "delta.inCommitTimestampEnablementVersion",
            "delta.inCommitTimestampEnablementTimestamp",
        },
    ),
}


@pytest.mark.parametrize("case", DORMANT)
def test_other_metadata_lets_rows_in_and_tells_nothing_else_after_a_change(
    lake: Path, session: LakeSession, case: str
) -> None:
    configuration, keys, after, left = DORMANT[case]
    name = f"dormant_{case}".replace(" ", "_")
    write_table(
        lake / "default" / name, [column("a", **keys), column("b")], ints(a=[1], b=[2]),
        configuration=configuration,
    )  # fmt: skip
    assert rows(session, f"SELECT * FROM {name}") == [(1, 2)]
    run(session, f"INSERT INTO {name} VALUES (3, 4)")
    run(session, f"INSERT INTO {name} (b) VALUES (6)") if case != "constraints" else None
    first = 7 if case == "defaults" else None
    expected = [(1, 2), (3, 4), *([] if case == "constraints" else [(first, 6)])]
    assert sorted(rows(session, f"SELECT * FROM {name}"), key=lambda row: row[1]) == expected
    run(session, f"ALTER TABLE {name} ALTER COLUMN b COMMENT 'told'")
    assert sorted(rows(session, f"SELECT * FROM {name}"), key=lambda row: row[1]) == expected
    version = version_of_log(lake, name)
    protocols = [action["protocol"] for action in actions(lake, name, version) if "protocol" in action]
    protocol = protocols[0] if protocols else {"minReaderVersion": 1, "minWriterVersion": 2}
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == after
    assert metadata_of(lake, name, version)["configuration"].keys() == left
    run(session, f"INSERT INTO {name} VALUES (8, 9)")
    assert (8, 9) in rows(session, f"SELECT * FROM {name}")


def version_of_log(lake: Path, name: str) -> int:
    return len(list((lake / "default" / name / "_delta_log").glob("*.json"))) - 1


def test_constraints_apply_before_protocol_lists_them(lake: Path, session: LakeSession) -> None:
    write_table(
        lake / "default" / "ruled",
        [column("a", delta__invariants='{"expression":{"expression":"a < 100"}}')],
        ints(a=[1]),
        protocol={"minReaderVersion": 1, "minWriterVersion": 1},
        configuration={"delta.constraints.c": "a > 0", "delta.appendOnly": "true"},
    )
    for row, constraint in ((0, "c"), (100, "a < 100")):
        error = refuse(session, f"INSERT INTO ruled VALUES ({row})")
        assert error.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
        assert constraint in error.full_message
    assert refuse(session, "INSERT OVERWRITE ruled VALUES (5)").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    run(session, "INSERT INTO ruled VALUES (5)")
    assert rows(session, "SELECT a FROM ruled ORDER BY a") == [(1,), (5,)]


def test_requested_mapping_preserves_file_column_names(lake: Path, session: LakeSession) -> None:
    write_table(
        lake / "default" / "stale", [column("a", **MAPPED)], ints(a=[1]),
        configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    run(session, "ALTER TABLE stale SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert rows(session, "SELECT a FROM stale WHERE a = 1") == [(1,)]


def test_changes_are_written_where_only_the_property_asks(lake: Path, session: LakeSession) -> None:
    write_table(
        lake / "default" / "fed", [column("a"), column("b")], ints(a=[1, 2], b=[1, 2]),
        configuration={"delta.enableChangeDataFeed": "true"},
    )  # fmt: skip
    run(session, "INSERT INTO fed REPLACE WHERE a = 1 VALUES (1, 9)")
    assert sorted(rows(session, "SELECT a, b, _change_type FROM table_changes('fed', 1)")) == [
        (1, 1, "delete"),
        (1, 9, "insert"),
    ]


def test_a_default_that_a_list_of_features_leaves_out_has_to_be_named(lake: Path, session: LakeSession) -> None:
    write_table(lake / "default" / "defaulted", [column("a", CURRENT_DEFAULT="7")], ints(a=[1]))
    error = refuse(session, "ALTER TABLE defaulted SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    assert error.condition == "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"
    run(session, "ALTER TABLE defaulted SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')")
    run(session, "INSERT INTO defaulted VALUES (DEFAULT)")
    assert rows(session, "SELECT a FROM defaulted ORDER BY a") == [(1,), (7,)]
    assert version_of(lake, "defaulted") == 2
