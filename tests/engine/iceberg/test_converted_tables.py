"""CONVERT TO DELTA on Iceberg tables, read as Delta tables by deltalake and DuckDB, and as Iceberg tables by
pyiceberg.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from catalog.changes import SetFormat
from catalog.conditions import CatalogOutcomeUnknown
from catalog.entries import TableEntry
from catalog.errors import SqlError
from engine.delta.conversion.shared_tables import share_files
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.execution.writes import commit as creation
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.foreign import ICEBERG, PREFIX, expected_rows
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.peer_readers import PEERS, comparable, comparable_rows

Columns = list[dict[str, Any]]


def column(id: int, name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "required": False, "type": type_, **more}


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    return BareLake(tmp_path)


def table_of(bare: BareLake, *columns: dict[str, Any], **options: Any) -> HandmadeTable:
    return HandmadeTable(bare.path("t"), columns=list(columns), **options)


def convert(bare: BareLake, more: str = "") -> Snapshot:
    bare.answer(f"CONVERT TO DELTA t{more}")
    return load_snapshot(str(bare.path("t")))


def iceberg_rows(bare: BareLake) -> list[tuple[Any, ...]]:
    """Returns the rows that pyiceberg reads."""
    metadata = bare.path("t") / "metadata"
    name = f"v{(metadata / 'version-hint.text').read_text()}.metadata.json"
    return comparable(StaticTable.from_metadata(str(metadata / name)).scan().to_arrow())


def ensure_read(bare: BareLake, names: list[str]) -> list[tuple[Any, ...]]:
    """Returns the rows, if all readers of the Delta table agree with the Iceberg table."""
    expected = iceberg_rows(bare)
    for name, read in PEERS.items():
        assert read(bare.path("t"), names) == expected, name
    return expected


EVOLVED = [column(1, "id", "long"), column(2, "was", "string"), column(3, "gone", "int")]
LATER = [
    column(1, "id", "long"),
    column(2, "text", "string", doc="a text"),
    column(4, "was", "double"),
    column(
        5,
        "s",
        {"type": "struct", "fields": [column(6, "x", "int"), column(7, "y", "timestamptz")]},
    ),
    column(8, "l", {"type": "list", "element-id": 9, "element": "string", "element-required": False}),
]


def test_names_are_those_of_ids(bare: BareLake) -> None:
    """Names that were given again, also in statistics."""
    made = table_of(bare, *EVOLVED)
    made.commit(made.data({"id": [1, 2], "was": ["a", "b"], "gone": pa.array([7, 8], pa.int32())}))
    made.evolve(LATER)
    at = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    kind = pa.struct(
        [
            pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "6"}),
            pa.field("y", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "7"}),
        ]
    )
    element = pa.field("element", pa.string(), metadata={"PARQUET:field_id": "9"})
    new = pa.table(
        {
            "id": [3],
            "text": ["c"],
            "was": [0.5],
            "s": pa.array([{"x": 1, "y": at}], kind),
            "l": pa.array([["p", None]], pa.list_(element)),
        }
    )
    made.commit(made.data(new))
    before = {path: path.read_bytes() for path in bare.path("t").rglob("*") if path.is_file()}
    snapshot = convert(bare)
    assert {path: path.read_bytes() for path in before} == before
    text = snapshot.schema.field("text")
    assert text is not None and text.metadata["delta.columnMapping.id"] == 2 and text.metadata["comment"] == "a text"
    assert snapshot.metadata.configuration["delta.columnMapping.mode"] == "id"
    assert snapshot.metadata.configuration["delta.columnMapping.maxColumnId"] == "100"
    stats = snapshot.files["stats"].to_pylist()
    assert '"text":"a"' in stats[0] and '"was"' not in stats[0] and '"was":0.5' in stats[1] and '"x":1' in stats[1]
    (line,) = bare.rows("DESCRIBE HISTORY t")
    assert dict(line[5])["sourceFormat"] == "iceberg" and dict(line[5])["sourceSnapshot"] == "1002"
    assert convert(bare, " NO STATISTICS").version == 0  # it is one by now


def test_rows_that_are_deleted_by_position(bare: BareLake) -> None:
    made = table_of(bare, column(1, "id", "long"), version=3)
    one, two = made.data({"id": [1, 2, 3]}), made.data({"id": [4, 5]})
    made.commit(one, two)
    made.commit(*made.vectors({one["file_path"]: [0, 2]}), operation="delete")
    snapshot = convert(bare)
    assert PEERS["duckdb"](bare.path("t"), ["id"]) == [(2,), (4,), (5,)]
    assert PEERS["deltalake"](bare.path("t"), ["id"]) == [(2,), (4,), (5,)]
    assert [bool(each) for each in snapshot.files["deletion_vector"].to_pylist()] == [True, False]
    assert '"tightBounds":false' in snapshot.files["stats"][0].as_py()


def test_files_of_positions(bare: BareLake) -> None:
    made = table_of(bare, column(1, "id", "long"))
    one, two = made.data({"id": [1, 2, 3]}), made.data({"id": [4, 5]})
    made.commit(one, two)
    made.commit(made.positions([one["file_path"], two["file_path"]], [1, 0]), operation="delete")
    convert(bare)
    assert ensure_read(bare, ["id"]) == [(1,), (3,), (5,)]


PARTITIONED = [column(1, "id", "long"), column(2, "day", "date"), column(3, "s", "string")]
SPECS = [
    {"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "day", "transform": "identity"}]},
    {
        "spec-id": 1,
        "fields": [
            {"source-id": 2, "field-id": 1000, "name": "day", "transform": "identity"},
            {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[4]"},
        ],
    },
    {"spec-id": 2, "fields": [{"source-id": 3, "field-id": 1002, "name": "s", "transform": "identity"}]},
]
PARTITION = [(1000, "day", {"type": "int", "logicalType": "date"}), (1001, "id_bucket", "int"), (1002, "s", "string")]


def test_partitions(bare: BareLake) -> None:
    """A column in all specs is a partition column, and files may lack it."""
    made = table_of(bare, *PARTITIONED, specs=SPECS[:2], partition=PARTITION)
    made.commit(made.data({"id": [1], "s": ["x"]}, partition={"day": dt.date(2024, 2, 29)}))
    made.commit(
        made.data({"id": [2], "s": pa.array([None], pa.string())}, partition={"day": None, "id_bucket": 1}), spec=1
    )
    snapshot = convert(bare)
    assert snapshot.partition_columns == ("day",)
    for read in PEERS.values():
        assert read(bare.path("t"), ["id", "day", "s"]) == [(1, dt.date(2024, 2, 29), "x"), (2, None, None)]


def test_partitions_that_not_all_files_have(bare: BareLake) -> None:
    made = table_of(bare, *PARTITIONED, specs=SPECS, partition=PARTITION)
    rows = {"id": [1], "day": pa.array([dt.date(2024, 1, 1)]), "s": ["x"]}
    counts: dict[str, Any] = {"value_counts": {1: 1, 2: 1, 3: 1}}
    made.commit(made.data(rows, partition={"day": dt.date(2024, 1, 1)}, **counts))
    made.commit(made.data(rows, partition={"s": "x"}, **counts), spec=2)
    assert convert(bare).partition_columns == ()
    assert ensure_read(bare, ["id", "day", "s"]) == [(1, dt.date(2024, 1, 1), "x")] * 2


def test_types_that_became_wider(bare: BareLake) -> None:
    made = table_of(bare, column(1, "i", "int"), column(2, "f", "float"), column(3, "d", "decimal(5,2)"))
    narrow = {"i": pa.int32(), "f": pa.float32(), "d": pa.decimal128(5, 2)}
    wide = {"i": pa.int64(), "f": pa.float64(), "d": pa.decimal128(20, 2)}
    made.commit(made.data(pa.table({name: pa.array([1], type_) for name, type_ in narrow.items()})))
    made.evolve([column(1, "i", "long"), column(2, "f", "double"), column(3, "d", "decimal(20,2)")])
    made.commit(made.data(pa.table({name: pa.array([2], type_) for name, type_ in wide.items()})))
    snapshot = convert(bare)
    changed = {item.name: item.metadata["delta.typeChanges"] for item in snapshot.schema.fields}
    assert changed["i"] == [{"fromType": "integer", "toType": "long"}]
    assert changed["d"] == [{"fromType": "decimal(5,2)", "toType": "decimal(20,2)"}]
    assert "typeWidening" in snapshot.config.features and '"minValues":{"i":1' in snapshot.files["stats"][0].as_py()


MAPPED = '[{"field-id": 1, "names": ["ID"]}, {"field-id": 2, "names": ["a", "b"]}, {"field-id": 3, "names": ["c"]}]'


def test_files_without_ids(bare: BareLake) -> None:
    """None of these files contains a column without a mapped name, whatever names they use."""
    mapping = {"schema.name-mapping.default": MAPPED}
    made = table_of(bare, column(1, "id", "long"), column(3, "c", "long"), column(4, "x", "long"), properties=mapping)
    made.commit(made.data({"ID": [1], "c": [2], "x": [9]}, ids={}))
    assert convert(bare).metadata.configuration["delta.columnMapping.mode"] == "name"
    for read in PEERS.values():
        assert read(bare.path("t"), ["id", "c", "x"]) == [(1, 2, None)]


def _two_names(made: HandmadeTable) -> None:
    made.columns = [column(2, "b", "long")]
    made.properties = {"schema.name-mapping.default": MAPPED}
    made.commit(made.data({"a": [1]}, ids={}), made.data({"b": [1]}, ids={}))


def _mixed(made: HandmadeTable) -> None:
    made.columns = [column(2, "b", "long")]
    made.properties = {"schema.name-mapping.default": MAPPED}
    made.commit(made.data({"a": [1]}, ids={}), made.data({"b": [1]}))


def _equality(made: HandmadeTable) -> None:
    made.commit(made.data({"id": [1, 2]}))
    made.commit(made.equality({"id": [1]}, [1]), operation="delete")


def _defaults(made: HandmadeTable) -> None:
    made.version = 3
    made.commit(made.data({"id": [1]}))
    made.evolve([column(1, "id", "long"), column(2, "x", "int", **{"initial-default": 5})])


def _empty_text(made: HandmadeTable) -> None:
    made.columns, made.specs, made.partition = PARTITIONED, SPECS[2:], PARTITION
    made.commit(made.data({"id": [1]}, partition={"s": ""}), spec=2)


def _unproven(made: HandmadeTable) -> None:
    made.columns, made.specs, made.partition = PARTITIONED, SPECS, PARTITION
    made.commit(made.data({"id": [1]}, partition={"day": None}))
    made.commit(made.data({"id": [1]}, partition={"s": "x"}), spec=2)


def _outside(made: HandmadeTable) -> None:
    entry = made.data({"id": [1]})
    other = made.folder.parent / "elsewhere.parquet"
    shutil.copy(made.folder / "data" / "00001.parquet", other)
    made.commit({**entry, "file_path": str(other)})


def _uuid(made: HandmadeTable) -> None:
    made.evolve([column(1, "id", "long"), column(2, "s", {"type": "struct", "fields": [column(3, "u", "uuid")]})])


REFUSED: list[tuple[Callable[[HandmadeTable], None], str]] = [
    (_two_names, "some of its files have no field ids"),
    (_mixed, "some of its files have no field ids"),
    (_equality, "deleted by their values"),
    (_defaults, "has no column with the id 2, for which the table has a default"),
    (_empty_text, "can have the value '' of the column s"),
    (_unproven, "nothing tells that all files have the column"),
    (_outside, "is outside the table's folder"),
    (_uuid, "its column s.u has the type uuid"),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_properties_that_no_delta_table_has(bare: BareLake, make: Callable[[HandmadeTable], None], reason: str) -> None:
    make(table_of(bare, column(1, "id", "long")))
    error = bare.refuse("CONVERT TO DELTA t")
    condition = "LOG_PATH_NOT_ALLOWED" if make is _outside else "FILES_NOT_CONVERTIBLE"
    assert error.condition == condition and reason in str(error), error
    assert not (bare.path("t") / "_delta_log").exists() and not list(bare.path("t").glob("*.bin"))


def test_converted_table_and_its_source_are_read_independently(bare: BareLake) -> None:
    """Neither removes files that the other needs."""
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    (entry,) = bare.sources.catalog.view().recorded_at(str(bare.path("t")))
    assert bare.refuse("CONVERT TO DELTA t PARTITIONED BY (id BIGINT)").condition == (
        "DELTA_PARTITION_SCHEMA_IN_ICEBERG_TABLES"
    )
    path = f"iceberg.`{bare.path('t')}`"
    bare.answer(f"CONVERT TO DELTA {path}")
    (after,) = bare.sources.catalog.view().recorded_at(str(bare.path("t")))
    assert (entry.format, after.format, after.owner) == ("iceberg", "delta", entry.owner)
    assert bare.rows("DESCRIBE DETAIL t")[0][0] == "delta"
    assert bare.rows(f"DESCRIBE DETAIL {path}")[0][0] == "iceberg"
    for statement in (
        f"ALTER TABLE {path} ADD COLUMN x INT",
        f"CALL system.expire_snapshots('{path}', snapshot_ids => array(1))",
        f"CALL system.remove_orphan_files('{path}')",
        "VACUUM t",
        "VACUUM t DRY RUN",
    ):
        error = bare.refuse(statement)
        assert error.condition == "FOLDER_OF_TWO_TABLES", statement
    shutil.rmtree(bare.path("t") / "metadata")
    assert bare.rows("VACUUM t DRY RUN") == []


def test_conversion_restarts_after_a_concurrent_commit(bare: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement restarts, so that no row from others is lost."""
    made = table_of(bare, column(1, "id", "long"))
    made.commit(made.data({"id": [1]}))
    from engine.formats.delta.writing import convert as module

    share, pending = share_files, [2]

    def slow(*arguments: Any) -> Any:
        found = share(*arguments)
        if pending:
            made.commit(made.data({"id": [pending.pop()]}))
        return found

    monkeypatch.setattr(module, "share_files", slow)
    convert(bare)
    assert ensure_read(bare, ["id"]) == [(1,), (2,)]


