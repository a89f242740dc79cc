"""Reads of metadata and manifests, without Spark: metadata versions, files with inherited values, metadata-only
answers.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.commit.metadata_files import newest_metadata
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import parse_metadata
from engine.pruning.predicates import And, Column, Compare, In, IsNotNull, IsNull, Literal, Not, Operator, Predicate
from engine.storage.storage import open_storage
from engine.tables.scan import ComposedScan, Scan
from engine.types.schema import DecimalType, PrimitiveType
from tests.engine.iceberg.handmade import HandmadeTable
from tests.interleave.storages import DictStorage
from tests.paths import TESTDATA

ID = {"id": 1, "name": "id", "required": False, "type": "long"}


def load(folder: Path, version: int | None = None) -> IcebergSnapshot:
    return IcebergFormat(open_storage, 1 << 26).load(str(folder), version)


def scan(folder: Path) -> Scan | ComposedScan:
    return load(folder).scan("t", "t")


@pytest.fixture
def table(tmp_path: Path) -> HandmadeTable:
    return HandmadeTable(tmp_path / "t")


# --- Metadata ---------------------------------------------------------------------------------------------------------


def rename(table: HandmadeTable, *names: str, hint: str | None = None) -> None:
    """The table's only metadata file gets these names."""
    folder = table.folder / "metadata"
    data = (folder / "v1.metadata.json").read_bytes()
    (folder / "v1.metadata.json").unlink()
    (folder / "version-hint.text").unlink()
    for name in names:
        (folder / name).write_bytes(gzip.compress(data) if ".gz" in name else data)
    if hint is not None:
        (folder / "version-hint.text").write_text(hint)


@pytest.mark.parametrize(
    ("names", "hint", "expected"),
    [
        (["v1.metadata.json", "v2.metadata.json"], "1", "v2.metadata.json"),
        (["v1.metadata.json", "v2.metadata.json"], None, "v2.metadata.json"),
        (["v9.metadata.json", "v10.metadata.json"], None, "v10.metadata.json"),
        (["v9.metadata.json", "v10.metadata.json"], "9", "v10.metadata.json"),
        (["v9.metadata.json", "v11.metadata.json"], "9", "v9.metadata.json"),
        (["v501.metadata.json", "v502.metadata.json"], "501", "v502.metadata.json"),
        (["v3.metadata.json"], "1", "v3.metadata.json"),
        (["v1.gz.metadata.json", "v2.metadata.json.gz"], "1", "v2.metadata.json.gz"),
        (["v1.metadata.json", "v2.metadata.json"], "no number", "v2.metadata.json"),
        (["00000-a.metadata.json", "00001-b.metadata.json"], None, "00001-b.metadata.json"),
        (["00000-a.metadata.json", "00001-b.metadata.json"], "00000-a", "00000-a.metadata.json"),
        (["vfinal.metadata.json"], None, "vfinal.metadata.json"),
        (["v1.metadata.json"], "../../v1", "v1.metadata.json"),
    ],
)
def test_the_newest_metadata_is_found(table: HandmadeTable, names: list[str], hint: str | None, expected: str) -> None:
    table.commit(table.data({"id": [1]}))
    rename(table, *names, hint=hint)
    found = load(table.folder)
    assert (found.metadata_name, found.num_files) == (f"metadata/{expected}", 1)
    listed = DictStorage()  # whose listings can begin at a name
    for path in (table.folder / "metadata").iterdir():
        listed.write(f"metadata/{path.name}", path.read_bytes())
    assert newest_metadata(listed) == f"metadata/{expected}"


@pytest.mark.parametrize(
    ("names", "condition"),
    [
        ([], "ICEBERG_TABLE_NOT_FOUND"),
        (["00001-a.metadata.json", "00001-b.metadata.json"], "ICEBERG_METADATA_AMBIGUOUS"),
    ],
)
def test_no_metadata_and_several_newest_are_refused(table: HandmadeTable, names: list[str], condition: str) -> None:
    table.commit(table.data({"id": [1]}))
    rename(table, *names)
    with pytest.raises(SqlError) as caught:
        load(table.folder)
    assert caught.value.condition == condition


