"""The commit file for one attempt: a staged commit as a certain version.

Values that depend on the version, or on winning commits, are computed here and recomputed in each attempt:

- `commitInfo` is the first line. With in-commit timestamps it contains the commit's own time, at least one millisecond
  later than the previous version's, independent of the clock.
- The commit that enables in-commit timestamps on an existing table records its version and time in the metadata.
- With row tracking every new file gets a row id range above the head's high-water mark, and the new mark is recorded in
  the row tracking domain. Files that already have row ids keep them.

A commit that assigns identity values moves their high-water mark, which is metadata: if two writers assign values
concurrently, the conflict rules let only one succeed.

Protocol: "Commit Provenance Information", "In-Commit Timestamps", "Row Tracking". Nulls are always omitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import RowIdsWithoutStatistics
from engine.delta.commit.conflicts import BaseVersion
from engine.delta.commit.staged_commit import ROW_TRACKING_DOMAIN, IsolationLevel, StagedCommit
from engine.delta.definition.clustering import with_clustering
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.arrow_json import format_lines
from engine.delta.log.commit_reader import FileRows, LogActions
from engine.delta.log.wire_columns import wire_columns
from engine.delta.snapshot.row_files import num_records
from engine.delta.spec import properties
from engine.delta.spec.actions import (
    Action,
    AddCdcFile,
    CommitInfo,
    DomainMetadata,
    Json,
    Metadata,
    SetTransaction,
    format_actions,
)
from engine.types.arrow_types import Array, RecordBatch

ENGINE_INFO = "delta-gateway"
_MANY_FILES = 10_000
# More files are parsed from the log, in batches that other threads derive values from.
_APPENDED_MAX = 1000
ROW_IDS_PRESERVED = "delta.rowTracking.preserved"
# Tags commits whose metadata only enables row tracking: delta-spark rebases other commits on them.
ROW_TRACKING_ONLY = "rowTrackingEnablementOnly"

_OF_ROW_TRACKING = {
    prop.key for prop in (properties.ROW_TRACKING, properties.ROW_ID_COLUMN, properties.ROW_COMMIT_VERSION_COLUMN)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFile:
    """One attempt, ready for the put."""

    version: int
    # The in-commit timestamp, or the clock's time.
    timestamp_ms: int
    # The table's configuration after the commit.
    config: DeltaConfig
    # As committed, with row ids.
    adds: RecordBatch
    # As committed, including row tracking's high-water mark.
    domain_metadata: tuple[DomainMetadata, ...]
    # The actions that are not file actions.
    actions: tuple[Action, ...]
    removes: RecordBatch
    cdc_files: tuple[AddCdcFile, ...]

    @property
    def appended(self) -> LogActions | None:
        """Returns the actions as a reader of the log parses them; None if the commit is more than a short append."""
        info, *others = self.actions
        transactions = {action.app_id: action for action in others if isinstance(action, SetTransaction)}
        is_append = len(transactions) == len(others) and not self.removes.num_rows and not self.cdc_files
        if not isinstance(info, CommitInfo) or not is_append or not 0 < self.adds.num_rows <= _APPENDED_MAX:
            return None
        order = np.arange(1, self.adds.num_rows + 1)
        return LogActions(
            protocol=None,
            metadata=None,
            set_transactions=transactions,
            domain_metadata={},
            commit_info=info,
            adds=FileRows((self.adds,), (order,)),
            removes=FileRows((), ()),
            cdc=FileRows((), ()),
            sidecars=(),
        )

    def to_bytes(self) -> bytes:
        """Formats the commit. Called directly before the put, since the text is large for many files."""
        if self.adds.num_rows > _MANY_FILES:
            pa.default_memory_pool().release_unused()  # release the checks' memory, which is no longer needed
        data = BytesIO()  # holds the text once, while a join would hold its parts too
        data.write(format_actions(self.actions))
        for name, files in (("remove", self.removes), ("add", self.adds)):
            if files.num_rows:
                data.writelines(format_lines(name, wire_columns(files)))
        data.write(format_actions(self.cdc_files))
        return data.getvalue()


def make_commit_file(staged: StagedCommit, base: BaseVersion, level: IsolationLevel, now_ms: int) -> CommitFile:
    """Makes the commit file for version `head.version + 1`, without I/O. Raises `RowIdsWithoutStatistics`."""
    version = base.version + 1
    config = _config_after(staged, base)
    metadata = config.metadata
    timestamps = config.is_enabled("inCommitTimestamp")
    # "In-Commit Timestamps": strictly increasing, whatever the clocks of the writers show.
    # Time travel by timestamp searches them by bisection.
    timestamp_ms = max(now_ms, base.timestamp_ms + 1) if timestamps else now_ms
    if timestamps:
        enabled = _with_enablement(metadata, base, version, timestamp_ms)
        if enabled is not metadata:
            metadata = enabled
            config = DeltaConfig.of(base.table, config.protocol, metadata, config.clustering)
    adds, high_water_mark = staged.adds, base.row_id_high_water_mark
    # Supported is sufficient, enabled is not needed: "Writer Requirements for Row Tracking"
    # demand row ids as soon as the feature is in the protocol, so that enabling it later is
    # possible without rewriting files.
    if config.is_supported("rowTracking"):
        adds, high_water_mark = assign_row_ids(adds, version, high_water_mark, base.table)
    domains = staged.domain_metadata
    if high_water_mark != base.row_id_high_water_mark:
        # Without new row ids the domain is left out: the mark of the last commit that
        # assigned some is still valid.
        domains = (*domains, _high_water_mark_domain(high_water_mark))
    info = _commit_info(staged, base, config, level, timestamp_ms)
    # First line: readers find the in-commit timestamp without reading the remaining file,
    # which may have a million lines ("In-Commit Timestamps").
    actions: list[Action] = [info]
    if staged.protocol is not None:
        actions.append(staged.protocol)
    if staged.metadata is not None:
        actions.append(metadata)
    actions += [*staged.set_transactions, *domains]
    return CommitFile(
        version=version,
        timestamp_ms=timestamp_ms,
        config=config,
        adds=adds,
        domain_metadata=domains,
        actions=tuple(actions),
        removes=staged.removes,
        cdc_files=staged.cdc_files,
    )


def assign_row_ids(adds: RecordBatch, version: int, high_water_mark: int, table: str) -> tuple[RecordBatch, int]:
    """Assigns row ids, from `high_water_mark` + 1 on, to files without them; also returns the new high-water mark.

    Raises `RowIdsWithoutStatistics` if such a file's row count is unknown.
    """
    # A file that keeps its base row id is one that gets another deletion vector or is
    # restored: its rows keep their ids.
    fresh = adds.column("base_row_id").is_null()
    if not pc.any(fresh).as_py():
        return _with_commit_version(adds, version), high_water_mark
    counts = num_records(adds.column("stats").filter(fresh))
    if counts.null_count:
        raise RowIdsWithoutStatistics(table)
    # The ids of one file are consecutive, so its last id is the base plus the physical row
    # count; deleted rows keep their id too.
    ends = np.cumsum(counts.to_numpy()) + high_water_mark
    bases = pc.subtract(pc.add(pa.array(ends), 1), counts)
    base_row_ids = pc.replace_with_mask(adds.column("base_row_id"), fresh, bases)
    adds = _with_column(adds, "base_row_id", base_row_ids)
    return _with_commit_version(adds, version), int(ends[-1])


def _config_after(staged: StagedCommit, base: BaseVersion) -> DeltaConfig:
    """Returns the table's configuration after the commit, except for in-commit timestamps."""
    config = base.config
    if config is not None and staged.protocol is None and staged.metadata is None:
        return with_clustering(config, staged.domain_metadata)
    protocol = staged.protocol or (config.protocol if config else None)
    metadata = staged.metadata or (config.metadata if config else None)
    assert protocol is not None and metadata is not None, "the first commit of a table was checked to have both"
    governing = DeltaConfig.of(base.table, protocol, metadata, config.clustering if config else None)
    return with_clustering(governing, staged.domain_metadata)


