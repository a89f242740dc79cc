"""`${hivevar:x}` in a statement's text: the settings that it reads, positions, and replacements."""

from __future__ import annotations

import pytest

from catalog.conditions import ExpansionTooLong, UnknownHiveVariable
from engine.sql.hive_variables import substitute_variables

SETTINGS = {
    "hivevar:x": "5",
    "hiveconf:x": "6",
    "plain": "7",
    "hivevar:day": "2024-01-01",
    "hivevar:quoted": "'it''s'",
    "hivevar:minus": "-5",
    "hivevar:year": "2024",
    "hivevar:table": "shop.`my orders`",
    "hivevar:bad": "1; DROP TABLE t -- '\\",
    "hivevar:nested": "${x}",
    "airflow.ctx.dag_id": "daily",
    "spark.sql.ansi.enabled": "false",
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SELECT ${hivevar:x}, ${x}, ${hiveconf:x}", "SELECT 5, 5, 6"),
        ("SELECT ${hivevar:plain}, ${plain}, ${hiveconf:plain}", "SELECT 7, 7, 7"),
        ("SELECT ${hiveconf:year}", "SELECT 2024"),
        ("SELECT ${airflow.ctx.dag_id}", "SELECT daily"),
        ("SELECT 1 -${minus}", "SELECT 1 - -5 "),
        ("SELECT ${day}", "SELECT  '2024-01-01' "),
        ("SELECT ${quoted}", "SELECT  'it''s' "),
        ("SELECT ${nested}", "SELECT  '${x}' "),
        ("SELECT ${bad}", "SELECT  '1; DROP TABLE t -- \\'\\\\' "),
        ("SELECT * FROM ${table}, sales_${year}", "SELECT * FROM  shop.`my orders` , sales_2024"),
        ("SELECT /*+ COALESCE(${x}) */ 1", "SELECT /*+ COALESCE(5) */ 1"),
        *(
            (text, text)
            for text in (
                "SELECT '${hivevar:x} ${nope}', \"${x}\", r'${x}', `${x}`, 'it''s ${x}', 'it\\'s ${x}'",
                "SELECT 1 -- ${hivevar:x} ${nope}",
                "SELECT 1 /* ${hivevar:x} /* ${nope} */ ${x} */",
                "SELECT 1 /* ${x}",
                "SELECT $x, ${ x }, {x}",
            )
        ),
        ("SELECT '${x}', ${x} -- ${x}\n, ${x}", "SELECT '${x}', 5 -- ${x}\n, 5"),
        ("SET hivevar:y = ${x}/${hivevar:day}", "SET hivevar:y = 5/2024-01-01"),
        ("/* c */ set hive.x=${day}", "/* c */ set hive.x=2024-01-01"),
        ("SET VAR v = ${day}", "SET VAR v =  '2024-01-01' "),
    ],
)
def test_a_variable_is_one_token_outside_of_strings_and_comments(text: str, result: str) -> None:
    assert substitute_variables(text, SETTINGS) == result


@pytest.mark.parametrize(
    "reference",
    [
        *("${nope}", "${hivevar:nope}", "${hiveconf:nope}", "${hivevar:X}", "${env:HOME}", "${system:user.name}"),
        *("${spark:x}", "${sparkconf:x}", "${spark.sql.ansi.enabled}", "${hiveconf:spark.sql.ansi.enabled}"),
        *("${hivevar:env:HOME}", "${hivevar:system:user.name}"),
    ],
)
@pytest.mark.parametrize("text", ["SELECT {}", "SET hive.x = {}"])
def test_a_reference_to_no_variable_names_it(text: str, reference: str) -> None:
    with pytest.raises(UnknownHiveVariable) as caught:
        substitute_variables(text.format(reference), SETTINGS)
    assert reference in caught.value.full_message and caught.value.sqlstate == "42883"


@pytest.mark.parametrize(
    ("text", "settings", "length"),
    [
        ("${x}", {"x": "1" * 100}, None),
        ("${x}", {"x": "1" * 101}, 101),
        ("a${x}b${hivevar:x}", {"x": "1" * 49}, None),
        ("a${x}b${hivevar:x}", {"x": "1" * 50}, 102),
        ("${longname}" * 9, {"longname": ""}, None),
        ("${y}" + "1" * 97, {"x": "1"}, None),  # too long already, which the parser reports
    ],
)
def test_an_expansion_is_bounded_before_it_is_made(text: str, settings: dict[str, str], length: int | None) -> None:
    if length is None:
        assert len(substitute_variables(text, settings, 100)) <= max(100, len(text))
        return
    with pytest.raises(ExpansionTooLong, match=str(length)):
        substitute_variables(text, settings, 100)
