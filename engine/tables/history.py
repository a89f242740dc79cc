"""The columns of DESCRIBE HISTORY: one row per commit, under the names of Delta."""

from __future__ import annotations

import pyarrow as pa

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
