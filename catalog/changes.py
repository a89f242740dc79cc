"""Changes to the catalog as values; :func:`apply` is the single pure fold of changes onto a state.

The fold checks the preconditions on the state that it receives. A change that lost a race is therefore checked again on
the winning state: two sessions that create the same table cannot both succeed. `CREATE … IF NOT EXISTS` and `DROP … IF
EXISTS` are implemented by the caller, which catches the named error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import assert_never

from catalog.conditions import (
    CatalogAlreadyExists,
    CatalogNotEmpty,
    CatalogNotFound,
    DropNotAllowed,
    SchemaAlreadyExists,
    SchemaNotEmpty,
    SchemaNotFound,
    TableAlreadyExists,
    TableExpected,
    TableNotFound,
    ViewExpected,
)
from catalog.entries import CatalogEntry, CloneEntry, Relation, SchemaEntry, SchemaMode, TableEntry, ViewEntry
from catalog.grants.privileges import group
from catalog.grants.right_changes import (
    ChangeGroup,
    CreateFunction,
    CreateGroup,
    CreateLocation,
    DropFunction,
    DropGroup,
    DropLocation,
    GrantPrivileges,
    RevokePrivileges,
    RightChange,
    SetOwner,
    apply_right,
)
from catalog.names import CatalogName, SchemaName, TableName, ensure_valid_part
from catalog.policies.policy_changes import (
    PolicyChange,
    SetColumnMask,
    SetRowFilter,
    apply_policy,
    ensure_functions,
    ensure_unused,
)
from catalog.policies.tag_changes import (
    CreatePolicy,
    DropPolicy,
    SetTags,
    TagChange,
    apply_tags,
    ensure_not_named,
    ensure_stays,
)
from catalog.state import DEFAULT_CATALOG_NAME, DEFAULT_SCHEMA_NAME, CatalogState
from catalog.volumes.changes import CreateVolume, DropVolume, RenameVolume, SetVolumeComment, VolumeChange, apply_volume


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    entry: CatalogEntry


@dataclass(frozen=True, slots=True)
class DropCatalog:
    """Drops a catalog, which must be empty. `cascade` drops a REST catalog together with the entries for its
    objects.
    """

    name: CatalogName
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class SetRestOptions:
    """New options for a REST catalog with an entry here."""

    name: CatalogName
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A new schema; `properties` apply to REST catalogs, which store them."""

    entry: SchemaEntry
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DropSchema:
    """Drops a schema with its contents if `cascade`, else only an empty one."""

    name: SchemaName
    cascade: bool = False


_COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table; `replace` replaces the existing table's entry."""

    entry: TableEntry
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """Drops a table; `purge` requests that a REST catalog also deletes the table's files."""

    name: TableName
    purge: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable:
    """Renames a table or a view, also into another schema."""

    name: TableName
    new_name: TableName


@dataclass(frozen=True, slots=True)
class SetLocation:
    """Sets the location for an external table."""

    name: TableName
    location: str


@dataclass(frozen=True, slots=True)
class SetFormat:
    """Sets the file format for a table, provided that its location and format still equal those in `entry`."""

    entry: TableEntry
    format: str


@dataclass(frozen=True, slots=True)
class SetComment:
    """Sets the comment on a catalog or a schema; None removes it."""

    name: CatalogName | SchemaName
    comment: str | None


@dataclass(frozen=True, slots=True)
class CreateView:
    """A new view; `replace` replaces the existing view's entry. `alters` requires an existing view, which keeps its
    comment, properties and creation time.
    """

    entry: ViewEntry
    replace: bool = False
    alters: bool = False


@dataclass(frozen=True, slots=True)
class SetViewProperties:
    """Sets and removes view properties; others stay unchanged. The property `comment` is the view's comment.

    `column_comments` are pairs with a column name as the view spells it, and its new comment (None removes it).
    `schema_mode`: the new mode; None keeps it.
    """

    name: TableName
    new: tuple[tuple[str, str], ...]
    gone: tuple[str, ...] = ()
    column_comments: tuple[tuple[str, str | None], ...] = ()
    schema_mode: SchemaMode | None = None
    altered_ms: int | None = None
    altered_by: str | None = None


@dataclass(frozen=True, slots=True)
class DropView:
    name: TableName


@dataclass(frozen=True, slots=True)
class RecordClone:
    """Records that a table's versions may name files in other tables' folders; adds the sources in `entry` to the known
    ones.
    """

    entry: CloneEntry


@dataclass(frozen=True, slots=True)
class ForgetClone:
    """Removes the clone entry for a location whose table is gone with all its versions."""

    location: str


