"""The fold that applies definition changes to an Iceberg table.

    definition_of(metadata) ─► change ─► change ─► … ─► definition with new ids, spec and order

The planner handles expressions and checks on existing rows (`engine.statements.alter_table.planning`). Delta's
constraints, keys, generated and identity columns and clustering do not exist in Iceberg tables; they are rejected with
errors that name them.

Source: Iceberg table specification, "Schema Evolution", "Partition Evolution", "Appendix E: Format version changes".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import IcebergChangeNotSupported, IcebergColumnInUse, IcebergPropertyRefused
from engine.iceberg.definition.column_types import table_schema
from engine.iceberg.definition.columns import ColumnReader, Numbering, spark_columns, with_ids_of
from engine.iceberg.definition.definition import IcebergDefinition, Layout, details_of
from engine.iceberg.definition.partitioning import (
    ensure_distinct,
    new_spec,
    sort_order,
    with_field,
    with_field_ids,
    without_field,
)
from engine.iceberg.definition.properties import (
    COMMENT,
    DEFAULT_FORMAT_VERSION,
    DISTRIBUTION_MODE,
    FORMAT_VERSION,
    ensure_settable,
    parse_format_version,
)
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import FIRST_PARTITION_ID, PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.sort_orders import SortOrder
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType, walk
from engine.tables.definition_changes import (
    AddColumn,
    AddConstraint,
    AddKey,
    ChangeIdentifiers,
    ChangeNullable,
    ChangePartitioning,
    ChangeType,
    ClusterBy,
    DefinitionChange,
    DropColumn,
    DropConstraint,
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
from engine.types.column_paths import Path
from engine.types.partition_terms import columns_as_terms
from engine.types.schema import StructField, StructType
from engine.types.schema_changes import (
    add_field,
    drop_field,
    ensure_distinct_names,
    find_field,
    move_field,
    replace_field,
    resolve_path,
)

_FIRST_SCHEMA = 0
# Transforms with equal results for a date and for its midnight.
_DATE_PARTS = frozenset({TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY})
_NO_IDENTIFIERS = frozenset({Kind.FLOAT, Kind.DOUBLE})


def define_table(
    label: str,
    schema: StructType,
    partition_columns: Iterable[str],
    changes: Iterable[DefinitionChange],
    last_column_id: int = 0,
) -> IcebergDefinition:
    """Returns a new table's definition; its fields get ids above `last_column_id`. Raises like `change_definition`."""
    empty = IcebergDefinition(
        name=label,
        format_version=DEFAULT_FORMAT_VERSION,
        iceberg_schema=IcebergSchema(schema_id=_FIRST_SCHEMA, struct=StructOfType(())),
        spec=PartitionSpec(spec_id=0, fields=()),
        order=SortOrder(),
        properties={},
        last_column_id=last_column_id,
        last_partition_id=FIRST_PARTITION_ID - 1,
    )
    return _build_definition(_Draft(empty, is_new=True, columns=schema), partition_columns, changes)


def redefine_table(
    old: IcebergDefinition, schema: StructType, partition_columns: Iterable[str], changes: Iterable[DefinitionChange]
) -> IcebergDefinition:
    """Returns the definition for REPLACE TABLE: as for a new table, but uuid, history and properties are retained."""
    # Columns that the new definition shares with the old one keep their ids, so that older
    # snapshots stay readable with their own schemas.
    columns = with_ids_of(schema, old.iceberg_schema.fields)
    blank = replace(
        old,
        spec=PartitionSpec(spec_id=0, fields=()),
        order=SortOrder(),
        iceberg_schema=replace(old.iceberg_schema, identifier_ids=()),
    )
    return _build_definition(_Draft(blank, is_new=True, columns=columns), partition_columns, changes)


def change_definition(old: IcebergDefinition, changes: Iterable[DefinitionChange]) -> IcebergDefinition:
    """Returns the definition after `changes`.

    Raises `ColumnNotFound`, a `ColumnChangeRefused`, `IcebergChangeNotSupported`, `IcebergPropertyRefused`,
    `IcebergPartitioningRefused`.
    """
    draft = _Draft(old, is_new=False, columns=spark_columns(old.iceberg_schema.struct))
    for change in changes:
        draft = _apply(draft, change)
    return draft.finish()


