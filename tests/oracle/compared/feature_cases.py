"""A table for every feature, written and changed."""

from __future__ import annotations

from tests.oracle.compared.case import Case, files_of, made, one_task

_COLUMNS = "id BIGINT, name STRING, day DATE"
_STEPS = (
    *files_of(
        one_task("(1L, 'a', DATE'2024-01-01'), (2L, NULL, DATE'2024-01-01')"),
        one_task("(3L, 'c', DATE'2024-01-02'), (4L, 'd', NULL)"),
    ),
    "DELETE FROM {t} WHERE id = 2",
    *files_of("SELECT id, name || 'x', day FROM {t} WHERE id = 1"),
)


def _with(clauses: str = "", **properties: str) -> Case:
    return made(_COLUMNS, *_STEPS, clauses=clauses, **properties)


FEATURE_CASES: dict[str, Case] = {
    "column mapping by id": _with("PARTITIONED BY (day)", columnMapping__mode="id"),
    "in-commit timestamps": _with(enableInCommitTimestamps="true"),
    "v2 checkpoints": _with(checkpointPolicy="v2", checkpointInterval="2"),
    "classic checkpoints": _with(checkpointInterval="2", checkpoint__writeStatsAsStruct="true"),
    "row tracking": _with(enableRowTracking="true"),
    "row tracking, vectors, feed": _with(
        enableRowTracking="true", enableDeletionVectors="true", enableChangeDataFeed="true"
    ),
    "row tracking, mapped": _with("PARTITIONED BY (day)", enableRowTracking="true", columnMapping__mode="name"),
    "clustered": _with("CLUSTER BY (day, id)"),
    "append-only": _with(appendOnly="true"),
    "type widening": _with(enableTypeWidening="true"),
    "iceberg compatible": _with("PARTITIONED BY (day)", enableIcebergCompatV2="true", columnMapping__mode="name"),
    "vacuum protocol check": _with(feature__vacuumProtocolCheck="supported"),
    "random prefixes": _with(randomizeFilePrefixes="true"),
    "compressed otherwise": _with(parquet__compression__codec="zstd"),
    "serializable": _with(isolationLevel="Serializable"),
    "materialized partition columns": _with("PARTITIONED BY (day)", feature__materializePartitionColumns="supported"),
}
