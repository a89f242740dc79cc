"""OpenSession's configuration in every client's spelling, and settings for a single statement."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSettingNotSupported
from gateway.hs2.variables import SessionRequest, parse_configuration, statement_trace_parent

CASES = [
    ({}, SessionRequest()),
    ({"use:database": "sales", "use:catalog": "lake"}, SessionRequest(schema="sales", catalog="lake")),
    ({"use:database": ""}, SessionRequest()),
    ({"spark.sql.defaultCatalog": "lake"}, SessionRequest(catalog="lake")),
    ({"set:hiveconf:spark.sql.defaultCatalog": "lake", "use:catalog": "other"}, SessionRequest(catalog="other")),
    (
        {"set:hiveconf:hive.server2.thrift.resultset.default.fetch.size": "1000", "use:database": "default"},
        SessionRequest(schema="default", settings={"hive.server2.thrift.resultset.default.fetch.size": "1000"}),
    ),
    ({"set:hiveconf:spark.sql.ansi.enabled": "true"}, SessionRequest(settings={"spark.sql.ansi.enabled": "true"})),
    ({"spark.sql.ansi.enabled": "false"}, SessionRequest(settings={"spark.sql.ansi.enabled": "false"})),
    ({"set:hivevar:day": "2024-01-01"}, SessionRequest(settings={"hivevar:day": "2024-01-01"})),
    ({"hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    ({"set:hiveconf:hive.server2.proxy.user": "bob"}, SessionRequest(proxy_user="bob")),
    (
        {"set:hiveconf:mapreduce.job.queuename": "etl", "hive.exec.x": "1"},
        SessionRequest(settings={"hiveconf:mapreduce.job.queuename": "etl", "hive.exec.x": "1"}),
    ),
    ({"set:hiveconf:hiveconf:a": "1"}, SessionRequest(settings={"hiveconf:a": "1"})),
    ({"no.such.setting": "1"}, SessionRequest(settings={"no.such.setting": "1"})),  # the engine's to refuse
]


@pytest.mark.parametrize(("configuration", "request_"), CASES, ids=lambda case: str(case)[:50])
def test_configuration(configuration: dict[str, str], request_: SessionRequest) -> None:
    assert parse_configuration(configuration) == request_


def test_a_statement_may_belong_to_a_span() -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert statement_trace_parent({"TraceParent": parent, "hive.x": "1"}) == parent
    assert statement_trace_parent({"traceparent": "nonsense", "spark.app.name": "x"}) is None
    for key in ("spark.sql.ansi.enabled", "spark.sql.nope", "TimeZone", "gateway.result_cache"):
        with pytest.raises(StatementSettingNotSupported):
            statement_trace_parent({key: "true"})
