"""Effects on tables with row filters or column masks, and metrics and plans that would reveal hidden data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from catalog.conditions import ColumnUsedByPolicy, InsufficientPermissions, PolicyForbidsStatement
from engine.authorization.policies import Effect, PolicyEffect, ensure_hides, hides_metrics, hides_texts
from engine.binding.bound import BoundTable
from tests.engine.authorization.guarded_tables import bound_statement, guarded_tables
from tests.security.guarded_lake import GuardedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    return guarded_tables(tmp_path_factory.mktemp("policies") / "lake")


@pytest.mark.parametrize(
    ("who", "text", "expected"),
    [
        ("root", "SELECT * FROM t", False),
        ("eve", "SELECT * FROM t", False),
        ("eve", "SELECT * FROM filtered", True),
        ("eve", "SELECT * FROM masked", True),
        ("eve", "SELECT * FROM t, masked", True),
        ("eve", "SELECT * FROM seen", True),
        ("root", "SELECT * FROM seen", False),
        ("eve", "SELECT * FROM plain", False),
        ("eve", "SELECT total()", True),
        ("eve", "SELECT own_total()", False),
        ("eve", "DELETE FROM t", False),
        ("eve", "DELETE FROM masked", True),
        ("eve", "INSERT INTO t TABLE masked", True),
        ("eve", "SELECT 1", False),
    ],
)
def test_metrics_are_hidden_if_they_depend_on_hidden_data(
    lake: GuardedLake, who: str, text: str, expected: bool
) -> None:
    assert hides_metrics(bound_statement(lake, who, text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("SELECT total()", True), ("SELECT * FROM t WHERE ssn = own_total()", True), ("SELECT one() FROM t", False)],
)
def test_texts_are_hidden_if_they_contain_bodies_that_read(lake: GuardedLake, text: str, expected: bool) -> None:
    assert hides_texts(bound_statement(lake, "eve", text)) is expected


OF_TARGET = {
    PolicyEffect.REVEALS_PLAN,
    PolicyEffect.REVEALS_STORED_STATE_OF_TARGET,
    PolicyEffect.REMOVES_OR_REPLACES_ROWS,
    PolicyEffect.CHECKS_STORED_ROWS,
}
OF_SOURCES = {PolicyEffect.REVEALS_PLAN, PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES}


def _effects() -> Iterator[tuple[PolicyEffect, str, bool]]:
    for kind in PolicyEffect:
        yield kind, "DELETE FROM t", False
        yield kind, "DELETE FROM masked", kind in OF_TARGET | OF_SOURCES  # it reads its target
        yield kind, "DELETE FROM filtered", kind in OF_TARGET | OF_SOURCES
        yield kind, "SELECT * FROM t", False
        yield kind, "SELECT * FROM filtered", kind in OF_SOURCES
        yield kind, "INSERT INTO t TABLE masked", kind in OF_SOURCES
        yield kind, "INSERT INTO masked TABLE t", kind in OF_TARGET
        yield kind, "CREATE TABLE fresh (a INT)", False


@pytest.mark.parametrize(("kind", "text", "is_rejected"), list(_effects()))
def test_effects_on_protected_targets_and_sources(
    lake: GuardedLake, kind: PolicyEffect, text: str, is_rejected: bool
) -> None:
    effects = (Effect(PolicyEffect.NONE, "Nothing"), Effect(kind, "This"))
    bound = bound_statement(lake, "eve", text)
    if not is_rejected:
        ensure_hides(bound, effects)
        return
    with pytest.raises(PolicyForbidsStatement) as caught:
        ensure_hides(bound, effects)
    name = next(each for each in ("masked", "filtered") if each in text)
    assert str(caught.value).count("This") == 1
    assert f"`{name}`" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns", "used"),
    [
        ("DELETE FROM masked", ("SSN",), "SSN"),
        ("DELETE FROM masked", ("id", "ssn"), "ssn"),
        ("DELETE FROM masked", ("id",), None),
        ("DELETE FROM filtered", ("id",), None),
        ("DELETE FROM filtered", ("ssn",), "ssn"),
        ("DELETE FROM t", ("id", "ssn"), None),
        ("SELECT * FROM masked", ("ssn",), None),
    ],
)
def test_columns_of_policies_cannot_be_changed(
    lake: GuardedLake, text: str, columns: tuple[str, ...], used: str | None
) -> None:
    effect = Effect(PolicyEffect.CHANGES_COLUMNS, "This", columns)
    bound = bound_statement(lake, "eve", text)
    if used is None:
        ensure_hides(bound, [effect])
        return
    with pytest.raises(ColumnUsedByPolicy, match=f"{used}.*masked|{used}.*filtered"):
        ensure_hides(bound, [effect])


@pytest.mark.parametrize(
    ("table", "is_rejected"), [("masked", False), ("filtered", False), ("checked", True), ("t", False)]
)
def test_changed_rows_are_not_checked_by_masked_columns(lake: GuardedLake, table: str, is_rejected: bool) -> None:
    """The constraint of `checked` uses the masked column: whether it holds would reveal the stored value."""
    bound = bound_statement(lake, "eve", f"UPDATE {table} SET id = 2")
    effects = [Effect(PolicyEffect.CHANGES_VISIBLE_ROWS, "UPDATE")]
    if not is_rejected:
        ensure_hides(bound, effects)
        return
    with pytest.raises(PolicyForbidsStatement, match="UPDATE, where a constraint .*`checked`"):
        ensure_hides(bound, effects)


def test_constraints_without_masks_are_checked_under_a_row_filter(lake: GuardedLake) -> None:
    bound = bound_statement(lake, "eve", "UPDATE checked SET id = 2")
    assert isinstance(bound.target, BoundTable)
    target = replace(bound.target, policies=replace(bound.target.policies, masks=()))
    ensure_hides(replace(bound, target=target), [Effect(PolicyEffect.CHANGES_VISIBLE_ROWS, "UPDATE")])


@pytest.mark.parametrize(
    ("who", "text", "reader"),
    [
        ("root", "SELECT * FROM seen", None),
        ("eve", "SELECT * FROM t", None),
        ("eve", "SELECT * FROM plain", None),
        ("eve", "SELECT own_total()", None),
        ("eve", "SELECT * FROM seen", "`seen`"),
        ("eve", "SELECT * FROM plain, outer_view", "`outer_view`"),
        ("eve", "SELECT total()", "total'"),
        ("eve", "SELECT calls_total()", "calls_total'"),
    ],
)
def test_plans_show_no_files_of_tables_that_views_and_functions_hide(
    lake: GuardedLake, who: str, text: str, reader: str | None
) -> None:
    bound = bound_statement(lake, who, text)
    effects = [Effect(PolicyEffect.REVEALS_PLAN, "EXPLAIN")]
    if reader is None:
        ensure_hides(bound, effects)
        return
    with pytest.raises(InsufficientPermissions, match=f"SELECT.*what .*{reader} reads"):
        ensure_hides(bound, effects)


def test_each_statement_declares_an_effect(lake: GuardedLake) -> None:
    with pytest.raises(ValueError, match="declares no effect"):
        ensure_hides(bound_statement(lake, "eve", "SELECT * FROM t"), iter(()))
