"""Operations on a table, the description that a commit has of one, and the columns of DESCRIBE HISTORY, as Delta's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa

Json: TypeAlias = Any


class TableOperation(Enum):
    """What may be done with a table; the value precedes its name in an error."""

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
    """What the commit will say of itself in the table's history."""

    name: str
    """As users of Delta know it: `WRITE`, `DELETE`, `SET TBLPROPERTIES`, …"""
    operation: TableOperation
    """What the table has to allow for it."""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    metrics: Mapping[str, int | str] = field(default_factory=dict)
    user_id: str | None = None
    user_name: str | None = None
    user_metadata: str | None = None
    changes_data: bool = True
    """False for operations that by their nature only rearrange (OPTIMIZE)."""
    keeps_row_ids: bool = False
    """Rows that it moves to other files keep their ids, in tables whose rows have ids."""
    only_moves_high_water_marks: bool = False
    """Of the table's definition: others need not fail for that."""
    exclusive: bool = False
    """Any concurrent commit fails it: for operations that replace the table's state as a whole (RESTORE, CLONE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedWrite:
    """A write that an application has numbered: it counts once, however often it is sent."""

    app_id: str
    version: int


def with_metrics(description: CommitDescription, **metrics: int | str) -> CommitDescription:
    """The description with metrics that became known while writing."""
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
