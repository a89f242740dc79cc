"""The plan of CONVERT TO DELTA. What the table will be is said by its files, which are looked at when it runs."""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable, FreeName, TakenName
from engine.delta.planning.plans import ConvertPlan
from engine.delta.schema.schema_errors import MappingModeNotChangeable
from engine.delta.spec.properties import COLUMN_MAPPING_MODE, default_properties
from engine.plan.ddl.new_tables import table_schema
from engine.plan.ddl.table_ddl import new_entry
from engine.plans.ddl import CreateTablePlan
from engine.statements.copies import ConvertTable
from engine.table.definition_changes import set_properties
from engine.table.operations import CommitDescription, TableOperation


def plan_convert(bound: BoundStatement, statement: ConvertTable) -> ConvertPlan | CreateTablePlan:
    """A table that is a Delta table already is left as it is, as with delta-spark."""
    target, state = bound.target, bound.state
    if isinstance(target, BoundTable | TakenName):
        return CreateTablePlan(entry=None)
    assert isinstance(target, FreeName)
    settings = default_properties(state.values)
    mode = settings.get(COLUMN_MAPPING_MODE.key, "none")
    if mode == "id":  # the files have no ids
        raise MappingModeNotChangeable("none", mode)
    columns = table_schema(statement.partitioned_by).fields
    return ConvertPlan(
        entry=new_entry(bound, target),
        partition_columns=columns,
        changes=set_properties(settings),
        has_statistics=statement.has_statistics,
        description=CommitDescription(
            name="CONVERT",
            operation=TableOperation.APPEND,
            parameters={
                "partitionedBy": [column.name for column in columns],
                "collectStats": statement.has_statistics,
                "sourceFormat": "parquet",
            },
            user_name=state.principal,
            exclusive=True,
        ),
    )
