"""OpenSession's configuration in every spelling that clients have, and `${variable}` in statements."""

from __future__ import annotations

import pytest

from gateway.hs2.errors import ExpansionTooLong, StatementSettingNotSupported
from gateway.hs2.variables import SessionRequest, parse_configuration, statement_trace_parent, substitute

CASES = [
    ({}, SessionRequest()),
    ({"use:database": "sales", "use:catalog": "lake"}, SessionRequest(schema="sales", catalog="lake")),
    ({"use:database": ""}, SessionRequest()),
    (
        {"set:hiveconf:hive.server2.thrift.resultset.default.fetch.size": "1000", "use:database": "default"},
        SessionRequest(schema="default", settings={"hive.server2.thrift.resultset.default.fetch.size": "1000"}),
    ),
    ({"set:hiveconf:spark.sql.ansi.enabled": "true"}, SessionRequest(settings={"spark.sql.ansi.enabled": "true"})),
    ({"spark.sql.ansi.enabled": "false"}, SessionRequest(settings={"spark.sql.ansi.enabled": "false"})),
    ({"set:hivevar:day": "2024-01-01"}, SessionRequest(variables={"day": "2024-01-01"})),
    ({"hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    ({"set:hiveconf:hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    (
        {"set:hiveconf:mapreduce.job.queuename": "etl", "hive.exec.x": "1"},
        SessionRequest(settings={"mapreduce.job.queuename": "etl", "hive.exec.x": "1"}),
    ),
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
    assert substitute(text, {"x": "1", "nested": "${x}"}, 1000) == result
    assert substitute(text, {}, 1000) == text


@pytest.mark.parametrize(
    ("text", "variables", "length"),
    [
        ("${x}", {"x": "1" * 100}, None),
        ("${x}", {"x": "1" * 101}, 101),
        ("a${x}b${hivevar:x}", {"x": "1" * 49}, None),
        ("a${x}b${hivevar:x}", {"x": "1" * 50}, 102),
        ("${x}" * 20, {"x": "1" * (4 << 20)}, 20 * (4 << 20)),  # which nobody should make to measure it
        ("${longname}" * 9, {"longname": ""}, None),
        ("${y}" + "1" * 97, {"x": "1"}, None),  # too long already, which the engine says
    ],
)
def test_an_expansion_is_bounded_before_it_is_made(text: str, variables: dict[str, str], length: int | None) -> None:
    if length is None:
        assert len(substitute(text, variables, 100)) <= max(100, len(text))
        return
    with pytest.raises(ExpansionTooLong, match=str(length)):
        substitute(text, variables, 100)


def test_a_statement_may_belong_to_a_span() -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert statement_trace_parent({"TraceParent": parent, "hive.x": "1"}) == parent
    assert statement_trace_parent({"traceparent": "nonsense"}) is None
    with pytest.raises(StatementSettingNotSupported):
        statement_trace_parent({"spark.sql.ansi.enabled": "true"})
