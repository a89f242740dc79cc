"""Tables with random histories, as delta-spark reads them: rows, an older version, row ids and the change feed.

`HISTORY_SEEDS` (`first:last`) and `HISTORY_STATEMENTS` choose others than these.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.histories.checks import feed_start
from tests.engine.histories.history import History
from tests.engine.histories.kinds import live
from tests.engine.lake_sessions import rows
from tests.oracle.conftest import Answers

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(7200)]

_FIRST, _, _LAST = os.environ.get("HISTORY_SEEDS", "500:520").partition(":")
_STATEMENTS = int(os.environ.get("HISTORY_STATEMENTS", "20"))


def test_peer_reads_tables_of_random_histories(answers: Answers, session: LakeSession, lake: Path) -> None:
    histories = [live(session, lake.parent, str(seed), _STATEMENTS) for seed in range(int(_FIRST), int(_LAST))]
    requested = [(history, *query) for history in histories for query in _queries(history)]
    found = answers([theirs for _, _, theirs in requested])
    for (history, ours, theirs), answer in zip(requested, found, strict=True):
        assert "error" not in answer, (theirs, answer)
        expected = [[None if cell is None else str(cell) for cell in row] for row in rows(session, ours)]
        assert sorted(answer["rows"], key=repr) == sorted(expected, key=repr), (history.trace, theirs)


def _queries(history: History) -> list[tuple[str, str]]:
    """Ours and delta-spark's."""
    path, names = f"delta.`{history.folder}`", history.definition.names
    row_id = ["_metadata.row_id", "_metadata.row_commit_version"] if history.definition.is_tracked else []
    past = history.model.versions[history.readable_from].definition.names
    reads = [
        (names + row_id, history.name, path),
        (
            past,
            f"{history.name} VERSION AS OF {history.readable_from}",
            f"{path} VERSION AS OF {history.readable_from}",
        ),
    ]
    first, last = feed_start(history), history.newest
    if first <= last:
        ours = f"table_changes('{history.name}', {first}, {last})"
        theirs = f"table_changes_by_path('{history.folder}', {first}, {last})"
        reads.append(([*names, "_change_type", "_commit_version"], ours, theirs))
    texts = [
        (", ".join(f"CAST({name} AS STRING)" for name in columns), ours, theirs) for columns, ours, theirs in reads
    ]
    return [(f"SELECT {text} FROM {ours}", _named(text, theirs)) for text, ours, theirs in texts]


def _named(text: str, table: str) -> str:
    """Returns the text with the table's name; delta-spark's process takes columns by name."""
    named = ", ".join(f"{each} AS c{number}" for number, each in enumerate(text.split(", ")))
    return f"SELECT {named} FROM {table}"
