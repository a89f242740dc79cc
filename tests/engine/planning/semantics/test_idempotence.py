"""Idempotent writes: the session settings for them."""

from __future__ import annotations

import pytest

from catalog.conditions import IncompleteIdempotence
from engine.planning.semantics.idempotence import idempotent_write
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.runtime.settings import TXN_APP_ID, TXN_VERSION
from engine.tables.operations import IdempotentWrite

STATE = SessionState(identity=Identity("ann"), catalog="c", schema="s")


def test_without_settings_a_write_has_no_number() -> None:
    assert idempotent_write(STATE) is None


def test_a_number() -> None:
    state = STATE.with_value(TXN_APP_ID, "app").with_value(TXN_VERSION, "0")
    assert idempotent_write(state) == IdempotentWrite(app_id="app", version=0)


@pytest.mark.parametrize(
    ("key", "value", "missing"), [(TXN_APP_ID, "app", TXN_VERSION), (TXN_VERSION, "3", TXN_APP_ID)]
)
def test_idempotence_setting_without_its_pair_is_rejected(key: str, value: str, missing: str) -> None:
    with pytest.raises(IncompleteIdempotence, match=missing):
        idempotent_write(STATE.with_value(key, value))
