"""The rows of `information_schema`.

Data from the catalog is listed without opening any table. A table's last alteration time and author are in its log, so
tables are opened for queries that use these columns. For columns and constraints the names of catalog, schema and table
are known in advance, so only the tables that match a query's conditions on these names are opened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import assert_never

from catalog.entries import FunctionEntry, Relation, SecurableEntry, TableEntry, ViewEntry, VolumeEntry
from catalog.errors import SqlError
from catalog.grants.rights import kind_of
from catalog.names import CatalogName, TableName, matches_all
from catalog.policies.policies import PolicyFunction
from catalog.system.audit_table import SYSTEM_CATALOG
from catalog.system.information_schema import RELATIONS
from catalog.view import CatalogView, effective_grants
from engine.binding.bound import BoundTable, BoundView, NamedRelation
from engine.binding.given_views import given_view, view_of_rows
from engine.binding.visibility import is_hidden, visible_keys
from engine.tables.given_rows import GivenRows, Row, fixed_rows
from engine.tables.keys import ForeignKey, PrimaryKey, TableKey, primary_key
from engine.types.schema import StructField
from engine.types.sql_types import type_sizes

logger = logging.getLogger(__name__)

# Opens tables one by one, omitting unreadable ones; views come from their catalog entries.
Opened = Callable[[Iterable[Relation]], Iterable[NamedRelation]]
# Opens one table with its policies. Raises `SqlError`.
Look = Callable[[TableEntry], BoundTable]

_TABLE = ("table_catalog", "table_schema", "table_name")
_CONSTRAINT = ("constraint_catalog", "constraint_schema")
# The part of a table's name, by a key's last word.
_PARTS = {"catalog": 0, "schema": 1, "name": 2}


def information_view(entry: ViewEntry, view: CatalogView, opened: Opened, look: Look) -> BoundView:
    """Returns one of the views for a catalog, or for all catalogs if it is `system`'s."""
    is_system = entry.name.schema_name.catalog_name == CatalogName(SYSTEM_CATALOG)
    catalog = None if is_system else entry.name.catalog
    name = entry.name.table
    if name == "tables":
        return given_view(entry, _table_rows(_Tables(view, catalog, opened, look)))
    if name not in _OF_TABLES:
        return view_of_rows(entry, RELATIONS[name], partial(_OF_CATALOG[name], view, catalog))
    keys, make = _OF_TABLES[name]
    tables = _Tables(view, catalog, opened, look)
    rows = GivenRows(
        columns=RELATIONS[name],
        keys=keys,
        objects=partial(tables.names, keys),
        make=lambda row_numbers: make(tables, tables.open_relations(row_numbers)),
    )
    return given_view(entry, rows)


class _Tables:
    """A catalog's tables and views that are visible to the principal, opened when their rows are made."""

    def __init__(self, view: CatalogView, catalog: str | None, opened: Opened, look: Look) -> None:
        self.view = view
        self._catalog = catalog
        self._opened = opened
        self._look = look
        self._primary: dict[TableName, PrimaryKey | None] = {}

    @cached_property
    def relations(self) -> list[Relation]:
        return list(self.view.find_relations(self._catalog, matches_all, matches_all))

    @cached_property
    def _by_name(self) -> dict[TableName, Relation]:
        return {relation.name: relation for relation in self.relations}

    def names(self, keys: Sequence[str]) -> list[tuple[str, ...]]:
        """Returns the values of the columns `keys` for each table."""
        places = [_PARTS[key.rpartition("_")[2]] for key in keys]
        return [tuple(relation.name.parts[at] for at in places) for relation in self.relations]

    def open_relations(self, row_numbers: Sequence[int] | None) -> Iterable[NamedRelation]:
        return self._opened(self.relations if row_numbers is None else [self.relations[at] for at in row_numbers])

    def with_alterations(self, rows: Iterable[Row], used: Collection[str]) -> Iterator[Row]:
        """Adds each table's newest commit time and author.

        As with DESCRIBE HISTORY, only principals who may read all of a table see them. An unreadable table has NULL.
        """
        for row in rows:
            entry = self._by_name[TableName(*map(str, row[:3]))]
            yield (*row[:9], *self._alteration(entry, used), *row[11:]) if isinstance(entry, TableEntry) else row

    def _alteration(self, entry: TableEntry, used: Collection[str]) -> Row:
        try:
            table = self._look(entry)
            if table.is_protected or is_hidden(self.view, table):
                return None, None
            by = table.snapshot.history(1)["userName"].to_pylist() if "last_altered_by" in used else []
            return table.snapshot.details.modified_ms, next(iter(by), None)
        except SqlError as error:
            logger.warning("%s has no time of its last change: %s", entry.name, error)
            return None, None

    def primary_key(self, name: TableName) -> PrimaryKey | None:
        """Returns the primary key that a foreign key references; None if its table is in another catalog, or no longer
        has one.
        """
        if name not in self._primary:
            entry = self._by_name.get(name)
            found = next(iter(self._opened([] if entry is None else [entry])), None)
            self._primary[name] = primary_key(found.keys) if isinstance(found, BoundTable) else None
        return self._primary[name]


