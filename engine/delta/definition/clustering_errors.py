"""Conditions of clustered tables, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class PartitionedTableNotClusterable(
    DeltaError, condition="DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED", sqlstate="42000"
):
    table: str
    partitions: str
    template = (
        "{table} is partitioned by ({partitions}), so it cannot be clustered. CREATE OR REPLACE TABLE … CLUSTER BY (…) "
        "AS SELECT … makes it a clustered one."
    )


@dataclass(eq=False)
class ClusteredTableNotPartitionable(
    DeltaError, condition="DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE", sqlstate="42000"
):
    table: str
    template = (
        "{table} can be clustered, so it cannot be replaced by a partitioned table. Drop it first, or leave "
        "PARTITIONED BY out."
    )


@dataclass(eq=False)
class TooManyClusteringColumns(DeltaError, condition="DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", sqlstate="54000"):
    count: int
    highest: int
    template = "A table can be clustered by {highest} columns at most, and not by {count}."


@dataclass(eq=False)
class DuplicateClusteringColumns(DeltaError, condition="DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY", sqlstate="42711"):
    columns: str
    template = "CLUSTER BY names columns twice (upper and lower case are one): {columns}."


@dataclass(eq=False)
class ClusteringTypeNotSupported(
    DeltaError, condition="DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", sqlstate="0A000"
):
    columns: str
    template = (
        "A table cannot be clustered by {columns}: files have no least and greatest value of such columns. Use columns "
        "of numbers, texts or times, or fields of that kind inside of structs."
    )


@dataclass(eq=False)
class ClusteringColumnMissingStats(DeltaError, condition="DELTA_CLUSTERING_COLUMN_MISSING_STATS", sqlstate="22000"):
    columns: str
    template = (
        "The clustering columns {columns} would be without statistics. Name them in "
        "'delta.dataSkippingStatsColumns', or let 'delta.dataSkippingNumIndexedCols' reach them."
    )


@dataclass(eq=False)
class ClusteringColumnNotDroppable(DeltaError, condition="DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", sqlstate="0AKDC"):
    column: str
    template = (
        "The column {column} cannot be dropped while the table is clustered by it. ALTER TABLE … CLUSTER BY other "
        "columns, or NONE, first."
    )


@dataclass(eq=False)
class ClusteringFeatureOfNewTable(
    DeltaError, condition="DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED", sqlstate="42000"
):
    feature: str
    template = "The table feature {feature} is not set by a property. CREATE TABLE … CLUSTER BY (…) brings it."


@dataclass(eq=False)
class ClusteringFeatureOfTable(
    DeltaError, condition="DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED", sqlstate="42000"
):
    feature: str
    template = "The table feature {feature} is not set by a property. ALTER TABLE … CLUSTER BY (…) brings it."
