"""The result of OPTIMIZE and REORG TABLE: the table's path, and metrics under delta-spark's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import DATA_SKIPPING_INDEXED_COLUMNS
from engine.formats.delta.planning.optimize_plans import Cluster, Goal, Zorder
from engine.runtime.results import STRING, ResultColumn, ResultStream, small_result
from engine.tables.compaction import Compaction

_TYPES = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


def _struct(fields: dict[str, ResultColumn]) -> ResultColumn:
    return ResultColumn(
        pa.struct([(name, column.arrow_type) for name, column in fields.items()]),
        f"struct<{','.join(f'{name}:{column.sql_type}' for name, column in fields.items())}>",
    )


def _all(sql_type: str, *names: str) -> dict[str, ResultColumn]:
    return dict.fromkeys(names, ResultColumn(_TYPES[sql_type], sql_type))


_SIZES = _struct({**_all("bigint", "min", "max"), **_all("double", "avg"), **_all("bigint", "totalFiles", "totalSize")})
_ZORDER_FILES = _struct(_all("bigint", "num", "size"))
_CLUSTERED_FILES = _struct(_all("bigint", "numFiles", "size"))
_ZORDER = _struct(
    {
        **_all("string", "strategyName"),
        "inputCubeFiles": _ZORDER_FILES,
        "inputOtherFiles": _ZORDER_FILES,
        **_all("bigint", "inputNumCubes"),
        "mergedFiles": _ZORDER_FILES,
        **_all("bigint", "numOutputCubes", "mergedNumCubes"),
    }
)
_CLUSTERING = _struct(
    {
        "inputZCubeFiles": _CLUSTERED_FILES,
        "inputOtherFiles": _CLUSTERED_FILES,
        **_all("bigint", "inputNumZCubes"),
        "mergedFiles": _CLUSTERED_FILES,
        **_all("bigint", "numOutputZCubes"),
    }
)
_METRICS = _struct(
    {
        **_all("bigint", "numFilesAdded", "numFilesRemoved"),
        "filesAdded": _SIZES,
        "filesRemoved": _SIZES,
        **_all("bigint", "partitionsOptimized"),
        "zOrderStats": _ZORDER,
        "clusteringStats": _CLUSTERING,
        **_all("bigint", "numBins", "numBatches", "totalConsideredFiles", "totalFilesSkipped"),
        **_all("boolean", "preserveInsertionOrder"),
        **_all("bigint", "numFilesSkippedToReduceWriteAmplification", "numBytesSkippedToReduceWriteAmplification"),
        **_all("bigint", "startTimeMs", "endTimeMs", "totalClusterParallelism", "totalScheduledTasks"),
        "autoCompactParallelismStats": _struct(
            _all(
                "bigint",
                *("maxClusterActiveParallelism", "minClusterActiveParallelism"),
                *("maxSessionActiveParallelism", "minSessionActiveParallelism"),
            )
        ),
        "deletionVectorStats": _struct(_all("bigint", "numDeletionVectorsRemoved", "numDeletionVectorRowsRemoved")),
        **_all("bigint", "numTableColumns", "numTableColumnsWithStats"),
    }
)


def optimize_answer(snapshot: Snapshot, place: str, goal: Goal, work: Compaction, now_ms: int) -> ResultStream:
    """Returns one row. Metrics that only a delta-spark cluster has are 0 or null."""
    done, num_columns = work.done, len(snapshot.schema.fields)
    indexed = snapshot.config.get(DATA_SKIPPING_INDEXED_COLUMNS)
    values = {
        "numFilesAdded": len(done.added),
        "numFilesRemoved": len(done.removed),
        "filesAdded": _sizes(done.added),
        "filesRemoved": _sizes(done.removed),
        "partitionsOptimized": work.num_partitions,
        "zOrderStats": _zorder_stats(work) if isinstance(goal, Zorder) else None,
        "clusteringStats": _clustering_stats(work) if isinstance(goal, Cluster) else None,
        "numBins": 0,
        "numBatches": work.num_bins,
        "totalConsideredFiles": work.num_considered,
        "totalFilesSkipped": work.num_considered - len(done.removed),
        "preserveInsertionOrder": False,
        "numFilesSkippedToReduceWriteAmplification": 0,
        "numBytesSkippedToReduceWriteAmplification": 0,
        "startTimeMs": work.begun_ms,
        "endTimeMs": now_ms,
        "totalClusterParallelism": 0,
        "totalScheduledTasks": 0,
        "deletionVectorStats": _vector_stats(work) if done.vectors else None,
        "numTableColumns": num_columns,
        "numTableColumnsWithStats": num_columns if indexed < 0 else min(indexed, num_columns),
    }
    return small_result({"path": STRING, "metrics": _METRICS}, [(place, values)])


def _sizes(sizes: Sequence[int]) -> dict[str, Any]:
    total = sum(sizes)
    return {
        "min": min(sizes, default=None),
        "max": max(sizes, default=None),
        "avg": total / len(sizes) if sizes else 0.0,
        "totalFiles": len(sizes),
        "totalSize": total,
    }


def _zorder_stats(work: Compaction) -> dict[str, Any]:
    merged = {"num": len(work.done.removed), "size": sum(work.done.removed)}
    return {
        "strategyName": "all",
        "inputCubeFiles": {"num": 0, "size": 0},
        "inputOtherFiles": merged,
        "inputNumCubes": 0,
        "mergedFiles": merged,
        "numOutputCubes": work.num_partitions,
    }


def _clustering_stats(work: Compaction) -> dict[str, Any]:
    groups = work.considered.clustered, work.considered.others, work.considered.selected
    clustered, others, selected = ({"numFiles": number, "size": size} for number, size in groups)
    return {
        "inputZCubeFiles": clustered,
        "inputOtherFiles": others,
        "inputNumZCubes": work.considered.num_cubes,
        "mergedFiles": selected,
        "numOutputZCubes": work.num_bins,
    }


def _vector_stats(work: Compaction) -> dict[str, Any]:
    return {
        "numDeletionVectorsRemoved": work.done.vectors,
        "numDeletionVectorRowsRemoved": work.done.vector_rows,
    }