def _build_definition(
    draft: _Draft, partition_columns: Iterable[str], changes: Iterable[DefinitionChange]
) -> IcebergDefinition:
    """Builds a definition in order: the format version decides about column types, and partitioning needs the
    columns.
    """
    said = list(changes)
    for each in (_is_version, lambda change: not _is_version(change)):
        for change in filter(each, said):
            draft = _apply(draft, change)
    terms = columns_as_terms(partition_columns)
    return (_apply(draft, PartitionBy(terms=terms)) if terms else draft).finish()


def _is_version(change: DefinitionChange) -> bool:
    return isinstance(change, SetProperty) and change.key == FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class _Draft:
    """A definition under change, with its columns in Spark's form (`engine.iceberg.definition.columns`)."""

    old: IcebergDefinition
    is_new: bool
    columns: StructType

    def finish(self) -> IcebergDefinition:
        """Assigns ids; reuses an equal spec, schema or order that the table has had."""
        completed = self.complete_columns()
        before = completed.before
        if before is None:
            return replace(completed, last_partition_id=_last_partition_id(completed.spec, completed.last_partition_id))
        spec = with_field_ids(completed.spec, before.specs, before.last_partition_id)
        schema = _schema_with_ids(completed.iceberg_schema, before)
        last = _last_partition_id(spec, before.last_partition_id)
        return replace(completed, spec=spec, iceberg_schema=schema, last_partition_id=last)

    def complete_columns(self) -> IcebergDefinition:
        """Converts the columns into fields with ids."""
        old = self.old
        ensure_distinct_names(self.columns)
        numbering = Numbering(old.last_column_id)
        reader = ColumnReader(
            table=old.name,
            format_version=old.format_version,
            known={each.id: each for _, each in walk(old.iceberg_schema.struct)},
            numbering=numbering,
            is_new=self.is_new,
        )
        struct = reader.read(self.columns)
        _ensure_same_partitions(old, struct)
        schema = replace(old.iceberg_schema, struct=struct)
        ensure_distinct(old.name, schema, old.spec)
        return replace(
            old,
            iceberg_schema=schema,
            last_column_id=numbering.last,
            schema=table_schema(struct),
            table_details=details_of(old.properties, old.format_version, Layout(old.spec, old.order), schema),
        )

    def with_columns(self, columns: StructType) -> _Draft:
        return replace(self, columns=columns)

    def with_properties(self, properties: Mapping[str, str]) -> _Draft:
        return replace(self, old=replace(self.old, properties=properties))

    def at_columns(self, change: Callable[[IcebergDefinition], IcebergDefinition]) -> _Draft:
        """Applies a change that refers to columns, which get their ids first."""
        changed = change(self.complete_columns())
        return replace(self, old=changed, columns=spark_columns(changed.iceberg_schema.struct))


def _ensure_same_partitions(old: IcebergDefinition, struct: StructOfType) -> None:
    """Raises `IcebergColumnInUse` if a date becomes a timestamp and partition values would change."""
    before = {each.id: each.type for _, each in walk(old.iceberg_schema.struct)}
    for path, each in walk(struct):
        was, is_ = before.get(each.id), each.type
        if was == SimpleType(Kind.DATE) and was != is_:
            # A date's bucket or identity value differs from the timestamp's; years, months
            # and days of a date and its midnight are equal.
            used = [field_ for field_ in _partition_fields(old) if field_.transform.kind not in _DATE_PARTS]
            _ensure_no_source(path, {each.id}, used)


def _ensure_no_source(path: Path, ids: Collection[int], fields: Iterable[PartitionField]) -> None:
    for each in fields:
        if each.source_id in ids:
            raise IcebergColumnInUse(".".join(path), f"the partition field {each.name}")


def _partition_fields(old: IcebergDefinition) -> list[PartitionField]:
    """Returns the partition fields in all specs that have a meaning for rows (not void)."""
    specs = [old.spec, *(old.before.specs.values() if old.before else ())]
    return [each for spec in specs for each in spec.fields if each.transform.kind is not TransformKind.VOID]


