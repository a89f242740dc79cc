"""DDL on an Iceberg table's metadata, without Spark; read back by pyiceberg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from catalog.conditions import (
    AddedColumnNotNull,
    ColumnNotFound,
    DuplicateColumns,
    IcebergChangeNotSupported,
    IcebergColumnChangeRefused,
    IcebergColumnInUse,
    IcebergDefaultRefused,
    IcebergFeatureNotSupported,
    IcebergPartitioningRefused,
    IcebergPropertyRefused,
)
from catalog.errors import SqlError
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.definition.defaults import default_json
from engine.iceberg.spec.types import Kind, SimpleType, type_name
from engine.storage.storage import open_storage
from engine.tables.definition_changes import (
    AddColumn,
    AddConstraint,
    ChangeIdentifiers,
    ChangeNullable,
    ChangePartitioning,
    ChangeType,
    ClusterBy,
    DefinitionChange,
    DropColumn,
    MoveColumn,
    PartitionBy,
    RenameColumn,
    RenameConstraint,
    SetColumnMetadata,
    SetDescription,
    SetProperty,
    SortBy,
    UnsetProperty,
)
from engine.tables.operations import TableOperation
from engine.types.partition_terms import PartitionTerm, SortTerm
from engine.types.schema import DecimalType, PrimitiveType, StructField
from engine.types.schema_changes import After, First
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.tables import DESCRIPTION, OwnTable, columns

ALL = columns(
    id="long!",
    at="timestamp",
    day="date",
    name=("string", {"comment": "of a person"}),
    price="decimal(9,2)",
    few="byte",
    places={
        "type": "map",
        "keyType": "string",
        "valueType": {
            "type": "array",
            "elementType": {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]},
            "containsNull": False,
        },
        "valueContainsNull": True,
    },
    box={"type": "struct", "fields": [{"name": "w", "type": "float", "nullable": True, "metadata": {}}]},
)


def term(column: str, transform: str = "identity", width: int | None = None, name: str | None = None) -> PartitionTerm:
    return PartitionTerm(column=tuple(column.split(".")), transform=transform, width=width, name=name)


def field(name: str, kind: str = "integer", *, nullable: bool = True, default: str | None = None) -> StructField:
    metadata = {} if default is None else {"CURRENT_DEFAULT": default}
    return StructField(name, PrimitiveType(kind), nullable, metadata)


def make(folder: Path, *changes: DefinitionChange, version: str = "2") -> OwnTable:
    return OwnTable(folder / "t", ALL, *changes, format_version=version)


def test_a_new_table_has_ids_and_is_read_by_others(tmp_path: Path) -> None:
    terms = (term("at", "day"), term("id", "bucket", 16), term("name", "truncate", 4), term("box.w"))
    table = make(tmp_path, PartitionBy(terms=terms), SetDescription(text="all of it"))
    assert [path for path in (tmp_path / "t" / "metadata").iterdir() if path.name.startswith("v1")]
    found = StaticTable.from_metadata(f"file://{tmp_path}/t/metadata/v1.metadata.json")
    assert found.properties == {"comment": "all of it"}
    assert [(each.field_id, str(each.field_type), each.required) for each in found.schema().fields] == [
        (1, "long", True),
        (2, "timestamptz", False),
        (3, "date", False),
        (4, "string", False),
        (5, "decimal(9, 2)", False),
        (6, "int", False),
        (7, "map<string, list<struct<12: x: optional int>>>", False),
        (8, "struct<13: w: optional float>", False),
    ]
    assert [(each.name, str(each.transform), each.field_id) for each in found.spec().fields] == [
        ("at_day", "day", 1000),
        ("id_bucket", "bucket[16]", 1001),
        ("name_trunc", "truncate[4]", 1002),
        ("box.w", "identity", 1003),
    ]
    assert table.snapshot.schema.fields[3].comment == "of a person"
    assert table.snapshot.details.description == "all of it"


def test_columns_keep_their_ids_whatever_is_changed(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.alter(
        RenameColumn(path=("name",), name="called"),
        DropColumn(path=("few",)),
        AddColumn(field=field("few", "string"), position=First()),
        AddColumn(field=field("y"), parent=("places", "value", "element")),
        ChangeType(path=("places", "value", "element", "x"), data_type=PrimitiveType.LONG),
        ChangeType(path=("price",), data_type=DecimalType(12, 2)),
        MoveColumn(path=("id",), position=After("at")),
        ChangeNullable(path=("id",), nullable=True),
        SetColumnMetadata(path=("called",), key="comment", value=None),
    )
    schema = next(each for each in table.metadata["schemas"] if each["schema-id"] == 1)
    found = [(each["id"], each["name"], each["required"], each.get("doc")) for each in schema["fields"]]
    assert found == [
        (14, "few", False, None),
        (2, "at", False, None),
        (1, "id", False, None),
        (3, "day", False, None),
        (4, "called", False, None),
        (5, "price", False, None),
        (7, "places", False, None),
        (8, "box", False, None),
    ]
    inner = schema["fields"][6]["type"]["value"]["element"]["fields"]
    assert [(each["id"], each["name"], each["type"]) for each in inner] == [(12, "x", "long"), (15, "y", "int")]
    assert (table.metadata["current-schema-id"], table.metadata["last-column-id"]) == (1, 15)


def test_unchanged_schema_gets_no_new_id(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.alter(RenameColumn(path=("day",), name="date"))
    table.alter(RenameColumn(path=("date",), name="day"))
    assert (table.metadata["current-schema-id"], len(table.metadata["schemas"])) == (0, 2)
    before = table.metadata
    table.alter(SetProperty(key="comment", value="x"), UnsetProperty(key="comment"))
    assert table.metadata == before


REFUSED: list[tuple[type[SqlError], DefinitionChange]] = [
    (IcebergColumnChangeRefused, ChangeNullable(path=("day",), nullable=False)),
    (IcebergColumnChangeRefused, ChangeType(path=("id",), data_type=PrimitiveType.INTEGER)),
    (IcebergColumnChangeRefused, ChangeType(path=("day",), data_type=PrimitiveType.TIMESTAMP_NTZ)),
    (IcebergColumnChangeRefused, ChangeType(path=("price",), data_type=DecimalType(12, 3))),
    (IcebergColumnInUse, DropColumn(path=("at",))),
    (IcebergColumnInUse, DropColumn(path=("id",))),
    (IcebergColumnInUse, DropColumn(path=("box", "w"))),
    (IcebergColumnInUse, ChangeNullable(path=("id",), nullable=True)),
    (IcebergChangeNotSupported, SetColumnMetadata(path=("few",), key="CURRENT_DEFAULT", value="1")),
    (IcebergChangeNotSupported, SetColumnMetadata(path=("few",), key="delta.generationExpression", value="1")),
    (IcebergChangeNotSupported, AddConstraint(name="c", expression="id > 0")),
    (IcebergChangeNotSupported, RenameConstraint(name="c", new_name="d")),
    (IcebergChangeNotSupported, ClusterBy(columns=(("id",),))),
    (IcebergChangeNotSupported, ChangeIdentifiers(columns=(("day",),))),
    (IcebergChangeNotSupported, AddColumn(field=field("v", "variant"))),
    (AddedColumnNotNull, AddColumn(field=field("n", nullable=False))),
    (AddedColumnNotNull, AddColumn(parent=("box",), field=field("n", nullable=False))),
    (DuplicateColumns, AddColumn(field=field("ID"))),
    (ColumnNotFound, RenameColumn(path=("nothing",), name="x")),
    (IcebergPropertyRefused, SetProperty(key="format-version", value="1")),
    (IcebergPropertyRefused, SetProperty(key="delta.enableChangeDataFeed", value="true")),
    (IcebergPropertyRefused, SetProperty(key="write.metadata.path", value="/elsewhere")),
    (IcebergPropertyRefused, SetProperty(key="write.format.default", value="orc")),
    (IcebergPropertyRefused, SetProperty(key="current-snapshot-id", value="1")),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("at", "day"))),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("places"))),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("day", "hour"))),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("price", "bucket", 0))),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("price", "zorder"))),
    (IcebergPartitioningRefused, ChangePartitioning(added=term("few", name="name"))),
    (IcebergPartitioningRefused, ChangePartitioning(dropped=term("name"))),
]


def test_changes_that_would_break_readers_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path, PartitionBy(terms=(term("at", "day"), term("box.w"))), ChangeIdentifiers(columns=(("id",),)))
    before = table.metadata
    for error, change in REFUSED:
        with pytest.raises(error):
            table.alter(change)
    assert table.metadata == before


def test_partitionings_follow_one_another(tmp_path: Path) -> None:
    """A field that was dropped and comes again has its id again, and so has a whole spec."""
    table = make(tmp_path, PartitionBy(terms=(term("at", "day"),)))
    table.alter(ChangePartitioning(dropped=term("at_day"), added=term("at", "hour")))
    table.alter(ChangePartitioning(added=term("id", "bucket", 8, "eighth")))
    table.alter(ChangePartitioning(dropped=term("eighth")))
    table.alter(ChangePartitioning(dropped=term("at", "hour"), added=term("at", "day")))
    specs = {
        spec["spec-id"]: [(each["name"], each["transform"], each["field-id"]) for each in spec["fields"]]
        for spec in table.metadata["partition-specs"]
    }
    assert specs == {
        0: [("at_day", "day", 1000)],
        1: [("at_hour", "hour", 1001)],
        2: [("at_hour", "hour", 1001), ("eighth", "bucket[8]", 1002)],
    }
    assert (table.metadata["default-spec-id"], table.metadata["last-partition-id"]) == (0, 1002)
    with pytest.raises(IcebergColumnInUse):
        table.alter(DropColumn(path=("at",)))
    table.alter(ChangePartitioning(dropped=term("at", "day")))
    table.alter(DropColumn(path=("at",)))
    assert "at" not in table.snapshot.definition.schema.names


PARTITIONS_OF_DATES: dict[str, tuple[PartitionTerm, bool]] = {
    "year": (term("day", "year"), True),
    "month": (term("day", "month"), True),
    "day": (term("day", "day"), True),
    "identity": (term("day"), False),
    "bucket": (term("day", "bucket", 4), False),
    "another column": (term("id"), True),
}


@pytest.mark.parametrize("case", PARTITIONS_OF_DATES)
@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_date_becomes_a_timestamp_where_partitions_stay_the_same(tmp_path: Path, case: str, is_dropped: bool) -> None:
    """Files with an earlier spec have the date's values."""
    made_from, is_possible = PARTITIONS_OF_DATES[case]
    table = make(tmp_path, PartitionBy(terms=(made_from,)), version="3")
    if is_dropped:
        table.alter(ChangePartitioning(dropped=made_from))
    change = ChangeType(path=("day",), data_type=PrimitiveType.TIMESTAMP_NTZ)
    if is_possible:
        table.alter(change)
        assert table.snapshot.definition.schema.fields[2].data_type is PrimitiveType.TIMESTAMP_NTZ
        return
    with pytest.raises(IcebergColumnInUse, match="day"):
        table.alter(change)
    assert table.metadata["current-schema-id"] == 0


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_field_that_became_void_keeps_its_id(tmp_path: Path, version: str) -> None:
    """Version 1 tables have such fields after an upgrade too."""
    table = make(tmp_path, PartitionBy(terms=(term("name"), term("day"))), version="1")
    table.alter(ChangePartitioning(dropped=term("name")))
    table.alter(SetProperty(key="format-version", value=version))
    again = term("name", name="again")
    table.alter(ChangePartitioning(added=again))
    expected = [("name", "void", 1000), ("day", "identity", 1001), ("again", "identity", 1002)]
    assert _last_spec(table) == expected
    table.alter(ChangePartitioning(dropped=term("again"), added=term("name", name="more")))
    remaining = expected[:2] + [("again", "void", 1002), ("more", "identity", 1003)]
    assert _last_spec(table) == (remaining if version == "1" else [*expected[:2], ("more", "identity", 1002)])
    StaticTable.from_metadata(f"file://{tmp_path}/t/metadata/v{4 + (version == '2')}.metadata.json")


