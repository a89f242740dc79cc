"""Required privileges: the rules that several statement families share, pure over bound values.

Each statement's own privileges are defined in its family (`engine.statements`). The rules are Databricks' if it has the
statement. USE on each object's schema and catalog is part of every required privilege (`catalog.grants.conditions`).
Nothing here depends on the current principal: objects that are not visible to it were not found at binding, except for
containers that statements name and binding does not look up. These are looked up here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from catalog.entries import FunctionEntry, LocationEntry, SchemaEntry, ViewEntry, VolumeEntry, owner_of
from catalog.grants.conditions import Definer, RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege, user
from catalog.grants.rights import label_of
from catalog.names import TableName, path_of
from catalog.system.system_views import is_system_schema
from engine.binding.bound import (
    BoundChanges,
    BoundFiles,
    BoundFunction,
    BoundInBody,
    BoundMetadata,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
    FreeName,
    PathOwner,
    TakenName,
)
from engine.binding.visibility import free_path_owners
from engine.runtime.session_state import is_temporary

RequiredPrivileges = Iterable[Requirement]

# Privileges on tables -> privileges on a volume whose files are named by their path.
_ON_VOLUME = {Privilege.SELECT: Privilege.READ_VOLUME, Privilege.MODIFY: Privilege.WRITE_VOLUME}

# A table privilege -> the privilege on its external location, for a table that is only known by its path.
_ON_LOCATION = {
    Privilege.SELECT: Privilege.READ_FILES,
    Privilege.MODIFY: Privilege.WRITE_FILES,
    Privilege.MANAGE: Privilege.WRITE_FILES,
}


def new_table(bound: BoundStatement, parts: tuple[str, ...], *, replaces: bool = False) -> RequiredPrivileges:
    """Requires creating a name in a schema, using the location if the statement names one, and replacing an existing
    table.
    """
    target = bound.target
    if path_of(parts) is None:
        yield RequiredPrivilege(
            Privilege.CREATE_TABLE, schema_of(bound, TableName.from_parts(parts, bound.state.current))
        )
    match target:
        case BoundTable():
            yield from on_table(target, Privilege.MANAGE)
        case FreeName(owners=owners):
            yield from (RequiredPrivilege(Privilege.CREATE_EXTERNAL_TABLE, owner) for owner in owners)
            if target.is_path:
                yield from (RequiredPrivilege(Privilege.WRITE_FILES, owner) for owner in owners)
        case TakenName(entry=entry):
            if replaces:
                yield RequiredPrivilege(Privilege.MANAGE, entry)
        case None:
            pass
        case _:
            assert_never(target)


def places_of(bound: BoundStatement, written: str) -> Iterable[PathOwner]:
    """Returns the external locations that contain a path, for a statement that creates something there.

    Raises `PathNotAllowed`, and `InsufficientPermissions` for a path of a table.
    """
    return free_path_owners(bound.view, bound.view.ensure_location(written))


def on_volume(bound: BoundStatement, privilege: Privilege) -> RequiredPrivilege:
    """Returns the privilege on the volume to which binding resolved the statement's path."""
    assert bound.securable is not None, "a statement on files is bound to their volume"
    return RequiredPrivilege(privilege, bound.securable)


def on_securable(bound: BoundStatement, privilege: Privilege) -> RequiredPrivileges:
    """Returns the privilege on the statement's securable; none if the statement names no securable."""
    return [] if bound.securable is None else [RequiredPrivilege(privilege, bound.securable)]


def managed_schema(schema: SchemaEntry) -> RequiredPrivileges:
    """Requires a managed schema: `information_schema` cannot be managed and rejects changes itself."""
    return [] if is_system_schema(schema.name) else [RequiredPrivilege(Privilege.MANAGE, schema)]


def schema_of(bound: BoundStatement, name: TableName) -> SchemaEntry:
    """Returns the entry for a name's schema. Raises `SchemaNotFound`, also for an invisible one."""
    return bound.view.schema(name.schema_name)


def on_target(bound: BoundStatement, privilege: Privilege) -> RequiredPrivileges:
    """Returns the privilege on the target: a table, or the object that has its name; none for a free name."""
    match bound.target:
        case BoundTable() as table:
            return on_table(table, privilege)
        case TakenName(entry=entry):
            return [RequiredPrivilege(privilege, entry)]
        case FreeName() | None:  # nothing exists there
            return []
        case _:
            assert_never(bound.target)


