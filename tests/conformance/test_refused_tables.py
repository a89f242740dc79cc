"""Tables that must not be read, and features that block only writers: each with its condition, through the whole
pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows
from tests.handmade import LEGACY, Part, column, mapped, protocol, write_table

pytestmark = pytest.mark.spark

UNSUPPORTED = "DELTA_UNSUPPORTED_FEATURES_FOR_READ"
_ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
_PLAIN = Part(name="a.parquet", rows=_ROWS)
_BY_ID = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "9"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    condition: str
    # A part of the message.
    says: str
    columns: tuple[dict[str, Any], ...] = (column("id", "long"),)
    part: Part = _PLAIN
    protocol: Mapping[str, Any] = field(default_factory=lambda: LEGACY)
    configuration: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    # Is the data file overwritten with something else?
    spoiled: bool = False


def feature(*names: str) -> Case:
    """Reader features that are not known here, or not supported."""
    return Case(condition=UNSUPPORTED, says=", ".join(names), protocol=protocol(*names))


CASES = {
    "an unknown feature": feature("fromTheFuture"),
    "two of them, with a known one": Case(
        condition=UNSUPPORTED, says="a, b", protocol=protocol("a", "deletionVectors", "b")
    ),
    "commits of a catalog": feature("catalogManaged"),
    "commits of a catalog, by the old name": feature("catalogOwned-preview"),
    "geometries": feature("geospatial"),
    "nanoseconds": feature("timestampNanos"),
    "another metadata tree": feature("adaptiveMetadata-preview"),
    "a redirection": Case(
        condition=UNSUPPORTED,
        says="redirectReaderWriter-preview",
        protocol=protocol("redirectReaderWriter-preview"),
        configuration={"delta.redirectReaderWriter-preview": "{}"},
    ),
    "a reader version beyond the known": Case(
        condition="DELTA_INVALID_PROTOCOL_VERSION", says="4", protocol={"minReaderVersion": 4, "minWriterVersion": 7}
    ),
    "an unknown type": Case(
        condition="DELTA_UNSUPPORTED_DATA_TYPES", says="geometry", columns=(column("id", "geometry(OGC:CRS84)"),)
    ),
    "a change of type that is no widening": Case(
        condition="DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA",
        says="from string to long",
        columns=(column("id", "long", delta_typeChanges=[{"fromType": "string", "toType": "long"}]),),
        protocol=protocol("typeWidening"),
    ),
    "timestamps in nanoseconds": Case(
        condition="FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        says="id",
        columns=(column("id", "timestamp"),),
        part=Part(name="a.parquet", rows=pa.table({"id": pa.array([1], pa.timestamp("ns", "UTC"))})),
    ),
    "by id, files without ids": Case(
        condition="FAILED_READ_FILE.NO_FIELD_IDS",
        says="a.parquet",
        columns=(mapped("id", "long", 1, "id"),),
        protocol=protocol("columnMapping"),
        configuration=_BY_ID,
    ),
    "a partition column that the table does not have": Case(
        condition="DELTA_MALFORMED_LOG_ENTRY", says="partitionColumns has day", partition_columns=("day",)
    ),
    "a file that is no Parquet": Case(
        condition="FAILED_READ_FILE.NO_HINT", says="a.parquet cannot be read", part=_PLAIN, spoiled=True
    ),
    "a type that files do not have": Case(
        condition="FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        says="id",
        columns=(column("id", "date"),),
    ),
}
ONLY_WRITERS = ("fromTheFuture", "icebergCompatV2", "clustering", "domainMetadata", "redirectWriterOnly-preview")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("refused")
    for position, case in enumerate(CASES.values()):
        write_table(
            root / f"t{position}",
            case.columns,
            [case.part],
            table_protocol=case.protocol,
            configuration=case.configuration,
            partition_columns=case.partition_columns,
        )
        if case.spoiled:
            (root / f"t{position}" / case.part.name).write_bytes(b"PAR1, it says, and is not PAR1")
    write_table(root / "w", [column("id", "long")], [_PLAIN], table_protocol=protocol(writer=ONLY_WRITERS))
    return root


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", CASES)
def test_a_table_that_must_not_be_read_says_why(session: LakeSession, name: str) -> None:
    case, table = CASES[name], f"t{list(CASES).index(name)}"
    error = refuse(session, f"SELECT * FROM {table}")
    assert error.condition == case.condition, error
    assert case.says in str(error) and "__scan" not in str(error)


def test_writer_features_do_not_block_reads(session: LakeSession) -> None:
    assert rows(session, "SELECT id FROM w ORDER BY id") == [(1,), (2,)]
