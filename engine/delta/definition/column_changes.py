"""Applies changes to columns, and to the columns that a table is clustered by, to a table draft."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, assert_never

from catalog.conditions import (
    AddedColumnNotNull,
    ClusteredAndPartitioned,
    ClusteringColumnNotDroppable,
    ClusteringTypeNotSupported,
    ColumnChangeNotSupported,
    DropRequiresMapping,
    DuplicateClusteringColumns,
    KeyHoldsColumn,
    LastColumnNotDroppable,
    PartitionColumnNotDroppable,
    PartitionedTableNotClusterable,
    RenameRequiresMapping,
    TooManyClusteringColumns,
)
from engine.delta.definition.clustering import CLUSTERING, COLUMNS_MAX, can_cluster, format_clustering, physical_path
from engine.delta.definition.table_draft import TableDraft
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.schema.type_widening import widen_field
from engine.delta.spec.properties import DATA_SKIPPING_COLUMNS, TYPE_WIDENING
from engine.errors.table_errors import column_not_found
from engine.tables.definition_changes import (
    AddColumn,
    ChangeNullable,
    ChangeType,
    ClusterBy,
    ColumnChange,
    DropColumn,
    MoveColumn,
    RenameColumn,
    SetColumnMetadata,
)
from engine.tables.keys import PrimaryKey, keys_of
from engine.types.column_paths import Path, field_at, format_name, parse_name, split_names
from engine.types.schema import DataType, PrimitiveType, StructField, StructType, format_data_type, walk_fields
from engine.types.schema_changes import (
    Position,
    add_field,
    drop_field,
    move_field,
    replace_field,
    resolve_path,
    sibling_fields,
)

# Databricks' table property for CLUSTER BY AUTO.
_CLUSTER_BY_AUTO = "clusterByAuto"


def apply_column_change(draft: TableDraft, change: ColumnChange) -> TableDraft:
    """Returns the draft after the change.

    Raises delta-spark's error for a change that the definition rules out, for example `RenameRequiresMapping`.
    """
    match change:
        case AddColumn():
            return _add_column(draft, change.parent, change.field, change.position)
        case RenameColumn():
            return _rename_column(draft, change.path, change.name)
        case DropColumn():
            return _drop_column(draft, change.path)
        case MoveColumn():
            return draft.with_schema(move_field(draft.schema, change.path, change.position))
        case ChangeType():
            return _change_type(draft, change.path, change.data_type)
        case ChangeNullable():
            return _change_nullable(draft, change.path, change.nullable, rows_checked=change.rows_checked)
        case SetColumnMetadata():
            return _change_column_metadata(draft, change.path, change.key, change.value)
        case _:
            assert_never(change)


def _add_column(draft: TableDraft, parent: Path, field: StructField, position: Position) -> TableDraft:
    """Adds a column.

    Raises `AddedColumnNotNull` for a NOT NULL column or nested field, which requires its parents too.
    """
    required = [path for path, each in walk_fields(StructType((field,))) if not each.nullable]
    # Existing rows have no value for the new column, hence null.
    if required and not draft.is_new:
        raise AddedColumnNotNull(".".join((*parent, *required[0])))
    return draft.with_schema(add_field(draft.schema, parent, field, position))


def _rename_column(draft: TableDraft, path: Path, name: str) -> TableDraft:
    """Renames a column, also in partition and statistics columns; its physical name does not change."""
    if draft.mapping_mode == NO_MAPPING:
        raise RenameRequiresMapping(".".join(path))
    old = resolve_path(draft.schema, path)
    _ensure_no_key(draft, old)
    # Assign ids first: a field without a physical name keeps its old name as its physical name.
    renamed = draft.with_ids()
    renamed = renamed.with_schema(replace_field(renamed.schema, old, lambda item: replace(item, name=name)))
    if len(old) == 1:
        # `partitionColumns` has logical names, while `partitionValues` has physical ones,
        # so that a rename touches the metadata only.
        columns = tuple(name if column == old[0] else column for column in draft.metadata.partition_columns)
        renamed = replace(renamed, metadata=replace(renamed.metadata, partition_columns=columns))
    return _with_statistics_of(renamed, old, (*old[:-1], name))


def _drop_column(draft: TableDraft, path: Path) -> TableDraft:
    if draft.mapping_mode == NO_MAPPING:
        raise DropRequiresMapping(".".join(path))
    found = resolve_path(draft.schema, path)
    _ensure_no_key(draft, found)
    if len(found) == 1 and found[0] in draft.metadata.partition_columns:
        raise PartitionColumnNotDroppable(found[0])
    if any(path[: len(found)] == found for path in draft.clustered_by):
        raise ClusteringColumnNotDroppable(".".join(found))
    # A struct, or a table, without fields cannot be written to Parquet.
    if len(sibling_fields(draft.schema, found)) == 1:
        raise LastColumnNotDroppable(".".join(found))
    return _with_statistics_of(draft.with_schema(drop_field(draft.schema, found)), found, None)


def _change_type(draft: TableDraft, path: Path, data_type: DataType) -> TableDraft:
    """Changes a column to the same type, or to a wider one if type widening is enabled."""

    def change(field: StructField) -> StructField:
        if field.data_type == data_type:
            return field
        # A void column is in no file: its first type widens nothing that readers must
        # handle.
        may_widen = TYPE_WIDENING.read(draft.configuration) or field.data_type is PrimitiveType.VOID
        widened = widen_field(field, data_type) if may_widen else None
        if widened is None:
            old, new = (str(format_data_type(kind)) for kind in (field.data_type, data_type))
            raise ColumnChangeNotSupported(".".join(path), old, new)
        return widened

    return draft.with_schema(replace_field(draft.schema, path, change))


def _change_nullable(draft: TableDraft, path: Path, nullable: bool, *, rows_checked: bool) -> TableDraft:
    if nullable and not draft.is_new:
        _ensure_no_key(draft, resolve_path(draft.schema, path), PrimaryKey)

    def change(field: StructField) -> StructField:
        if field.nullable and not nullable and not draft.is_new and not rows_checked:
            raise ColumnChangeNotSupported(".".join(path), "nullable", "NOT NULL")
        return replace(field, nullable=nullable)

    return draft.with_schema(replace_field(draft.schema, path, change))


def _ensure_no_key(draft: TableDraft, path: Path, kind: type[PrimaryKey] | None = None) -> None:
    """Raises if a key uses the column. Keys contain top-level columns only, by name."""
    keys = [key for key in keys_of(draft.configuration, draft.schema.names) if kind is None or isinstance(key, kind)]
    holding = [key.name for key in keys if path[0] in key.columns] if len(path) == 1 else []
    if holding:
        raise KeyHoldsColumn(path[0], ", ".join(holding))


def _change_column_metadata(draft: TableDraft, path: Path, key: str, value: Any) -> TableDraft:
    """Sets a column metadata key; None removes it."""

    def change(field: StructField) -> StructField:
        metadata = {name: item for name, item in field.metadata.items() if name != key}
        return replace(field, metadata=metadata if value is None else {**metadata, key: value})

    return draft.with_schema(replace_field(draft.schema, path, change))


def cluster_by(draft: TableDraft, change: ClusterBy) -> TableDraft:
    """Sets the clustering columns, or the property that Databricks sets for CLUSTER BY AUTO.

    With no columns, a clustered table gets an empty domain; other tables are unchanged.
    """
    draft, columns = _with_automatic_clustering(draft, change.is_automatic), change.columns
    partitions = draft.metadata.partition_columns
    if change.is_automatic and not partitions:
        return draft
    if not change.is_automatic and not columns and draft.clustering is None:
        return draft
    if partitions and draft.is_new:
        raise ClusteredAndPartitioned()
    if partitions:
        raise PartitionedTableNotClusterable(draft.table, ", ".join(partitions))
    if len(columns) > COLUMNS_MAX:
        raise TooManyClusteringColumns(len(columns), COLUMNS_MAX)
    # "Clustered Table": the domain has physical names, which new columns only get here.
    named = draft.with_ids()
    paths = [physical_path(named.schema, named.mapping_mode, path) for path in _clusterable(named.schema, columns)]
    return replace(named, clustering=format_clustering(paths), features=named.features | {CLUSTERING})


def _with_automatic_clustering(draft: TableDraft, is_automatic: bool) -> TableDraft:
    """Sets or removes the property. A new table keeps it besides columns: SHOW CREATE TABLE has both."""
    if draft.is_new and not is_automatic:
        return draft
    others = {key: value for key, value in draft.metadata.configuration.items() if key != _CLUSTER_BY_AUTO}
    configuration = {**others, _CLUSTER_BY_AUTO: "true"} if is_automatic else others
    return replace(draft, metadata=replace(draft.metadata, configuration=configuration))


def _clusterable(schema: StructType, columns: tuple[Path, ...]) -> list[Path]:
    """Returns the columns as spelled in the schema. Raises for columns that cannot be clustering columns."""
    unfit = []
    for path in columns:
        field = field_at(schema, path)
        if field is None:
            raise column_not_found(format_name(path), schema.names)
        if not can_cluster(field.data_type):
            unfit.append(f"{format_name(path)} ({_kind(field.data_type)})")
    if unfit:
        raise ClusteringTypeNotSupported(", ".join(unfit))
    spelled = [resolve_path(schema, path) for path in columns]
    twice = [format_name(path) for path, count in Counter(spelled).items() if count > 1]
    if twice:
        raise DuplicateClusteringColumns(", ".join(twice))
    return spelled


def _kind(data_type: DataType) -> str:
    written = format_data_type(data_type)
    return str(written["type"] if isinstance(written, dict) else written)


def _with_statistics_of(draft: TableDraft, old: Path, new: Path | None) -> TableDraft:
    """Renames `old`, including nested columns, in `delta.dataSkippingStatsColumns`, or removes it if `new` is None."""
    listed = DATA_SKIPPING_COLUMNS.read(draft.configuration)
    if listed is None:
        return draft
    names = []
    for name in map(parse_name, split_names(listed)):
        if tuple(part.casefold() for part in name[: len(old)]) != tuple(part.casefold() for part in old):
            names.append(name)
        elif new is not None:
            names.append((*new, *name[len(old) :]))
    return draft.with_settings({DATA_SKIPPING_COLUMNS.key: ",".join(map(format_name, names))})