def on_table(table: BoundTable, privilege: Privilege, definer: Definer | None = None) -> RequiredPrivileges:
    """Returns the privilege on a table's entry, or, for a table named by its path, on each of the path's owners.

    `definer` is set if the table is read with the rights of a view's or function's owner.
    """
    if table.name is not None:
        return [RequiredPrivilege(privilege, table.entry, definer)]
    return [on_owner(owner, privilege, definer) for owner in table.owners]


def on_owner(owner: PathOwner, privilege: Privilege, definer: Definer | None) -> RequiredPrivilege:
    """Requires the same privileges for a table's path as for its name."""
    if isinstance(owner, VolumeEntry):
        return RequiredPrivilege(_ON_VOLUME[privilege], owner, definer)
    return RequiredPrivilege(_ON_LOCATION[privilege] if isinstance(owner, LocationEntry) else privilege, owner, definer)


def definer_of(bound: BoundStatement) -> Definer | None:
    """Returns the principal for reading a new view's or function's sources later: its owner."""
    return Definer(user(bound.state.principal)) if bound.is_persistent else None


def executions(functions: Iterable[BoundFunction], definer: Definer | None) -> RequiredPrivileges:
    """Requires EXECUTE on each called function; functions called in its body are checked against its owner.

    A temporary function belongs to its session, and requires the privileges for its body.
    """
    for function in functions:
        if is_temporary(function.entry.name):
            yield from executions(function.functions, definer)
            continue
        yield RequiredPrivilege(Privilege.EXECUTE, function.entry, definer)
        yield from executions(function.functions, _owner(function.entry, definer))


def _owner(entry: ViewEntry | FunctionEntry, reader: Definer | None) -> Definer:
    """Returns the principal that a text is read as. Messages name the outermost object, which the statement named, and
    nothing inside it.
    """
    outer = None if reader is None else reader.label
    return Definer(owner_of(entry), outer or label_of(entry))


def reads(relations: Iterable[BoundRelation], definer: Definer | None = None) -> RequiredPrivileges:
    """Yields the privileges to read relations, including those inside views and functions with their definers."""
    for relation in relations:
        yield from _privileges_to_read(relation, definer)


def _privileges_to_read(relation: BoundRelation, definer: Definer | None) -> RequiredPrivileges:
    """Requires SELECT on the named objects; objects named by a catalog view, a function body, or a policy are checked
    against its owner.
    """
    match relation:
        case BoundTable(policy=policy):
            yield from on_table(relation, Privilege.SELECT, definer)
            if policy is not None:
                # The privileges on the tables that policies read are the function owners':
                # the table's reader needs none of them.
                yield from reads(policy.relations, Definer(None, (definer and definer.label) or relation.label))
        case BoundInBody(function=function, relation=named) if is_temporary(function.name):
            yield from _privileges_to_read(named, definer)
        case BoundInBody(function=function, called=called, relation=named):
            label = (definer and definer.label) or label_of(called)
            yield from _privileges_to_read(named, Definer(owner_of(function), label))
        case BoundChanges(table=table) | BoundMetadata(table=table):
            yield from on_table(table, Privilege.SELECT, definer)
        case BoundFiles(owners=owners):
            yield from (on_owner(owner, Privilege.SELECT, definer) for owner in owners)
        case BoundView(entry=view) if is_system_schema(view.name.schema_name):
            pass  # its rows are limited to visible objects
        # A temporary view belongs to its session and has no owner whose rights it could
        # lend: its body is checked against the session's principal.
        case BoundView(entry=view, relations=inner, functions=functions) if is_temporary(view.name):
            yield from (*executions(functions, definer), *reads(inner, definer))
        case BoundView(entry=view, relations=inner, functions=functions):
            yield RequiredPrivilege(Privilege.SELECT, view, definer)
            # A view of a REST catalog has no owner in this catalog, so its reader needs the
            # privileges.
            owner = _owner(view, definer) if view.foreign is None else definer
            yield from (*executions(functions, owner), *reads(inner, owner))
        case _:
            assert_never(relation)
