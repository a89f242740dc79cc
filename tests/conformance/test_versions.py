"""Every version of every foreign table: its rows equal another reader's, or it fails with a named error.

The other reader is DuckDB on Delta's Rust kernel. If it cannot read, or reads wrongly, the rows come from the makers'
records, or from a sibling table that was written in the same way and stopped earlier. No version is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.clients.typed_values import typed
from tests.duck import open_duckdb
from tests.paths import TESTDATA

pytestmark = [pytest.mark.spark, pytest.mark.foreign]

DELTA = TESTDATA / "delta"
TABLES = {path.parent: str(path.parent.relative_to(DELTA)) for path in sorted(DELTA.glob("**/_delta_log"))}
# Rows beyond which two tables are compared by sorting.
_MANY = 2000

NO_FILE = "FAILED_READ_FILE.FILE_NOT_EXIST"
OUTSIDE = "LOG_PATH_NOT_ALLOWED"
NO_COLUMNS = "DELTA_READ_TABLE_WITHOUT_COLUMNS"
NO_STATE = "DELTA_STATE_RECOVER_ERROR"
# The versions that must fail, and how: logs without data or columns, states that cannot be rebuilt, vacuumed files.
FAILING = {
    "dat/no_replay/delta": {2: NO_FILE},
    "golden/canonicalized-paths-normal-a/delta": {0: OUTSIDE},
    "golden/canonicalized-paths-normal-b/delta": {0: OUTSIDE},
    "golden/canonicalized-paths-special-a/delta": {0: OUTSIDE},
    "golden/canonicalized-paths-special-b/delta": {0: OUTSIDE},
    "golden/checkpoint/delta": dict.fromkeys(range(15), NO_FILE),
    "golden/corrupted-last-checkpoint/delta": dict.fromkeys(range(11), NO_COLUMNS),
    "golden/data-reader-absolute-paths-escaped-chars/delta": dict.fromkeys(range(2), NO_STATE),
    "golden/delete-re-add-same-file-different-transactions/delta": dict.fromkeys((0, 2, 3), NO_FILE),
    "golden/deltalog-commit-info/delta": {0: NO_COLUMNS},
    "golden/deltalog-getChanges/delta": {0: NO_FILE},
    "golden/deltalog-invalid-protocol-version/delta": {0: "DELTA_INVALID_PROTOCOL_VERSION"},
    "golden/deltalog-state-reconstruction-from-checkpoint-missing-metadata/delta": {
        **dict.fromkeys(range(10), NO_COLUMNS),
        10: NO_STATE,
    },
    "golden/deltalog-state-reconstruction-from-checkpoint-missing-protocol/delta": {
        **dict.fromkeys(range(10), NO_COLUMNS),
        10: NO_STATE,
    },
    "golden/deltalog-state-reconstruction-without-metadata/delta": {0: NO_STATE},
    "golden/deltalog-state-reconstruction-without-protocol/delta": {0: NO_STATE},
    "golden/log-replay-special-characters/delta": {0: NO_FILE},
    "golden/log-replay-special-characters-a/delta": {0: NO_FILE},
    "golden/log-replay-special-characters-b/delta": {0: NO_FILE},
    "golden/snapshot-vacuumed/delta": dict.fromkeys(range(5), NO_FILE),
    "golden/update-deleted-directory/delta": {0: NO_COLUMNS},
    "golden/versions-not-contiguous/delta": {0: NO_COLUMNS, 2: "DELTA_VERSIONS_NOT_CONTIGUOUS"},
}

# Versions without rows that the peer cannot read: it does not know that `file:/x`, once removed, is `/x`.
EMPTIED = {
    f"golden/canonicalized-paths-{kind}/delta": (1,) for kind in ("normal-a", "normal-b", "special-a", "special-b")
}

# The peer rejects the first for its reader features, finds no partition values in those with mapped NTZ columns, and
# crashes on two-level lists. Their versions before the last are empty.
RECORDED = {
    "dat/iceberg_compat_v1/delta": "expected/latest/table_content/*.parquet",
    "golden/data-reader-timestamp_ntz-id-mode/delta": "expected/*.parquet",
    "golden/data-reader-timestamp_ntz-name-mode/delta": "expected/*.parquet",
    "golden/parquet-all-types-legacy-format/delta": "expected/*.parquet",
}

# Golden tables that continue another one.
SIBLINGS = {
    "snapshot-data1": {0: "snapshot-data0"},
    "snapshot-data2": {0: "snapshot-data0", 1: "snapshot-data1"},
    "snapshot-data3": {0: "snapshot-data0", 1: "snapshot-data1", 2: "snapshot-data2"},
    "snapshot-data2-deleted": {0: "snapshot-data0", 1: "snapshot-data1", 2: "snapshot-data2", 3: "snapshot-data3"},
    "snapshot-repartitioned": {
        0: "snapshot-data0",
        1: "snapshot-data1",
        2: "snapshot-data2",
        3: "snapshot-data3",
        4: "snapshot-data2-deleted",
    },
    "time-travel-partition-changes-b": {0: "time-travel-partition-changes-a"},
    "time-travel-schema-changes-b": {0: "time-travel-schema-changes-a"},
    "time-travel-start-start20": {0: "time-travel-start"},
    "time-travel-start-start20-start40": {0: "time-travel-start", 1: "time-travel-start-start20"},
}

# The peer has no Arrow type for variants. The table's maker wrote `{"key": id}` at every place, with nulls between.
VARIANTS = "golden/spark-variant-checkpoint/delta"


def versions_of(table: Path) -> list[int]:
    return sorted(int(path.stem) for path in (table / "_delta_log").glob("*.json") if path.stem.isdigit())


@pytest.fixture(scope="module")
def engine(spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(allowed_roots=(str(TESTDATA),))), spark_driver)


@pytest.fixture(scope="module")
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_duckdb() as connection:
        yield connection


def read(session: LakeSession, table: Path, version: int, columns: str = "*") -> pa.Table:
    text = f"SELECT {columns} FROM delta.`{table}` VERSION AS OF {version}"
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    rows = pa.Table.from_batches(list(result.batches()), result.schema)
    result.close()
    return rows


def ensure_equal(found: pa.Table, expected: pa.Table) -> None:
    assert sorted(found.column_names) == sorted(expected.column_names)
    if expected.num_rows > _MANY:
        found = found.select(expected.column_names).cast(expected.schema)
        order = [(name, "ascending") for name in expected.column_names]
        assert found.sort_by(order) == expected.sort_by(order)
    else:
        assert _cells(found, expected.schema) == _cells(expected, expected.schema)


def _cells(table: pa.Table, schema: pa.Schema) -> Counter[tuple[Any, ...]]:
    columns = [[typed(value, item.type, "UTC") for value in table[item.name].to_pylist()] for item in schema]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("table", [table for table in TABLES if TABLES[table] not in RECORDED], ids=TABLES.get)
def test_every_version_has_the_rows_of_another_reader_or_fails_by_name(
    session: LakeSession, duck: duckdb.DuckDBPyConnection, table: Path
) -> None:
    failing = FAILING.get(TABLES[table], {})
    assert failing.keys() <= set(versions_of(table))
    for version in versions_of(table):
        if version in failing:
            with pytest.raises(SqlError) as raised:
                read(session, table, version)
            assert raised.value.condition == failing[version], version
        elif version in EMPTIED.get(TABLES[table], ()):
            assert read(session, table, version).num_rows == 0
        elif TABLES[table] != VARIANTS:
            query = f"SELECT * FROM delta_scan('{table}', version = {version})"
            ensure_equal(read(session, table, version), duck.execute(query).to_arrow_table())


@pytest.mark.parametrize("name", RECORDED)
def test_peer_fails_to_read_as_recorded(session: LakeSession, name: str) -> None:
    table, pattern = DELTA / name, RECORDED[name]
    *earlier, last = versions_of(table)
    for version in earlier:
        assert read(session, table, version).num_rows == 0
    ensure_equal(read(session, table, last), pa.concat_tables(map(pq.read_table, sorted(table.parent.glob(pattern)))))


@pytest.mark.parametrize(
    ("name", "version", "sibling"),
    [(name, version, sibling) for name, versions in SIBLINGS.items() for version, sibling in versions.items()],
)
def test_versions_are_those_of_the_table_that_stopped_there(
    session: LakeSession, name: str, version: int, sibling: str
) -> None:
    recorded = sorted((DELTA / "golden" / sibling / "expected").glob("*.parquet"))
    expected = pa.concat_tables(map(pq.read_table, recorded))
    ensure_equal(read(session, DELTA / "golden" / name / "delta", version), expected)


@pytest.mark.parametrize(("version", "ids"), [(0, range(100)), (1, [*range(100), 0]), (2, [*range(100), 0, 1])])
def test_variants_at_every_depth(session: LakeSession, version: int, ids: Iterable[int]) -> None:
    found = read(session, DELTA / VARIANTS, version).sort_by("id").to_pylist()
    assert found == [_variants(number) for number in sorted(ids)]


def _variants(number: int) -> dict[str, Any]:
    value = json.dumps({"key": number}, separators=(",", ":"))
    return {
        "id": number,
        "v": value,
        "array_of_variants": [value, None, value, None, value],
        "struct_of_variants": {"v": value},
        "map_of_variants": [(str(number), value), ("nullKey", None)],
        "array_of_struct_of_variants": [{"v": value}, {"v": None}, None, {"v": value}, None, {"v": value}],
        "struct_of_array_of_variants": {"v": [None, value]},
    }
