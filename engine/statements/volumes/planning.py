"""Plans statements about volumes and their files."""

from __future__ import annotations

import uuid
from typing import assert_never

from catalog.conditions import RestCatalogNotChanged, VolumeAlreadyExists, VolumeNotFound, VolumeWithoutFolder
from catalog.entries import VolumeEntry
from catalog.names import TableName, ensure_new_part
from catalog.volumes.changes import CreateVolume as CreateVolumeChange
from catalog.volumes.changes import RenameVolume as RenameVolumeChange
from catalog.volumes.paths import parse_volume_path
from engine.binding.bound import BoundStatement
from engine.planning.plans.ddl import CatalogPlan, DropVolumePlan, FilePlan
from engine.statements.volumes.statement import CreateVolume, DropVolume, FileStatement, RenameVolume, VolumeDefinition


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
