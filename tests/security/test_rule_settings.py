"""The switches of the optimizer's rules: only administrators change them, by SET and when a session is opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.conditions import AdministratorNeeded
from catalog.errors import SqlError
from engine.main import LakeEngine
from engine.runtime.settings import RULES, rule_setting
from tests.security.guarded_lake import GuardedLake, NoSpark, Reached

KEYS = [rule_setting(name) for name, _ in RULES]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLake]:
    folder: Path = tmp_path_factory.mktemp("rules")
    yield GuardedLake(folder)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", ["SET {} = false", "SET {} = true", "SET `{}` = false"])
def test_set_of_rule_is_denied_except_to_administrator(lake: GuardedLake, key: str, text: str) -> None:
    for spelled in (key, key.upper()):
        statement = text.format(spelled)
        assert isinstance(lake.error("eve", statement), AdministratorNeeded)
        assert lake.outcome("root", statement) == "R"


def test_anyone_may_show_and_reset_rule(lake: GuardedLake) -> None:
    for text in (f"SET {KEYS[0]}", f"RESET {KEYS[0]}", "SET -v", "SET spark.sql.adaptive.enabled = false"):
        assert lake.outcome("eve", text) == "R"


def test_session_with_rule_setting_opens_for_administrator_only(lake: GuardedLake) -> None:
    engine = LakeEngine(lake.sources, OpenedSpark())  # type: ignore[arg-type]
    settings = {KEYS[0].upper(): "false"}
    with pytest.raises(AdministratorNeeded):
        engine.open_session(lake.identity("eve"), settings=settings, catalog=None, schema=None)
    with pytest.raises(Reached):
        engine.open_session(lake.identity("root"), settings=settings, catalog=None, schema=None)


def test_rule_setting_has_to_be_boolean(lake: GuardedLake) -> None:
    error = lake.error("root", f"SET {KEYS[0]} = maybe")
    assert isinstance(error, SqlError)
    assert error.condition == "INVALID_CONF_VALUE"


class OpenedSpark:
    """A driver whose sessions raise `Reached` when a setting is applied."""

    def open_session(self) -> NoSpark:
        return NoSpark()