@pytest.mark.foreign
@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("TableMetadataV1Valid", None),
        ("TableMetadataV2Valid", None),
        ("TableMetadataV2ValidMinimal", None),
        ("TableMetadataV3ValidMinimal", None),
        ("TableMetadataStatisticsFiles", None),
        ("TableMetadataPartitionStatisticsFiles", None),
        ("TableMetadataUnsupportedVersion", "ICEBERG_FEATURE_NOT_SUPPORTED"),
        ("TableMetadataV1MissingSchemaType", "ICEBERG_METADATA_MALFORMED"),
        ("TableMetadataV2CurrentSchemaNotFound", "ICEBERG_METADATA_MALFORMED"),
        ("TableMetadataV2MissingLastPartitionId", "ICEBERG_METADATA_MALFORMED"),
        ("TableMetadataV2MissingPartitionSpecs", "ICEBERG_METADATA_MALFORMED"),
        ("TableMetadataV2MissingSchemas", "ICEBERG_METADATA_MALFORMED"),
        ("TableMetadataV2MissingSortOrder", "ICEBERG_METADATA_MALFORMED"),
    ],
)
def test_metadata_of_the_reference_implementation(name: str, condition: str | None) -> None:
    data = (TESTDATA / f"iceberg/metadata/{name}.json").read_bytes()
    try:
        parse_metadata(data, name, "t")
        found = None
    except SqlError as error:
        found = error.condition
    assert found == condition


# --- Files ------------------------------------------------------------------------------------------------------------


def test_entries_inherit_from_their_manifest(table: HandmadeTable) -> None:
    table.version = 3
    files = [table.data({"id": list(range(count))}) for count in (2, 3, 4)]
    table.commit({**files[0]}, {**files[1], "first_row_id": 50}, {**files[2], "_sequence_number": 0})
    table.listed[0]["first_row_id"] = 100
    table.commit(table.data({"id": [9]}, _status=0, _snapshot_id=5, _sequence_number=1, _file_sequence_number=1))
    data = load(table.folder).live_files.data
    assert data.select(["snapshot_id", "sequence_number", "file_sequence_number", "first_row_id"]).to_pylist() == [
        {"snapshot_id": 1001, "sequence_number": 1, "file_sequence_number": 1, "first_row_id": 100},
        {"snapshot_id": 1001, "sequence_number": 1, "file_sequence_number": 1, "first_row_id": 50},
        {"snapshot_id": 1001, "sequence_number": 0, "file_sequence_number": 1, "first_row_id": 102},
        {"snapshot_id": 5, "sequence_number": 1, "file_sequence_number": 1, "first_row_id": None},
    ]


def test_deleted_entries_are_no_files(table: HandmadeTable) -> None:
    table.commit(
        table.data({"id": [1]}), table.data({"id": [2]}, _status=2, _sequence_number=1, _file_sequence_number=1)
    )
    assert load(table.folder).num_files == 1


def test_a_manifest_is_decoded_once_for_all_snapshots(table: HandmadeTable) -> None:
    table.commit(table.data({"id": [1]}))
    table.commit(table.data({"id": [2]}))
    opened = IcebergFormat(open_storage, 1 << 26)
    first = opened.load(str(table.folder))
    assert first.num_files == 2
    for path in (table.folder / "metadata").glob("m1-*.avro"):
        path.unlink()
    table.commit(table.data({"id": [3]}))
    assert opened.load(str(table.folder)).num_files == 3
    assert opened.load(str(table.folder), first.version).num_files == 2
    with pytest.raises(SqlError, match="ICEBERG_FILE_NOT_FOUND|is not there"):
        assert load(table.folder).num_files


def test_the_snapshot_of_two_statements_is_one(table: HandmadeTable) -> None:
    table.commit(table.data({"id": [1]}))
    opened = IcebergFormat(open_storage, 1 << 26)
    assert opened.load(str(table.folder)) is opened.load(str(table.folder))


# --- File statistics
# ---------------------------------------------------------------------------------------------------


def metrics(low: bytes | None, high: bytes | None, nulls: int | None = 0, id: int = 1) -> dict[str, Any]:
    return {
        "lower_bounds": {} if low is None else {id: low},
        "upper_bounds": {} if high is None else {id: high},
        "null_value_counts": {} if nulls is None else {id: nulls},
    }


