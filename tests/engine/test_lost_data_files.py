"""Missing or truncated data files: the same error in the first run and in later ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.fresh_plans import afresh
from tests.engine.lake_sessions import refuse, run
from tests.samples import with_slow

pytestmark = pytest.mark.spark

# The first one's tasks are cached.
QUERIES = (
    "SELECT a, b FROM {table} WHERE a > 0",
    "SELECT a % 2 AS k, count(*), sum(b) FROM {table} GROUP BY 1",
    "SELECT count(*) FROM {table} AS t JOIN {table} AS u ON t.a = u.b",
    "SELECT max(a) FROM {table} WHERE b IN (SELECT a FROM {table} WHERE a > 1)",
    "SELECT * FROM {table} LIMIT 100",
)
WRITES = (
    "DELETE FROM {table} WHERE a = 3",
    "UPDATE {table} SET b = 0 WHERE a >= 0",
    "MERGE INTO {table} AS t USING (SELECT 1L AS a) AS s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "INSERT INTO {table} SELECT * FROM {table}",
)
GONE, NOT_READABLE = "FAILED_READ_FILE.FILE_NOT_EXIST", "FAILED_READ_FILE.NO_HINT"
FAULTS: tuple[tuple[str, Callable[[Path], object], str], ...] = (
    ("gone", Path.unlink, GONE),
    ("longer", lambda file: file.write_bytes(file.read_bytes() + b"x" * 50), NOT_READABLE),
    ("shorter", lambda file: file.write_bytes(file.read_bytes()[:-20]), NOT_READABLE),
    ("empty", lambda file: file.write_bytes(b""), NOT_READABLE),
)


def _ran_again(session: LakeSession, text: str) -> bool:
    """Returns if cached tasks answered a query."""
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(text, request)
    assert list(result.batches())
    result.close()
    return "planning" not in request.profile.steps


@pytest.mark.parametrize(("fault", "change", "condition"), with_slow(FAULTS, slow={2, 3}))
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_error_is_the_same_at_each_run(
    session: LakeSession, lake: Path, kind: str, fault: str, change: Callable[[Path], object], condition: str
) -> None:
    table = f"{kind}_{fault}"
    run(session, f"CREATE TABLE {table} USING {kind} AS SELECT id AS a, id + 1 AS b FROM range(0, 10, 1, 2)")
    texts = [text.format(table=table) for text in QUERIES]
    assert [_ran_again(session, text) for text in (texts[0], *texts)][1], "its tasks are kept"
    file = min((lake / "default" / table).rglob("*.parquet"))
    change(file)
    for text in texts:
        errors = [refuse(session, each) for each in (text, text, afresh(text))]
        assert {each.condition for each in errors} == {condition}, text
        assert len({str(each) for each in errors}) == 1 and file.name in str(errors[0])
    for text in WRITES:
        assert refuse(session, text.format(table=table)).condition == condition, text
