"""OpenSession's configuration in every spelling that clients have, and `${variable}` in statements."""

from __future__ import annotations

import pytest

from gateway.hs2.variables import SessionRequest, parse_configuration, substitute

CASES = [
    ({}, SessionRequest()),
    ({"use:database": "sales", "use:catalog": "lake"}, SessionRequest(schema="sales", catalog="lake")),
    ({"use:database": ""}, SessionRequest()),
    (
        {"set:hiveconf:hive.server2.thrift.resultset.default.fetch.size": "1000", "use:database": "default"},
        SessionRequest(schema="default"),
    ),
    ({"set:hiveconf:spark.sql.ansi.enabled": "true"}, SessionRequest(settings={"spark.sql.ansi.enabled": "true"})),
    ({"spark.sql.ansi.enabled": "false"}, SessionRequest(settings={"spark.sql.ansi.enabled": "false"})),
    ({"set:hivevar:day": "2024-01-01"}, SessionRequest(variables={"day": "2024-01-01"})),
    ({"hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    ({"set:hiveconf:hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    ({"set:hiveconf:mapreduce.job.queuename": "etl", "hive.exec.x": "1"}, SessionRequest()),
    ({"no.such.setting": "1"}, SessionRequest(settings={"no.such.setting": "1"})),  # the engine's to refuse
]


@pytest.mark.parametrize(("configuration", "request_"), CASES, ids=lambda case: str(case)[:50])
def test_configuration(configuration: dict[str, str], request_: SessionRequest) -> None:
    assert parse_configuration(configuration) == request_


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SELECT ${x}", "SELECT 1"),
        ("SELECT '${hivevar:x}', ${x}", "SELECT '1', 1"),
        (
            "SELECT ${y}, ${env:HOME}, ${system:user}, $x, ${ x }",
            "SELECT ${y}, ${env:HOME}, ${system:user}, $x, ${ x }",
        ),
        ("SELECT ${nested}", "SELECT ${x}"),
    ],
)
def test_variables(text: str, result: str) -> None:
    assert substitute(text, {"x": "1", "nested": "${x}"}) == result
    assert substitute(text, {}) == text