Change = (
    CreateCatalog
    | SetRestOptions
    | DropCatalog
    | CreateSchema
    | DropSchema
    | CreateTable
    | DropTable
    | RenameTable
    | SetLocation
    | SetFormat
    | SetComment
    | CreateView
    | SetViewProperties
    | DropView
    | RecordClone
    | ForgetClone
    | RightChange
    | PolicyChange
    | TagChange
    | VolumeChange
)


def apply(state: CatalogState, *changes: Change) -> CatalogState:
    """Returns `state` after all `changes`, as one new generation; raises the SqlError that forbids one."""
    return replace(reduce(_apply, changes, state), generation=state.generation + 1)


def _apply(state: CatalogState, change: Change) -> CatalogState:
    match change:
        case CreateCatalog(entry):
            return _create_catalog(state, entry)
        case DropCatalog(name, _):
            return _drop_catalog(state, name)
        case SetRestOptions(name_of, options):
            return _set_options(state, name_of, options)
        case CreateSchema(entry_, _):
            return _create_schema(state, entry_)
        case DropSchema(name_, cascade):
            return _drop_schema(state, name_, cascade)
        case CreateTable(table, replace_):
            ensure_functions(state, table.policies)
            return _put_relation(state, table, replace_)
        case CreateView(view, replace_, alters):
            return _put_relation(state, _as_before(state, view) if alters else view, replace_)
        case SetViewProperties(view_name):
            return _put_relation(state, _with_properties(_view(state, view_name), change), True)
        case DropTable(table_name, _):
            if isinstance(_relation(state, table_name), ViewEntry):
                raise TableExpected(str(table_name))
            return _without_relation(state, table_name)
        case DropView(table_name):
            if isinstance(_relation(state, table_name), TableEntry):
                raise ViewExpected(str(table_name))
            return _without_relation(state, table_name)
        case RenameTable(old, new):
            ensure_stays(state, old, new)
            renamed = replace(_relation(state, old), name=new)
            return _put_relation(_without_relation(state, old), renamed, False)
        case SetLocation(moved, location):
            return _put_relation(state, _with_location(_relation(state, moved), location), True)
        case SetFormat(known, format_):
            return _put_relation(state, _with_format(_relation(state, known.name), known, format_), True)
        case SetComment(commented, comment):
            return _with_comment(state, commented, comment)
        case RecordClone(clone):
            return _record_clone(state, clone)
        case ForgetClone(gone):
            return replace(state, clones={key: entry for key, entry in state.clones.items() if key != gone})
        case (
            GrantPrivileges()
            | RevokePrivileges()
            | SetOwner()
            | CreateGroup()
            | ChangeGroup()
            | CreateLocation()
            | DropLocation()
            | CreateFunction()
        ):
            return apply_right(state, change)
        case DropGroup(group_name):
            ensure_not_named(state, group(group_name))
            return apply_right(state, change)
        case SetTags() | CreatePolicy() | DropPolicy():
            return apply_tags(state, change)
        case DropFunction(function):
            ensure_unused(state, (function,))
            return apply_right(state, change)
        case SetRowFilter() | SetColumnMask():
            return apply_policy(state, change)
        case CreateVolume() | DropVolume() | RenameVolume() | SetVolumeComment():
            return apply_volume(state, change)
        case _:
            assert_never(change)


def _create_catalog(state: CatalogState, entry: CatalogEntry) -> CatalogState:
    ensure_valid_part(entry.name.catalog)
    if entry.name in state.catalogs:
        raise CatalogAlreadyExists(str(entry.name))
    return replace(state, catalogs={**state.catalogs, entry.name: entry})


def _set_options(state: CatalogState, name: CatalogName, options: tuple[tuple[str, str], ...]) -> CatalogState:
    entry = state.catalogs.get(name)
    if entry is None or entry.rest is None:
        raise CatalogNotFound(str(name))
    return replace(state, catalogs={**state.catalogs, name: replace(entry, rest=options)})


def _drop_catalog(state: CatalogState, name: CatalogName) -> CatalogState:
    if name == DEFAULT_CATALOG_NAME:
        raise DropNotAllowed(str(name))
    if name not in state.catalogs:
        raise CatalogNotFound(str(name))
    if any(state.schemas_of(name)):
        raise CatalogNotEmpty(str(name))
    return replace(state, catalogs={key: entry for key, entry in state.catalogs.items() if key != name})


def _create_schema(state: CatalogState, entry: SchemaEntry) -> CatalogState:
    ensure_valid_part(entry.name.schema)
    if entry.name.catalog_name not in state.catalogs:
        raise CatalogNotFound(str(entry.name.catalog_name))
    if entry.name in state.schemas:
        raise SchemaAlreadyExists(str(entry.name))
    return replace(state, schemas={**state.schemas, entry.name: entry})


