"""Append-only tables lose no rows."""

from __future__ import annotations

import pytest

from catalog.conditions import CannotModifyAppendOnly
from engine.enforcement.row_checks import ensure_append_only
from tests.engine.enforcement.write_plans import column, plan


@pytest.mark.parametrize(("is_append_only", "removes"), [(False, True), (False, False), (True, False)])
def test_rows_may_come_and_those_of_other_tables_go(is_append_only: bool, removes: bool) -> None:
    write = plan(column("a"), table_config={"is_append_only": is_append_only}, removes=removes)
    assert ensure_append_only(write) is write


def test_rows_may_not_go() -> None:
    with pytest.raises(CannotModifyAppendOnly):
        ensure_append_only(plan(column("a"), table_config={"is_append_only": True}, removes=True))
