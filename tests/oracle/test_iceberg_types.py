"""Comparison with the Iceberg runtime: columns with types that Spark lacks, and tables' descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run
from tests.oracle.conftest import ask_iceberg_spark
from tests.oracle.exact_rows import exact_rows

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(1200)]

# The runtime orders values from 8 on as smaller, as Java does and files do not, and misses rows.
U1, U2, U3 = (f"{digit * 8}-1111-4222-8333-{'9' * 12}" for digit in "057")
_MODES = ("copy-on-write", "merge-on-read")


def _properties(mode: str) -> str:
    listed = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    return f"TBLPROPERTIES ('format-version' = '3', {listed})"


def _making(table: str, mode: str) -> list[str | list[object]]:
    return [
        f"CREATE TABLE {table} (id BIGINT) USING iceberg {_properties(mode)}",
        ["add_column", table, None, "u", "uuid", f'"{U1}"'],
        ["add_column", table, None, "f", "fixed[3]", '"00ff10"'],
        f"ALTER TABLE {table} ADD COLUMN v VARIANT",
        f"ALTER TABLE {table} ADD COLUMN s STRUCT<v: VARIANT, n: STRING>",
        f"INSERT INTO {table} (id) SELECT id FROM range(3)",
        f"""INSERT INTO {table} SELECT id, '{U2}', X'010203', parse_json(concat('{{"a": ', id, ', "b": [1.5, null]}}')),
        named_struct('v', parse_json('"x"'), 'n', 'y') FROM range(10, 13)""",
        f"INSERT INTO {table} VALUES (20, NULL, NULL, NULL, NULL), (21, '{U3}', NULL, parse_json('null'), NULL)",
    ]


_CHANGES = (
    "INSERT INTO {t} VALUES (30, '" + U1 + "', X'ffffff', parse_json('[true]'), named_struct('v', NULL, 'n', 'w'))",
    "INSERT INTO {t} (id) VALUES (31)",
    "UPDATE {t} SET id = id + 100 WHERE id IN (2, 11, 20)",
    "DELETE FROM {t} WHERE u = '" + U3 + "'",
    "MERGE INTO {t} t USING (SELECT 30L AS id, '" + U3 + "' AS u UNION ALL SELECT 32L, '" + U2 + "') s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET u = s.u WHEN NOT MATCHED THEN INSERT (id, u) VALUES (s.id, s.u)",
)
_READS = (
    "SELECT * FROM {t} ORDER BY id",
    "SELECT id FROM {t} WHERE u = '" + U2 + "' ORDER BY id",
    "SELECT id FROM {t} WHERE f = X'010203' OR variant_get(v, '$.a', 'int') = 10 ORDER BY id",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("iceberg types")
    (found / "lake").mkdir()
    return found


@pytest.fixture(scope="module")
def session(folder: Path, spark_driver: SparkDriver) -> LakeSession:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder / "lake"))), spark_driver)
    settings = {"spark.sql.session.timeZone": "UTC"}
    return engine.open_session(Identity("ann"), settings=settings, catalog=None, schema=None)


def run_steps(folder: Path, steps: list[Any]) -> list[list[list[Any]]]:
    answers = ask_iceberg_spark(steps, folder)
    assert not [(step, answer) for step, answer in zip(steps, answers, strict=True) if "error" in answer]
    return [answer["rows"] for answer in answers]


def test_types_that_spark_lacks_round_trip_with_iceberg(folder: Path, session: LakeSession) -> None:
    tables = {f"types_{mode[:4]}": mode for mode in _MODES}
    reads = {(name, text): exact_rows(f"({text.replace('{t}', f'c.d.{name}')})") for name in tables for text in _READS}

    def ours() -> list[list[list[Any]]]:
        texts = [exact_rows(f"({text.replace('{t}', f'd.{name}')})") for name, text in reads]
        return [[list(row) for row in rows(session, text)] for text in texts]

    steps = [step for name, mode in tables.items() for step in _making(f"c.d.{name}", mode)]
    theirs = run_steps(folder, [*steps, *reads.values()])[len(steps) :]
    assert ours() == theirs and all(theirs)
    for name in tables:
        for change in _CHANGES:
            run(session, change.replace("{t}", f"d.{name}"))
    before = ours()
    more = [f"UPDATE c.d.{name} SET id = id + 1000 WHERE id >= 30" for name in tables]
    answers = run_steps(folder, [*reads.values(), *more, *reads.values()])
    assert before == answers[: len(reads)] and all(before)
    assert ours() == answers[-len(reads) :]


# --- Table descriptions
# ------------------------------------------------------------------------------------------------

_PAST = (
    "CREATE TABLE c.d.past (id BIGINT, part STRING, at TIMESTAMP) USING iceberg PARTITIONED BY (part) "
    "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')",
    "INSERT INTO c.d.past SELECT id, concat('p', id % 2), TIMESTAMP'2024-01-01' FROM range(10)",
    "INSERT INTO c.d.past SELECT id, NULL, NULL FROM range(20, 24)",
    "ALTER TABLE c.d.past CREATE TAG first",
    "DELETE FROM c.d.past WHERE id = 4",
    "ALTER TABLE c.d.past ADD PARTITION FIELD days(at)",
    "INSERT INTO c.d.past SELECT id, 'p1', TIMESTAMP'2024-02-03 04:05:06' FROM range(30, 33)",
    "ALTER TABLE c.d.past CREATE BRANCH other RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS",
    "INSERT INTO c.d.past.branch_other VALUES (99, 'p9', NULL)",
    "DELETE FROM c.d.past WHERE part = 'p0'",
)
METADATA = (
    "history",
    "metadata_log_entries",
    "snapshots",
    "refs",
    "files",
    "data_files",
    "delete_files",
    "entries",
    "manifests",
    "partitions",
    "all_files",
    "all_data_files",
    "all_delete_files",
    "all_entries",
    "all_manifests",
)


def test_metadata_tables_are_the_runtimes(folder: Path, session: LakeSession) -> None:
    queries = [exact_rows(f"c.d.past.{name}") for name in METADATA]
    answers = run_steps(folder, [*_PAST, *queries])[len(_PAST) :]
    differing: list[Any] = []
    for name, expected in zip(METADATA, answers, strict=True):
        found = [_flat(json.loads(text)) for (text,) in rows(session, exact_rows(f"d.past.{name}"))]
        theirs = [_flat(json.loads(text)) for (text,) in expected]
        columns = sorted({key for row in found for key in row} & {key for row in theirs for key in row})
        ours, others = (
            sorted(json.dumps([row.get(key) for key in columns]) for row in each) for each in (found, theirs)
        )
        missing = sorted({key for row in theirs for key in row} - {key for row in found for key in row})
        if ours != others or missing:
            differing.append(
                (name, missing, columns, [a for a in ours if a not in others], [b for b in others if b not in ours])
            )
    assert not differing, "\n\n".join(map(str, differing))


def _flat(row: Any) -> Any:
    """Removes readable metrics; missing metrics are null or empty in ours, and the runtime writes "null"."""
    match row:
        case dict():
            return {key: _flat(value) for key, value in row.items() if key != "readable_metrics"} or None
        case list():
            return [_flat(each) for each in row]
        case _:
            return None if row == "null" else row
