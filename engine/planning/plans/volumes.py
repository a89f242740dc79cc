"""Plans of statements about volumes."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from catalog.grants.conditions import Condition
from catalog.names import TableName
from catalog.volumes.paths import VolumePath
from engine.statements.volumes.statement import FileStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """List, transfer or change what is at `path`; `location` is the folder of its volume, `managed` as its entry's."""

    statement: FileStatement
    path: VolumePath
    location: str
    managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVolumePlan:
    """Take the name away, then the files of a managed volume; None: it is gone already. The rest as `CatalogPlan`."""

    name: TableName | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None
