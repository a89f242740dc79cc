"""Table operations, commit descriptions, and the columns of DESCRIBE HISTORY, as in Delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa

Json: TypeAlias = Any
# The name and the parameters of an operation in DESCRIBE HISTORY.
HistoryOperation: TypeAlias = tuple[str, dict[str, Json]]


class TableOperation(Enum):
    """An operation that a table may support; the value precedes its name in an error."""

    READ = "reading"
    CDF_READ = "reading the change data of"
    APPEND = "appending rows to"
    OVERWRITE = "replacing whole files of"
    DML = "changing or removing rows of"
    OPTIMIZE = "rearranging files of"
    METADATA = "changing the metadata of"
    CHECKPOINT = "writing a checkpoint of"
    VACUUM = "removing unused files of"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitDescription:
    """A commit's entry in the table's history."""

    # Delta's operation name: `WRITE`, `DELETE`, `SET TBLPROPERTIES`, …
    name: str
    # The operation that the table must support.
    operation: TableOperation
    parameters: Mapping[str, Json] = field(default_factory=dict)
    metrics: Mapping[str, int | str] = field(default_factory=dict)
    user_id: str | None = None
    user_name: str | None = None
    user_metadata: str | None = None
    # False for operations that only rearrange (OPTIMIZE).
    changes_data: bool = True
    # Moved rows keep their ids, in tables with row tracking.
    keeps_row_ids: bool = False
    # The definition changes only in high-water marks, which need not fail concurrent commits.
    only_moves_high_water_marks: bool = False
    # Any concurrent commit fails it: for operations that replace the table's entire state (RESTORE, CLONE).
    exclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """A commit that was found in a table's history: its version, and its operation and metrics as it recorded them."""

    version: int
    operation: str
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSearch:
    """The result of a search for a commit by its transaction id. Without a `record`, there is no such commit if the
    search `is_complete`; otherwise it is unknown.
    """

    record: CommitRecord | None = None
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentWrite:
    """An idempotent write: an application id and version that take effect once, however often it is sent."""

    app_id: str
    version: int


def with_metrics(description: CommitDescription, **metrics: int | str) -> CommitDescription:
    """Adds metrics that became known during the write."""
    return replace(description, metrics={**description.metrics, **metrics})


_TEXTS = pa.map_(pa.string(), pa.string())
JOB = pa.struct(
    [(name, pa.string()) for name in ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")]
)
NOTEBOOK = pa.struct([("notebookId", pa.string())])

HISTORY_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
        ("userId", pa.string()),
        ("userName", pa.string()),
        ("operation", pa.string()),
        ("operationParameters", _TEXTS),
        ("job", JOB),
        ("notebook", NOTEBOOK),
        ("clusterId", pa.string()),
        ("readVersion", pa.int64()),
        ("isolationLevel", pa.string()),
        ("isBlindAppend", pa.bool_()),
        ("operationMetrics", _TEXTS),
        ("userMetadata", pa.string()),
        ("engineInfo", pa.string()),
    ]
)
