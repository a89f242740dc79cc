"""FSCK, GENERATE and ANALYZE: findings, changes and errors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.delta.snapshot.snapshot import load_snapshot
from tests.engine.bare_lake import BareLake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BareLake]:
    opened = BareLake(tmp_path / "a lake")
    yield opened
    opened.sources.close()


# --- FSCK -------------------------------------------------------------------------------------------------------------


def test_repair_removes_missing_files_from_the_log(lake: BareLake) -> None:
    for k in range(3):
        lake.append("torn", {"k": [k]})
    assert lake.rows("FSCK REPAIR TABLE torn") == []
    gone = next(iter(load_snapshot(str(lake.path("torn")), 0).files.column("path").to_pylist()))
    os.unlink(lake.path("torn") / gone)
    found = lake.answer("FSCK REPAIR TABLE torn DRY RUN")
    assert found.to_pylist() == [
        {
            "dataFilePath": gone,
            "dataFileMissing": True,
            "deletionVectorPath": None,
            "deletionVectorFileMissing": False,
        }
    ]
    assert DeltaTable(lake.path("torn")).version() == 2
    assert lake.rows(f"FSCK REPAIR TABLE '{lake.path('torn')}'") == [(gone, True, None, False)]
    assert sorted(lake.table("torn").column("k").to_pylist()) == [1, 2]
    assert lake.operations("torn")[-1] == ("FSCK", {}, {"numRemovedFiles": "1", "numMissingDeletionVectors": "0"})
    assert lake.rows("FSCK REPAIR TABLE torn") == [] and DeltaTable(lake.path("torn")).version() == 3
    lake.answer("ALTER TABLE torn SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    os.unlink(lake.path("torn") / load_snapshot(str(lake.path("torn"))).files.column("path")[0].as_py())
    assert lake.refuse("FSCK REPAIR TABLE torn").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"


def test_a_file_whose_vector_is_missing_cannot_be_read(lake: BareLake) -> None:
    lake.append("torn", {"k": [1, 2]})
    log = lake.path("torn") / "_delta_log/00000000000000000000.json"
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 4}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["deletionVector"] = {**vector, "cardinality": 1}
        if "protocol" in line:
            features = ["deletionVectors"]
            line["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ((path, is_missing, vector_path, is_vector_missing),) = lake.rows("FSCK REPAIR TABLE torn")
    assert (is_missing, is_vector_missing) == (False, True)
    assert vector_path.startswith("ab/deletion_vector_") and (lake.path("torn") / path).exists()
    assert load_snapshot(str(lake.path("torn"))).num_files == 0


# --- GENERATE ---------------------------------------------------------------------------------------------------------


def manifests(lake: BareLake, name: str) -> dict[str, list[str]]:
    root = lake.path(name) / "_symlink_format_manifest"
    return {path.relative_to(root).as_posix(): path.read_text().splitlines() for path in root.rglob("manifest")}


def test_manifests_list_the_live_files(lake: BareLake) -> None:
    lake.append("listed", {"k": [1, 2], "p": ["a b", "x/y"]}, partition_by=["p"])
    lake.append("listed", {"k": [3, 4], "p": ["a b", None]}, partition_by=["p"])
    lake.answer("GENERATE symlink_format_manifest FOR TABLE listed")
    written = manifests(lake, "listed")
    assert {name: len(lines) for name, lines in written.items()} == {
        "p=a b/manifest": 2,
        "p=x%2Fy/manifest": 1,
        "p=__HIVE_DEFAULT_PARTITION__/manifest": 1,
    }
    lines = [line for lines in written.values() for line in lines]
    assert all(line.startswith(f"file:{lake.path('listed')}/p=") for line in lines)
    assert sum(pq.read_metadata(line.removeprefix("file:")).num_rows for line in lines) == 4
    DeltaTable(lake.path("listed")).delete("p = 'a b'")
    lake.answer(f"GENERATE SYMLINK_FORMAT_MANIFEST FOR TABLE '{lake.path('listed')}'")
    assert set(manifests(lake, "listed")) == {"p=x%2Fy/manifest", "p=__HIVE_DEFAULT_PARTITION__/manifest"}
    assert DeltaTable(lake.path("listed")).version() == 2


def test_manifests_follow_each_commit_where_the_table_says_so(lake: BareLake) -> None:
    lake.append("listed", {"k": [1]})
    enabled = "'delta.compatibility.symlinkFormatManifest.enabled' = 'true'"
    lake.answer(f"ALTER TABLE listed SET TBLPROPERTIES ({enabled})")
    lake.append("listed", {"k": [2]})
    lake.answer("ALTER TABLE listed SET TBLPROPERTIES ('x' = 'y')")
    lake.sources.close()
    assert [len(lines) for lines in manifests(lake, "listed").values()] == [2]
    refused = lake.refuse("ALTER TABLE listed SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    assert refused.condition.endswith(".PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION")


def test_manifest_of_unsupported_table_is_rejected(lake: BareLake) -> None:
    lake.answer("CREATE TABLE mapped (k INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    refused = lake.refuse("GENERATE symlink_format_manifest FOR TABLE mapped")
    assert refused.condition == "DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING"
    lake.answer("CREATE TABLE marked (k INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.answer("GENERATE symlink_format_manifest FOR TABLE marked")
    assert manifests(lake, "marked") == {"manifest": []}
    assert lake.refuse("GENERATE iceberg FOR TABLE marked").condition == "DELTA_MODE_NOT_SUPPORTED"


# --- ANALYZE ----------------------------------------------------------------------------------------------------------


def stats(lake: BareLake, name: str) -> list[dict[str, object] | None]:
    texts = load_snapshot(str(lake.path(name))).files.column("stats").to_pylist()
    return [None if text is None else json.loads(text) for text in texts]


def forget(lake: BareLake, name: str, version: int, old: str, new: str) -> None:
    log = lake.path(name) / f"_delta_log/{version:020}.json"
    assert old in log.read_text()
    log.write_text(log.read_text().replace(old, new))


SPARK = {"org.apache.spark.version": "4.0.0"}


def spark_file(lake: BareLake, name: str, **keys: str) -> None:
    """The table's one file as Spark would have written it."""
    path = lake.path(name) / load_snapshot(str(lake.path(name))).files.column("path")[0].as_py()
    rows = pq.read_table(path)
    pq.write_table(rows.replace_schema_metadata({**SPARK, **keys}), path)