def long(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def pruned_files(folder: Path, predicate: Predicate) -> list[int]:
    return np.flatnonzero(load(folder).pruning().prune(predicate)).tolist()


def compare(name: str, operator: str, value: Any, type_: Any = None) -> Predicate:
    literal = Literal.of(value) if type_ is None else Literal(value, type_)
    return Compare(Operator(operator), Column((name,)), literal)


def test_files_are_pruned_by_metrics(table: HandmadeTable) -> None:
    rows = {"id": [1]}
    table.commit(
        table.data(rows, **metrics(long(1), long(5))),
        table.data(rows, **metrics((7).to_bytes(4, "little"), (9).to_bytes(4, "little"))),
        table.data(rows, **metrics(None, None, 1)),
        table.data(rows, **metrics(None, None, None)),
        table.data(rows, **metrics(b"odd", b"odd")),
    )
    assert pruned_files(table.folder, compare("id", ">", 5)) == [1, 3, 4]
    assert pruned_files(table.folder, compare("ID", "=", 3)) == [0, 3, 4]
    assert pruned_files(table.folder, IsNull(Column(("id",)))) == [2, 3]
    assert pruned_files(table.folder, IsNotNull(Column(("id",)))) == [0, 1, 3, 4]
    assert pruned_files(table.folder, Not(compare("id", "<", 7))) == [1, 3, 4]


PARTITIONED: list[tuple[str, str, Any, list[Any], Predicate, list[int]]] = [
    ("identity", "long", "long", [1, 2, None], compare("c", ">=", 2), [1]),
    ("identity", "long", "long", [1, 2, None], IsNull(Column(("c",))), [2]),
    ("identity", "string", "string", ["a", "", None], compare("c", "=", ""), [1]),
    ("bucket[16]", "long", "int", [3, 8, None], compare("c", "=", 34), [0]),
    ("bucket[16]", "long", "int", [3, 8, 9], In(Column(("c",)), (Literal.of(34), Literal.of(-1))), [0, 1]),
    ("bucket[16]", "long", "int", [3, 8], compare("c", ">", 34), [0, 1]),
    ("bucket[16]", "string", "int", [9, 3], compare("c", "=", "iceberg"), [0]),
    ("bucket[16]", "decimal(9,2)", "int", [3, 8], compare("c", "=", 14.20, DecimalType(9, 2)), [0, 1]),
    ("truncate[10]", "long", "long", [-10, 0, 10], compare("c", "<", -1), [0]),
    ("truncate[3]", "string", "string", ["ice", "id", "zz"], compare("c", "=", "iceberg"), [0]),
    ("truncate[3]", "string", "string", ["ice", "id", "zz"], compare("c", ">", "idx"), [2]),
    (
        "day",
        "timestamp",
        "int",
        [10, 11],
        compare("c", ">", 11 * 86_400_000_000 - 1, PrimitiveType.TIMESTAMP_NTZ),
        [0, 1],
    ),
    (
        "day",
        "timestamp",
        "int",
        [10, 11],
        compare("c", ">", 11 * 86_400_000_000 + 5_000, PrimitiveType.TIMESTAMP_NTZ),
        [1],
    ),
    ("hour", "timestamptz", "int", [1, 2], compare("c", "<", 7_000_000_000, PrimitiveType.TIMESTAMP), [0]),
    ("identity", "boolean", "boolean", [True, False], compare("c", "=", True), [0]),
    ("year", "date", "int", [50, 52], compare("c", "<", 19000 - 366, PrimitiveType.DATE), [0]),
    ("void", "long", "long", [None, None], compare("c", ">", 1), [0, 1]),
    ("unheard of", "long", "string", ["x", "y"], compare("c", ">", 1), [0, 1]),
    ("identity", "double", "double", [0.5, float("nan"), 2.0], compare("c", "<", 1.0), [0, 1]),
]


@pytest.mark.parametrize(("transform", "kind", "avro", "values", "predicate", "expected"), PARTITIONED)
def test_files_are_pruned_by_partition_values(
    tmp_path: Path, transform: str, kind: str, avro: Any, values: list[Any], predicate: Predicate, expected: list[int]
) -> None:
    spec = {"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "p", "transform": transform}]}
    column = {"id": 2, "name": "c", "required": False, "type": kind}
    table = HandmadeTable(tmp_path / "t", columns=[ID, column], specs=[spec], partition=[(1000, "p", avro)])
    table.commit(*(table.data({"id": [1]}, partition={"p": value}) for value in values))
    assert pruned_files(table.folder, predicate) == expected
    assert np.flatnonzero(load(table.folder).pruning().partition_mask(predicate).mask).tolist() == expected


def test_partition_values_and_metrics_are_taken_together(tmp_path: Path) -> None:
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "truncate[100]"}]}
    table = HandmadeTable(tmp_path / "t", specs=[spec], partition=[(1000, "p", "long")])
    table.commit(
        *(table.data({"id": [1]}, partition={"p": 100}, **metrics(long(low), long(199))) for low in (100, 150))
    )
    assert pruned_files(table.folder, And((compare("id", ">", 100), compare("id", "<", 120)))) == [0]


