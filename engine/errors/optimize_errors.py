"""Conditions of OPTIMIZE and REORG TABLE, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class NotPartitionColumns(SqlError, condition="DELTA_NON_PARTITION_COLUMN_REFERENCE", sqlstate="42P10"):
    clause: str
    column: str
    partitions: str
    template = (
        "The condition of {clause} uses {column}, which is no partition column. It chooses whole partitions, so it may "
        "only use partition columns: [{partitions}]."
    )


@dataclass(eq=False)
class ZorderColumnNotFound(SqlError, condition="DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", sqlstate="42703"):
    column: str
    template = "ZORDER BY names {column}, which the table does not have."


@dataclass(eq=False)
class ZorderByPartition(SqlError, condition="DELTA_ZORDERING_ON_PARTITION_COLUMN", sqlstate="42P10"):
    column: str
    template = (
        "{column} is a partition column, and all rows of a file have one value of it already. ZORDER BY other columns."
    )


@dataclass(eq=False)
class ZorderWithoutStatistics(SqlError, condition="DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS", sqlstate="KD00D"):
    columns: str
    template = (
        "Files have no least and greatest values of {columns}, so sorting by it would leave no file out of any query. "
        "ZORDER BY columns of numbers, texts or times; statistics of them are collected if "
        "'delta.dataSkippingNumIndexedCols' reaches them, or 'delta.dataSkippingStatsColumns' names them."
    )


@dataclass(eq=False)
class ClusteredWithZorder(SqlError, condition="DELTA_CLUSTERING_WITH_ZORDER_BY", sqlstate="42613"):
    table: str
    template = (
        "{table} is a clustered table, which OPTIMIZE orders by its clustering columns. Leave ZORDER BY out, or change "
        "the columns with ALTER TABLE … CLUSTER BY."
    )


@dataclass(eq=False)
class ClusteredWithCondition(SqlError, condition="DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", sqlstate="0A000"):
    table: str
    template = "{table} is a clustered table, which has no partitions. Leave WHERE out of the OPTIMIZE."


@dataclass(eq=False)
class FullNotClustered(SqlError, condition="DELTA_OPTIMIZE_FULL_NOT_SUPPORTED", sqlstate="42601"):
    table: str
    template = "OPTIMIZE FULL is for tables with clustering columns, and {table} has none. Leave FULL out."
