"""Builds partition specs and sort orders from a statement's terms: `day(ts)`, `bucket(16, id)`, `region`.

A new spec gets a new id, unless the table has had an equal one. A field that any earlier spec has (same transform, same
column) keeps its id, so that its values in older manifests keep their meaning. v1 tables never remove a field: a
dropped field becomes `void` in its place and keeps its id, so a field that is added again gets a new id.

Source: Iceberg table specification, "Partition Evolution", "Partition Transforms", "Sorting".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from catalog.conditions import IcebergPartitioningRefused
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, Transform, TransformKind
from engine.iceberg.spec.sort_orders import UNSORTED, SortField, SortOrder
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType
from engine.types.column_paths import Path, format_name
from engine.types.partition_terms import PartitionTerm, SortTerm

_NAMES: Mapping[str, TransformKind] = {
    "identity": TransformKind.IDENTITY,
    "bucket": TransformKind.BUCKET,
    "truncate": TransformKind.TRUNCATE,
    "year": TransformKind.YEAR,
    "month": TransformKind.MONTH,
    "day": TransformKind.DAY,
    "hour": TransformKind.HOUR,
}
_TIMES = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS})
_DAYS = _TIMES | {Kind.DATE}
_SOURCES: Mapping[TransformKind, frozenset[Kind]] = {
    TransformKind.BUCKET: _DAYS
    | {Kind.INT, Kind.LONG, Kind.DECIMAL, Kind.STRING, Kind.UUID, Kind.FIXED, Kind.BINARY, Kind.TIME},
    TransformKind.TRUNCATE: frozenset({Kind.INT, Kind.LONG, Kind.DECIMAL, Kind.STRING, Kind.BINARY}),
    TransformKind.YEAR: _DAYS,
    TransformKind.MONTH: _DAYS,
    TransformKind.DAY: _DAYS,
    TransformKind.HOUR: _TIMES,
}
_NO_SOURCES = frozenset({Kind.UNKNOWN, Kind.VARIANT, Kind.GEOMETRY, Kind.GEOGRAPHY})
_NAMED_AS_COLUMNS = frozenset({TransformKind.IDENTITY, TransformKind.VOID})
_WIDTH_MAX = (1 << 31) - 1


def new_spec(table: str, schema: IcebergSchema, terms: Sequence[PartitionTerm], last_id: int) -> PartitionSpec:
    """Returns a new table's spec. Raises `IcebergPartitioningRefused`."""
    fields: list[PartitionField] = []
    for term in terms:
        source, transform = resolve_term(table, schema, term)
        name = term.name or _name(term, transform, "")
        fields.append(
            PartitionField(source_id=source.id, field_id=last_id + 1 + len(fields), name=name, transform=transform)
        )
    spec = PartitionSpec(spec_id=0, fields=tuple(fields))
    ensure_distinct(table, schema, spec)
    return spec


def with_field(
    table: str, schema: IcebergSchema, spec: PartitionSpec, term: PartitionTerm, last_id: int
) -> PartitionSpec:
    """Returns the spec with another field, whose id is assigned later.

    A dropped field (void in version 1) releases its name. Raises `IcebergPartitioningRefused`.
    """
    source, transform = resolve_term(table, schema, term)
    width = f"_{transform.width}" if transform.width else ""
    field = PartitionField(
        source_id=source.id, field_id=last_id + 1, name=term.name or _name(term, transform, width), transform=transform
    )
    if any((each.source_id, each.transform) == (field.source_id, transform) for each in spec.fields):
        raise IcebergPartitioningRefused(table, str(term), "it is already")
    changed = replace(spec, fields=(*(_avoid_name(each, field.name) for each in spec.fields), field))
    ensure_distinct(table, schema, changed)
    return changed


def _avoid_name(field: PartitionField, taken: str) -> PartitionField:
    is_free = field.transform.kind is not TransformKind.VOID or field.name != taken
    return field if is_free else replace(field, name=f"{field.name}_{field.field_id}")


def without_field(
    table: str, schema: IcebergSchema, spec: PartitionSpec, term: PartitionTerm, format_version: int
) -> PartitionSpec:
    """Returns the spec without the field for a term or name. Raises `IcebergPartitioningRefused`."""
    found = None
    if term.transform == "identity" and len(term.column) == 1:
        found = next((each for each in spec.fields if each.name.casefold() == term.column[0].casefold()), None)
    if found is None:
        source, transform = resolve_term(table, schema, term)
        found = next((each for each in spec.fields if (each.source_id, each.transform) == (source.id, transform)), None)
    if found is None or found.transform.kind is TransformKind.VOID:
        raise IcebergPartitioningRefused(table, str(term), "it is not, so it cannot be dropped")
    # "Partition Evolution": version 1 manifests identify partition fields by position, so
    # that none may be removed.
    if format_version == 1:
        void = replace(found, transform=Transform(TransformKind.VOID))
        return replace(spec, fields=tuple(void if each is found else each for each in spec.fields))
    return replace(spec, fields=tuple(each for each in spec.fields if each is not found))


def with_field_ids(spec: PartitionSpec, specs: Mapping[int, PartitionSpec], last_id: int) -> PartitionSpec:
    """Assigns ids to the spec and its fields: those that the table has for equal ones, or new ids."""
    known = [field for each in specs.values() for field in each.fields]
    old_ids = {field.field_id for field in known}
    used = {field.field_id for field in spec.fields} & old_ids
    fields: list[PartitionField] = []
    for field in spec.fields:
        id = field.field_id
        if id not in old_ids:
            same = (each.field_id for each in known if _is_same(each, field) and each.field_id not in used)
            id = next(same, last_id + 1)
            last_id = max(last_id, id)
            used.add(id)
        fields.append(replace(field, field_id=id))
    for each in specs.values():
        if each.fields == tuple(fields):
            return each
    return PartitionSpec(spec_id=max(specs, default=-1) + 1, fields=tuple(fields))