def _with_enablement(metadata: Metadata, base: BaseVersion, version: int, timestamp_ms: int) -> Metadata:
    """Records the version from which in-commit timestamps are valid; a table created with them needs no record."""
    before = base.config
    if before is None:
        return metadata
    version_key, timestamp_key = properties.ICT_ENABLEMENT_VERSION.key, properties.ICT_ENABLEMENT_TIMESTAMP.key
    # REPLACE TABLE writes a new configuration; the record must survive it, since versions
    # before the enablement still have file times only.
    if before.is_enabled("inCommitTimestamp"):
        since = {
            key: before.metadata.configuration[key]
            for key in (version_key, timestamp_key)
            if key in before.metadata.configuration and key not in metadata.configuration
        }
    else:
        since = {version_key: str(version), timestamp_key: str(timestamp_ms)}
    return replace(metadata, configuration={**metadata.configuration, **since}) if since else metadata


def _commit_info(
    staged: StagedCommit, base: BaseVersion, config: DeltaConfig, level: IsolationLevel, timestamp_ms: int
) -> CommitInfo:
    """Builds the `commitInfo`; `config` is the configuration after the commit."""
    described = staged.description
    tags = dict(HIGH_WATER_MARK_ONLY_TAG if described.only_moves_high_water_marks else {})
    if config.is_enabled("rowTracking"):
        # Rewritten rows have lost their row ids, unless the operation declares that it keeps them.
        tags[ROW_IDS_PRESERVED] = "false" if staged.removes.num_rows and not described.keeps_row_ids else "true"
        if _only_enables_row_tracking(staged, base):
            tags[ROW_TRACKING_ONLY] = "true"
    return CommitInfo(
        in_commit_timestamp=timestamp_ms if config.is_enabled("inCommitTimestamp") else None,
        timestamp=timestamp_ms,
        user_id=described.user_id,
        user_name=described.user_name,
        operation=described.name,
        operation_parameters={key: _parameter(value) for key, value in described.parameters.items()},
        # Absent for the commit that creates a table, as delta-spark writes it.
        read_version=staged.read_version if staged.read_version >= 0 else None,
        isolation_level=level.value,
        is_blind_append=staged.is_blind_append,
        # Strings, as in delta-spark, which declares the metrics as a map to strings;
        # delta-rs writes numbers.
        operation_metrics={key: str(value) for key, value in described.metrics.items()},
        user_metadata=described.user_metadata,
        tags=tags or None,
        engine_info=ENGINE_INFO,
        txn_id=staged.txn_id,
    )