@pytest.mark.parametrize("version", ["1", "3"])
def test_a_void_field_gives_its_name_away(tmp_path: Path, version: str) -> None:
    table = make(tmp_path, PartitionBy(terms=(term("name"), term("day"))), version="1")
    table.alter(ChangePartitioning(dropped=term("name")))
    table.alter(SetProperty(key="format-version", value=version))
    table.alter(ChangePartitioning(added=term("name")))
    expected = [("name_1000", "void", 1000), ("day", "identity", 1001), ("name", "identity", 1002)]
    assert _last_spec(table) == expected
    newest = max((tmp_path / "t" / "metadata").glob("v*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    fields = StaticTable.from_metadata(str(newest)).spec().fields
    assert [(each.name, str(each.transform), each.field_id) for each in fields] == expected


@pytest.mark.parametrize(
    ("key", "value", "is_changed"),
    [
        ("write.format.default", "orc", True),
        ("write.object-storage.enabled", "true", True),
        ("write.data.path", "file:///elsewhere", True),
        ("write.metadata.path", "file:///elsewhere", False),
    ],
)
def test_file_format_property_can_be_changed(tmp_path: Path, key: str, value: str, is_changed: bool) -> None:
    made = HandmadeTable(tmp_path / "t", properties={key: value})
    made.commit(made.data({"id": [1]}))
    own = IcebergFormat(open_storage, 1 << 24)
    with pytest.raises(IcebergFeatureNotSupported, match=key):
        own.load(str(made.folder)).ensure_supported(TableOperation.APPEND)
    snapshot = own.load(str(made.folder))
    if not is_changed:
        with pytest.raises(IcebergFeatureNotSupported, match=key):
            snapshot.ensure_supported(TableOperation.METADATA)
        return
    transaction = own.begin(snapshot, DESCRIPTION, "t")
    transaction.define(snapshot.change_definition("t", [UnsetProperty(key=key)]))
    transaction.commit()
    own.load(str(made.folder)).ensure_supported(TableOperation.APPEND)


def _last_spec(table: OwnTable) -> list[tuple[str, str, int]]:
    fields = table.metadata["partition-specs"][-1]["fields"]
    return [(each["name"], each["transform"], each["field-id"]) for each in fields]


def test_version_1_goes_on_with_void_fields_and_is_upgraded(tmp_path: Path) -> None:
    table = make(tmp_path, PartitionBy(terms=(term("day"), term("name"))), version="1")
    table.alter(ChangePartitioning(dropped=term("day")))
    metadata = table.metadata
    assert [each["transform"] for each in metadata["partition-spec"]] == ["void", "identity"]
    assert metadata["schema"]["schema-id"] == 0
    for version in ("2", "3"):
        table.alter(SetProperty(key="format-version", value=version))
    metadata = table.metadata
    assert (metadata["format-version"], metadata["last-sequence-number"], metadata["next-row-id"]) == (3, 0, 0)
    assert not {"schema", "partition-spec"} & metadata.keys()


def test_orders_and_identifiers(tmp_path: Path) -> None:
    table = make(tmp_path)
    terms = (SortTerm(term=term("id", "bucket", 4), descending=True), SortTerm(term=term("name"), nulls_first=False))
    table.alter(SortBy(terms=terms, distribution="range"), ChangeIdentifiers(columns=(("id",),)))
    found = StaticTable.from_metadata(f"file://{tmp_path}/t/metadata/v2.metadata.json")
    assert [str(each) for each in found.sort_order().fields] == [
        "bucket[4](1) DESC NULLS LAST",
        "4 ASC NULLS LAST",
    ]
    assert found.schema().identifier_field_ids == [1]
    assert found.properties == {"write.distribution-mode": "range"}
    table.alter(SortBy(terms=(), distribution="none"), ChangeIdentifiers(columns=(("id",),), dropped=True))
    assert (table.metadata["default-sort-order-id"], table.metadata["current-schema-id"]) == (0, 0)


DEFAULTS: list[tuple[str, str, Any]] = [
    ("integer", "-7", -7),
    ("long", "(3000000000L)", 3_000_000_000),
    ("double", "1e3", 1000.0),
    ("boolean", "TRUE", True),
    ("string", "'a b'", "a b"),
    ("string", "'x''y'", "x'y"),
    ("string", "''''", "'"),
    ("string", "'a' 'b'", None),
    ("string", "'a'b'", None),
    ("string", "X'00'", None),
    ("binary", "X'00ff'", "00ff"),
    ("date", "DATE '2024-02-29'", "2024-02-29"),
    ("date", "DATE '2023-02-29'", None),
    ("timestamp_ntz", "TIMESTAMP_NTZ'2024-02-29 10:00:00.5'", "2024-02-29T10:00:00.500000"),
    ("timestamp", "TIMESTAMP '2024-02-29 10:00:00+01:00'", "2024-02-29T09:00:00.000000+00:00"),
    ("timestamp", "TIMESTAMP '2024-02-29 10:00:00'", None),
    ("integer", "2147483648", None),
    ("integer", "1 + 1", None),
    ("date", "current_date()", None),
]


@pytest.mark.parametrize(("kind", "text", "value"), DEFAULTS)
def test_defaults_are_literals(tmp_path: Path, kind: str, text: str, value: Any) -> None:
    """None: rejected."""
    table = make(tmp_path, version="3")
    change = AddColumn(field=field("new", kind, nullable=False, default=text))
    if value is None:
        with pytest.raises(IcebergDefaultRefused):
            table.alter(change)
        return
    table.alter(change)
    new = table.metadata["schemas"][-1]["fields"][-1]
    assert (new["initial-default"], new["write-default"]) == (value, value)
    assert table.snapshot.schema.fields[-1].metadata["CURRENT_DEFAULT"]
    table.alter(SetColumnMetadata(path=("new",), key="CURRENT_DEFAULT", value=None))
    new = table.metadata["schemas"][-1]["fields"][-1]
    assert new["initial-default"] == value and "write-default" not in new


def test_a_table_that_is_made_again_keeps_ids_of_equal_columns(tmp_path: Path) -> None:
    table = make(tmp_path, PartitionBy(terms=(term("at", "day"),)), SetProperty(key="owner", value="me"))
    snapshot = table.snapshot
    again = columns(name="string!", id="integer", new="long")
    definition = snapshot.replace_definition("t", again, ("new",), [SetProperty(key="k", value="v")], {})
    assert [(each.id, each.name, each.required) for each in definition.iceberg_schema.fields] == [
        (4, "name", True),
        (14, "id", False),
        (15, "new", False),
    ]
    assert [(each.name, each.field_id) for each in definition.spec.fields] == [("new", 1001)]
    assert dict(definition.properties) == {"owner": "me", "k": "v"}


LACKED = [("uuid", "string"), ("time", "string"), ("fixed[3]", "binary"), ("timestamp_ns", "timestamp_ntz")]


@pytest.mark.parametrize(("stored", "shown"), LACKED)
def test_replaced_table_has_requested_types(tmp_path: Path, stored: str, shown: str) -> None:
    """Not types that are only displayed as these."""
    table = HandmadeTable(tmp_path / "t", columns=[{"id": 1, "name": "c", "required": False, "type": stored}])
    table.write()
    snapshot = IcebergFormat(open_storage, 1 << 24).load(str(table.folder))
    assert snapshot.schema == columns(c=shown)
    (again,) = snapshot.replace_definition("t", columns(c=shown), (), [], {}).iceberg_schema.fields
    assert again.id > 1 and type_name(again.type) == {"timestamp_ntz": "timestamp"}.get(shown, shown)
    (remaining,) = snapshot.change_definition("t", [RenameColumn(path=("c",), name="d")]).iceberg_schema.fields
    assert (remaining.id, type_name(remaining.type)) == (1, stored)


TIMES = [
    ("22:31", "22:31:00.000000"),
    ("22:31:08.5", "22:31:08.500000"),
    ("22:31:08.1234567", None),
    ("2231", None),
    ("T22:31", None),
    ("22:31:08,5", None),
    ("24:00", None),
]


@pytest.mark.parametrize(("text", "value"), TIMES)
def test_defaults_of_times(text: str, value: str | None) -> None:
    """In the spelling that rows use. None: rejected."""
    if value is None:
        with pytest.raises(IcebergDefaultRefused):
            default_json("t", SimpleType(Kind.TIME), f"'{text}'")
    else:
        assert default_json("t", SimpleType(Kind.TIME), f"'{text}'") == value
