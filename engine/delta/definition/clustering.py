"""Clustering columns: rows with similar values in them may be placed in the same files.

They are stored in the metadata domain `delta.clustering`, as paths with physical names, so that a renamed column
remains a clustering column. An empty list, or no domain, means no clustering columns. OPTIMIZE performs the clustering;
all other writers must write statistics for these columns in every file and preserve the domain.

Therefore a column can be a clustering column only if the table's settings provide statistics for it, and settings that
would remove them are rejected. Other writers' tables may violate this; files that we write into them have the
statistics nevertheless (`measured_columns`). Existing files are not checked: a file from before a column was added has
no statistics for it.

The domain's configuration occurs in three forms: paths as lists, top-level columns as plain strings, and objects with
the path as `physicalName`. This module writes the first, like delta-spark.

Protocol: "Clustered Table". Limits on the columns' number and types follow delta-spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from catalog.conditions import MalformedLogEntry
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_name
from engine.delta.schema.stats_columns import stats_columns
from engine.delta.spec.actions import DomainMetadata
from engine.types.column_paths import Path, field_at, format_name
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructType

# The table feature.
CLUSTERING = "clustering"
CLUSTERING_DOMAIN = "delta.clustering"
COLUMNS_MAX = 4

_PATHS = "clusteringColumns"
_TYPES = frozenset(
    {
        PrimitiveType.BYTE,
        PrimitiveType.SHORT,
        PrimitiveType.INTEGER,
        PrimitiveType.LONG,
        PrimitiveType.FLOAT,
        PrimitiveType.DOUBLE,
        PrimitiveType.DATE,
        PrimitiveType.TIMESTAMP,
        PrimitiveType.TIMESTAMP_NTZ,
        PrimitiveType.STRING,
    }
)


def can_cluster(data_type: DataType) -> bool:
    """Returns whether columns with this type have the minimum and maximum values that clustering requires."""
    return isinstance(data_type, DecimalType) or (isinstance(data_type, PrimitiveType) and data_type in _TYPES)


def format_clustering(paths: Iterable[Path]) -> DomainMetadata:
    """Returns the domain for physical paths."""
    configuration = {_PATHS: [list(path) for path in paths], "domainName": CLUSTERING_DOMAIN}
    return DomainMetadata(
        domain=CLUSTERING_DOMAIN, configuration=json.dumps(configuration, separators=(",", ":"), ensure_ascii=False)
    )


def parse_clustering(domain: DomainMetadata | None) -> tuple[Path, ...]:
    """Returns physical paths. Raises `MalformedLogEntry`."""
    if domain is None:
        return ()
    try:
        columns = json.loads(domain.configuration)[_PATHS]
        return tuple(_path(column) for column in columns)
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedLogEntry(f"the domain {CLUSTERING_DOMAIN}", f"{domain.configuration!r}") from error


def with_clustering(config: DeltaConfig, domains: Iterable[DomainMetadata]) -> DeltaConfig:
    """Returns the configuration after a commit with these domains."""
    for domain in domains:
        if domain.domain == CLUSTERING_DOMAIN:
            config = replace(config, clustering=None if domain.removed else domain)
    return config


def clustering_columns(config: DeltaConfig) -> tuple[Path, ...]:
    """Returns logical paths; a path without a matching column is returned as in the log. Raises `MalformedLogEntry`."""
    if not config.is_supported(CLUSTERING):
        return ()
    return logical_paths(config.schema, config.column_mapping_mode, parse_clustering(config.clustering))


def clustering_names(config: DeltaConfig) -> list[str]:
    """Returns the columns as spelled in SQL."""
    return [format_name(path) for path in clustering_columns(config)]


def measured_columns(config: DeltaConfig) -> StructType:
    """Returns the part of the schema (logical names) whose leaves have statistics in files that we write."""
    return _statistics_columns(config, besides=clustering_columns(config))


def unmeasured_columns(config: DeltaConfig) -> Mapping[Path, Path]:
    """Maps clustering columns without statistics by the table's own settings: physical to logical path."""
    if not config.is_supported(CLUSTERING):
        return {}
    measured = _statistics_columns(config)
    physical = parse_clustering(config.clustering)
    paths = zip(physical, clustering_columns(config), strict=True)
    return {path: logical for path, logical in paths if field_at(measured, logical) is None}


def logical_paths(schema: StructType, mode: str, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the logical paths for physical ones, as the domain `delta.clustering` stores them.

    A path that the schema does not have is returned as it is.
    """
    return tuple(_logical(schema, mode, path) for path in paths)


def physical_path(schema: StructType, mode: str, path: Path) -> Path:
    """Returns an existing field's physical path."""
    names: list[str] = []
    for end in range(1, len(path) + 1):
        field = field_at(schema, path[:end])
        assert field is not None
        names.append(physical_name(field, mode))
    return tuple(names)


def _statistics_columns(config: DeltaConfig, besides: Iterable[Path] = ()) -> StructType:
    metadata = config.metadata
    return stats_columns(config.schema, metadata.partition_columns, metadata.configuration, besides)


def _path(column: Any) -> Path:
    path = column["physicalName"] if isinstance(column, dict) else [column] if isinstance(column, str) else column
    if not path or not all(isinstance(name, str) for name in path):
        raise ValueError("no path")
    return tuple(path)


def _logical(schema: StructType, mode: str, path: Path) -> Path:
    names: list[str] = []
    inside: DataType = schema
    for name in path:
        fields = inside.fields if isinstance(inside, StructType) else ()
        field = next((item for item in fields if physical_name(item, mode) == name), None)
        if field is None:
            return path
        names.append(field.name)
        inside = field.data_type
    return tuple(names)
