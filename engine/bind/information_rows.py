"""The rows of `information_schema`, which are in hand when a statement that names one of its views is bound.

What only the catalog says is listed without looking into any log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from catalog.audit_table import SYSTEM_CATALOG
from catalog.entries import FunctionEntry, SecurableEntry, TableEntry, ViewEntry
from catalog.information_schema import RELATIONS
from catalog.names import CatalogName, TableName, matches_all
from catalog.policies import PolicyFunction
from catalog.rights import kind_of
from catalog.shown_grants import effective_grants
from catalog.view import CatalogView
from engine.bind.bound import BoundTable, BoundView, ColumnInfo, NamedRelation
from engine.bind.literal_rows import view_of_rows
from engine.bind.sight import visible_keys
from engine.table.keys import ForeignKey, PrimaryKey, TableKey, primary_key
from engine.types.schema import StructField
from engine.types.type_sizes import type_sizes

Row = tuple[object, ...]
Listed = Callable[[], Iterable[NamedRelation]]
"""The tables and views, each with its log looked into."""


def information_view(
    entry: ViewEntry, view: CatalogView, listed: Callable[[str | None], Iterable[NamedRelation]]
) -> BoundView:
    """One of the views of a catalog, or of all where it is `system`'s; `listed` has what is in one, or in all."""
    is_system = entry.name.schema_name.catalog_name == CatalogName(SYSTEM_CATALOG)
    catalog = None if is_system else entry.name.catalog
    name = entry.name.table
    return view_of_rows(entry, RELATIONS[name], _rows(name, view, catalog, partial(listed, catalog)))


def _rows(name: str, view: CatalogView, catalog: str | None, listed: Listed) -> Iterable[Row]:
    make = {
        "catalog_privileges": partial(_catalog_privileges, view, catalog),
        "catalogs": partial(_catalogs, view, catalog),
        "check_constraints": partial(_check_constraints, listed),
        "catalog_tags": partial(_catalog_tags, view, catalog),
        "column_masks": partial(_column_masks, view, catalog),
        "column_tags": partial(_column_tags, view, catalog),
        "columns": partial(_columns, listed),
        "constraint_column_usage": partial(_constraint_column_usage, view, listed),
        "constraint_table_usage": partial(_constraint_table_usage, view, listed),
        "information_schema_catalog_name": partial(_catalog_names, view, catalog),
        "key_column_usage": partial(_key_column_usage, view, listed),
        "referential_constraints": partial(_referential_constraints, view, listed),
        "parameters": partial(_parameters, view, catalog),
        "routine_privileges": partial(_routine_privileges, view, catalog),
        "routines": partial(_routines, view, catalog),
        "row_filters": partial(_row_filters, view, catalog),
        "schema_tags": partial(_schema_tags, view, catalog),
        "table_tags": partial(_table_tags, view, catalog),
        "schema_privileges": partial(_schema_privileges, view, catalog),
        "schemata": partial(_schemata, view, catalog),
        "table_constraints": partial(_table_constraints, view, listed),
        "table_privileges": partial(_table_privileges, view, catalog),
        "tables": partial(_tables, view, catalog),
        "views": partial(_views, view, catalog),
    }
    return make[name]()


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


