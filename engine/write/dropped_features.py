"""DROP FEATURE where files need the feature, carried out: they are written anew, then the feature goes.

Files and protocol change in versions of their own. The first one only rearranges: no row changes by it, so that whoever
inserts meanwhile is in nobody's way. The second one stands over exactly the files that were looked at, so any commit
beside it sends it back: the version that is there then is looked at again, and what others wrote with the feature
meanwhile is written anew too. Whatever happens in between, every version is a table with the same rows.

Where files are readable either with the feature or without it (column mapping), both are one version. It holds all
files of the table, so a commit beside it is a conflict for the user: to write all of them again would be asking for the
next one.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from engine.bind.bound import BoundTable, Outcome
from engine.delta.commit.conflict_errors import ConcurrentDrop, ConcurrentModification, FeatureDropConflict
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.staged_commit import CommitDescription
from engine.delta.commit.transaction import Transaction, with_metrics
from engine.delta.definition.table_draft import Definition
from engine.delta.spec.features import Operation
from engine.errors.table_errors import naming
from engine.plans.ddl import DropFeaturePlan
from engine.runtime.results import empty_result
from engine.sql.free_names import relation_beside
from engine.write.alter_table import alter_table
from engine.write.copied_rows import Copying, copied_rows, preserving
from engine.write.staged_files import Writing, drop_told

ATTEMPTS_MAX = 20


def drop_feature(plan: DropFeaturePlan, writing: Writing) -> Outcome:
    """Raises the conflict with another writer that stands in the way, at the latest the `ATTEMPTS_MAX`-th one."""
    table = plan.table
    with drop_told(table):
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                stale = plan.stale_files(table.snapshot)
                if stale.num_rows == 0:
                    return alter_table(plan.drop(table), writing.after_commit)
                if plan.at_once:
                    alter = plan.drop(table)
                    return _write_anew(table, stale, alter.definition, alter.description, writing)
                _write_anew(table, stale, Definition.of(table.snapshot.config), plan.rewriting, writing)
            except ConcurrentModification:
                if plan.at_once or attempt == ATTEMPTS_MAX:
                    raise
            writing.context.cancel.ensure_live()
            table = _newest(table)
    raise FeatureDropConflict(table.label, table.snapshot.version, "write")


def _newest(table: BoundTable) -> BoundTable:
    snapshot = table.snapshot.advance()
    if snapshot.metadata.id != table.snapshot.metadata.id:
        raise ConcurrentDrop(table.label)
    return replace(table, snapshot=snapshot)


def _write_anew(
    table: BoundTable, stale: pa.Table, definition: Definition, description: CommitDescription, writing: Writing
) -> Outcome:
    """The rows of `stale` in new files, as `definition` has them, in one version with it."""
    snapshot, label = table.snapshot, table.label
    with naming(label):
        snapshot.config.ensure_supported(Operation.OVERWRITE)
    copying = Copying(alias=relation_beside(snapshot.schema), config=definition.config(label))
    with copied_rows(table, stale, copying, writing) as new, naming(label):
        description = preserving(_measured(description, stale, new), table)
        transaction = Transaction.on(snapshot, description, table=label)
        transaction.read_files(stale.column("path").combine_chunks())
        transaction.define(definition)
        transaction.stage_removes(stale, data_change=False)
        transaction.stage(*(replace(add, data_change=False) for add in new.adds))
        committed = transaction.commit()
    writing.after_commit(committed)
    return Outcome(result=empty_result())


def _measured(description: CommitDescription, removed: pa.Table, new: NewFiles) -> CommitDescription:
    """With the metrics of a version that only rearranges."""
    return with_metrics(
        description,
        numRemovedFiles=str(removed.num_rows),
        numRemovedBytes=str(sum(removed.column("size").to_pylist())),
        numAddedFiles=str(len(new.adds)),
        numAddedBytes=str(new.num_bytes),
    )
