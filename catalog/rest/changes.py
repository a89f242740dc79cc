"""Changes to names in a REST catalog: the REST catalog is changed first, and our own record follows.

Our record for its schemas and tables consists of owners, grants and policies. A record without its object therefore has
no meaning, and an object without a record has no owner here. A crash between the two steps leaves one of these. No
request is sent twice: a change without a response raises `RestOutcomeUnknown`.

Views created in a REST catalog belong to it, so that other engines find them; they have no owner here. Functions
created there are our own objects, which it does not know, and so are the views that older servers recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

from catalog.changes import (
    Change,
    CreateSchema,
    CreateTable,
    CreateView,
    DropCatalog,
    DropSchema,
    DropTable,
    DropView,
    RenameTable,
    SetComment,
    SetLocation,
)
from catalog.conditions import (
    CatalogNotEmpty,
    RestCatalogNotChanged,
    RestConflict,
    RestOptionInvalid,
    RestOutcomeUnknown,
    RestViewsNotSupported,
    SchemaAlreadyExists,
    SchemaNotEmpty,
    SchemaNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from catalog.entries import SchemaEntry, TableEntry, ViewEntry
from catalog.names import CatalogName, SchemaName, TableName
from catalog.rest.client import Namespace
from catalog.rest.names import RestNames, location_of, without_place
from catalog.rest.new_views import creation, replacement
from catalog.state import CatalogState

# Namespace properties.
COMMENT, LOCATION = "comment", "location"

Sources = Mapping[CatalogName, object]


def change_elsewhere(sources: Sources, state: CatalogState, change: Change) -> Change:
    """Applies a change of names to its REST catalog, if it belongs to one. Raises the error that forbids it, and
    `RestCatalogNotAvailable`, `RestCatalogRefused`, `RestOutcomeUnknown`.

    Returns the change with the names as the REST catalog spells them, which is recorded without another request.
    """
    match change:
        case CreateSchema(entry, properties):
            if (names := _names(sources, entry.name)) is not None:
                _create_schema(names, entry, dict(properties))
        case DropSchema(schema, cascade):
            if (names := _names(sources, schema)) is not None:
                _drop_schema(names, state, schema, cascade=cascade)
        case SetComment(SchemaName() as commented, comment):
            if (names := _names(sources, commented)) is not None:
                _comment(names, commented, comment)
        case DropTable(table, purge):
            if (names := _names(sources, table.schema_name)) is not None:
                _drop_table(names, state, table, purge=purge)
        case CreateView(made, replaces):
            if (names := _other_than_view(sources, state, made.name)) is not None:
                _create_view(names, made, replaces=replaces)
        case DropView(view):
            if (names := _names(sources, view.schema_name)) is not None and view not in state.relations:
                _drop_view(names, view)
        case RenameTable(old, new):
            return RenameTable(old, _rename(sources, state, old, new))
        case _:  # all other changes concern only our own records
            pass
    return change


def recorded_elsewhere(sources: Sources, state: CatalogState, change: Change) -> list[Change] | None:
    """Returns the changes to our own record after a change of names in a REST catalog; None for any other change."""
    match change:
        case CreateSchema(entry, _) if _names(sources, entry.name) is not None:
            # The schema did not exist in the REST catalog, so that our record is of a
            # former one, whose owner and grants must not pass on to the new one.
            stale: list[Change] = [DropSchema(entry.name, cascade=True)] if entry.name in state.schemas else []
            return [*stale, CreateSchema(SchemaEntry(name=entry.name, owner=entry.owner))]
        case DropCatalog(catalog, cascade) if isinstance(names := sources.get(catalog), RestNames):
            return _forget(state, catalog, cascade=cascade)
        case DropSchema(schema, _) if _names(sources, schema) is not None:
            return [DropSchema(schema, cascade=True)] if schema in state.schemas else []
        case SetComment(SchemaName() as commented, _) if _names(sources, commented) is not None:
            return []
        case CreateTable(table, _) if _names(sources, table.name.schema_name) is not None:
            known: list[Change] = [DropTable(table.name)] if table.name in state.relations else []
            return [*known, CreateTable(_plain(table))]
        case CreateView(made, _) if _other_than_view(sources, state, made.name) is not None:
            # left by a table that another client dropped
            return [DropTable(made.name)] if made.name in state.relations else []
        case DropView(view) if _names(sources, view.schema_name) is not None and view not in state.relations:
            return []
        case DropTable(name, _) if _names(sources, name.schema_name) is not None:
            return [DropTable(name)] if name in state.relations else []
        case RenameTable(old, new) if (names := _other_than_view(sources, state, old)) is not None:
            if old not in state.relations:
                return []
            address = location_of(names.name.catalog, tuple(new.schema.split(".")), new.table)
            adopted: list[Change] = (
                [CreateSchema(SchemaEntry(name=new.schema_name))] if new.schema_name not in state.schemas else []
            )
            return [*adopted, RenameTable(old, new), SetLocation(new, address)]
        case SetLocation(moved, _) if _names(sources, moved.schema_name) is not None:
            raise RestCatalogNotChanged(moved.catalog, "The location of a table")
        case _:  # names in our own catalogs, and changes that do not concern a REST catalog
            return None


def _forget(state: CatalogState, catalog: CatalogName, *, cascade: bool) -> list[Change]:
    """Drops our record of a REST catalog, which itself continues to exist. Views and functions in it are ours, and are
    dropped only with `cascade`.
    """
    schemas = list(state.schemas_of(catalog))
    for schema in schemas:
        views = any(isinstance(each, ViewEntry) for each in state.relations_of(schema.name))
        if not cascade and (views or any(state.functions_of(schema.name))):
            raise CatalogNotEmpty(str(catalog))
    return [*(DropSchema(each.name, cascade=True) for each in schemas), DropCatalog(catalog)]


def _names(sources: Sources, schema: SchemaName) -> RestNames | None:
    found = sources.get(schema.catalog_name)
    return found if isinstance(found, RestNames) else None


def _other_than_view(sources: Sources, state: CatalogState, name: TableName) -> RestNames | None:
    """Returns the REST catalog for a name; None if the name is a view recorded here, or is in another catalog."""
    is_view = isinstance(state.relations.get(name), ViewEntry)
    return None if is_view else _names(sources, name.schema_name)


def _plain(table: TableEntry) -> TableEntry:
    return TableEntry(
        name=table.name,
        location=without_place(table.location),
        format=table.format,
        owner=table.owner,
        owner_kind=table.owner_kind,
        policies=table.policies,
        created_ms=table.created_ms,
        created_by=table.created_by,
    )


def _create_schema(names: RestNames, entry: SchemaEntry, properties: dict[str, str]) -> None:
    if entry.location is None and LOCATION in properties:  # a location in a property has not been checked
        raise RestOptionInvalid(entry.name.catalog, LOCATION, "a schema's place is said by LOCATION, not by a property")
    said = {COMMENT: entry.comment, LOCATION: entry.location}
    properties.update({key: value for key, value in said.items() if value is not None})
    if names.find_schema(entry.name.schema) is not None:
        raise SchemaAlreadyExists(str(entry.name))
    try:
        names.client.create_namespace(tuple(entry.name.schema.split(".")), properties)
    except RestConflict as error:
        raise SchemaAlreadyExists(str(entry.name)) from error


def _drop_schema(names: RestNames, state: CatalogState, schema: SchemaName, *, cascade: bool) -> None:
    namespace = names.namespace_of(schema.schema)
    if namespace is None:
        if schema in state.schemas:
            return  # another client dropped it; its record is removed
        raise SchemaNotFound(str(schema))
    own = [*(each for each in state.relations_of(schema) if isinstance(each, ViewEntry)), *state.functions_of(schema)]
    if own and not cascade:
        raise SchemaNotEmpty(str(schema))
    if any(len(inner) > len(namespace) for inner in names.client.namespaces(namespace)):
        raise SchemaNotEmpty(str(schema))  # before its tables are dropped
    # Pages of a list that shrinks while it is read would skip names.
    if cascade:  # all names are listed before the first is dropped
        tables, views = list(names.client.tables(namespace)), list(names.client.views(namespace))
        for view in views:
            names.client.drop_view(namespace, view)
        for table in tables:
            names.drop(namespace, table)
    try:
        names.client.drop_namespace(namespace)
    except RestConflict as error:
        raise SchemaNotEmpty(str(schema)) from error


def _comment(names: RestNames, schema: SchemaName, comment: str | None) -> None:
    updates, removals = ({}, [COMMENT]) if comment is None else ({COMMENT: comment}, [])
    if not names.client.change_namespace(_namespace(names, schema), updates, removals):
        raise SchemaNotFound(str(schema))


def _drop_table(names: RestNames, state: CatalogState, name: TableName, *, purge: bool) -> None:
    recorded = state.relations.get(name)
    if isinstance(recorded, ViewEntry):
        return  # the fold raises the error
    found = names.find(name.schema, name.table)
    if found is None:
        if recorded is None:
            raise TableNotFound(str(name))
        return  # another client dropped it; its record is removed
    names.drop(_namespace(names, name.schema_name), found.name.table, purge=purge)


def _create_view(names: RestNames, view: ViewEntry, *, replaces: bool) -> None:
    """Creates or replaces a view. If the response is lost, the view's text shows if it succeeded."""
    namespace = _namespace(names, view.name.schema_name)
    if names.find(view.name.schema, view.name.table) is not None:
        raise TableAlreadyExists(str(view.name))
    found = names.find_view(view.name.schema, view.name.table)
    if found is not None and not replaces:
        raise TableAlreadyExists(str(view.name))
    spelled = view.name.table if found is None else found.name.table
    metadata = None if found is None else names.client.load_view(namespace, spelled)
    try:
        if metadata is None:
            is_persistent = names.client.create_view(namespace, creation(view, namespace))
        else:
            is_persistent = names.client.replace_view(namespace, spelled, replacement(view, namespace, metadata))
    except RestConflict as error:
        if metadata is None:
            raise TableAlreadyExists(str(view.name)) from error
        raise
    except RestOutcomeUnknown:
        now = names.find_view(view.name.schema, spelled)
        if now is None or (now.text, now.current) != (view.text, view.current):
            raise
        return
    if not is_persistent:
        raise RestViewsNotSupported(names.name.catalog)