@pytest.mark.parametrize(
    ("keys", "has_bounds"),
    [({}, True), ({"org.apache.spark.legacyDateTime": ""}, False), ({"org.apache.spark.version": "2.4.8"}, False)],
)
def test_statistics_that_are_missing_come_from_the_footers(
    lake: BareLake, keys: dict[str, str], has_bounds: bool
) -> None:
    lake.append("bare", {"k": [1, None, 3], "s": ["a", "b", "c"]})
    known = stats(lake, "bare")
    text = next(iter(load_snapshot(str(lake.path("bare"))).files.column("stats").to_pylist()))
    forget(lake, "bare", 0, json.dumps(text), "null")
    spark_file(lake, "bare", **keys)
    before = load_snapshot(str(lake.path("bare"))).files
    assert stats(lake, "bare") == [None]
    lake.answer("ANALYZE TABLE bare COMPUTE STATISTICS NOSCAN")
    assert stats(lake, "bare") == [None]
    lake.answer("ANALYZE TABLE bare COMPUTE DELTA STATISTICS")
    (found,) = stats(lake, "bare")
    (expected,) = known
    assert found is not None and expected is not None
    bounds = {} if has_bounds else {"minValues", "maxValues"}
    assert found == {key: value for key, value in expected.items() if key not in bounds}
    after = load_snapshot(str(lake.path("bare"))).files
    assert after.drop_columns(["stats", "data_change"]) == before.drop_columns(["stats", "data_change"])
    assert after.column("data_change").to_pylist() == [False]
    assert lake.operations("bare")[-1][0] == "COMPUTE STATS"
    version = DeltaTable(lake.path("bare")).version()
    lake.answer("ANALYZE TABLE bare COMPUTE STATISTICS")
    assert DeltaTable(lake.path("bare")).version() == version


def test_repair_keeps_existing_files(lake: BareLake) -> None:
    lake.append("bare", {"k": pa.array([1, 2]), "s": ["a", "b"]})
    spark_file(lake, "bare")
    text = next(iter(load_snapshot(str(lake.path("bare"))).files.column("stats").to_pylist()))
    wide = {"numRecords": 2, "minValues": {"k": -5}, "maxValues": {"k": 50}, "nullCount": {"k": 0}}
    forget(lake, "bare", 0, json.dumps(text), json.dumps(json.dumps(wide)))
    lake.answer("ANALYZE TABLE bare COMPUTE STATISTICS")
    assert stats(lake, "bare") == [
        {
            "numRecords": 2,
            "minValues": {"k": -5, "s": "a"},
            "maxValues": {"k": 50, "s": "b"},
            "nullCount": {"k": 0, "s": 0},
        }
    ]


def test_analyze_refusals(lake: BareLake) -> None:
    lake.append("bare", {"k": [1]})
    for text, condition in {
        "bare COMPUTE STATISTICS FOR COLUMNS nothing": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
        "bare PARTITION (p = 1) COMPUTE STATISTICS": "UNSUPPORTED_CLAUSE",
        "bare COMPUTE": "PARSE_SYNTAX_ERROR",
        "nowhere COMPUTE STATISTICS": "TABLE_OR_VIEW_NOT_FOUND",
    }.items():
        assert lake.refuse(f"ANALYZE TABLE {text}").condition == condition, text