def test_conversion_restarts_if_a_commit_precedes_its_log(bare: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """After all other checks: the log is removed, and the statement restarts."""
    made = table_of(bare, column(1, "id", "long"))
    made.commit(made.data({"id": [1]}))
    commit, pending = creation._commit, [2]

    def slow(*arguments: Any) -> Any:
        if pending:
            made.commit(made.data({"id": [pending.pop()]}))
        return commit(*arguments)

    monkeypatch.setattr(creation, "_commit", slow)
    convert(bare)
    assert ensure_read(bare, ["id"]) == [(1,), (2,)]


def test_a_log_of_another_version_is_no_conversion_that_was_begun(bare: BareLake) -> None:
    """Other readers' logs stay, and so does one from an earlier table."""
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    (entry,) = bare.sources.catalog.view().recorded_at(str(bare.path("t")))
    bare.answer("CONVERT TO DELTA t")
    bare.sources.catalog.change(SetFormat(replace(entry, format="delta"), "iceberg"))
    log = bare.path("t") / "_delta_log"
    log.rename(bare.path("t") / "aside")
    bare.answer("ALTER TABLE t ADD COLUMN x INT")
    (bare.path("t") / "aside").rename(log)
    error = bare.refuse("CONVERT TO DELTA t")
    assert error.condition == "FOLDER_OF_TWO_TABLES" and "remove its folder _delta_log" in str(error)
    first = log / f"{0:020}.json"
    for text in ("", "{", '{"commitInfo":{"operation":"CREATE TABLE"}}'):
        first.write_text(text)
        assert bare.refuse("CONVERT TO DELTA t").condition == "FOLDER_OF_TWO_TABLES"


RENAMED: list[tuple[list[str], str | None, dict[str, str]]] = [
    (["ALTER TABLE t RENAME TO u"], "TABLE_OR_VIEW_NOT_FOUND", {"u": "iceberg"}),
    (["DROP TABLE t"], "TABLE_OR_VIEW_NOT_FOUND", {}),
    (["DROP TABLE t", "CREATE TABLE t (other STRING)"], None, {"t": "delta"}),
]


@pytest.mark.parametrize(("others", "condition", "names"), RENAMED)
def test_the_name_is_anothers_by_then(
    bare: BareLake,
    monkeypatch: pytest.MonkeyPatch,
    others: list[str],
    condition: str | None,
    names: dict[str, str],
) -> None:
    """The statement restarts with the name's current table; the files belong to one table only."""
    place = bare.folder / "elsewhere" / "t"
    place.parent.mkdir()
    bare.answer(f"CREATE TABLE t (id BIGINT) USING iceberg LOCATION '{place}'")
    commit, pending = creation._commit, list(others)

    def slow(*arguments: Any) -> Any:
        done = commit(*arguments)
        while pending:
            bare.answer(pending.pop(0))
        return done

    monkeypatch.setattr(creation, "_commit", slow)
    if condition is None:
        bare.answer("CONVERT TO DELTA t")
    else:
        assert bare.refuse("CONVERT TO DELTA t").condition == condition
    recorded = bare.sources.catalog.view().state.relations.values()
    assert {each.name.table: each.format for each in recorded if isinstance(each, TableEntry)} == names
    assert not list(place.glob("_delta_log/*.json"))


FOREIGN = (
    "iceberg_v1_deprecated/default/legacy_v1",
    "map_stats/default.db/map_stats",
    "name_mapping/warehouse_1/mydb/t1",
    "null_stats/default/test_nulls",
    "partition_bigint",
    "partition_bool",
    "partition_timestamp/default.db/partition_timestamp",
)


@pytest.mark.foreign
@pytest.mark.parametrize("name", FOREIGN)
def test_tables_of_others(bare: BareLake, name: str) -> None:
    lake = bare.folder / PREFIX
    shutil.copytree(ICEBERG / name, lake / name)
    expected = comparable_rows(expected_rows(lake, name))
    bare.answer(f"CONVERT TO DELTA iceberg.`{lake / name}`")
    names = list(load_snapshot(str(lake / name)).schema.names)
    for peer in PEERS.values():
        assert peer(lake / name, names) == expected


def test_a_fault_leaves_nothing(bare: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table_of(bare, column(1, "id", "long"), version=3)
    one = made.data({"id": [1, 2, 3]})
    made.commit(one)
    made.commit(*made.vectors({one["file_path"]: [0]}), operation="delete")
    from engine.formats.delta.writing import convert as module

    def fail(*_: Any) -> None:
        raise SqlError

    monkeypatch.setattr(module, "_stage", fail)
    bare.refuse("CONVERT TO DELTA t")
    assert not list(bare.path("t").glob("*.bin"))


@pytest.mark.parametrize("error", [CatalogOutcomeUnknown(9, "timed out"), MemoryError()])
def test_converted_table_keeps_its_deletion_vectors(
    bare: BareLake, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The error comes when the log exists, and may follow the name's change."""
    made = table_of(bare, column(1, "id", "long"), version=3)
    one = made.data({"id": [1, 2, 3]})
    made.commit(one)
    made.commit(*made.vectors({one["file_path"]: [0]}), operation="delete")

    def fail(*arguments: Any) -> None:
        commit(*arguments)
        raise error

    commit = creation._commit
    monkeypatch.setattr(creation, "_commit", fail)
    with pytest.raises(type(error)):
        bare.answer("CONVERT TO DELTA t")
    assert PEERS["duckdb"](bare.path("t"), ["id"]) == [(2,), (3,)]


def test_a_name_that_cannot_be_changed_takes_the_log_back(bare: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")

    def fail(*_: Any) -> None:
        raise SqlError

    with monkeypatch.context() as patch:
        patch.setattr(bare.sources.catalog, "change", fail)
        bare.refuse("CONVERT TO DELTA t")
    assert not list((bare.path("t") / "_delta_log").glob("*.json"))
    bare.answer("ALTER TABLE t ADD COLUMN x INT")
    assert bare.rows("DESCRIBE DETAIL t")[0][0] == "iceberg"
    bare.answer("CONVERT TO DELTA t")
    assert bare.rows("DESCRIBE DETAIL t")[0][0] == "delta"
