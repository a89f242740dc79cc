"""Executes volume statements: listings, and file transfers and changes.

PUT, GET and REMOVE return one row with the client's transfer location. For a client that cannot transfer files, REMOVE
is executed here, and the others raise an error.
"""

from __future__ import annotations

import logging
from typing import assert_never, cast

from catalog.catalog import Catalog
from catalog.conditions import FileInStagingPathExists, StagingNotSupported
from catalog.entries import VolumeEntry
from catalog.names import SchemaName, like_matcher
from engine.binding.bound import BoundStatement, Outcome
from engine.planning.plans.ddl import DropVolumePlan, FilePlan
from engine.runtime.request import StatementRequest
from engine.runtime.results import BIGINT, STRING, STRING_MAP, empty_result, small_result, string_rows
from engine.statements.volumes.statement import (
    ChangeFile,
    DescribeVolume,
    FileStatement,
    GetFile,
    ListVolume,
    ShowVolumes,
)
from engine.storage.storage import open_storage
from engine.storage.volume_files import FileOperation, FileTransfer, VolumeFile

logger = logging.getLogger(__name__)

# The columns that Databricks' drivers read, and for a statement with a local file `localFile`: @databricks/sql requires
# headers as a map, and rejects a local file that is NULL.
_STAGING = {"operation": STRING, "presignedUrl": STRING, "headers": STRING_MAP}


def answer_volumes(bound: BoundStatement, statement: ShowVolumes | DescribeVolume) -> Outcome:
    """Returns rows in Databricks' columns. A volume's location is NULL for a principal who may not see it."""
    match statement:
        case ShowVolumes(schema_parts=parts, pattern=pattern):
            schema = SchemaName.from_parts(parts, bound.state.catalog) if parts else bound.state.current
            found = bound.view.volumes(schema, like_matcher(pattern))
            rows = [(entry.name.schema, entry.name.table) for entry in found]
            return Outcome(result=string_rows(("database", "volume_name"), rows))
        case DescribeVolume():
            entry = bound.securable
            assert isinstance(entry, VolumeEntry)
            location = entry.location if bound.view.tells_all(entry) else None
            kind = "MANAGED" if entry.managed else "EXTERNAL"
            columns = ("name", "catalog", "database", "owner", "storageLocation", "volumeType", "comment")
            row = (entry.name.table, entry.name.catalog, entry.name.schema, entry.owner, location, kind, entry.comment)
            return Outcome(result=string_rows(columns, [row]))
        case _:
            assert_never(statement)


def answer_file(plan: FilePlan, catalog: Catalog, request: StatementRequest) -> Outcome:
    """Returns the row. Raises `FileInStagingPathExists`, `StagingNotSupported`, and file access errors."""
    statement = cast(FileStatement, plan.statement)  # only this family creates the plan
    file = VolumeFile(plan.path, plan.location, catalog.allowed_roots, lambda: _is_dropped(plan, catalog))
    if isinstance(statement, ListVolume):
        return _list_entries(file, statement)
    transfer = _transfer(statement, file)
    if transfer.operation is FileOperation.PUT and not transfer.overwrite and file.exists():
        raise FileInStagingPathExists(str(plan.path))
    if request.stage is None:
        if transfer.operation is not FileOperation.REMOVE:
            raise StagingNotSupported(transfer.operation)
        file.remove()
        return Outcome(result=empty_result())
    row: tuple[object, ...] = (transfer.operation.value, request.stage(transfer), {})
    if statement.local:
        result = small_result(_STAGING | {"localFile": STRING}, [(*row, statement.local)])
    else:
        result = small_result(_STAGING, [row])
    result.is_staging = True
    return Outcome(result=result)


def _is_dropped(plan: FilePlan, catalog: Catalog) -> bool:
    """Returns True if no volume has a managed file's folder any more. External volumes' files are kept."""
    return plan.managed and all(entry.location != plan.location for entry in catalog.view().state.volumes.values())


def _transfer(statement: GetFile | ChangeFile, file: VolumeFile) -> FileTransfer:
    if isinstance(statement, GetFile):
        return FileTransfer(FileOperation.GET, file)
    return FileTransfer(statement.operation, file, statement.overwrite)


def _list_entries(file: VolumeFile, statement: ListVolume) -> Outcome:
    entries = [entry for entry in file.entries() if entry.name > statement.after][: statement.limit]
    columns = {"path": STRING, "name": STRING, "size": BIGINT, "modification_time": BIGINT}
    return Outcome(result=small_result(columns, [(e.path, e.name, e.size, e.modified_ms) for e in entries]))


def drop_volume(plan: DropVolumePlan, catalog: Catalog, request: StatementRequest) -> Outcome:
    """Drops the name, then a managed volume's files."""
    if plan.name is None:
        return Outcome(result=empty_result())
    try:
        entry, rights = catalog.drop_volume(plan.name, plan.condition)
    except plan.tolerated:
        return Outcome(result=empty_result())
    request.on_rights(rights)
    remove_volume_files(entry, catalog)
    return Outcome(result=empty_result())


def remove_volume_files(entry: VolumeEntry, catalog: Catalog) -> None:
    """Removes a dropped volume's files, whose folder no later volume uses; leftover files are harmless."""
    if not entry.managed:
        return
    try:
        open_storage(entry.location, allowed_roots=catalog.allowed_roots).delete_tree()
    except OSError:
        logger.warning("files of the dropped volume %s stay at %s", entry.name, entry.location, exc_info=True)
