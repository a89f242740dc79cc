"""DROP TABLE with concurrent writers: the table and its files are removed, and the writers get an error."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import SLOW, begun, refuse, rows, run

pytestmark = pytest.mark.spark


@pytest.mark.diagonals("made_anew", "statement", step=2)
@pytest.mark.parametrize("made_anew", [False, True])
@pytest.mark.parametrize("statement", ["INSERT INTO going", "CREATE OR REPLACE TABLE going AS"])
def test_rows_for_a_table_that_is_dropped_meanwhile_are_refused(
    engine: LakeEngine, session: LakeSession, lake: Path, statement: str, made_anew: bool
) -> None:
    folder = lake / "default" / "going"
    run(session, "CREATE TABLE going (id BIGINT)")
    other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    with ThreadPoolExecutor(1) as threads:
        refused = threads.submit(refuse, other, f"{statement} {SLOW}")
        begun(refused, folder)
        run(session, "DROP TABLE going")
        if made_anew:
            run(session, "CREATE TABLE going (id BIGINT)")
        error = refused.result()
    other.close()
    assert error.condition == "CONCURRENT_DROP"
    assert "`going`" in error.full_message
    if made_anew:
        assert rows(session, "SELECT * FROM going") == []
        run(session, "DROP TABLE going")
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert rows(session, "SHOW TABLES LIKE 'going'") == []
    run(session, "CREATE TABLE going (other STRING)")
    assert rows(session, "SELECT * FROM going") == []
    run(session, "DROP TABLE going")
