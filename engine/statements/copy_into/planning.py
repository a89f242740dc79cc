"""The plan of COPY INTO: an INSERT of the rows of files, once for each file."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from engine.binding.bound import BoundFiles, BoundTable
from engine.binding.source_files import places_of
from engine.errors.table_errors import naming
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.writes import CopyPlan, InsertPlan
from engine.statements.copy_into.statement import CopyInto
from engine.statements.insert.planning import plan_insert
from engine.tables.operations import TableOperation


def plan_copy(analyzed: AnalyzedStatement, statement: CopyInto) -> CopyPlan:
    """Raises what an INSERT raises."""
    table, (files,) = analyzed.bound.target, analyzed.bound.relations
    assert isinstance(table, BoundTable) and isinstance(files, BoundFiles)
    with naming(table.label):
        table.snapshot.ensure_supported(TableOperation.APPEND)
    return CopyPlan(
        table=table,
        insert=_insert(analyzed, statement, files) if analyzed.source is not None else None,
        loaded=places_of(files),
        validates=statement.validation is not None,
    )


def _insert(analyzed: AnalyzedStatement, statement: CopyInto, files: BoundFiles) -> InsertPlan:
    insert = plan_insert(analyzed, statement.insert)
    parameters = {
        "sourcePath": files.root,
        "fileFormat": files.format.kind.value.upper(),
        "force": str(statement.force).lower(),
        "mergeSchema": str(statement.merges_schema).lower(),
    }
    rows = statement.validation.rows if statement.validation is not None else None
    return replace(
        insert,
        source=insert.source if rows is None else first_rows(insert.source, rows),
        description=replace(insert.description, name="COPY INTO", parameters=MappingProxyType(parameters)),
    )


def first_rows(source: ReadPlan, rows: int) -> ReadPlan:
    return replace(source, text=f"SELECT * FROM (\n{source.text}\n) LIMIT {rows}")
