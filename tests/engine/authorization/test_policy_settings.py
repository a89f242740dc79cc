"""Settings that would change policies, views and functions under which rows are hidden."""

from __future__ import annotations

import pytest

from catalog.changes import CreateView
from catalog.conditions import FunctionForbidsSetting, PolicyForbidsSetting
from catalog.entries import ViewColumn, ViewEntry
from catalog.grants.right_changes import CreateFunction
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetColumnMask, SetRowFilter
from engine.authorization.policy_settings import ensure_settings_fit
from tests.engine.authorization.guarded_tables import SHOP, bound_statement, function, guarded_tables, named
from tests.security.guarded_lake import GuardedLake

SPLIT = "spark.sql.legacy.truncateForEmptyRegexSplit"
IN = "spark.sql.legacy.nullInEmptyListBehavior"
SUBQUERY = "spark.sql.optimizer.decorrelateInnerQuery.enabled"
CONCAT = "spark.sql.function.concatBinaryAsString"
UNRELATED = "spark.sql.shuffle.partitions"
FUNCTIONS = (
    function("first", "split(x, ',')[0]", "x"),
    function("splits", "split(x, ',')[0] = 'x'", "x", returns="BOOLEAN"),
    function("splits_hidden", "(SELECT max(split(ssn, ',')[0]) FROM shop.hidden)", columns=(("ssn",),)),
    function("splits_own", "(SELECT max(split(ssn, ',')[0]) FROM shop.t)", columns=(("ssn",),)),
    function(
        "splits_then",
        "(SELECT max(split(ssn, ',')[0]) FROM shop.hidden)",
        columns=(("ssn",),),
        settings=((SPLIT, "true"),),
    ),
    function("concats", "(SELECT max(concat(ssn, '')) FROM shop.hidden)", columns=(("ssn",),)),
)
VIEWS = {
    "splitting": "SELECT split(ssn, ',')[0] AS c FROM shop.hidden",
    "splitting_own": "SELECT split(ssn, ',')[0] AS c FROM shop.t",
    "over_splitting": "SELECT c FROM shop.splitting",
    "nested": "SELECT ssn AS c FROM shop.hidden WHERE id = (SELECT 1)",
    "by_function": "SELECT shop.first(ssn) AS c FROM shop.hidden",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    lake = guarded_tables(tmp_path_factory.mktemp("settings") / "lake")
    change = lake.sources.catalog.change
    for entry in FUNCTIONS:
        change(CreateFunction(entry))
    for name, text in VIEWS.items():
        columns = (ViewColumn(name="c", source="c", type="STRING"),)
        change(CreateView(ViewEntry(name=named(name), text=text, current=SHOP, columns=columns, owner="root")))
        lake.do("root", f"GRANT SELECT ON VIEW shop.{name} TO eve")
    change(SetRowFilter(named("filtered"), PolicyFunction(named("splits"), (PolicyArgument(column="ssn"),))))
    change(SetColumnMask(named("masked"), "ssn", PolicyFunction(named("first"))))
    return lake


@pytest.mark.parametrize(
    ("text", "setting", "label"),
    [
        ("SELECT * FROM filtered", SPLIT, "filtered"),
        ("SELECT * FROM masked", SPLIT, "masked"),
        ("SELECT * FROM t, masked", SPLIT, "masked"),
        ("SELECT * FROM filtered", IN, None),
        ("SELECT * FROM filtered", UNRELATED, None),
        ("SELECT * FROM t", SPLIT, None),
        ("SELECT split(ssn, ',') FROM t", SPLIT, None),
        ("SELECT * FROM splitting", SPLIT, "splitting"),
        ("SELECT * FROM splitting", IN, None),
        ("SELECT * FROM splitting_own", SPLIT, None),
        ("SELECT * FROM over_splitting", SPLIT, "over_splitting"),
        ("SELECT * FROM by_function", SPLIT, "by_function"),
        ("SELECT * FROM seen", SPLIT, None),
        ("SELECT * FROM seen", SUBQUERY, None),
        ("SELECT * FROM nested", SUBQUERY, "nested"),
        ("SELECT * FROM looked", SUBQUERY, "looked"),
    ],
)
def test_changed_setting_is_rejected_for_hidden_texts_that_depend_on_it(
    lake: GuardedLake, text: str, setting: str, label: str | None
) -> None:
    bound = bound_statement(lake, "eve", text, **{setting: "x"})
    if label is None:
        ensure_settings_fit(bound)
        return
    with pytest.raises(PolicyForbidsSetting, match=f"`{label}`") as caught:
        ensure_settings_fit(bound)
    assert setting in str(caught.value)


@pytest.mark.parametrize(
    ("who", "text", "settings", "reason"),
    [
        ("eve", "SELECT splits_hidden()", {}, None),
        ("eve", "SELECT splits_hidden()", {SPLIT: "true"}, "without one"),
        ("eve", "SELECT splits_hidden()", {IN: "true"}, None),
        ("root", "SELECT splits_hidden()", {SPLIT: "true"}, None),
        ("eve", "SELECT splits_own()", {SPLIT: "true"}, None),
        ("eve", "SELECT splits_then()", {SPLIT: "true"}, None),
        ("eve", "SELECT splits_then()", {SPLIT: "false"}, "created with true"),
        ("eve", "SELECT splits_then()", {}, "created with true"),
        ("eve", "SELECT concats()", {CONCAT: "true"}, "without one"),
        ("eve", "SELECT * FROM t WHERE ssn = splits_own() AND ssn = concats()", {CONCAT: "true"}, "without one"),
        ("eve", "SELECT * FROM t WHERE ssn = splits_own() AND ssn = concats()", {SPLIT: "true"}, None),
    ],
)
def test_functions_over_hidden_tables_run_under_their_own_settings(
    lake: GuardedLake, who: str, text: str, settings: dict[str, str], reason: str | None
) -> None:
    bound = bound_statement(lake, who, text, **settings)
    if reason is None:
        ensure_settings_fit(bound)
        return
    with pytest.raises(FunctionForbidsSetting, match=reason):
        ensure_settings_fit(bound)