def _tables(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    """What the catalog alone says: a table's comment is in its log, which a list of tables does not open."""
    for entry in view.find_relations(catalog, matches_all, matches_all):
        common = (entry.owner, entry.comment, entry.created_ms)
        match entry:
            case TableEntry(location=location, format=provider):
                kind = "MANAGED" if entry.managed else "EXTERNAL"
                shown = location if view.tells_all(entry) else None
                yield *entry.name.parts, kind, "YES", *common, provider.upper(), shown
            case ViewEntry():
                yield *entry.name.parts, "VIEW", "NO", *common, None, None


def _views(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        if isinstance(entry, ViewEntry):
            yield *entry.name.parts, entry.text if view.tells_all(entry) else None, "NONE", "NO", "NO"


def _row_filters(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _policed(view, catalog):
        if (call := entry.policies.row_filter) is not None:
            yield *entry.name.parts, *call.function.parts, _listed(call)


def _column_masks(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in _policed(view, catalog):
        for mask in entry.policies.masks:
            yield *entry.name.parts, mask.column, *mask.call.function.parts, _listed(mask.call)


def _policed(view: CatalogView, catalog: str | None) -> Iterator[TableEntry]:
    """Only who manages a table is told of its policies."""
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
        if isinstance(entry, TableEntry):
            yield from ((*entry.name.parts, *tag) for tag in entry.tags.own)


def _column_tags(view: CatalogView, catalog: str | None) -> Iterator[Row]:
    for entry in view.find_relations(catalog, matches_all, matches_all):
        if isinstance(entry, TableEntry):
            yield from ((*entry.name.parts, column, *tag) for column, tags in entry.tags.columns for tag in tags)


def _listed(call: PolicyFunction) -> str:
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
            yield *entry.name.parts, position, each.name, each.type, each.default, each.comment


def _privileges(view: CatalogView, entry: SecurableEntry, names: tuple[str, ...]) -> Iterator[Row]:
    """Those that hold for an object; those on it itself are inherited from `NONE`."""
    for level, grant in effective_grants(view, entry):
        inherited_from = "NONE" if level is entry else kind_of(level).value
        privilege = grant.privilege.value.replace(" ", "_")
        yield grant.grantor, str(grant.principal), *names, privilege, "NO", inherited_from


def _columns(listed: Listed) -> Iterator[Row]:
    for relation in listed():
        for position, column in enumerate(relation.columns, 1):
            field = relation.snapshot.schema.field(column.name) if isinstance(relation, BoundTable) else None
            yield (
                *relation.entry.name.parts,
                column.name,
                position,
                column.default,
                "YES" if column.nullable else "NO",
                *_type_columns(column),
                *_value_columns(field),
                _partition_position(relation, column.name),
                column.comment,
            )


def _type_columns(column: ColumnInfo) -> Row:
    """The type whole and its name, then lengths and precisions where it has them."""
    sizes = type_sizes(column.type)
    numbers = (sizes.length, sizes.precision, sizes.radix, sizes.scale, sizes.datetime_precision)
    return column.type, sizes.name.upper(), *numbers


def _value_columns(field: StructField | None) -> Row:
    """Where the values come from: identity, then generation."""
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


def _checks(listed: Listed) -> Iterator[tuple[BoundTable, str, str]]:
    for relation in listed():
        if isinstance(relation, BoundTable):
            for check in relation.snapshot.checks:
                yield relation, check.name, check.expression


def _check_constraints(listed: Listed) -> Iterator[Row]:
    for table, name, expression in _checks(listed):
        yield *table.entry.name.schema_name.parts, name, expression, None


def _table_constraints(view: CatalogView, listed: Listed) -> Iterator[Row]:
    tables = _tables_of(listed)
    for table, name, _ in _checks(lambda: tables):
        yield *table.entry.name.schema_name.parts, name, *table.entry.name.parts, "CHECK", "NO", "YES"
    for table, key in _keys(view, tables):
        kind = "PRIMARY KEY" if isinstance(key, PrimaryKey) else "FOREIGN KEY"
        yield *table.entry.name.schema_name.parts, key.name, *table.entry.name.parts, kind, "NO", "NO"


def _tables_of(listed: Listed) -> list[BoundTable]:
    return [relation for relation in listed() if isinstance(relation, BoundTable)]


def _keys(view: CatalogView, tables: Iterable[BoundTable]) -> Iterator[tuple[BoundTable, TableKey]]:
    for table in tables:
        for key in visible_keys(view, table):
            yield table, key


def _constraint_column_usage(view: CatalogView, listed: Listed) -> Iterator[Row]:
    """The columns that a key is about: a foreign key is about those that it references."""
    for table, key in _keys(view, _tables_of(listed)):
        names = (*table.entry.name.schema_name.parts, key.name)
        if isinstance(key, ForeignKey):
            yield from ((*key.parent, column, *names) for column in key.parent_columns)
        else:
            yield from ((*table.entry.name.parts, column, *names) for column in key.columns)


def _constraint_table_usage(view: CatalogView, listed: Listed) -> Iterator[Row]:
    for table, key in _keys(view, _tables_of(listed)):
        about = key.parent if isinstance(key, ForeignKey) else table.entry.name.parts
        yield *table.entry.name.schema_name.parts, key.name, *about


def _key_column_usage(view: CatalogView, listed: Listed) -> Iterator[Row]:
    tables = _tables_of(listed)
    primary = {table.entry.name: primary_key(table.keys) for table in tables}
    for table, key in _keys(view, tables):
        parent = primary.get(TableName(*key.parent)) if isinstance(key, ForeignKey) else None
        for at, column in enumerate(key.columns):
            referenced = None
            if parent is not None and isinstance(key, ForeignKey) and key.parent_columns[at] in parent.columns:
                referenced = parent.columns.index(key.parent_columns[at]) + 1
            names = (*table.entry.name.schema_name.parts, key.name, *table.entry.name.parts)
            yield *names, column, at + 1, referenced


def _referential_constraints(view: CatalogView, listed: Listed) -> Iterator[Row]:
    """The name of a primary key is unknown where its table is in another catalog, or no longer has it."""
    tables = _tables_of(listed)
    primary = {table.entry.name: primary_key(table.keys) for table in tables}
    for table, key in _keys(view, tables):
        if isinstance(key, ForeignKey):
            parent = primary.get(TableName(*key.parent))
            unique = (*key.parent[:2], None if parent is None else parent.name)
            rules = ("NONE", "NO ACTION", "NO ACTION")
            yield *table.entry.name.schema_name.parts, key.name, *unique, *rules
