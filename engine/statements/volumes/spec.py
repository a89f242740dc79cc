"""Registers the statements about volumes and the files in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, assert_never

from catalog.conditions import RestCatalogNotChanged, VolumeAlreadyExists, VolumeNotFound, VolumeWithoutFolder
from catalog.entries import VolumeEntry
from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import TableName, ensure_new_part
from catalog.volumes.changes import CreateVolume as CreateVolumeChange
from catalog.volumes.changes import RenameVolume as RenameVolumeChange
from catalog.volumes.paths import parse_volume_path
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import on_securable, on_volume, places_of, schema_of
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.securables import bind_volume
from engine.binding.visibility import volume_of_path
from engine.planning.plans.ddl import CatalogPlan, DropVolumePlan, FilePlan
from engine.runtime.accesses import Use
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    change_spec,
    effect,
    names_nothing,
    plan_from_bound,
    unrestricted,
)
from engine.statements.volumes.execution import answer_volumes
from engine.statements.volumes.statement import (
    ChangeFile,
    CreateVolume,
    DescribeVolume,
    DropVolume,
    FileStatement,
    GetFile,
    ListVolume,
    RenameVolume,
    ShowVolumes,
    VolumeDefinition,
)


def plan_volume(bound: BoundStatement, statement: VolumeDefinition) -> CatalogPlan | DropVolumePlan:
    """Plans a change of the catalog. IF NOT EXISTS and IF EXISTS tolerate the error of a concurrent change."""
    name = TableName.from_parts(statement.volume_parts, bound.state.current)
    match statement:
        case CreateVolume():
            tolerated = (VolumeAlreadyExists,) if statement.if_not_exists else ()
            change = CreateVolumeChange(_new_volume(bound, name, statement))
            return CatalogPlan(change=change, tolerated=tolerated, condition=bound.condition)
        case RenameVolume(new_parts=parts):
            new_name = TableName.from_parts(parts, name.schema_name)
            return CatalogPlan(change=RenameVolumeChange(name, new_name), condition=bound.condition)
        case DropVolume(if_exists=if_exists):
            gone = (VolumeNotFound,) if if_exists else ()
            return DropVolumePlan(
                name=None if bound.securable is None else name, tolerated=gone, condition=bound.condition
            )
        case _:
            assert_never(statement)


def plan_file(bound: BoundStatement, statement: FileStatement) -> FilePlan:
    """Plans access to a file. The location is that of the path's volume, to which binding resolved the path."""
    entry = bound.securable
    assert isinstance(entry, VolumeEntry)
    path = parse_volume_path(statement.path)
    return FilePlan(statement=statement, path=path, location=entry.location, managed=entry.managed)


def _new_volume(bound: BoundStatement, name: TableName, statement: CreateVolume) -> VolumeEntry:
    ensure_new_part(name.table)
    if bound.view.is_rest(name.schema_name.catalog_name):
        raise RestCatalogNotChanged(name.catalog, "A volume")
    location = statement.location or bound.view.new_volume_location(name, uuid.uuid4().hex)
    if location is None:
        raise VolumeWithoutFolder(str(name))
    return VolumeEntry(
        name=TableName(name.catalog, bound.view.schema(name.schema_name).name.schema, name.table),
        location=location,
        managed=statement.location is None,
        owner=bound.state.principal,
        comment=statement.comment,
    )


def _bind_volume(statement: DescribeVolume | RenameVolume, binder: Binder) -> BoundNames:
    return BoundNames(securable=bind_volume(statement.volume_parts, binder, if_exists=False))


def _bind_dropped(statement: DropVolume, binder: Binder) -> BoundNames:
    return BoundNames(securable=bind_volume(statement.volume_parts, binder, if_exists=statement.if_exists))


def _bind_file(statement: FileStatement, binder: Binder) -> BoundNames:
    return BoundNames(securable=volume_of_path(parse_volume_path(statement.path), binder.view))