def _drop_schema(state: CatalogState, name: SchemaName, cascade: bool) -> CatalogState:
    if name == DEFAULT_SCHEMA_NAME:
        raise DropNotAllowed(str(name))
    if name not in state.schemas:
        raise SchemaNotFound(str(name))
    inside = {entry.name for entry in state.relations_of(name)}
    functions = {entry.name for entry in state.functions_of(name)}
    volumes = {entry.name for entry in state.volumes_of(name)}
    ensure_unused(state, functions, but={*inside, name})
    if (inside or functions or volumes) and not cascade:
        raise SchemaNotEmpty(str(name))
    return replace(
        state,
        schemas={key: entry for key, entry in state.schemas.items() if key != name},
        relations={key: entry for key, entry in state.relations.items() if key not in inside},
        functions={key: entry for key, entry in state.functions.items() if key not in functions},
        volumes={key: entry for key, entry in state.volumes.items() if key not in volumes},
    )


def _put_relation(state: CatalogState, entry: Relation, may_replace: bool) -> CatalogState:
    ensure_valid_part(entry.name.table)
    if entry.name.schema_name not in state.schemas:
        raise SchemaNotFound(str(entry.name.schema_name))
    present = state.relations.get(entry.name)
    if present is not None and not (may_replace and type(present) is type(entry)):
        raise TableAlreadyExists(str(entry.name))
    if present is not None:
        # the owner is the user who wrote the new text, and the view is read as that user
        entry = replace(entry, grants=present.grants)
        entry = replace(entry, tags=present.tags)
        if isinstance(entry, TableEntry) and isinstance(present, TableEntry):
            entry = replace(entry, policies=present.policies, named_policies=present.named_policies)
    remaining = {key: relation for key, relation in state.relations.items() if key != entry.name}
    return replace(state, relations={**remaining, entry.name: entry})


def _record_clone(state: CatalogState, entry: CloneEntry) -> CatalogState:
    before = state.clones.get(entry.location)
    if before is not None:
        entry = replace(before, sources=tuple(dict.fromkeys((*before.sources, *entry.sources))))
    return replace(state, clones={**state.clones, entry.location: entry})


def _with_location(entry: Relation, location: str) -> TableEntry:
    if isinstance(entry, ViewEntry):
        raise TableExpected(str(entry.name))
    return replace(entry, location=location)


def _with_format(entry: Relation, known: TableEntry, format: str) -> TableEntry:
    if not isinstance(entry, TableEntry) or (entry.location, entry.format) != (known.location, known.format):
        raise TableNotFound(str(known.name))
    return replace(entry, format=format)


def _with_comment(state: CatalogState, name: CatalogName | SchemaName, comment: str | None) -> CatalogState:
    if isinstance(name, CatalogName):
        catalog = state.catalogs.get(name)
        if catalog is None:
            raise CatalogNotFound(str(name))
        return replace(state, catalogs={**state.catalogs, name: replace(catalog, comment=comment)})
    schema = state.schemas.get(name)
    if schema is None:
        raise SchemaNotFound(str(name))
    return replace(state, schemas={**state.schemas, name: replace(schema, comment=comment)})


def _relation(state: CatalogState, name: TableName) -> Relation:
    relation = state.relations.get(name)
    if relation is None:
        raise TableNotFound(str(name))
    return relation


def _view(state: CatalogState, name: TableName) -> ViewEntry:
    found = _relation(state, name)
    if isinstance(found, TableEntry):
        raise ViewExpected(str(name))
    return found


def _as_before(state: CatalogState, view: ViewEntry) -> ViewEntry:
    """Returns `view` with the attributes that ALTER VIEW AS preserves, from the existing view."""
    before = _view(state, view.name)
    unchanged = replace(view, comment=before.comment, properties=before.properties, schema_mode=before.schema_mode)
    return replace(unchanged, created_ms=before.created_ms, created_by=before.created_by)


def _with_properties(view: ViewEntry, change: SetViewProperties) -> ViewEntry:
    new, gone = dict(change.new), change.gone
    comment = new.pop(_COMMENT, None if _COMMENT in gone else view.comment)
    remaining = {key: value for key, value in view.properties if key not in gone}
    comments = dict(change.column_comments)
    columns = tuple(replace(each, comment=comments.get(each.name, each.comment)) for each in view.columns)
    view = replace(view, altered_ms=change.altered_ms, altered_by=change.altered_by, columns=columns)
    if change.schema_mode is not None:
        view = replace(view, schema_mode=change.schema_mode)
    if change.schema_mode is SchemaMode.EVOLUTION:  # the query's own names apply
        view = replace(view, columns=tuple(replace(each, name=each.source) for each in view.columns))
    return replace(view, comment=comment, properties=tuple({**remaining, **new}.items()))


def _without_relation(state: CatalogState, name: TableName) -> CatalogState:
    return replace(state, relations={key: entry for key, entry in state.relations.items() if key != name})
