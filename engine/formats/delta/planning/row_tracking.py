"""Enables `delta.enableRowTracking` on a table with rows: ids first, the property last.

The steps are versions of their own:

1. the protocol supports row tracking: from then on every commit assigns ids to its files;
2. files without ids are added again with ids, in batches; no row changes;
3. the property, and the names of the materialized columns that keep ids when rows are rewritten.

After each of the first two the statement is planned again on the resulting table: files that others committed before
the first step have no ids and are found then; files committed later have ids. A file that was removed in the meantime
is not added again: its removal conflicts with the step, which is planned again. An interrupted statement leaves a table
as valid as before, and continues from there when it is run again.

Protocol: "Row Tracking", "Writer Requirements for Row Tracking".
"""

from __future__ import annotations

from types import MappingProxyType

import pyarrow.compute as pc

from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.metadata_changes import change_table
from engine.delta.spec.properties import FEATURE_PREFIX, ROW_TRACKING, canonical_key
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.plans import BackfillPlan
from engine.planning.plans.ddl import AlterPlan
from engine.statements.alter_table.planning_history import compact
from engine.statements.alter_table.statement import SetProperties
from engine.tables.definition_changes import set_properties
from engine.tables.operations import CommitDescription, HistoryOperation, TableOperation

FEATURE = "rowTracking"
# Files that one commit assigns ids to, as in delta-spark.
FILES_MAX = 100_000


def begins_row_tracking(table: BoundTable, change: SetProperties) -> bool:
    """Returns True if the change enables row tracking."""
    config = delta_snapshot(table.snapshot).config
    if config.is_enabled(FEATURE):
        return False
    written = {canonical_key(key): value for key, value in change.properties}
    return written.get(ROW_TRACKING.key, "").strip().lower() == "true"


def next_step(bound: BoundStatement, table: BoundTable, last: AlterPlan) -> AlterPlan | BackfillPlan:
    """Returns the next required step, or `last`, which enables row tracking."""
    snapshot = delta_snapshot(table.snapshot)
    # "Row Tracking": supported means that new files get ids, enabled that all files have
    # them. The order of the steps makes the second true before it is claimed.
    if not snapshot.config.is_supported(FEATURE):
        with name_table_in_errors(table.label):
            definition = change_table(snapshot.config, set_properties({f"{FEATURE_PREFIX}{FEATURE}": "supported"}))
        parameters = {"newProtocol": compact(definition.protocol.to_json())}
        return AlterPlan(
            table=table,
            definition=definition,
            description=_description(bound, ("UPGRADE PROTOCOL", parameters)),
            is_last=False,
        )
    files = snapshot.files
    without = files.filter(pc.is_null(files.column("base_row_id")))
    if not without.num_rows:
        return last
    return BackfillPlan(
        table=table,
        files=without.slice(0, FILES_MAX),
        description=_description(bound, ("ROW TRACKING BACKFILL", {})),
    )


def _description(bound: BoundStatement, operation: HistoryOperation) -> CommitDescription:
    name, parameters = operation
    return CommitDescription(
        name=name,
        operation=TableOperation.METADATA,
        parameters=MappingProxyType(parameters),
        user_name=bound.state.principal,
        changes_data=False,
    )