def _require_create(bound: BoundStatement, statement: CreateVolume) -> Iterable[Requirement]:
    name = TableName.from_parts(statement.volume_parts, bound.state.current)
    yield RequiredPrivilege(Privilege.CREATE_VOLUME, schema_of(bound, name))
    if statement.location is not None:
        for owner in places_of(bound, statement.location):
            yield RequiredPrivilege(Privilege.CREATE_EXTERNAL_VOLUME, owner)


def _require_rename(bound: BoundStatement, statement: RenameVolume) -> Iterable[Requirement]:
    yield on_volume(bound, Privilege.MANAGE)
    name = TableName.from_parts(statement.volume_parts, bound.state.current)
    yield RequiredPrivilege(Privilege.CREATE_VOLUME, schema_of(bound, name))


_NO_TABLE = effect(PolicyEffect.NONE, "A statement about volumes")

SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        GetFile,
        "GET",
        syntax="GET '/Volumes/catalog/schema/volume/file' TO 'local path'",
        example="GET '/Volumes/main/daily/landing/a.csv' TO 'a.csv'",
        bind=_bind_file,
        required_privileges=lambda bound, _: (on_volume(bound, Privilege.READ_VOLUME),),
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_file),
        use=Use.READ,
        repetition=Repetition.AGAIN,
        answers_rows=True,
        reports_work=False,
        is_read_only=True,
    ),
    change_spec(
        ListVolume,
        "LIST",
        syntax="LIST '/Volumes/catalog/schema/volume[/folder]' [LIMIT n]",
        example="LIST '/Volumes/main/daily/landing'",
        bind=_bind_file,
        required_privileges=lambda bound, _: (on_volume(bound, Privilege.READ_VOLUME),),
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_file),
        use=Use.DESCRIBE,
        repetition=Repetition.AGAIN,
        answers_rows=True,
        reports_work=False,
        is_read_only=True,
    ),
    change_spec(
        ChangeFile,
        "PUT",
        syntax="PUT 'local path' INTO '/Volumes/catalog/schema/volume/file' [OVERWRITE] | "
        "REMOVE '/Volumes/catalog/schema/volume/file'",
        example="REMOVE '/Volumes/main/daily/landing/a.csv'",
        bind=_bind_file,
        required_privileges=lambda bound, _: (on_volume(bound, Privilege.WRITE_VOLUME),),
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_file),
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        CreateVolume,
        "CREATE VOLUME",
        syntax="CREATE [EXTERNAL] VOLUME [IF NOT EXISTS] volume [LOCATION 'path'] [COMMENT 'text']",
        example="CREATE VOLUME daily.landing",
        bind=names_nothing,
        required_privileges=_require_create,
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_volume),
        repetition=Repetition.CREATION,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        DropVolume,
        "DROP VOLUME",
        syntax="DROP VOLUME [IF EXISTS] volume",
        example="DROP VOLUME daily.landing",
        bind=_bind_dropped,
        required_privileges=lambda bound, _: on_securable(bound, Privilege.MANAGE),
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_volume),
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        RenameVolume,
        "ALTER VOLUME",
        syntax="ALTER VOLUME volume RENAME TO name",
        example="ALTER VOLUME daily.landing RENAME TO daily.incoming",
        bind=_bind_volume,
        required_privileges=_require_rename,
        policy_effects=_NO_TABLE,
        plan=plan_from_bound(plan_volume),
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    unrestricted(
        ShowVolumes,
        "SHOW VOLUMES",
        syntax="SHOW VOLUMES [{IN | FROM} schema] [[LIKE] 'pattern']",
        example="SHOW VOLUMES IN daily",
        answer=answer_volumes,
    ),
    unrestricted(
        DescribeVolume,
        "DESCRIBE VOLUME",
        syntax="{DESCRIBE | DESC} VOLUME volume",
        example="DESCRIBE VOLUME daily.landing",
        bind=_bind_volume,
        answer=answer_volumes,
    ),
)