def _last_partition_id(spec: PartitionSpec, last: int) -> int:
    return max([last, *(each.field_id for each in spec.fields)])


def _schema_with_ids(schema: IcebergSchema, before: TableMetadata) -> IcebergSchema:
    for known in (before.schema, *before.schemas.values()):
        if (known.struct, known.identifier_ids) == (schema.struct, schema.identifier_ids):
            # "Schema Evolution": an equal schema is reused with its id, instead of a copy
            # under a new one.
            return known
    return replace(schema, schema_id=max(before.schemas) + 1)


def _apply(draft: _Draft, change: DefinitionChange) -> _Draft:
    match change:
        case AddColumn():
            return draft.with_columns(add_field(draft.columns, change.parent, change.field, change.position))
        case RenameColumn():
            return _with_field(draft, change.path, lambda each: replace(each, name=change.name))
        case DropColumn():
            return _without_column(draft, change.path)
        case MoveColumn():
            return draft.with_columns(move_field(draft.columns, change.path, change.position))
        case ChangeType():
            return _with_field(draft, change.path, lambda each: replace(each, data_type=change.data_type))
        case ChangeNullable():
            if change.nullable:
                _ensure_no_identifier(draft, change.path)
            return _with_field(draft, change.path, lambda each: replace(each, nullable=change.nullable))
        case SetColumnMetadata():
            return _with_field(draft, change.path, lambda each: _with_metadata(each, change))
        case SetProperty():
            return _with_property(draft, change.key, change.value)
        case UnsetProperty():
            return _without_property(draft, change.key)
        case SetDescription():
            others = {key: value for key, value in draft.old.properties.items() if key != COMMENT}
            return draft.with_properties(others if change.text is None else {**others, COMMENT: change.text})
        case PartitionBy() | ChangePartitioning() | SortBy() | ChangeIdentifiers():
            return _with_layout(draft, change)
        case AddConstraint() | DropConstraint() | RenameConstraint():
            raise IcebergChangeNotSupported(draft.old.name, "a CHECK constraint")
        case AddKey():
            raise IcebergChangeNotSupported(draft.old.name, "a key; its identifier fields are SET IDENTIFIER FIELDS")
        case ClusterBy():
            raise IcebergChangeNotSupported(draft.old.name, "clustering; partition it, or set WRITE ORDERED BY")
        case _:
            assert_never(change)


def _with_field(draft: _Draft, path: Path, change: Callable[[StructField], StructField]) -> _Draft:
    return draft.with_columns(replace_field(draft.columns, path, change))


def _with_metadata(column: StructField, change: SetColumnMetadata) -> StructField:
    others = {key: value for key, value in column.metadata.items() if key != change.key}
    return replace(column, metadata=others if change.value is None else {**others, change.key: change.value})


def _without_column(draft: _Draft, path: Path) -> _Draft:
    """Drops a column.

    Raises `IcebergColumnInUse` if the spec, the order or the identifier fields use it. An earlier spec may keep a field
    whose column is dropped: readers, Java's included, treat its transform as unknown.
    """
    found = resolve_path(draft.columns, path)
    ids = _ids_below(draft, found)
    old = draft.old
    _ensure_no_source(found, ids, (each for each in old.spec.fields if each.transform.kind is not TransformKind.VOID))
    if any(each.source_id in ids for each in old.order.fields):
        raise IcebergColumnInUse(".".join(found), "the sort order")
    _ensure_no_identifier(draft, found)
    if len(draft.columns.fields) == 1 == len(found):
        raise IcebergChangeNotSupported(old.name, "no columns")
    return draft.with_columns(drop_field(draft.columns, found))


def _ensure_no_identifier(draft: _Draft, path: Path) -> None:
    if _ids_below(draft, resolve_path(draft.columns, path)) & set(draft.old.iceberg_schema.identifier_ids):
        raise IcebergColumnInUse(".".join(path), "the identifier of rows")


def _ids_below(draft: _Draft, path: Path) -> frozenset[int]:
    """Returns the ids that a column and its nested fields have."""
    id = find_field(draft.columns, path).metadata.get("iceberg.id")
    known = {each.id: each for _, each in walk(draft.old.iceberg_schema.struct)}
    return frozenset() if id not in known else frozenset({id, *(each.id for _, each in walk(known[id].type))})


