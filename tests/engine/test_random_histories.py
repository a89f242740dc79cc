"""Random histories: statements of every kind, in every layout, compared with a model in DuckDB.

`tests/engine/histories` has the model, the statements and the invariants checked after each. `HISTORY_SEEDS`
(`first:last`) and `HISTORY_STATEMENTS` select other ones: `pytest -m slow` with them repeats a range. In three
histories out of four, a VACUUM follows each statement: of files not needed for 30 days, not needed by some earlier
version, or not needed by the newest version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import engine.execution.writes.dml.queried_keys as queried_keys
import engine.execution.writes.dml.source_keys as source_keys
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.histories.kinds import VACUUMS, live
from tests.samples import some

pytestmark = pytest.mark.spark

_FIRST, _, _LAST = os.environ.get("HISTORY_SEEDS", "100:140").partition(":")
# None: 10 to 50.
_STATEMENTS = os.environ.get("HISTORY_STATEMENTS")


LIMITS = (
    (queried_keys, "FILES_MIN", 2),
    (queried_keys, "_LARGE_BYTES", -1),
    (source_keys, "FILES_MIN", 2),
    (source_keys, "_BROADCAST_BYTES", -1),
    (source_keys, "_LISTED_MAX", 2),
)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("seed", some((41, 46, 47, 48), (48,)))
def test_a_table_is_what_its_statements_say(session: LakeSession, lake: Path, seed: int) -> None:
    live(session, lake, str(seed), 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(_FIRST), int(_LAST)))
def test_many_tables_are_what_their_statements_say(
    session: LakeSession, lake: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half use the code paths for large sources and queries."""
    if seed % 2:
        for module, name, limit in LIMITS:
            monkeypatch.setattr(module, name, limit)
    statements = int(_STATEMENTS or Random(f"statements {seed}").randint(10, 50))
    live(session, lake, str(seed), statements, VACUUMS[seed % len(VACUUMS)])