def test_a_column_of_an_old_spec_may_be_gone(tmp_path: Path) -> None:
    spec = {"spec-id": 0, "fields": [{"source-id": 77, "field-id": 1000, "name": "p", "transform": "identity"}]}
    table = HandmadeTable(tmp_path / "t", specs=[spec, {"spec-id": 1, "fields": []}], partition=[(1000, "p", "long")])
    table.commit(table.data({"id": [1]}, partition={"p": 5}))
    assert pruned_files(table.folder, compare("id", ">", 0)) == [0]
    assert isinstance(scan(table.folder), Scan)


def test_counts_are_known_but_with_equality_deletes(table: HandmadeTable) -> None:
    first = table.data({"id": [1, 2, 3]})
    table.commit(first, table.positions([first["file_path"]] * 2, [1, 7]))
    assert load(table.folder).counted_files(["id"]).live_rows().tolist() == [2]
    table.commit(table.equality({"id": [5]}, [1]))
    found = load(table.folder).counted_files(["id"])
    assert (found.live_rows().tolist(), found.is_tight().tolist()) == ([-1], [False])


def test_decoded_manifests_stay_within_the_limit(table: HandmadeTable) -> None:
    for number in range(20):
        table.commit(table.data({"id": pa.array([number], pa.int64())}))
    opened = IcebergFormat(open_storage, 20_000)
    assert opened.load(str(table.folder)).num_files == 20
    assert opened._decoded.num_bytes <= 20_000


def test_partitions_are_shown_as_people_write_them(tmp_path: Path) -> None:
    columns = [
        {"id": 1, "name": "at", "required": False, "type": "timestamp"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
    ]
    transforms = {
        "year": 1,
        "month": 1,
        "day": 1,
        "hour": 1,
        "identity": 2,
        "truncate[2]": 2,
        "bucket[8]": 2,
        "void": 2,
    }
    fields = [
        {"source-id": source, "field-id": 1000 + at, "name": f"f{at}", "transform": transform}
        for at, (transform, source) in enumerate(transforms.items())
    ]
    kinds = ["int", "int", {"type": "int", "logicalType": "date"}, "int", "string", "string", "int", "string"]
    table = HandmadeTable(
        tmp_path / "t",
        columns=columns,
        specs=[{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": fields}],
        partition=[(1000 + at, f"f{at}", kind) for at, kind in enumerate(kinds)],
    )
    values = {"f0": 54, "f1": 657, "f2": 20000, "f3": 480013, "f4": "", "f5": "ab", "f6": 3, "f7": None}
    rows = {"at": pa.array([0], pa.timestamp("us")), "name": ["x"]}
    for partition in (values, values, dict.fromkeys(values), {**values, "f0": -1}):
        table.commit(table.data(rows, partition=partition), spec=1)
    found = load(table.folder).shown_partitions()
    assert found.column_names == [f"f{at}" for at in range(7)]
    rest = ("2024-10", "2024-10-04", "2024-10-04-13", "", "ab", "3")
    shown = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert sorted(shown, key=str) == [("1969", *rest), ("2024", *rest), (None,) * 7]
