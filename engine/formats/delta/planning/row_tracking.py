"""`delta.enableRowTracking` on a table that has rows: ids first, the property last.

The table gets them in steps, each a version of its own:

1. the protocol supports row tracking: from then on every commit gives its files ids;
2. the files that have none are added again with ids, some at a time; no row changes by that;
3. the property, and the names of the columns that keep ids when rows are rewritten.

The statement is planned again after each of the first two, on what the table has become: what others committed before
the first step has no ids and is found then, what they commit later has them. A file that is removed since is not
added again: its removal is a conflict of the step, which is planned again. Whatever stops the statement leaves a table
that is as valid as before, and the statement goes on from there when it is sent again.

Protocol: "Row Tracking", "Writer Requirements for Row Tracking".
"""

from __future__ import annotations

from types import MappingProxyType

import pyarrow.compute as pc

from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.metadata_changes import change_table
from engine.delta.spec.properties import FEATURE_PREFIX, ROW_TRACKING, canonical_key
from engine.errors.table_errors import naming
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.plans import BackfillPlan
from engine.planning.plans.ddl import AlterPlan
from engine.statements.alter_table.planning_history import HistoryOperation, compact
from engine.statements.alter_table.statement import SetProperties
from engine.tables.definition_changes import set_properties
from engine.tables.operations import CommitDescription, TableOperation

FEATURE = "rowTracking"
FILES_MAX = 100_000
"""Files that one commit gives ids, as delta-spark does."""


def begins_row_tracking(table: BoundTable, change: SetProperties) -> bool:
    """Whether the change switches it on."""
    config = delta_snapshot(table.snapshot).config
    if config.is_enabled(FEATURE):
        return False
    written = {canonical_key(key): value for key, value in change.properties}
    return written.get(ROW_TRACKING.key, "").strip().lower() == "true"


def next_step(bound: BoundStatement, table: BoundTable, last: AlterPlan) -> AlterPlan | BackfillPlan:
    """What has to be done first, or `last`, which switches row tracking on."""
    snapshot = delta_snapshot(table.snapshot)
    if not snapshot.config.is_supported(FEATURE):
        with naming(table.label):
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
