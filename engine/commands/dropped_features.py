"""DROP FEATURE where files need the feature, carried out: they are written anew, then the feature goes.

Files and protocol change in versions of their own. The first one only rearranges: no row changes by it, so that whoever
inserts meanwhile is in nobody's way. The second one stands over exactly the files that were looked at, so any commit
beside it sends it back: the version that is there then is looked at again, and what others wrote with the feature
meanwhile is written anew too. Whatever happens in between, every version is a table with the same rows.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from engine.bound import BoundTable, Outcome
from engine.commands.alter_commands import alter_table
from engine.commands.copied_rows import Copying, copied_rows
from engine.commands.written_files import Writing
from engine.delta.conflict_errors import ConcurrentModification, FeatureDropConflict
from engine.delta.errors import naming
from engine.delta.new_files import NewFiles
from engine.delta.spec.features import Operation
from engine.delta.staged_commit import CommitDescription
from engine.delta.transaction import Transaction, with_metrics
from engine.plan.plans import DropFeaturePlan
from engine.plan.scans import relation_beside

ATTEMPTS_MAX = 20


def drop_feature(plan: DropFeaturePlan, writing: Writing) -> Outcome:
    """Raises the conflict with another writer that stands in the way `ATTEMPTS_MAX` times."""
    table = plan.table
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            stale = plan.stale_files(table.snapshot)
            if stale.num_rows == 0:
                return alter_table(plan.drop(table), writing.after_commit)
            _write_anew(plan, table, stale, writing)
        except ConcurrentModification:
            if attempt == ATTEMPTS_MAX:
                raise
        writing.context.cancel.ensure_live()
        table = replace(table, snapshot=table.snapshot.advance())
    raise FeatureDropConflict(table.label, table.snapshot.version, "write")


def _write_anew(plan: DropFeaturePlan, table: BoundTable, stale: pa.Table, writing: Writing) -> None:
    """The rows of `stale` in files of the newest types and without deleted rows, as one version."""
    config, label = table.snapshot.config, table.label
    with naming(label):
        config.ensure_supported(Operation.OVERWRITE)
    with copied_rows(table, stale, Copying(alias=relation_beside(config.schema)), writing) as new, naming(label):
        transaction = Transaction.on(table.snapshot, _measured(plan.rewriting, stale, new), table=label)
        transaction.read_files(stale.column("path").combine_chunks())
        transaction.stage_removes(stale, data_change=False)
        transaction.stage(*(replace(add, data_change=False) for add in new.adds))
        committed = transaction.commit()
    writing.after_commit(committed)


def _measured(description: CommitDescription, removed: pa.Table, new: NewFiles) -> CommitDescription:
    """With the metrics of a REORG."""
    return with_metrics(
        description,
        numRemovedFiles=str(removed.num_rows),
        numRemovedBytes=str(sum(removed.column("size").to_pylist())),
        numAddedFiles=str(len(new.adds)),
        numAddedBytes=str(new.num_bytes),
    )
