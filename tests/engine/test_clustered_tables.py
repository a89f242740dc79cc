"""CLUSTER BY, end to end: the log, the statements that show it, and rejected statements, which leave no trace."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import SLOW, actions, begun, refuse, rows, run, table, version_of
from tests.engine.peer_readers import PEERS, comparable
from tests.engine.stats_truth import logged
from tests.samples import some

pytestmark = pytest.mark.spark

FEATURES = ["appendOnly", "clustering", "domainMetadata", "invariants"]
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


def domain_of(lake: Path, name: str, version: int) -> dict[str, Any] | None:
    """Returns the domain that a commit writes."""
    found = [action["domainMetadata"] for action in actions(lake, name, version) if "domainMetadata" in action]
    assert len(found) < 2
    return found[0] if found else None


def clustered_by(lake: Path, name: str, version: int) -> list[list[str]]:
    domain = domain_of(lake, name, version)
    assert domain is not None and domain["domain"] == "delta.clustering" and not domain["removed"]
    configuration = json.loads(domain["configuration"])
    assert configuration["domainName"] == "delta.clustering"
    columns = configuration["clusteringColumns"]
    assert isinstance(columns, list)
    return columns


def shown(session: LakeSession, name: str) -> list[str]:
    detail = table(session, f"DESCRIBE DETAIL {name}").to_pylist()[0]
    assert detail["partitionColumns"] == []
    return list(detail["clusteringColumns"])


def last(session: LakeSession, name: str) -> dict[str, Any]:
    return table(session, f"DESCRIBE HISTORY {name} LIMIT 1").to_pylist()[0]  # type: ignore[no-any-return]


# --- Statements that create or change a clustered table ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Making:
    """Statements about the table `made`; the last one leaves it clustered by `columns` (logical names)."""

    statements: tuple[str, ...]
    columns: list[str]
    operation: str
    # A subset from the last version's operation parameters.
    parameters: dict[str, str] = field(default_factory=dict)
    # The last version's clustering columns if names are not mapped; None if it writes no domain.
    paths: list[list[str]] | None = None


MAKINGS = {
    "create": Making(
        statements=("CREATE TABLE made (id INT, s STRUCT<a: DATE, b: INT>) CLUSTER BY (S.a, ID)",),
        columns=["s.a", "id"],
        operation="CREATE TABLE",
        parameters={"clusterBy": '["s.a","id"]', "partitionBy": "[]", "isManaged": "true"},
        paths=[["s", "a"], ["id"]],
    ),
    "create as": Making(
        statements=("CREATE TABLE made CLUSTER BY (k, `a b`) " + MAPPED + " AS SELECT 1 AS k, 'x' AS `a b`",),
        columns=["k", "`a b`"],
        operation="CREATE TABLE AS SELECT",
        parameters={"clusterBy": '["k","`a b`"]'},
    ),
    "create by none": Making(
        statements=("CREATE TABLE made (id INT) CLUSTER BY NONE",),
        columns=[],
        operation="CREATE TABLE",
        parameters={"clusterBy": "[]"},
    ),
    "like": Making(
        statements=(
            f"CREATE TABLE source (id INT, s STRUCT<a: DATE>) CLUSTER BY (s.a) {MAPPED}",
            "ALTER TABLE source RENAME COLUMN s TO t",
            "CREATE TABLE made LIKE source",
        ),
        columns=["t.a"],
        operation="CREATE TABLE",
        parameters={"clusterBy": '["t.a"]'},
    ),
    "or replace, where there is none": Making(
        statements=("CREATE OR REPLACE TABLE made (id INT) CLUSTER BY (id)",),
        columns=["id"],
        operation="CREATE OR REPLACE TABLE",
        paths=[["id"]],
    ),
    "replace by other columns": Making(
        statements=(
            "CREATE TABLE made (id INT) CLUSTER BY (id)",
            "INSERT INTO made VALUES (1)",
            "CREATE OR REPLACE TABLE made CLUSTER BY (day) AS SELECT id, DATE'2024-01-01' AS day FROM made",
        ),
        columns=["day"],
        operation="CREATE OR REPLACE TABLE AS SELECT",
        parameters={"clusterBy": '["day"]'},
        paths=[["day"]],
    ),
    "replace by the same": Making(
        statements=("CREATE TABLE made (id INT) CLUSTER BY (id)", "REPLACE TABLE made (id INT) CLUSTER BY (id)"),
        columns=["id"],
        operation="REPLACE TABLE",
    ),
    "replace a partitioned table": Making(
        statements=(
            "CREATE TABLE made (id INT, p INT) PARTITIONED BY (p)",
            "REPLACE TABLE made (id INT, p INT) CLUSTER BY (p)",
        ),
        columns=["p"],
        operation="REPLACE TABLE",
        paths=[["p"]],
    ),
    "alter": Making(
        statements=(
            "CREATE TABLE made (id INT, s STRUCT<a: DATE>)",
            "INSERT INTO made VALUES (1, NULL)",
            "ALTER TABLE made CLUSTER BY (s.A, id)",
        ),
        columns=["s.a", "id"],
        operation="CLUSTER BY",
        parameters={"oldClusteringColumns": "", "newClusteringColumns": "s.a,id"},
        paths=[["s", "a"], ["id"]],
    ),
    "alter by other columns": Making(
        statements=("CREATE TABLE made (id INT, n INT) CLUSTER BY (id, n)", "ALTER TABLE made CLUSTER BY (n)"),
        columns=["n"],
        operation="CLUSTER BY",
        parameters={"oldClusteringColumns": "id,n", "newClusteringColumns": "n"},
        paths=[["n"]],
    ),
    "alter by none": Making(
        statements=("CREATE TABLE made (id INT) CLUSTER BY (id)", "ALTER TABLE made CLUSTER BY NONE"),
        columns=[],
        operation="CLUSTER BY",
        parameters={"oldClusteringColumns": "id", "newClusteringColumns": ""},
        paths=[],
    ),
    "renamed": Making(
        statements=(
            f"CREATE TABLE made (id INT, s STRUCT<a: DATE>) CLUSTER BY (s.a, id) {MAPPED}",
            "ALTER TABLE made RENAME COLUMN s.a TO `b.c`",
        ),
        columns=["s.`b.c`", "id"],
        operation="RENAME COLUMN",
    ),
    "of few columns with statistics": Making(
        statements=(
            "CREATE TABLE made (id INT, n INT) CLUSTER BY (n) TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'n')",
        ),
        columns=["n"],
        operation="CREATE TABLE",
        paths=[["n"]],
    ),
}


@pytest.mark.parametrize("name", MAKINGS)
def test_every_clustering_statement(session: LakeSession, lake: Path, name: str) -> None:
    case = MAKINGS[name]
    run(session, "DROP TABLE IF EXISTS made")
    run(session, "DROP TABLE IF EXISTS source")
    for statement in case.statements:
        run(session, statement)
    version = version_of(lake, "made")
    assert shown(session, "made") == case.columns
    entry = last(session, "made")
    assert entry["operation"] == case.operation
    assert case.parameters.items() <= dict(entry["operationParameters"]).items()
    if case.paths is not None:
        assert clustered_by(lake, "made", version) == case.paths
    if case.columns:
        features = table(session, "DESCRIBE DETAIL made").to_pylist()[0]["tableFeatures"]
        assert set(FEATURES) <= set(features)


def test_the_domain_of_a_mapped_table_has_its_physical_names(session: LakeSession, lake: Path) -> None:
    run(session, f"CREATE TABLE mapped (id INT, s STRUCT<a: DATE>) CLUSTER BY (s.a, id) {MAPPED}")
    (metadata,) = (action["metaData"] for action in actions(lake, "mapped", 0) if "metaData" in action)
    one, two = json.loads(metadata["schemaString"])["fields"]
    inner = two["type"]["fields"][0]
    names = [item["metadata"]["delta.columnMapping.physicalName"] for item in (one, two, inner)]
    assert clustered_by(lake, "mapped", 0) == [names[1:], names[:1]]
    assert all(name.startswith("col-") for name in names)


def test_replacing_without_columns_ends_clustering_and_says_so(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE ended (id INT) CLUSTER BY (id)")
    run(session, "CREATE OR REPLACE TABLE ended AS SELECT 1 AS id")
    assert clustered_by(lake, "ended", 1) == []
    assert shown(session, "ended") == []
    error = refuse(session, "CREATE OR REPLACE TABLE ended PARTITIONED BY (p) AS SELECT 1 AS id, 2 AS p")
    assert error.condition == "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"
    assert version_of(lake, "ended") == 1


@pytest.mark.parametrize("statement", ["CLUSTER BY NONE", "CLUSTER BY (ID, n)"])
def test_unchanged_clustering_commits_no_version(session: LakeSession, lake: Path, statement: str) -> None:
    clause = "CLUSTER BY (id, n)" if "ID" in statement else ""
    run(session, "DROP TABLE IF EXISTS still")
    run(session, f"CREATE TABLE still (id INT, n INT) {clause}")
    run(session, f"ALTER TABLE still {statement}")
    assert version_of(lake, "still") == 0


def test_statements_show_what_a_table_is_clustered_by(session: LakeSession) -> None:
    run(session, "CREATE TABLE visible (id INT COMMENT 'key', s STRUCT<a: DATE>, n INT) CLUSTER BY (s.a, id)")
    described = [("# Clustering Information", "", ""), ("# col_name", "data_type", "comment")]
    described += [("s.a", "date", None), ("id", "int", "key")]  # type: ignore[list-item]
    assert rows(session, "DESCRIBE visible")[3:] == described
    assert rows(session, "DESCRIBE EXTENDED visible")[3:7] == described
    ((text,),) = rows(session, "SHOW CREATE TABLE visible")
    assert "\nCLUSTER BY (`s`.`a`, `id`)\n" in text
    run(session, text.replace("`visible`", "`again`", 1))
    assert shown(session, "again") == ["s.a", "id"]


# --- Writes ----------------------------------------------------------------------------------------------------------

WIDE = ", ".join(f"c{number} INT" for number in range(34))
WRITES = (
    "INSERT INTO {t} (id, s, late) VALUES (1, named_struct('a', 1, 'b', 'x'), 5), (2, NULL, NULL)",
    "INSERT OVERWRITE {t} (id, s, late) VALUES (3, named_struct('a', 7, 'b', 'y'), 6), (4, NULL, 9)",
    "INSERT INTO {t} (id, s, late) REPLACE WHERE id = 3 VALUES (3, named_struct('a', 8, 'b', 'z'), 7)",
    "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 5 AS id, 1 AS late, 2 AS extra",
)


@pytest.mark.parametrize("properties", ["", "'delta.columnMapping.mode' = 'name', "])
def test_every_write_gives_clustering_columns_statistics_and_keeps_the_domain(
    session: LakeSession, lake: Path, properties: str
) -> None:
    """Also if settings, changed by another writer, would exclude them."""
    name = "wide_mapped" if properties else "wide"
    settings = f"{properties}'delta.checkpoint.writeStatsAsStruct' = 'true', 'delta.checkpointInterval' = '3'"
    run(
        session,
        f"CREATE TABLE {name} (id INT, {WIDE}, s STRUCT<a: INT, b: STRING>, late INT) CLUSTER BY (s.a, late) "
        f"TBLPROPERTIES ({settings}, 'delta.dataSkippingStatsColumns' = 'id,s.a,late')",
    )
    _forget_setting(lake / "default" / name, "delta.dataSkippingStatsColumns")
    for statement in WRITES:
        run(session, statement.format(t=name))
    assert shown(session, name) == ["s.a", "late"]
    paths = clustered_by(lake, name, 0)
    for version in range(1, len(WRITES) + 1):
        assert domain_of(lake, name, version) is None
    stats = logged(lake / "default" / name).values()
    assert len(stats) >= len(WRITES)
    for found in stats:
        counts = [_at(found["nullCount"], path) for path in paths]
        assert None not in counts
        for bound in ("minValues", "maxValues"):
            values = [_at(found.get(bound, {}), path) for path in paths]
            expected = [None if count == found["numRecords"] else int for count in counts]
            assert [type(value) if value is not None else None for value in values] == expected
    seen = comparable(table(session, f"SELECT id, s, late FROM {name}"))
    for peer, read in PEERS.items():
        assert read(lake / "default" / name, ["id", "s", "late"]) == seen, peer


def _forget_setting(folder: Path, key: str) -> None:
    """Removes a setting, as if another writer had made the table."""
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            del action["metaData"]["configuration"][key]
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    log.with_suffix(".crc").unlink(missing_ok=True)


def _at(tree: Any, path: list[str]) -> Any:
    for name in path:
        tree = tree.get(name, {}) if isinstance(tree, dict) else None
    return None if tree == {} else tree


@pytest.mark.parametrize("clause", some(("CLUSTER BY (n)", ""), ("",)))
def test_rows_added_during_clustering_change(engine: LakeEngine, session: LakeSession, lake: Path, clause: str) -> None:
    """The first ones change the protocol, so the INSERT runs again."""
    run(session, "DROP TABLE IF EXISTS raced")
    run(session, f"CREATE TABLE raced (id BIGINT, n INT) {clause}")
    other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    with ThreadPoolExecutor(1) as threads:
        write = threads.submit(run, other, f"INSERT INTO raced (id) {SLOW}")
        begun(write, lake / "default" / "raced")
        run(session, "ALTER TABLE raced CLUSTER BY (id)")
        write.result()
    other.close()
    assert shown(session, "raced") == ["id"]
    assert [entry["operation"] for entry in table(session, "DESCRIBE HISTORY raced").to_pylist()][-2:] == [
        "CLUSTER BY",
        "CREATE TABLE",
    ]
    assert rows(session, "SELECT id FROM raced") == [(0,)]


# --- Refusals --------------------------------------------------------------------------------------------------------

COLUMNS = "(id INT, n INT, flag BOOLEAN, s STRUCT<a: INT>, l ARRAY<INT>, d DATE, e DATE, f DATE)"
BY_ID = "DELTA_CLUSTERING_COLUMN_MISSING_STATS"
REFUSED = [
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (nothing)", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (id, n, ID)", "DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY"),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (id, n, d, e, f)", "DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS"),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (s)", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (id, flag)", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (id) PARTITIONED BY (n)", "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY"),
    ("CREATE TABLE no CLUSTER BY (id) PARTITIONED BY (n) AS SELECT 1 id, 2 n", "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY"),
    ("CREATE TABLE no CLUSTER BY (x) AS SELECT 1 id, 2 n", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("CREATE TABLE no CLUSTER BY (x) AS SELECT 1 id, array(1) x", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
    (f"CREATE TABLE no ({WIDE}) CLUSTER BY (c33)", BY_ID),
    (f"CREATE TABLE no {COLUMNS} CLUSTER BY (id) TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = 0)", BY_ID),
    (f"CREATE TABLE no {COLUMNS} TBLPROPERTIES ('clusteringColumns' = 'id')", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
    (
        f"CREATE TABLE no {COLUMNS} TBLPROPERTIES ('delta.feature.clustering' = 'supported')",
        "DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED",
    ),
    ("ALTER TABLE kept CLUSTER BY (nothing)", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("ALTER TABLE kept CLUSTER BY (l)", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
    ("ALTER TABLE kept DROP COLUMN id", "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"),
    ("ALTER TABLE kept DROP COLUMNS (n, s.a)", "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"),
    ("ALTER TABLE kept SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'id,n')", BY_ID),
    ("ALTER TABLE kept SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = 1)", BY_ID),
    ("ALTER TABLE kept SET TBLPROPERTIES ('clusteringColumns' = 'n')", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
    ("ALTER TABLE kept DROP FEATURE clustering", "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"),
    ("ALTER TABLE kept DROP FEATURE domainMetadata", "DELTA_FEATURE_DROP_DEPENDENT_FEATURE"),
    (
        "REPLACE TABLE kept (id INT, n INT) PARTITIONED BY (n)",
        "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE",
    ),
    (
        "ALTER TABLE parts CLUSTER BY (id)",
        "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
    ),
    (
        "ALTER TABLE parts SET TBLPROPERTIES ('delta.feature.clustering' = 'supported')",
        "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "condition"), REFUSED, ids=[text[:70] for text, _ in REFUSED])
def test_rejected_clustering_leaves_no_trace(session: LakeSession, lake: Path, statement: str, condition: str) -> None:
    if not (lake / "default" / "kept").exists():
        run(session, f"CREATE TABLE kept {COLUMNS} CLUSTER BY (s.a, id) {MAPPED}")
        run(session, "CREATE TABLE parts (id INT, p INT) PARTITIONED BY (p)")
    assert refuse(session, statement).condition == condition
    assert (version_of(lake, "kept"), version_of(lake, "parts")) == (0, 0)
    assert not (lake / "default" / "no").exists()
    assert rows(session, "SHOW TABLES LIKE 'no'") == []


def test_a_location_is_registered_as_the_clustered_table_that_it_is(session: LakeSession, lake: Path) -> None:
    place = f"LOCATION '{lake}/elsewhere/clustered'"
    run(session, f"CREATE TABLE outside (id INT, s STRUCT<a: INT>) CLUSTER BY (s.a) {place}")
    run(session, "DROP TABLE outside")
    for clause in ("(id INT, s STRUCT<a: INT>)", "(id INT, s STRUCT<a: INT>) CLUSTER BY (id)", "CLUSTER BY (id)"):
        error = refuse(session, f"CREATE TABLE outside {clause} {place}")
        assert error.condition == "DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING"
    for clause in ("", "CLUSTER BY (S.A)", "(id INT, s STRUCT<a: INT>) CLUSTER BY (s.a)"):
        run(session, f"CREATE TABLE outside {clause} {place}")
        assert shown(session, "outside") == ["s.a"]
        run(session, "DROP TABLE outside")


def test_automatic_clustering_is_a_property_and_keeps_the_columns(session: LakeSession, lake: Path) -> None:
    automatic = [("clusterByAuto", "true")]
    shown_property = "SHOW TBLPROPERTIES chosen ('clusterByAuto')"
    run(session, "CREATE OR REPLACE TABLE chosen CLUSTER BY AUTO AS SELECT 1 AS id")
    assert rows(session, shown_property) == automatic and shown(session, "chosen") == []
    run(session, "ALTER TABLE chosen CLUSTER BY (id)")
    assert rows(session, shown_property) != automatic and shown(session, "chosen") == ["id"]
    run(session, "ALTER TABLE chosen CLUSTER BY AUTO")
    assert rows(session, shown_property) == automatic and shown(session, "chosen") == ["id"]
    assert last(session, "chosen")["operation"] == "CLUSTER BY"
    version = version_of(lake, "chosen")
    run(session, "ALTER TABLE chosen CLUSTER BY AUTO")
    assert version_of(lake, "chosen") == version
    ((text,),) = rows(session, "SHOW CREATE TABLE chosen")
    run(session, "OPTIMIZE chosen")
    run(session, "ALTER TABLE chosen CLUSTER BY NONE")
    assert rows(session, shown_property) != automatic and shown(session, "chosen") == []
    run(session, "DROP TABLE chosen")
    run(session, str(text))
    assert rows(session, shown_property) == automatic and shown(session, "chosen") == ["id"]


@pytest.mark.parametrize(
    ("statement", "condition", "sqlstate"),
    [
        (
            "CREATE TABLE no (id INT, p INT) PARTITIONED BY (p) CLUSTER BY AUTO",
            "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
            "42613",
        ),
        (
            "ALTER TABLE split CLUSTER BY AUTO",
            "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
            "42000",
        ),
        ("CREATE TABLE no (id INT) USING iceberg CLUSTER BY AUTO", "ICEBERG_CHANGE_NOT_SUPPORTED", "0A000"),
    ],
)
def test_automatic_clustering_is_rejected_where_clustering_is(
    session: LakeSession, statement: str, condition: str, sqlstate: str
) -> None:
    run(session, "CREATE OR REPLACE TABLE split (id INT, p INT) PARTITIONED BY (p)")
    error = refuse(session, statement)
    assert (error.condition, error.sqlstate) == (condition, sqlstate)
