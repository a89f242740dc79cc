"""Definition changes: the protocol and metadata that each produces, and rejected ones."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from catalog import conditions
from catalog.conditions import (
    AddedColumnNotNull,
    ColumnChangeNotSupported,
    ColumnNotFound,
    DuplicateColumns,
    NestedVoid,
    ParentNotStruct,
)
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.metadata_changes import (
    MetadataChange,
    change_table,
    define_table,
    with_defaults,
)
from engine.delta.definition.property_changes import DropFeature
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Protocol
from engine.delta.spec.protocols import protocol_features
from engine.tables.definition_changes import (
    AddColumn,
    AddConstraint,
    ChangeNullable,
    ChangeType,
    DropColumn,
    DropConstraint,
    MoveColumn,
    RenameColumn,
    SetColumnMetadata,
    SetDescription,
    SetProperty,
    UnsetProperty,
    set_properties,
)
from engine.tables.operations import TableOperation
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
    walk_fields,
)
from engine.types.schema_changes import After, First
from tests.engine.delta.committing import describe
from tests.interleave.storages import DictStorage

P = PrimitiveType


def column(name: str, kind: DataType = P.LONG, nullable: bool = True, **metadata: Any) -> StructField:
    return StructField(name, kind, nullable, metadata)


SCHEMA = StructType(
    (
        column("id", P.INTEGER),
        column("s", StructType((column("x", P.SHORT), column("y")))),
        column("list", ArrayType(StructType((column("e"),)))),
        column("m", MapType(P.STRING, P.INTEGER)),
        column("day", P.DATE),
    )
)


def names(prefix: str = "new") -> Any:
    counter = itertools.count(1)
    return lambda _: f"{prefix}-{next(counter)}"


def define(schema: StructType = SCHEMA, **settings: str) -> Definition:
    return define_table(
        "t",
        schema,
        partition_columns=("day",) if "day" in schema.names else (),
        changes=set_properties({key.replace("_", "."): value for key, value in settings.items()}),
        new_name=names(),
    )


def change(before: Definition, *changes: MetadataChange) -> Definition:
    return change_table(before.config("t"), changes, names("later"))


def schema_of(definition: Definition) -> StructType:
    return parse_schema(definition.metadata.schema_string)


def leaves(definition: Definition) -> str:
    return " ".join(
        ".".join(path)
        for path, field in walk_fields(schema_of(definition))
        if not isinstance(field.data_type, StructType | ArrayType)
    )


MAPPED = define(delta_columnMapping_mode="name")
PLAIN = define()
WIDENING = define(delta_enableTypeWidening="true")


@pytest.mark.parametrize(
    ("before", "changes", "expected"),
    [
        (PLAIN, (AddColumn(field=column("new")),), "id s.x s.y list.element.e m day new"),
        (PLAIN, (AddColumn(field=column("new"), position=First()),), "new id s.x s.y list.element.e m day"),
        (PLAIN, (AddColumn(field=column("new"), position=After("ID")),), "id new s.x s.y list.element.e m day"),
        (PLAIN, (AddColumn(field=column("new"), parent=("s",)),), "id s.x s.y s.new list.element.e m day"),
        (
            PLAIN,
            (AddColumn(field=column("new"), parent=("list", "element"), position=First()),),
            "id s.x s.y list.element.new list.element.e m day",
        ),
        (PLAIN, (MoveColumn(path=("day",), position=First()),), "day id s.x s.y list.element.e m"),
        (PLAIN, (MoveColumn(path=("s", "x"), position=After("y")),), "id s.y s.x list.element.e m day"),
        (MAPPED, (RenameColumn(path=("id",), name="key 1"),), "key 1 s.x s.y list.element.e m day"),
        (MAPPED, (RenameColumn(path=("S", "X"), name="z"),), "id s.z s.y list.element.e m day"),
        (MAPPED, (RenameColumn(path=("list", "element", "e"), name="f"),), "id s.x s.y list.element.f m day"),
        (MAPPED, (DropColumn(path=("id",)),), "s.x s.y list.element.e m day"),
        (MAPPED, (DropColumn(path=("s", "x")),), "id s.y list.element.e m day"),
        (
            MAPPED,
            (RenameColumn(path=("id",), name="a"), RenameColumn(path=("a",), name="b"), DropColumn(path=("b",))),
            "s.x s.y list.element.e m day",
        ),
    ],
)
def test_columns_come_go_and_move(before: Definition, changes: tuple[MetadataChange, ...], expected: str) -> None:
    assert leaves(change(before, *changes)) == expected


REFUSED: list[tuple[Definition, MetadataChange, type[Exception]]] = [
    (PLAIN, AddColumn(field=column("ID")), DuplicateColumns),
    (PLAIN, AddColumn(field=column("X"), parent=("s",)), DuplicateColumns),
    (PLAIN, AddColumn(field=column("a b")), conditions.InvalidColumnNames),
    (PLAIN, AddColumn(field=column("a"), parent=("id",)), ParentNotStruct),
    (PLAIN, AddColumn(field=column("a"), parent=("m",)), ParentNotStruct),
    (PLAIN, AddColumn(field=column("a"), parent=("nothing",)), ColumnNotFound),
    (PLAIN, AddColumn(field=column("a"), position=After("nothing")), ColumnNotFound),
    (PLAIN, AddColumn(field=column("a", nullable=False)), AddedColumnNotNull),
    (PLAIN, AddColumn(field=column("a", StructType((column("b", nullable=False),)))), AddedColumnNotNull),
    (PLAIN, AddColumn(field=column("a", P.TIMESTAMP_NTZ)), conditions.FeaturesRequireManualEnablement),
    (PLAIN, RenameColumn(path=("id",), name="a"), conditions.RenameRequiresMapping),
    (PLAIN, DropColumn(path=("id",)), conditions.DropRequiresMapping),
    (MAPPED, RenameColumn(path=("nothing",), name="a"), ColumnNotFound),
    (MAPPED, RenameColumn(path=("id",), name="DAY"), DuplicateColumns),
    (MAPPED, DropColumn(path=("nothing",)), ColumnNotFound),
    (MAPPED, DropColumn(path=("day",)), conditions.PartitionColumnNotDroppable),
    (MAPPED, DropColumn(path=("list", "element", "e")), conditions.LastColumnNotDroppable),
    (PLAIN, MoveColumn(path=("id",), position=After("nothing")), ColumnNotFound),
    (PLAIN, ChangeType(path=("id",), data_type=P.LONG), ColumnChangeNotSupported),
    (WIDENING, ChangeType(path=("id",), data_type=P.STRING), ColumnChangeNotSupported),
    (WIDENING, ChangeType(path=("id",), data_type=P.SHORT), ColumnChangeNotSupported),
    (WIDENING, ChangeType(path=("s",), data_type=P.LONG), ColumnChangeNotSupported),
    (PLAIN, ChangeNullable(path=("id",), nullable=False), ColumnChangeNotSupported),
    (PLAIN, SetProperty(key="delta.nothing", value="1"), conditions.UnknownTableProperty),
    (PLAIN, SetProperty(key="delta.constraints.a", value="id > 0"), conditions.ConstraintsAreNoProperties),
    (PLAIN, SetProperty(key="delta.feature.nothing", value="supported"), conditions.UnsupportedFeaturesInConfig),
    (PLAIN, SetProperty(key="delta.feature.clustering", value="yes"), conditions.UnsupportedFeatureStatus),
    (PLAIN, SetProperty(key="delta.minWriterVersion", value="1"), conditions.InvalidProtocolDowngrade),
    (PLAIN, SetProperty(key="delta.minWriterVersion", value="8"), conditions.InvalidTableProperty),
    (PLAIN, SetProperty(key="delta.minReaderVersion", value="two"), conditions.ProtocolPropertyNotInteger),
    (PLAIN, SetProperty(key="delta.columnMapping.mode", value="id"), conditions.MappingModeNotChangeable),
    (MAPPED, SetProperty(key="delta.columnMapping.mode", value="id"), conditions.MappingModeNotChangeable),
    (MAPPED, SetProperty(key="delta.columnMapping.mode", value="none"), conditions.MappingModeNotChangeable),
    (MAPPED, UnsetProperty(key="delta.columnMapping.mode"), conditions.MappingModeNotChangeable),
    (MAPPED, UnsetProperty(key="delta.columnMapping.maxColumnId"), conditions.PropertyNotSettable),
    (PLAIN, UnsetProperty(key="delta.constraints.a"), conditions.ConstraintsAreNoProperties),
    (PLAIN, DropConstraint(name="a"), conditions.ConstraintDoesNotExist),
    (PLAIN, DropFeature(name="deletionVectors"), conditions.FeatureNotPresent),
    (PLAIN, DropFeature(name="nothing"), conditions.FeatureNotPresent),
    (PLAIN, DropFeature(name="appendOnly"), conditions.FeatureNotRemovable),
    (MAPPED, DropFeature(name="columnMapping"), conditions.FeaturesProtocolMismatch),
    (define(delta_enableRowTracking="true"), DropFeature(name="domainMetadata"), conditions.FeatureHasDependents),
]


@pytest.mark.parametrize(("before", "wrong", "expected"), REFUSED, ids=[str(row[1]) for row in REFUSED])
def test_invalid_metadata_changes_are_rejected(
    before: Definition, wrong: MetadataChange, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        change(before, wrong)


# --- Column mapping --------------------------------------------------------------------------------------------------


def mapping(definition: Definition) -> dict[str, tuple[int, str]]:
    return {
        ".".join(path): (field.metadata["delta.columnMapping.id"], field.metadata["delta.columnMapping.physicalName"])
        for path, field in walk_fields(schema_of(definition))
    }


def test_a_new_mapped_table_has_unique_names_and_ids_at_every_level() -> None:
    assert mapping(MAPPED) == {
        "id": (1, "new-1"),
        "s": (2, "new-2"),
        "s.x": (3, "new-3"),
        "s.y": (4, "new-4"),
        "list": (5, "new-5"),
        "list.element.e": (6, "new-6"),
        "m": (7, "new-7"),
        "day": (8, "new-8"),
    }
    assert MAPPED.metadata.configuration["delta.columnMapping.maxColumnId"] == "8"
    assert (MAPPED.protocol.min_reader_version, MAPPED.protocol.min_writer_version) == (2, 7)


def test_turning_mapping_on_keeps_every_name_as_physical_name() -> None:
    after = change(PLAIN, SetProperty(key="delta.columnMapping.mode", value="name"), AddColumn(field=column("new")))
    assert mapping(after)["s.x"] == (3, "x")
    assert mapping(after)["new"] == (9, "later-1")
    assert after.metadata.configuration["delta.columnMapping.maxColumnId"] == "9"


def test_an_id_is_never_given_out_twice() -> None:
    dropped = change(MAPPED, DropColumn(path=("m",)), AddColumn(field=column("m")))
    assert mapping(dropped)["m"] == (9, "later-1")
    again = change(change(dropped, DropColumn(path=("m",))), AddColumn(field=column("m")))
    assert mapping(again)["m"][0] == 10


def test_a_rename_keeps_what_is_stored() -> None:
    before = define(delta_columnMapping_mode="id", delta_dataSkippingStatsColumns="id,s.x,day")
    after = change(before, RenameColumn(path=("day",), name="the day"), RenameColumn(path=("s",), name="t.u"))
    assert mapping(after)["the day"] == mapping(before)["day"]
    assert after.metadata.partition_columns == ("the day",)
    assert after.metadata.configuration["delta.dataSkippingStatsColumns"] == "id,`t.u`.x,`the day`"
    dropped = change(after, DropColumn(path=("t.u",)))
    assert dropped.metadata.configuration["delta.dataSkippingStatsColumns"] == "id,`the day`"


# --- Types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "is_allowed"),
    [
        (P.BYTE, P.SHORT, True),
        (P.BYTE, P.DOUBLE, True),
        (P.INTEGER, P.LONG, True),
        (P.INTEGER, P.DOUBLE, True),
        (P.LONG, P.DOUBLE, False),
        (P.LONG, P.INTEGER, False),
        (P.FLOAT, P.DOUBLE, True),
        (P.DOUBLE, P.FLOAT, False),
        (P.DATE, P.TIMESTAMP_NTZ, True),
        (P.DATE, P.TIMESTAMP, False),
        (P.INTEGER, DecimalType(10, 0), True),
        (P.INTEGER, DecimalType(10, 1), False),
        (P.INTEGER, DecimalType(12, 2), True),
        (P.LONG, DecimalType(20, 0), True),
        (P.LONG, DecimalType(19, 0), False),
        (DecimalType(10, 2), DecimalType(12, 2), True),
        (DecimalType(10, 2), DecimalType(12, 4), True),
        (DecimalType(10, 2), DecimalType(11, 4), False),
        (DecimalType(10, 2), DecimalType(10, 1), False),
        (P.STRING, P.BINARY, False),
        (P.VOID, P.STRING, True),
        (ArrayType(P.INTEGER), ArrayType(P.LONG), True),
        (ArrayType(P.INTEGER), ArrayType(P.STRING), False),
        (MapType(P.INTEGER, P.BYTE), MapType(P.LONG, P.SHORT), True),
        (ArrayType(P.INTEGER), P.LONG, False),
    ],
    ids=str,
)
def test_a_type_may_only_grow(old: DataType, new: DataType, is_allowed: bool) -> None:
    features = {"delta_feature_timestampNtz": "supported"} if new is P.TIMESTAMP_NTZ else {}
    before = define(StructType((column("c", old), column("other"))), delta_enableTypeWidening="true", **features)
    wish = ChangeType(path=("c",), data_type=new)
    if is_allowed:
        assert schema_of(change(before, wish)).fields[0].data_type == new
    else:
        with pytest.raises(ColumnChangeNotSupported):
            change(before, wish)


def test_every_type_widening_is_recorded() -> None:
    after = change(
        change(WIDENING, ChangeType(path=("id",), data_type=P.LONG)),
        ChangeType(path=("m",), data_type=MapType(P.STRING, P.LONG)),
        ChangeType(path=("s", "x"), data_type=P.INTEGER),
        ChangeType(path=("s", "x"), data_type=P.LONG),
        ChangeType(path=("s", "y"), data_type=P.LONG),
    )
    noted = {
        ".".join(path): field.metadata["delta.typeChanges"]
        for path, field in walk_fields(schema_of(after))
        if "delta.typeChanges" in field.metadata
    }
    assert noted == {
        "id": [{"fromType": "integer", "toType": "long"}],
        "m": [{"fromType": "integer", "toType": "long", "fieldPath": "value"}],
        "s.x": [{"fromType": "short", "toType": "integer"}, {"fromType": "integer", "toType": "long"}],
    }


# --- Properties, constraints, features -------------------------------------------------------------------------------


def test_properties_are_set_and_taken_away() -> None:
    after = change(PLAIN, SetProperty(key="DELTA.APPENDONLY", value="true"), SetProperty(key="owner", value="me"))
    assert after.metadata.configuration == {"delta.appendOnly": "true", "owner": "me"}
    back = change(after, UnsetProperty(key="delta.appendOnly"), UnsetProperty(key="gone"))
    assert back.metadata.configuration == {"owner": "me"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"delta.minWriterVersion": "3"}, (1, 3)),
        ({"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}, (2, 5)),
        ({"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"}, (1, 2)),
        ({"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}, (1, 2)),
        ({"delta.feature.deletionVectors": "supported"}, (3, 7)),
        ({"delta.feature.CHECKCONSTRAINTS": "enabled"}, (1, 3)),
        ({"delta.enableChangeDataFeed": "true"}, (1, 7)),
    ],
    ids=str,
)
def test_some_keys_speak_to_the_protocol(settings: dict[str, str], expected: tuple[int, int]) -> None:
    after = change(PLAIN, *set_properties(settings))
    assert (after.protocol.min_reader_version, after.protocol.min_writer_version) == expected
    assert not any(key.startswith(("delta.min", "delta.feature")) for key in after.metadata.configuration)


def test_constraints_are_texts_under_folded_names() -> None:
    after = change(PLAIN, AddConstraint(name="Positive", expression="id > 0"))
    assert after.metadata.configuration == {"delta.constraints.positive": "id > 0"}
    assert after.protocol == Protocol(min_reader_version=1, min_writer_version=3)
    with pytest.raises(conditions.ConstraintAlreadyExists, match="id > 0"):
        change(after, AddConstraint(name="POSITIVE", expression="id > 1"))
    assert change(after, DropConstraint(name="POSITIVE")).metadata.configuration == {}
    assert change(PLAIN, DropConstraint(name="x", if_exists=True)) == PLAIN


def test_a_constraint_must_go_before_its_feature() -> None:
    after = change(PLAIN, AddConstraint(name="a", expression="id > 0"))
    with pytest.raises(conditions.ConstraintFeatureInUse, match="a"):
        change(after, DropFeature(name="checkConstraints"))
    assert change(after, DropConstraint(name="a"), DropFeature(name="checkconstraints")).protocol == PLAIN.protocol


def test_dropping_a_feature_takes_its_switch_along() -> None:
    before = define(delta_enableDeletionVectors="true")
    after = change(before, DropFeature(name="deletionVectors"))
    assert after.drops == {"deletionVectors"}
    assert (after.protocol, after.metadata.configuration) == (PLAIN.protocol, {})


def test_versions_with_dropped_feature_are_protected() -> None:
    before = define(delta_enableDeletionVectors="true")
    after = change(before, DropFeature(name="deletionVectors", protect_before=7))
    assert protocol_features(after.protocol) == {"appendOnly", "invariants", "checkpointProtection"}
    assert after.metadata.configuration == {"delta.requireCheckpointProtectionBeforeVersion": "7"}


def test_row_tracking_begins_with_the_table() -> None:
    configuration = define(delta_enableRowTracking="true").metadata.configuration
    assert {key.rpartition(".")[2] for key in configuration} == {
        "enableRowTracking",
        "materializedRowIdColumnName",
        "materializedRowCommitVersionColumnName",
    }


def test_comments_and_column_metadata() -> None:
    after = change(
        PLAIN,
        SetDescription(text="a table"),
        SetColumnMetadata(path=("s", "x"), key="comment", value="a field"),
        ChangeNullable(path=("id",), nullable=True),
    )
    assert after.metadata.description == "a table"
    field = schema_of(after).fields[1].data_type
    assert isinstance(field, StructType) and field.fields[0].comment == "a field"
    assert (
        change(after, SetColumnMetadata(path=("s", "x"), key="comment", value=None), SetDescription(text=None)) == PLAIN
    )


@pytest.mark.parametrize(
    ("schema", "partitions", "settings", "expected"),
    [
        (StructType((column("a"), column("A"))), (), {}, DuplicateColumns),
        (StructType((column("a=b"),)), (), {}, conditions.InvalidColumnNames),
        (StructType((column("a"),)), ("b",), {}, conditions.PartitionColumnNotFound),
        (StructType((column("a"),)), ("a",), {}, conditions.AllColumnsArePartitions),
        (StructType((column("a"), column("b"), column("c"))), ("a", "a"), {}, DuplicateColumns),
        (StructType((column("a"), column("b", ArrayType(P.VOID)))), (), {}, NestedVoid),
        (StructType((column("a"), column("b", P.VOID))), ("b",), {}, conditions.InvalidPartitionColumnType),
        (SCHEMA, ("s",), {}, conditions.InvalidPartitionColumnType),
        (
            StructType((column("_change_type"),)),
            (),
            {"delta.enableChangeDataFeed": "true"},
            conditions.ReservedColumnNames,
        ),
    ],
)
def test_a_table_that_cannot_be_defined(
    schema: StructType, partitions: tuple[str, ...], settings: dict[str, str], expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        define_table("t", schema, partition_columns=partitions, changes=set_properties(settings))


def test_names_are_free_under_column_mapping() -> None:
    define(StructType((column("a = b, c"), column("x.y"))), delta_columnMapping_mode="id")


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"delta.columnMapping.maxColumnId": "3"}, conditions.MaxColumnIdTooLow),
        ({}, conditions.MaxColumnIdNotSet),
    ],
)
def test_a_commit_whose_mapping_is_broken_is_refused(broken: dict[str, str], expected: type[Exception]) -> None:
    storage = DictStorage()
    transaction = Transaction.create(storage, describe(TableOperation.METADATA))
    configuration = {"delta.columnMapping.mode": "name", **broken}
    metadata = type(MAPPED.metadata)(
        id="x", schema_string=MAPPED.metadata.schema_string, partition_columns=("day",), configuration=configuration
    )
    transaction.stage(MAPPED.protocol, metadata)
    with pytest.raises(expected):
        transaction.commit()


def test_a_definition_is_what_a_transaction_stages() -> None:
    storage = DictStorage()
    transaction = Transaction.create(storage, describe(TableOperation.METADATA, "CREATE TABLE"))
    transaction.stage(MAPPED.protocol, MAPPED.metadata)
    transaction.commit()
    snapshot = Snapshot.load(storage)
    renamed = change_table(snapshot.config, (RenameColumn(path=("id",), name="key"),))
    transaction = Transaction.on(snapshot, describe(TableOperation.METADATA, "RENAME COLUMN"))
    transaction.stage(renamed.protocol, renamed.metadata)
    transaction.commit()
    assert Snapshot.load(storage).schema.names[0] == "key"


def test_properties_that_the_session_gives_to_a_new_table() -> None:
    """The statement's property takes precedence, in any case spelling."""
    prefix = "spark.databricks.delta.properties.defaults."
    settings = {f"{prefix}appendOnly": "true", f"{prefix}enableChangeDataFeed": "true", "spark.sql.ansi.enabled": "x"}
    written = (SetProperty(key="DELTA.APPENDONLY", value="false"), SetDescription(text="c"))
    feed = SetProperty(key="delta.enableChangeDataFeed", value="true")
    assert with_defaults(written, settings) == (feed, *written)
    assert with_defaults((), {}) == ()
