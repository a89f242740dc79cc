"""Statements that keep the rows (OPTIMIZE, REORG, VACUUM and others), and RESTORE."""

from __future__ import annotations

import json
import time

from tests.engine.histories.checks import check_files, check_version
from tests.engine.histories.history import Commits, FeedFidelity, History, Statement
from tests.engine.histories.model import Model
from tests.engine.histories.values import NOT_COMPARED, TYPES


def _unchanged(text: str) -> Statement:
    return Statement(text, commits=Commits.ANY, feed=FeedFidelity.NOT_AT_ALL)


def optimize(history: History) -> Statement:
    return _unchanged(f"OPTIMIZE {history.name}{_of_partition(history)}")


def _of_partition(history: History) -> str:
    """Returns a condition on a partition column, or none."""
    partitions = history.definition.partitions
    if not partitions or history.random.random() < 0.5:
        return ""
    name = history.random.choice(partitions)
    value = history.random.choice(TYPES[history.definition.column(name).of].values)
    return f" WHERE {name} {history.random.choice(('=', '>=', '<>'))} {value.ours}"


def zorder(history: History) -> Statement | None:
    definition = history.definition
    if definition.clustered:
        return _unchanged(f"OPTIMIZE {history.name} FULL")
    measured = int(definition.properties.get("delta.dataSkippingNumIndexedCols", "32"))
    usable = [each.name for each in definition.columns[:measured] if each.of not in NOT_COMPARED | {"boolean"}]
    usable = [name for name in usable if name not in definition.partitions]
    selected = history.random.sample(usable, min(len(usable), history.random.choice((1, 2))))
    return _unchanged(f"OPTIMIZE {history.name}{_of_partition(history)} ZORDER BY ({', '.join(selected)})")


def reorg(history: History) -> Statement:
    return _unchanged(f"REORG TABLE {history.name}{_of_partition(history)} APPLY (PURGE)")


def analyze(history: History) -> Statement:
    return _unchanged(f"ANALYZE TABLE {history.name} COMPUTE DELTA STATISTICS")


def fsck(history: History) -> Statement:
    dry = history.random.choice((" DRY RUN", ""))
    return Statement(f"FSCK REPAIR TABLE {history.name}{dry}", commits=Commits.NONE)


# --- VACUUM ----------------------------------------------------------------------------------------------------------


def vacuum_dry(history: History) -> Statement:
    before = _files(history)

    def same_files() -> None:
        assert _files(history) == before

    text = f"VACUUM {history.name}{history.random.choice(('', ' RETAIN 0 HOURS', ' LITE'))} DRY RUN"
    return Statement(text, commits=Commits.NONE, also=same_files)


def _files(history: History) -> set[str]:
    return {str(path) for path in history.folder.rglob("*") if path.is_file() and "_delta_log" not in path.parts}


def vacuum(history: History) -> Statement:
    """Vacuums young files only: every version stays readable."""
    lite = history.random.choice((" LITE", ""))
    return Statement(
        f"VACUUM {history.name}{lite}",
        commits=Commits.ANY,
        feed=FeedFidelity.NOT_AT_ALL,
        also=lambda: _check_versions(history),
    )


def vacuum_retaining(history: History) -> Statement:
    """Removes files from before some version; it and later versions stay readable, with their feed."""
    first = history.random.choice((history.newest, history.random.randint(history.readable_from, history.newest)))
    return _vacuum_before(history, first)


def vacuum_all(history: History) -> Statement:
    """Nothing is retained but the newest version."""
    return _vacuum_before(history, history.newest)


def _vacuum_before(history: History, first: int) -> Statement:
    age_s = time.time() - _committed_s(history, first)

    def also() -> None:
        history.readable_from = max(history.readable_from, first)
        check_version(history, history.readable_from)
        _check_versions(history)

    lite = history.random.choice((" LITE", "", ""))
    # the age grows until the statement runs: the second is for that
    hours = 0 if first == history.newest else (age_s + 1) / 3600
    return Statement(
        f"VACUUM {history.name}{lite} RETAIN {hours:.9f} HOURS",
        commits=Commits.ANY,
        feed=FeedFidelity.NOT_AT_ALL,
        also=also,
    )


def _committed_s(history: History, version: int) -> float:
    path = history.folder / "_delta_log" / f"{version:020}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stamps = [line["commitInfo"].get("inCommitTimestamp") for line in lines if "commitInfo" in line]
    return float(min([path.stat().st_mtime, *(stamp / 1000 for stamp in stamps if stamp)]))


def _check_versions(history: History) -> None:
    check_files(history)
    for version in {history.random.randint(history.readable_from, history.newest) for _ in range(2)}:
        check_version(history, version)


def vacuum_ancestor(history: History) -> Statement | None:
    """Vacuums a cloned table, whose files the clone needs."""
    if not history.ancestors:
        return None
    name, _, _ = history.random.choice(history.ancestors)
    return Statement(f"VACUUM {name} RETAIN 0 HOURS", commits=Commits.NONE)


# --- RESTORE ---------------------------------------------------------------------------------------------------------


def restore(history: History) -> Statement | None:
    if history.newest <= history.readable_from:
        return None
    completed_versions = [version for version in history.completed_versions() if version < history.newest]
    if not completed_versions:
        return None
    version = history.random.choice(completed_versions)

    def effect(model: Model) -> None:
        model.go_back(version)

    text = f"RESTORE TABLE {history.name} TO VERSION AS OF {version}"
    return Statement(text, effect, commits=Commits.ANY, feed=FeedFidelity.IF_READABLE)
