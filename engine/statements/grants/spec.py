"""Registers the statements about privileges, owners, groups and external locations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from catalog.conditions import PathNotAllowed, ViewExpected
from catalog.entries import FunctionEntry, SecurableEntry, ServerEntry, TableEntry, ViewEntry
from catalog.grants.conditions import RequiredAdmin, RequiredOwnership, RequiredPrivilege, Requirement
from catalog.grants.privileges import Kind, Privilege
from catalog.grants.right_changes import principal_of
from catalog.names import CatalogName, TableName, path_of
from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.securables import bind_function, bind_location
from engine.runtime.accesses import Use
from engine.runtime.statement import Statement
from engine.statements.grants.execution import answer_rights
from engine.statements.grants.planning import plan_rights
from engine.statements.grants.statement import (
    AlterGroup,
    AlterOwner,
    CreateGroup,
    CreateLocation,
    DropGroup,
    DropLocation,
    GrantRights,
    RevokeRights,
    SecurableName,
    ShowGrants,
    ShowGroups,
    ShowLocations,
    ShowUsers,
)
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    change_spec,
    effect,
    names_nothing,
    plan_from_bound,
    unrestricted,
)


def _bind(statement: GrantRights | RevokeRights | AlterOwner, binder: Binder) -> BoundNames:
    return BoundNames(securable=bind_securable(statement.securable, binder))


def _bind_grants(statement: ShowGrants, binder: Binder) -> BoundNames:
    named = statement.securable
    return BoundNames() if named is None else BoundNames(securable=bind_securable(named, binder))


def _bind_location(statement: DropLocation, binder: Binder) -> BoundNames:
    return BoundNames(securable=bind_location(statement.name, binder, if_exists=statement.if_exists))


def require_managed(bound: BoundStatement, _: Statement) -> Iterable[Requirement]:
    """Requires MANAGE on the object; only administrators manage the server itself."""
    if isinstance(bound.securable, ServerEntry):
        yield RequiredAdmin()
    elif bound.securable is not None:
        yield RequiredPrivilege(Privilege.MANAGE, bound.securable)


def _require_owner(bound: BoundStatement, statement: AlterOwner) -> Iterable[Requirement]:
    yield from require_managed(bound, statement)
    if isinstance(bound.securable, ViewEntry | FunctionEntry):
        yield RequiredOwnership(principal_of(bound.view.state, statement.owner.name, statement.owner.kind))


def _require_admin(_: BoundStatement, __: Statement) -> Iterable[Requirement]:
    yield RequiredAdmin()


def _require_create_location(bound: BoundStatement, _: CreateLocation) -> Iterable[Requirement]:
    yield RequiredPrivilege(Privilege.CREATE_EXTERNAL_LOCATION, bound.view.state.server)


_NO_ROWS = effect(PolicyEffect.NONE, "A statement about privileges")


def bind_securable(name: SecurableName, binder: Binder) -> SecurableEntry:
    """Binds an object. Raises not-found errors, also if the object is not visible to the principal."""
    view, state = binder.view, binder.state
    match name.kind:
        case Kind.SERVER:
            return view.state.server
        case Kind.CATALOG:
            return view.catalog(CatalogName(*name.parts) if name.parts else state.current.catalog_name)
        case Kind.SCHEMA:
            return view.schema(binder.schema(name.parts))
        case Kind.LOCATION:
            found = bind_location(name.parts[0], binder, if_exists=False)
            assert found is not None
            return found
        case Kind.FUNCTION:
            function = bind_function(name.parts, binder, if_exists=False)
            assert function is not None
            return function
        case Kind.VOLUME:
            return view.volume(TableName.from_parts(name.parts, state.current))
        case Kind.TABLE | Kind.VIEW:
            path = path_of(name.parts)
            if path is not None:
                raise PathNotAllowed(path)
            relation = view.resolve(TableName.from_parts(name.parts, state.current))
            if name.kind is Kind.VIEW and isinstance(relation, TableEntry):
                raise ViewExpected(str(relation.name))
            return relation
        case _:
            assert_never(name.kind)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        GrantRights,
        "GRANT",
        syntax="GRANT privilege, … ON {SERVER | kind name} TO [USER | GROUP] principal",
        example="GRANT SELECT ON TABLE orders TO analysts",
        bind=_bind,
        required_privileges=require_managed,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        RevokeRights,
        "REVOKE",
        syntax="REVOKE privilege, … ON {SERVER | kind name} FROM [USER | GROUP] principal",
        example="REVOKE SELECT ON TABLE orders FROM analysts",
        bind=_bind,
        required_privileges=require_managed,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        AlterOwner,
        "ALTER OWNER",
        syntax="ALTER {CATALOG | SCHEMA | TABLE | VIEW | FUNCTION | EXTERNAL LOCATION} name [SET] OWNER TO principal",
        example="ALTER SCHEMA daily OWNER TO analysts",
        bind=_bind,
        required_privileges=_require_owner,
        policy_effects=effect(PolicyEffect.ADMINISTERS, "ALTER OWNER"),
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        CreateGroup,
        "CREATE GROUP",
        syntax="CREATE GROUP [IF NOT EXISTS] group [WITH [USER user, …] [GROUP group, …]]",
        example="CREATE GROUP analysts WITH USER ada",
        bind=names_nothing,
        required_privileges=_require_admin,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        AlterGroup,
        "ALTER GROUP",
        syntax="ALTER GROUP group {ADD | DROP} [USER user, …] [GROUP group, …]",
        example="ALTER GROUP analysts ADD USER ada",
        bind=names_nothing,
        required_privileges=_require_admin,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropGroup,
        "DROP GROUP",
        syntax="DROP GROUP [IF EXISTS] group",
        example="DROP GROUP IF EXISTS analysts",
        bind=names_nothing,
        required_privileges=_require_admin,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        CreateLocation,
        "CREATE EXTERNAL LOCATION",
        syntax="CREATE EXTERNAL LOCATION [IF NOT EXISTS] location URL 'path' [COMMENT 'text']",
        example="CREATE EXTERNAL LOCATION landing URL '/landing'",
        bind=names_nothing,
        required_privileges=_require_create_location,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.GRANT,
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropLocation,
        "DROP EXTERNAL LOCATION",
        syntax="DROP EXTERNAL LOCATION [IF EXISTS] location",
        example="DROP EXTERNAL LOCATION landing",
        bind=_bind_location,
        required_privileges=require_managed,
        policy_effects=_NO_ROWS,
        plan=plan_from_bound(plan_rights),
        use=Use.WRITE,
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    unrestricted(
        ShowGrants,
        "SHOW GRANTS",
        syntax="SHOW GRANTS [principal] [ON kind name]",
        example="SHOW GRANTS ON TABLE orders",
        bind=_bind_grants,
        answer=answer_rights,
    ),
    unrestricted(
        ShowGroups,
        "SHOW GROUPS",
        syntax="SHOW GROUPS [WITH {USER user | GROUP group}] [[LIKE] 'pattern']",
        example="SHOW GROUPS",
        answer=answer_rights,
    ),
    unrestricted(
        ShowUsers,
        "SHOW USERS",
        syntax="SHOW USERS [[LIKE] 'pattern']",
        example="SHOW USERS",
        answer=answer_rights,
    ),
    unrestricted(
        ShowLocations,
        "SHOW EXTERNAL LOCATIONS",
        syntax="SHOW EXTERNAL LOCATIONS [[LIKE] 'pattern']",
        example="SHOW EXTERNAL LOCATIONS",
        answer=answer_rights,
    ),
)