def _catalogs(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.catalogs():
        if catalog is None or entry.name == CatalogName(catalog):
            yield entry.name.catalog, entry.owner, entry.comment


def _catalog_names(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    return ((name,) for name, _, _ in _catalogs(view, catalog))


def _schemata(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_schemas(catalog):
        location = entry.location if view.tells_all(entry) else None
        yield *entry.name.parts, entry.owner, entry.comment, location


def _table_rows(tables: _Tables) -> GivenRows:
    made = cache(lambda: tuple(_table_row(tables.view, entry) for entry in tables.relations))
    return replace(
        fixed_rows(RELATIONS["tables"], made),
        make=lambda row_numbers: made() if row_numbers is None else [made()[at] for at in row_numbers],
        keys=_TABLE,
        objects=partial(tables.names, _TABLE),
        costly=("last_altered", "last_altered_by"),
        complete=tables.with_alterations,
    )


def _table_row(view: CatalogView, entry: Relation) -> Row:
    """Returns the catalog's part: a table's comment is in its log, which a table list does not open."""
    common = (entry.owner, entry.comment, entry.created_ms, entry.created_by)
    match entry:
        case TableEntry(location=location, format=provider):
            kind = view.table_type(entry)
            shown = location if view.tells_all(entry) else None
            return *entry.name.parts, kind, "YES", *common, None, None, provider.upper(), shown
        case ViewEntry():
            alterations = (entry.altered_ms or entry.created_ms, entry.altered_by or entry.created_by)
            return *entry.name.parts, "VIEW", "NO", *common, *alterations, None, None
        case _:
            assert_never(entry)


def _views(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        if isinstance(entry, ViewEntry):
            yield *entry.name.parts, entry.text if view.tells_all(entry) else None, "NONE", "NO", "NO"


def _row_filters(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _protected_tables(view, catalog):
        if (call := entry.policies.row_filter) is not None:
            yield *entry.name.parts, *_function_name_parts(call), _argument_list(call)


def _column_masks(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _protected_tables(view, catalog):
        for mask in entry.policies.masks:
            yield *entry.name.parts, mask.column, *_function_name_parts(mask.call), _argument_list(mask.call)


def _protected_tables(view: CatalogView, catalog: str | None) -> Iterator[TableEntry]:
    """Yields the protected tables; only a table's managers see its policies."""
    for entry in view.find_relations(catalog, matches_all, matches_all):
        if isinstance(entry, TableEntry) and entry.policies and view.tells_all(entry):
            yield entry


def _catalog_tags(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.catalogs():
        if catalog is None or entry.name == CatalogName(catalog):
            yield from ((*entry.name.parts, *tag) for tag in entry.tags.own)


def _schema_tags(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_schemas(catalog):
        yield from ((*entry.name.parts, *tag) for tag in entry.tags.own)


def _table_tags(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        yield from ((*entry.name.parts, *tag) for tag in entry.tags.own)


def _column_tags(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        yield from ((*entry.name.parts, column, *tag) for column, tags in entry.tags.columns for tag in tags)


def _function_name_parts(call: PolicyFunction) -> tuple[str, str, str]:
    """Returns catalog, schema, and full name, which Databricks has in `mask_name` and dbt compares with its own."""
    catalog, schema, _ = call.function.parts
    return catalog, schema, ".".join(call.function.parts)


def _argument_list(call: PolicyFunction) -> str:
    return ", ".join(each.column or f"{each.literal}" for each in call.arguments)


def _catalog_privileges(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.catalogs():
        if catalog is None or entry.name == CatalogName(catalog):
            yield from _privileges(view, entry, entry.name.parts)


def _schema_privileges(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_schemas(catalog):
        yield from _privileges(view, entry, entry.name.parts)


def _table_privileges(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        yield from _privileges(view, entry, entry.name.parts)


def _routine_privileges(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _functions(view, catalog):
        yield from _privileges(view, entry, (*entry.name.parts, *entry.name.parts))


def _volume_privileges(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _volume_entries(view, catalog):
        yield from _privileges(view, entry, entry.name.parts)


def _volume_entries(view: CatalogView, catalog: str | None) -> Iterator[VolumeEntry]:
    for schema in view.find_schemas(catalog):
        yield from view.volumes(schema.name)


def _volumes(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _volume_entries(view, catalog):
        kind = "MANAGED" if entry.managed else "EXTERNAL"
        location = entry.location if view.tells_all(entry) else None
        yield *entry.name.parts, kind, entry.owner, entry.comment, location, entry.created_ms


def _functions(view: CatalogView, catalog: str | None) -> Iterator[FunctionEntry]:
    for schema in view.find_schemas(catalog):
        yield from view.functions(schema.name)


def _routines(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _functions(view, catalog):
        body = entry.body if view.tells_all(entry) else None
        deterministic = None if entry.deterministic is None else "YES" if entry.deterministic else "NO"
        names = (*entry.name.parts, *entry.name.parts, entry.owner)
        yield *names, "FUNCTION", entry.returns, "SQL", body, deterministic, entry.comment, entry.created_ms


def _parameters(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _functions(view, catalog):
        for position, each in enumerate(entry.parameters, 1):
            names = (*entry.name.parts, position, "IN", "NO", each.name)
            yield *names, *_type_columns(each.type), each.default, each.comment


def _routine_columns(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _functions(view, catalog):
        for position, column in enumerate(entry.table_columns, 1):
            yield *entry.name.parts, column.name, position, *_type_columns(column.type), column.comment


def _privileges(view: CatalogView, entry: SecurableEntry, names: tuple[str, ...]) -> Iterator[Row]:
    """Yields the privileges that apply to an object; direct ones are inherited from `NONE`."""
    for level, grant in effective_grants(view, entry):
        inherited_from = "NONE" if level is entry else kind_of(level).value
        privilege = grant.privilege.value.replace(" ", "_")
        yield grant.grantor, str(grant.principal), *names, privilege, "NO", inherited_from


def _columns(_: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    for relation in opened:
        for position, column in enumerate(relation.columns, 1):
            field = relation.snapshot.schema.field(column.name) if isinstance(relation, BoundTable) else None
            yield (
                *relation.entry.name.parts,
                column.name,
                position,
                column.default,
                "YES" if column.nullable else "NO",
                *_type_columns(column.type),
                *_value_columns(field),
                _partition_position(relation, column.name),
                column.comment,
            )


def _type_columns(sql_type: str) -> tuple[object, ...]:
    """Returns the full type and its name, then lengths and precisions if it has them."""
    sizes = type_sizes(sql_type.lower())
    numbers = (sizes.length, sizes.precision, sizes.radix, sizes.scale, sizes.datetime_precision)
    return sql_type, sizes.name.upper(), *numbers


def _value_columns(field: StructField | None) -> tuple[object, ...]:
    """Returns identity, then generation columns."""
    metadata = {} if field is None else field.metadata
    start = metadata.get("delta.identity.start")
    expression = metadata.get("delta.generationExpression")
    is_identity = start is not None
    by_default = metadata.get("delta.identity.allowExplicitInsert")
    return (
        "YES" if is_identity else "NO",
        ("BY DEFAULT" if by_default else "ALWAYS") if is_identity else None,
        str(start) if is_identity else None,
        str(metadata.get("delta.identity.step")) if is_identity else None,
        "ALWAYS" if expression is not None else "NEVER",
        expression,
    )


def _partition_position(relation: NamedRelation, column: str) -> int | None:
    partitions = relation.snapshot.partition_columns if isinstance(relation, BoundTable) else ()
    return partitions.index(column) + 1 if column in partitions else None


def _tables_among(opened: Iterable[NamedRelation]) -> Iterator[BoundTable]:
    return (relation for relation in opened if isinstance(relation, BoundTable))


def _check_constraints(_: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    for table in _tables_among(opened):
        for check in table.snapshot.checks:
            yield *table.entry.name.schema_name.parts, check.name, check.expression, None


def _table_constraints(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    for table in _tables_among(opened):
        schema, name = table.entry.name.schema_name.parts, table.entry.name.parts
        for check in table.snapshot.checks:
            yield *schema, check.name, *name, "CHECK", "NO", "YES"
        for key in visible_keys(tables.view, table):
            kind = "PRIMARY KEY" if isinstance(key, PrimaryKey) else "FOREIGN KEY"
            yield *schema, key.name, *name, kind, "NO", "NO"


def _keys(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[tuple[BoundTable, TableKey]]:
    for table in _tables_among(opened):
        for key in visible_keys(tables.view, table):
            yield table, key


def _constraint_column_usage(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    """Yields a key's columns: for a foreign key the referenced ones."""
    for table, key in _keys(tables, opened):
        names = (*table.entry.name.schema_name.parts, key.name)
        if isinstance(key, ForeignKey):
            yield from ((*key.parent, column, *names) for column in key.parent_columns)
        else:
            yield from ((*table.entry.name.parts, column, *names) for column in key.columns)


def _constraint_table_usage(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    for table, key in _keys(tables, opened):
        about = key.parent if isinstance(key, ForeignKey) else table.entry.name.parts
        yield *table.entry.name.schema_name.parts, key.name, *about


def _key_column_usage(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    for table, key in _keys(tables, opened):
        parent = tables.primary_key(TableName(*key.parent)) if isinstance(key, ForeignKey) else None
        for at, column in enumerate(key.columns):
            referenced = None
            if parent is not None and isinstance(key, ForeignKey) and key.parent_columns[at] in parent.columns:
                referenced = parent.columns.index(key.parent_columns[at]) + 1
            names = (*table.entry.name.schema_name.parts, key.name, *table.entry.name.parts)
            yield *names, column, at + 1, referenced


def _referential_constraints(tables: _Tables, opened: Iterable[NamedRelation]) -> Iterator[Row]:
    """Yields foreign keys. A primary key's name is unknown if its table is in another catalog, or no longer has it."""
    for table, key in _keys(tables, opened):
        if isinstance(key, ForeignKey):
            parent = tables.primary_key(TableName(*key.parent))
            unique = (*key.parent[:2], None if parent is None else parent.name)
            actions = ("NONE", "NO ACTION", "NO ACTION")
            yield *table.entry.name.schema_name.parts, key.name, *unique, *actions


# Relations that open tables: columns that are known in advance, and the rows.
_OF_TABLES: Mapping[str, tuple[tuple[str, ...], Callable[[_Tables, Iterable[NamedRelation]], Iterable[Row]]]] = {
    "check_constraints": (_CONSTRAINT, _check_constraints),
    "columns": (_TABLE, _columns),
    "constraint_column_usage": (_CONSTRAINT, _constraint_column_usage),
    "constraint_table_usage": (_CONSTRAINT, _constraint_table_usage),
    "key_column_usage": ((*_CONSTRAINT, *_TABLE), _key_column_usage),
    "referential_constraints": (_CONSTRAINT, _referential_constraints),
    "table_constraints": ((*_CONSTRAINT, *_TABLE), _table_constraints),
}

_OF_CATALOG: Mapping[str, Callable[[CatalogView, str | None], Iterable[Row]]] = {
    "catalog_privileges": _catalog_privileges,
    "catalog_tags": _catalog_tags,
    "catalogs": _catalogs,
    "column_masks": _column_masks,
    "column_tags": _column_tags,
    "information_schema_catalog_name": _catalog_names,
    "parameters": _parameters,
    "routine_columns": _routine_columns,
    "routine_privileges": _routine_privileges,
    "routines": _routines,
    "row_filters": _row_filters,
    "schema_privileges": _schema_privileges,
    "schema_tags": _schema_tags,
    "schemata": _schemata,
    "table_privileges": _table_privileges,
    "table_tags": _table_tags,
    "views": _views,
    "volume_privileges": _volume_privileges,
    "volumes": _volumes,
}
