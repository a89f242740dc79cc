"""rewrite_position_delete_files and rewrite_manifests: the same deletes, and the same entries, in fewer files.

Source: Iceberg documentation, "Spark procedures".
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import CommitOutcomeUnknown, WrongArgument
from engine.execution.writes.staged_files import discard
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.rewrite_data import begin_rearranging, commit_rewritten
from engine.iceberg.manifests.manifest import POSITION_DELETES
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.writing.position_deletes import MarkWriter
from engine.iceberg.writing.written_table import WrittenTable
from engine.runtime.results import BIGINT, INT, ResultStream, small_result
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import RewriteManifests, RewritePositionDeleteFiles

_DELETE_KINDS = {
    "rewritten_delete_files_count": INT,
    "added_delete_files_count": INT,
    "rewritten_bytes_count": BIGINT,
    "added_bytes_count": BIGINT,
}
_MANIFESTS = {"rewritten_manifests_count": INT, "added_manifests_count": INT}
_PUFFIN = "puffin"


def rewrite_position_delete_files(
    plan: CallPlan, procedure: RewritePositionDeleteFiles, context: ExecutionContext
) -> ResultStream:
    """Writes one position delete file (v2) or one vector (v3) for each data file with position deletes; deletes for
    removed files are dropped.
    """
    if procedure.where is not None:
        raise WrongArgument(plan.name, "where", "deletes of the whole table are written again")
    if set(procedure.options) - {"rewrite-all"}:
        raise WrongArgument(plan.name, "options", "it takes rewrite-all alone")
    snapshot = plan.snapshot
    old = _positions(snapshot)
    if not old.num_rows or (not _is_worth_it(old) and procedure.options.get("rewrite-all", "").lower() != "true"):
        return small_result(_DELETE_KINDS, [(0, 0, 0, 0)])
    with_positions = np.flatnonzero(_has_positions(snapshot))
    files = snapshot.files.take(pa.array(with_positions))
    transaction = begin_rearranging(plan)
    metadata = snapshot.metadata
    storage = snapshot.storage
    written = tuple[str, ...]()
    try:
        if files.num_rows:
            rows = snapshot.row_files.deleted_rows(files)
            writer = MarkWriter(storage, metadata.location, metadata.format_version)
            added, written = writer.write(snapshot.live_files.data.take(pa.array(with_positions)), rows)
            transaction.add_entries(added)
        transaction.replace_deletes(old, files)
        commit_rewritten(transaction, plan.table, context)
    except CommitOutcomeUnknown:
        raise
    except BaseException:
        discard(storage, written)
        raise
    added_bytes = sum(storage.stat(name).size for name in written)
    old_bytes = int(pc.sum(old["file_size_in_bytes"]).as_py())
    return small_result(_DELETE_KINDS, [(old.num_rows, len(written), old_bytes, added_bytes)])


def _positions(snapshot: IcebergSnapshot) -> pa.Table:
    """Returns the position delete file entries; vectors are unchanged."""
    deletes = snapshot.live_files.deletes
    is_positions = pc.equal(deletes["content"], POSITION_DELETES)
    return deletes.filter(pc.and_(is_positions, pc.not_equal(pc.utf8_lower(deletes["file_format"]), _PUFFIN)))


def _is_worth_it(old: pa.Table) -> bool:
    """Returns True if fewer files can hold the same deletes; a single file for one data file is optimal."""
    named = old["referenced_data_file"]
    return bool(named.null_count or pc.count_distinct(named).as_py() < old.num_rows)


def _has_positions(snapshot: IcebergSnapshot) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns a mask for data files with deleted rows outside vectors."""
    deletes = snapshot.live_files.deletes
    vectors = deletes.filter(pc.equal(pc.utf8_lower(deletes["file_format"]), _PUFFIN))
    has_vector = pc.is_in(
        snapshot.live_files.data["file_path"], value_set=vectors["referenced_data_file"].combine_chunks()
    )
    return np.asarray(pc.and_(snapshot.files["deletion_vector"].is_valid(), pc.invert(has_vector)), bool)


def rewrite_manifests(plan: CallPlan, procedure: RewriteManifests, context: ExecutionContext) -> ResultStream:
    """Sorts a partition spec's entries by partition, in manifests with the table's target size."""
    snapshot, spec_id = plan.snapshot, procedure.spec_id
    if spec_id is not None and spec_id not in snapshot.metadata.specs:
        raise WrongArgument(plan.name, "spec_id", f"the table has no partition spec {spec_id}")
    wanted = snapshot.metadata.default_spec_id if spec_id is None else spec_id
    old = {each.path for each in snapshot.manifests}
    if _are_packed(snapshot, wanted):
        return small_result(_MANIFESTS, [(0, 0)])
    transaction = begin_rearranging(plan)
    transaction.rewrite_manifests(wanted)
    commit_rewritten(transaction, plan.table, context)
    new = {each.path for each in transaction.manifests}
    return small_result(_MANIFESTS, [(len(old - new), len(new - old))])


def _are_packed(snapshot: IcebergSnapshot, spec_id: int) -> bool:
    """Returns True if a spec has at most one data manifest and one delete manifest, within the target size."""
    found = [each for each in snapshot.manifests if each.spec_id == spec_id]
    most = WrittenTable({"properties": dict(snapshot.metadata.properties)}).manifest_target_bytes
    return len({each.has_deletes for each in found}) == len(found) and all((each.length or 0) <= most for each in found)