def _with_property(draft: _Draft, key: str, value: str) -> _Draft:
    old = draft.old
    if key == FORMAT_VERSION:
        version = parse_format_version(old.name, value)
        # Metadata of a higher version has fields (sequence numbers, row ids) that a lower
        # one cannot express.
        if version < old.format_version and old.before is not None:
            raise IcebergPropertyRefused(old.name, key, f"the table has version {old.format_version}, which stays")
        return replace(draft, old=replace(old, format_version=version))
    ensure_settable(old.name, key, value)
    return draft.with_properties({**old.properties, key: value})


def _without_property(draft: _Draft, key: str) -> _Draft:
    if key == FORMAT_VERSION:
        raise IcebergPropertyRefused(draft.old.name, key, "every table has one")
    return draft.with_properties({name: value for name, value in draft.old.properties.items() if name != key})


def _with_layout(draft: _Draft, change: PartitionBy | ChangePartitioning | SortBy | ChangeIdentifiers) -> _Draft:
    match change:
        case PartitionBy(terms=partitions):
            return draft.at_columns(
                lambda own: replace(own, spec=new_spec(own.name, own.iceberg_schema, partitions, own.last_partition_id))
            )
        case ChangePartitioning():
            return draft.at_columns(lambda own: _change_partitioning(own, change))
        case SortBy(terms=terms, distribution=distribution):
            orders = draft.old.before.orders if draft.old.before else {}
            sorted_ = draft.at_columns(
                lambda own: replace(own, order=sort_order(own.name, own.iceberg_schema, terms, orders))
            )
            if distribution is None:
                return sorted_
            return sorted_.with_properties({**sorted_.old.properties, DISTRIBUTION_MODE: distribution})
        case ChangeIdentifiers():
            return draft.at_columns(lambda own: _change_identifiers(own, change))
        case _:
            assert_never(change)


def _change_partitioning(own: IcebergDefinition, change: ChangePartitioning) -> IcebergDefinition:
    """Applies drops before additions, so that a dropped field can be added again under another name."""
    spec = own.spec
    if change.dropped is not None:
        spec = without_field(own.name, own.iceberg_schema, spec, change.dropped, own.format_version)
    if change.added is not None:
        spec = with_field(own.name, own.iceberg_schema, spec, change.added, own.last_partition_id)
    return replace(own, spec=spec, last_partition_id=_last_partition_id(spec, own.last_partition_id))


def _change_identifiers(own: IcebergDefinition, change: ChangeIdentifiers) -> IcebergDefinition:
    """Sets the identifier fields. Raises `IcebergChangeNotSupported` for a column that cannot identify rows."""
    ids = list(own.iceberg_schema.identifier_ids) if change.dropped else []
    for path in change.columns:
        name = ".".join(path)
        above = _fields_to(own, resolve_path(own.schema, path))
        last = above[-1]
        if change.dropped:
            if last.id not in ids:
                raise IcebergChangeNotSupported(own.name, f"its identifier field {name} dropped, for it is none")
            ids.remove(last.id)
            continue
        if not isinstance(last.type, SimpleType) or last.type.kind in _NO_IDENTIFIERS:
            raise IcebergChangeNotSupported(own.name, f"the identifier field {name}: it has to be of a simple type")
        if not all(each.required for each in above):
            raise IcebergChangeNotSupported(own.name, f"the identifier field {name}: it has to be NOT NULL")
        ids.append(last.id)
    return replace(own, iceberg_schema=replace(own.iceberg_schema, identifier_ids=tuple(dict.fromkeys(ids))))


def _fields_to(own: IcebergDefinition, path: Path) -> list[IcebergField]:
    """Returns the fields on the path to a nested struct field."""
    struct, found = own.iceberg_schema.struct, []
    for part in path:
        field_ = next((each for each in struct.fields if each.name == part), None)
        if field_ is None:
            raise IcebergChangeNotSupported(
                own.name, f"the identifier field {'.'.join(path)}: it is in a list or a map"
            )
        found.append(field_)
        struct = field_.type if isinstance(field_.type, StructOfType) else StructOfType(())
    return found
