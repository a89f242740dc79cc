"""Clustering columns in the log: their spelling, allowed changes, and their statistics."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from catalog import conditions as refusals
from catalog.conditions import (
    ClusteredAndPartitioned,
    ColumnNotFound,
    FeatureNotRemovable,
    MalformedLogEntry,
    PropertyNotSettable,
)
from engine.delta.definition.clustering import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    clustering_names,
    format_clustering,
    measured_columns,
    parse_clustering,
)
from engine.delta.definition.metadata_changes import (
    MetadataChange,
    change_table,
    define_table,
    redefine_table,
)
from engine.delta.definition.property_changes import DropFeature
from engine.delta.definition.table_draft import Definition
from engine.delta.spec.actions import DomainMetadata
from engine.delta.spec.protocols import add_features
from engine.tables.definition_changes import (
    AddColumn,
    ClusterBy,
    DropColumn,
    RenameColumn,
    SetProperty,
    UnsetProperty,
    set_properties,
)
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import First

P = PrimitiveType


def struct(**fields: DataType) -> StructType:
    return StructType(tuple(StructField(name.replace("_dot_", "."), kind) for name, kind in fields.items()))


SCHEMA = struct(
    id=P.LONG,
    s=struct(a=P.DATE, t=struct(b=P.STRING, l=ArrayType(P.LONG))),
    dec=DecimalType(9, 2),
    flag=P.BOOLEAN,
    raw=P.BINARY,
    list=ArrayType(struct(e=P.LONG)),
    map=MapType(P.STRING, P.LONG),
    day=P.DATE,
)


def clustered(
    *columns: str, schema: StructType = SCHEMA, partitions: tuple[str, ...] = (), **settings: str
) -> Definition:
    counter = itertools.count(1)
    return define_table(
        "t",
        schema,
        partition_columns=partitions,
        changes=[
            *set_properties({f"delta.{key}".replace("__", "."): value for key, value in settings.items()}),
            by(*columns),
        ],
        new_name=lambda _: f"col-{next(counter)}",
    )


def by(*columns: str) -> ClusterBy:
    return ClusterBy(columns=tuple(tuple(column.split(".")) for column in columns))


def change(before: Definition, *changes: MetadataChange) -> Definition:
    return change_table(before.config("t"), changes)


def domain(configuration: Any) -> DomainMetadata:
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    return DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text)


# --- The domain ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "paths"),
    [
        ([["a"], ["s", "b"]], (("a",), ("s", "b"))),
        (["a", "b.c"], (("a",), ("b.c",))),
        ([{"physicalName": ["a"]}, {"physicalName": ["s", "b"]}], (("a",), ("s", "b"))),
        ([], ()),
    ],
)
def test_the_domain_is_read_in_each_of_its_spellings(columns: Any, paths: Any) -> None:
    assert parse_clustering(domain({"clusteringColumns": columns})) == paths


def test_the_domain_is_written_as_delta_spark_writes_it() -> None:
    written = format_clustering([("a",), ("s", "bä")])
    assert written.configuration == '{"clusteringColumns":[["a"],["s","bä"]],"domainName":"delta.clustering"}'
    assert parse_clustering(written) == (("a",), ("s", "bä"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"clusteringColumns":1}',
        '{"clusteringColumns":[1]}',
        '{"clusteringColumns":[[]]}',
        '{"clusteringColumns":[[1]]}',
        '{"clusteringColumns":[{}]}',
    ],
)
def test_a_domain_that_is_not_understood_is_said_to_be(text: str) -> None:
    with pytest.raises(MalformedLogEntry):
        parse_clustering(domain(text))


# --- Definitions -----------------------------------------------------------------------------------------------------


def test_a_clustered_table_has_the_domain_and_the_features_for_it() -> None:
    table = clustered("ID", "s.T.b")
    assert table.clustering == format_clustering([("id",), ("s", "t", "b")])
    protocol = table.protocol
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 7)
    assert protocol.writer_features == ("appendOnly", "clustering", "domainMetadata", "invariants")


def test_the_domain_of_a_mapped_table_has_physical_names_that_renames_leave_alone() -> None:
    table = clustered("s.a", "id", columnMapping__mode="name")
    assert parse_clustering(table.clustering) == (("col-2", "col-3"), ("col-1",))
    renamed = change(table, RenameColumn(path=("s", "a"), name="x.y"), RenameColumn(path=("s",), name="other"))
    assert renamed.clustering == table.clustering
    assert clustering_names(renamed.config("t")) == ["other.`x.y`", "id"]


def test_clustering_is_changed_and_ended() -> None:
    table = clustered("id")
    other = change(table, by("day", "dec"))
    assert parse_clustering(other.clustering) == (("day",), ("dec",))
    none = change(other, by())
    assert none.clustering == format_clustering([])
    assert none.protocol == table.protocol
    assert clustering_columns(none.config("t")) == ()


def test_cluster_by_none_leaves_an_unclustered_table_unchanged() -> None:
    assert change(PLAIN, by()) == PLAIN
    assert clustered().clustering is None
    assert clustered().protocol == PLAIN.protocol


def test_an_existing_table_gets_the_feature_with_its_columns() -> None:
    table = change(define_table("t", SCHEMA), by("id"))
    assert table.protocol.writer_features == ("appendOnly", "clustering", "domainMetadata", "invariants")


def test_a_replaced_table_is_clustered_by_what_the_new_one_says() -> None:
    old = clustered("id").config("t")
    assert redefine_table(old, SCHEMA).clustering == format_clustering([])
    assert redefine_table(PLAIN.config("t"), SCHEMA).clustering is None
    assert redefine_table(old, SCHEMA, changes=[by("day")]).clustering == format_clustering([("day",)])
    with pytest.raises(refusals.ClusteredTableNotPartitionable):
        redefine_table(old, SCHEMA, partition_columns=("day",))


def test_a_domain_means_nothing_without_the_feature() -> None:
    table = define_table("t", SCHEMA)
    config = Definition(protocol=table.protocol, metadata=table.metadata, clustering=domain("nonsense")).config("t")
    assert clustering_columns(config) == ()


# --- Rejected changes ------------------------------------------------------------------------------------------------

WIDE = struct(**{f"c{number}": P.LONG for number in range(40)})
NEW = [
    (("nothing",), {}, ColumnNotFound),
    (("s.nothing",), {}, ColumnNotFound),
    (("list.element.e",), {}, ColumnNotFound),
    (("id", "s.a", "Id"), {}, refusals.DuplicateClusteringColumns),
    (("id", "s.a", "s.t.b", "dec", "day"), {}, refusals.TooManyClusteringColumns),
    (("s",), {}, refusals.ClusteringTypeNotSupported),
    (("list",), {}, refusals.ClusteringTypeNotSupported),
    (("map",), {}, refusals.ClusteringTypeNotSupported),
    (("flag",), {}, refusals.ClusteringTypeNotSupported),
    (("raw",), {}, refusals.ClusteringTypeNotSupported),
    (("id",), {"partitions": ("day",)}, ClusteredAndPartitioned),
    (("c32",), {"schema": WIDE}, refusals.ClusteringColumnMissingStats),
    (("id",), {"dataSkippingNumIndexedCols": "0"}, refusals.ClusteringColumnMissingStats),
    (("id",), {"dataSkippingStatsColumns": "day"}, refusals.ClusteringColumnMissingStats),
    (("id",), {"feature__clustering": "supported"}, refusals.ClusteringFeatureOfNewTable),
    (("id",), {"feature__liquid": "supported"}, refusals.ClusteringFeatureOfNewTable),
]


@pytest.mark.parametrize(("columns", "options", "refusal"), NEW)
def test_invalid_clustering_columns_of_a_new_table(
    columns: tuple[str, ...], options: Any, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        clustered(*columns, **options)


PLAIN = define_table("t", SCHEMA)
BY_ID = clustered("id")
MAPPED = clustered("s.a", columnMapping__mode="name")
NARROW = struct(**{f"c{number}": P.LONG for number in range(32)})
CHANGES = [
    (define_table("t", SCHEMA, partition_columns=("day",)), by("id"), refusals.PartitionedTableNotClusterable),
    (PLAIN, by("flag"), refusals.ClusteringTypeNotSupported),
    (PLAIN, by("nothing"), ColumnNotFound),
    (PLAIN, SetProperty(key="delta.feature.clustering", value="supported"), refusals.ClusteringFeatureOfTable),
    (PLAIN, SetProperty(key="clusteringColumns", value="id"), PropertyNotSettable),
    (BY_ID, DropFeature(name="clustering"), FeatureNotRemovable),
    (BY_ID, SetProperty(key="delta.dataSkippingStatsColumns", value="day,s"), refusals.ClusteringColumnMissingStats),
    (BY_ID, SetProperty(key="delta.dataSkippingNumIndexedCols", value="0"), refusals.ClusteringColumnMissingStats),
    (
        clustered("c39", schema=WIDE, dataSkippingStatsColumns="c39"),
        UnsetProperty(key="delta.dataSkippingStatsColumns"),
        refusals.ClusteringColumnMissingStats,
    ),
    (
        clustered("c31", schema=NARROW),
        AddColumn(field=StructField("first", P.LONG), position=First()),
        refusals.ClusteringColumnMissingStats,
    ),
    (MAPPED, DropColumn(path=("s", "a")), refusals.ClusteringColumnNotDroppable),
    (MAPPED, DropColumn(path=("S",)), refusals.ClusteringColumnNotDroppable),
]  # fmt: skip


@pytest.mark.parametrize(("before", "wrong", "refusal"), CHANGES, ids=[str(row[1]) for row in CHANGES])
def test_invalid_clustering_changes_are_rejected(
    before: Definition, wrong: MetadataChange, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        change(before, wrong)


@pytest.mark.parametrize(
    ("before", "allowed"),
    [
        (MAPPED, DropColumn(path=("s", "t"))),
        (MAPPED, DropColumn(path=("id",))),
        (BY_ID, SetProperty(key="delta.dataSkippingStatsColumns", value="ID")),
        (BY_ID, SetProperty(key="delta.dataSkippingNumIndexedCols", value="1")),
        (change(MAPPED, by()), DropColumn(path=("s", "a"))),
    ],
)
def test_changes_that_keep_clustering_are_allowed(before: Definition, allowed: MetadataChange) -> None:
    assert change(before, allowed).clustering == before.clustering


# --- Statistics ------------------------------------------------------------------------------------------------------

# A table whose clustering column other writers' settings leave out, as `left_out` makes it.
MADE_ELSEWHERE = clustered("c39", schema=WIDE, dataSkippingStatsColumns="c1,c39")


def left_out(definition: Definition, **settings: str) -> Definition:
    configuration = {f"delta.{key}": value for key, value in settings.items()}
    return replace(definition, metadata=replace(definition.metadata, configuration=configuration))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [*(f"c{number}" for number in range(32)), "c39"]),
        ({"dataSkippingNumIndexedCols": "0"}, ["c39"]),
        ({"dataSkippingStatsColumns": "c39,c5"}, ["c5", "c39"]),
        ({"dataSkippingStatsColumns": "c35"}, ["c35", "c39"]),
    ],
)
def test_clustering_columns_have_statistics_whatever_the_settings_say(
    settings: dict[str, str], expected: list[str]
) -> None:
    table = left_out(MADE_ELSEWHERE, **settings)
    assert list(measured_columns(table.config("t")).names) == expected


def test_a_nested_clustering_column_has_statistics_beside_its_siblings() -> None:
    table = left_out(clustered("s.t.b"), dataSkippingStatsColumns="s.a,id")
    assert measured_columns(table.config("t")) == struct(id=P.LONG, s=struct(a=P.DATE, t=struct(b=P.STRING)))


def test_a_table_of_another_writer_without_these_statistics_can_be_changed() -> None:
    before = left_out(MADE_ELSEWHERE)
    after = change(before, SetProperty(key="owner", value="me"), AddColumn(field=StructField("new", P.LONG)))
    assert after.clustering == before.clustering


def test_a_table_whose_clustering_column_is_gone_can_be_used_and_mended() -> None:
    """delta-spark allows dropping a struct that contains the clustering column."""
    table = clustered("s.a", "id", columnMapping__mode="name")
    gone = format_clustering([("col-gone", "col-inside"), *parse_clustering(table.clustering)[1:]])
    before = replace(table, clustering=gone)
    assert clustering_names(before.config("t")) == ["col-gone.col-inside", "id"]
    assert measured_columns(before.config("t")) == before.config("t").schema
    after = change(before, SetProperty(key="owner", value="me"), DropColumn(path=("s",)))
    assert after.clustering == gone
    assert clustering_names(change(after, by("day")).config("t")) == ["day"]


def test_the_feature_is_known_by_its_old_name_too() -> None:
    plain, table = define_table("t", SCHEMA), clustered("id")
    old = add_features(plain.protocol, {"liquid"})
    before = Definition(protocol=old, metadata=table.metadata, clustering=table.clustering)
    assert clustering_names(before.config("t")) == ["id"]
    assert change(before, by("day")).protocol == old