def _only_enables_row_tracking(staged: StagedCommit, base: BaseVersion) -> bool:
    """Returns whether the commit only enables row tracking; the table must track rows after it."""
    if base.config is None or staged.metadata is None or base.config.is_enabled("rowTracking"):
        return False
    before, after = (
        replace(
            each, configuration={key: text for key, text in each.configuration.items() if key not in _OF_ROW_TRACKING}
        )
        for each in (base.config.metadata, staged.metadata)
    )
    return before == after


def _parameter(value: Json) -> str | None:
    """Formats an operation parameter: strings and null stay, other values become JSON, as Delta users see it."""
    return value if isinstance(value, str | None) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _high_water_mark_domain(high_water_mark: int) -> DomainMetadata:
    return DomainMetadata(domain=ROW_TRACKING_DOMAIN, configuration=json.dumps({"rowIdHighWaterMark": high_water_mark}))


def _with_commit_version(adds: RecordBatch, version: int) -> RecordBatch:
    # Existing values stay: a file that only gets another deletion vector did not change its
    # remaining rows ("Row Commit Versions").
    versions = pc.coalesce(adds.column("default_row_commit_version"), pa.scalar(version, pa.int64()))
    return _with_column(adds, "default_row_commit_version", versions)


def _with_column(batch: RecordBatch, name: str, column: Array) -> RecordBatch:
    return batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), column)


# Tags commits whose metadata only changes identity high-water marks: other commits need not fail because of them.
HIGH_WATER_MARK_ONLY_TAG: Mapping[str, str] = {"delta.identity.schemaUpdate": "true"}