def _drop_view(names: RestNames, view: TableName) -> None:
    found = names.find_view(view.schema, view.table)
    if found is None or not names.client.drop_view(_namespace(names, found.name.schema_name), found.name.table):
        raise TableNotFound(str(view))


def _rename(sources: Sources, state: CatalogState, old: TableName, new: TableName) -> TableName:
    """Renames a table, and returns its new name with the schema as the REST catalog spells it."""
    names = _other_than_view(sources, state, old)
    others = _names(sources, new.schema_name)
    is_view = isinstance(state.relations.get(old), ViewEntry)
    if is_view or (names is None and others is None):
        return new
    if names is None or others is not names:
        raise RestCatalogNotChanged(new.catalog if names is None else old.catalog, "The catalog of a table")
    found = names.find(old.schema, old.table)
    if found is None:
        raise TableNotFound(str(old))
    if new in state.relations or names.find(new.schema, new.table) is not None:
        raise TableAlreadyExists(str(new))
    source = (_namespace(names, old.schema_name), found.name.table)
    target = _namespace(names, new.schema_name)
    try:
        if not names.rename(source, (target, new.table)):
            raise TableNotFound(str(old))
    except RestConflict as error:
        raise TableAlreadyExists(str(new)) from error
    return TableName(new.catalog, ".".join(target), new.table)


def _namespace(names: RestNames, schema: SchemaName) -> Namespace:
    found = names.namespace_of(schema.schema)
    if found is None:
        raise SchemaNotFound(str(schema))
    return found