def _is_same(one: PartitionField, other: PartitionField) -> bool:
    return (one.source_id, one.transform) == (other.source_id, other.transform)


def sort_order(
    table: str, schema: IcebergSchema, terms: Iterable[SortTerm], orders: Mapping[int, SortOrder]
) -> SortOrder:
    """Returns the sort order for these terms, reusing an equal existing order. Raises `IcebergPartitioningRefused`."""
    fields = []
    for term in terms:
        source, transform = resolve_term(table, schema, term.term)
        fields.append(
            SortField(
                source_id=source.id,
                transform=transform,
                descending=term.descending,
                # As in Spark: ascending orders have nulls first, descending ones last.
                nulls_first=not term.descending if term.nulls_first is None else term.nulls_first,
            )
        )
    if not fields:
        return SortOrder()
    found = next((each for each in orders.values() if each.fields == tuple(fields)), None)
    return found or SortOrder(order_id=max([UNSORTED, *orders]) + 1, fields=tuple(fields))


def resolve_term(table: str, schema: IcebergSchema, term: PartitionTerm) -> tuple[IcebergField, Transform]:
    """Returns the column and the transform. Raises `IcebergPartitioningRefused`."""
    kind = _NAMES.get(term.transform.lower())
    if kind is None:
        raise IcebergPartitioningRefused(table, str(term), f"there is no transform {term.transform}")
    has_width = kind in (TransformKind.BUCKET, TransformKind.TRUNCATE)
    width = term.width or 0
    if has_width != (term.width is not None) or not 0 <= width <= _WIDTH_MAX or (has_width and not width):
        raise IcebergPartitioningRefused(table, str(term), "bucket and truncate take a whole number, others none")
    source = _find(table, schema.struct, term)
    if not isinstance(source.type, SimpleType) or source.type.kind in _NO_SOURCES:
        raise IcebergPartitioningRefused(table, str(term), "its type is none that partitions are made of")
    if kind in _SOURCES and source.type.kind not in _SOURCES[kind]:
        raise IcebergPartitioningRefused(table, str(term), f"it is not for the type {source.type.kind.value}")
    return source, Transform(kind, width)


def _find(table: str, struct: StructOfType, term: PartitionTerm) -> IcebergField:
    """Finds a column or a struct's field; list elements and map entries are excluded."""
    fields, found = struct.fields, None
    for part in term.column:
        named = [each for each in fields if each.name == part]
        named = named or [each for each in fields if each.name.casefold() == part.casefold()]
        if len(named) != 1:
            raise IcebergPartitioningRefused(table, str(term), f"there is no column {format_name(term.column)}")
        found = named[0]
        fields = found.type.fields if isinstance(found.type, StructOfType) else ()
    assert found is not None, "a term has a column"
    return found


def _name(term: PartitionTerm, transform: Transform, width: str) -> str:
    path = ".".join(term.column)
    match transform.kind:
        case TransformKind.IDENTITY:
            return path
        case TransformKind.TRUNCATE:
            return f"{path}_trunc{width}"
        case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY | TransformKind.HOUR:
            return f"{path}_{transform.kind.value}{width}"
        case TransformKind.BUCKET | TransformKind.VOID | TransformKind.UNKNOWN:
            return f"{path}_{transform.kind.value}{width}"
        case _:
            assert_never(transform.kind)


def ensure_distinct(table: str, schema: IcebergSchema, spec: PartitionSpec) -> None:
    """Checks that field names are unique, and that a column's name is used only for its identity transform."""
    names = [field.name for field in spec.fields]
    for field in spec.fields:
        column = next((each for each in schema.fields if each.name == field.name), None)
        # Java rejects a partition field with the name of another column: both are columns
        # of the metadata tables.
        is_own = column is not None and column.id == field.source_id and field.transform.kind in _NAMED_AS_COLUMNS
        if names.count(field.name) > 1 or (column is not None and not is_own):
            raise IcebergPartitioningRefused(table, field.name, "the name is that of a column or of another field")


def partition_terms(spec: PartitionSpec, schema: IcebergSchema) -> tuple[PartitionTerm, ...]:
    """Returns the spec as statement terms, as far as they can express it."""
    found = []
    for field in spec.fields:
        path = source_path(schema, field.source_id)
        if path is not None and field.transform.kind not in (TransformKind.VOID, TransformKind.UNKNOWN):
            width = field.transform.width or None
            found.append(PartitionTerm(column=path, transform=field.transform.kind.value, width=width, name=field.name))
    return tuple(found)


def sort_terms(order: SortOrder, schema: IcebergSchema) -> tuple[SortTerm, ...]:
    """Returns the order as statement terms; empty if they cannot express it."""
    found = []
    for field in order.fields:
        path = source_path(schema, field.source_id)
        if path is None or field.transform.kind in (TransformKind.VOID, TransformKind.UNKNOWN):
            return ()
        term = PartitionTerm(column=path, transform=field.transform.kind.value, width=field.transform.width or None)
        found.append(SortTerm(term=term, descending=field.descending, nulls_first=field.nulls_first))
    return tuple(found)


def source_path(schema: IcebergSchema, source_id: int) -> Path | None:
    """Returns the path to a partition field's source column, through structs; None if it does not exist."""
    return _path_in(schema.struct, source_id)


def _path_in(struct: StructOfType, source_id: int) -> Path | None:
    for field in struct.fields:
        if field.id == source_id:
            return (field.name,)
        if isinstance(field.type, StructOfType) and (inner := _path_in(field.type, source_id)) is not None:
            return (field.name, *inner)
    return None
