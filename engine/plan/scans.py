"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it."""

from __future__ import annotations

from engine.bound import BoundTable
from engine.delta.errors import naming
from engine.delta.spec.features import Operation
from engine.delta.type_widening import ensure_readable_changes
from engine.plan.file_choice import FileChoice
from engine.plan.plans import Scan


def scan_of(relation: str, table: BoundTable) -> Scan:
    """The scan that the rewritten text calls `relation`.

    Raises `UnsupportedReaderFeatures` for a table whose features we cannot read, by name, and `UnsupportedTypeChange`
    for a column whose old files we cannot read.
    """
    snapshot = table.snapshot
    with naming(table.label):
        snapshot.config.ensure_supported(Operation.READ)
        ensure_readable_changes(snapshot.table_root, snapshot.schema)
    return Scan(
        relation=relation,
        label=table.label,
        table_root=snapshot.table_root,
        schema=snapshot.schema,
        mapping_mode=snapshot.config.column_mapping_mode,
        partition_columns=tuple(snapshot.partition_columns),
        files=snapshot.files,
        choice=FileChoice(table.label, snapshot),
    )
