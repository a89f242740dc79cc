"""Hive variables in a session's statements, and warnings for settings without effect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.profile import Profile
from engine.runtime.request import StatementRequest, with_changes
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

_WITHOUT_EFFECT = {"spark.driver.memory": "2g", "spark.app.name": "dbt"}


@pytest.fixture
def opened(engine: LakeEngine) -> Iterator[LakeSession]:
    settings = {**_WITHOUT_EFFECT, "hivevar:at": "2024-05-06", "limit": "2"}
    session = engine.open_session(Identity("ann"), settings=settings, catalog=None, schema=None)
    yield session
    session.close()


def test_variables_of_a_session(opened: LakeSession) -> None:
    run(opened, "SET hivevar:x=5")
    assert rows(opened, "SELECT id FROM range(10) WHERE id = ${hivevar:x}") == [(5,)]
    assert rows(opened, "SELECT '${hivevar:x}', ${hivevar:at} /* ${x} */ LIMIT ${limit}") == [
        ("${hivevar:x}", "2024-05-06")
    ]
    run(opened, "SET hivevar:x=6")
    assert rows(opened, "SELECT id FROM range(10) WHERE id = ${hivevar:x}") == [(6,)]
    run(opened, "SET hivevar:y=${x}1")
    assert rows(opened, "SELECT ${y}") == [(61,)]
    run(opened, "RESET")
    assert refuse(opened, "SELECT ${hivevar:x}").condition == "UNRESOLVED_VARIABLE.HIVE"
    assert refuse(opened, "SELECT ${limit}").condition == "UNRESOLVED_VARIABLE.HIVE"
    assert refuse(opened, "SELECT ${env:HOME}").condition == "UNRESOLVED_VARIABLE.HIVE"


def test_the_text_that_runs_is_reported(opened: LakeSession) -> None:
    texts: list[str] = []
    request = StatementRequest(identity=Identity("ann"), on_substituted=texts.append)
    opened.execute("SELECT ${limit}", request).close()
    opened.execute("SELECT 1", request).close()
    assert texts == ["SELECT 2"]


def test_settings_without_effect_are_warned_of_once(opened: LakeSession) -> None:
    request = StatementRequest(identity=Identity("ann"))
    logs = []
    for text in ("USE default", "SELECT 1", "SELECT 1"):
        profile = Profile()
        opened.execute(text, with_changes(request, profile=profile)).close()
        logs.append([line for line in profile.log_lines if line.startswith("WARNING")])
    assert logs == [[], ["WARNING: settings without effect: spark.app.name, spark.driver.memory"], []]
    assert rows(opened, "SET spark.sql.ansi.enabled")[0][1] != "x"
    assert dict(rows(opened, "SET")) == {"hivevar:at": "2024-05-06", "limit": "2"}
