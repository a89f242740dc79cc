"""Fetching: pages, orientations, limits, old clients, and the remains of a closed statement."""

from __future__ import annotations

import datetime as dt
import threading

import pyarrow as pa
import pytest

from gateway.hs2 import fetching
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import Streams, rows
from tests.gateway.hs2.wire import INVALID, OK, Lab, State, cells, execute, fetch, open_session, settle, status

Orientation = t.TFetchOrientation


def test_pages_tell_whether_rows_follow(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "ROWS 2500")
    seen = []
    for offset, count, more in [(0, 1000, True), (1000, 1500, False), (2500, 0, False)]:
        response = fetch(client, operation, 1500 if offset else 1000)
        assert (response.results.startRowOffset, response.hasMoreRows) == (offset, more)
        assert len(cells(response)[0]) == count
        seen += cells(response)[0]
    assert seen == list(range(2500))
    assert cells(fetch(client, operation, 2, Orientation.FETCH_FIRST)) == [[0, 1], ["row 0", "row 1"]]
    assert cells(fetch(client, operation, 1)) == [[2], ["row 2"]]


@pytest.mark.parametrize(
    ("version", "types"),
    [
        ("HIVE_CLI_SERVICE_PROTOCOL_V5", ["STRING_TYPE", "STRING_TYPE", "INT_TYPE"]),
        ("HIVE_CLI_SERVICE_PROTOCOL_V7", ["STRING_TYPE", "STRING_TYPE", "INT_TYPE"]),
        ("HIVE_CLI_SERVICE_PROTOCOL_V8", ["INTERVAL_DAY_TIME_TYPE", "INTERVAL_YEAR_MONTH_TYPE", "INT_TYPE"]),
        ("SPARK_CLI_SERVICE_PROTOCOL_V1", ["INTERVAL_DAY_TIME_TYPE", "INTERVAL_YEAR_MONTH_TYPE", "INT_TYPE"]),
    ],
)
def test_intervals_are_strings_to_clients_without_types_for_them(
    client: ThriftClient, lab: Lab, version: str, types: list[str]
) -> None:
    values = pa.table({"d": [dt.timedelta(1)], "m": ["1-2"], "i": pa.array([1], pa.int32())})
    kinds = {"d": "interval day to second", "m": "interval year to month", "i": "int"}
    lab.engine.answers["SELECT intervals"] = rows(values, sql_types=kinds)
    session = open_session(client, client_protocol=getattr(t.TProtocolVersion, version))
    operation = execute(client, session, "SELECT intervals")
    columns = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema.columns
    found = [column.typeDesc.types[0].primitiveEntry.type for column in columns]
    assert [t.TTypeId(one).name for one in found] == types


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("HIVE_CLI_SERVICE_PROTOCOL_V1", "NULL_TYPE"),
        ("HIVE_CLI_SERVICE_PROTOCOL_V10", "NULL_TYPE"),
        ("SPARK_CLI_SERVICE_PROTOCOL_V1", "STRING_TYPE"),
        ("SPARK_CLI_SERVICE_PROTOCOL_V9", "STRING_TYPE"),
    ],
)
def test_a_column_of_nulls_is_a_string_to_databricks_clients(
    client: ThriftClient, lab: Lab, version: str, kind: str
) -> None:
    lab.engine.answers["SELECT nulls"] = rows(pa.table({"n": pa.nulls(1)}), sql_types={"n": "void"})
    session = open_session(client, client_protocol=getattr(t.TProtocolVersion, version))
    operation = execute(client, session, "SELECT nulls")
    (column,) = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema.columns
    assert t.TTypeId(column.typeDesc.types[0].primitiveEntry.type).name == kind


def test_prior_rows_are_those_before_the_rows_fetched_last(client: ThriftClient, session: t.TSessionHandle) -> None:
    """Spark's own server does the same: the offset before the last response's first row, and on from there."""
    operation = execute(client, session, "ROWS 25")
    seen = []
    for orientation, count in [(0, 10), (0, 10), (1, 4), (0, 4), (1, 100), (0, 1), (4, 2), (1, 3), (0, 30), (1, 1)]:
        response = fetch(client, operation, count, orientation)
        ids = cells(response)[0]
        assert ids == list(range(response.results.startRowOffset, response.results.startRowOffset + len(ids)))
        seen.append((response.results.startRowOffset, len(ids)))
    assert seen == [(0, 10), (10, 10), (6, 4), (10, 4), (0, 25), (25, 0), (0, 2), (0, 3), (3, 22), (2, 1)]


@pytest.mark.parametrize("orientation", [2, 3, 5, 77])
def test_other_orientations_are_refused(client: ThriftClient, session: t.TSessionHandle, orientation: int) -> None:
    operation = execute(client, session, "SELECT 1")
    assert fetch(client, operation, 1, orientation).status.sqlState == "HYC00"
    assert cells(fetch(client, operation)) == [[1]]


def test_an_answer_is_bounded_in_bytes(
    monkeypatch: pytest.MonkeyPatch, client: ThriftClient, session: t.TSessionHandle
) -> None:
    monkeypatch.setattr(fetching, "FETCH_BYTES_MAX", 1000)
    operation = execute(client, session, "ROWS 500")
    seen: list[int] = []
    while True:
        response = fetch(client, operation, 500)
        ids = cells(response)[0]
        assert 0 < len(ids) < 100
        seen += ids
        if not response.hasMoreRows:
            break
    assert seen == list(range(500))


def test_clients_before_version_6_get_rows(client: ThriftClient) -> None:
    session = open_session(client, client_protocol=t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V5)
    response = fetch(client, execute(client, session, "ROWS 2"))
    assert response.results.columns is None
    assert [(row.colVals[0].i64Val.value, row.colVals[1].stringVal.value) for row in response.results.rows] == [
        (0, "row 0"),
        (1, "row 1"),
    ]


V5 = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V5


def row_ids(response: t.TFetchResultsResp) -> list[int]:
    assert response.status.statusCode == OK, response
    return [row.colVals[0].i64Val.value for row in response.results.rows]


def test_clients_before_version_6_that_repeat_the_first_fetch_get_each_row_once(lab: Lab, client: ThriftClient) -> None:
    """ADBC's Spark driver sends FETCH_FIRST as long as the response has more rows."""
    lab.engine.answers["SELECT slowly"] = streams = Streams()
    streams.give(0, 1)
    operation = execute(client, open_session(client, client_protocol=V5), "SELECT slowly", runAsync=True)
    settle(client, operation)

    def go_on() -> None:
        streams.give(2, 3)
        streams.end()

    later = threading.Timer(0.2, go_on)
    later.start()
    response = fetch(client, operation, 65536, Orientation.FETCH_FIRST)
    later.join()
    assert (row_ids(response), response.hasMoreRows) == ([0, 1, 2, 3], False)


def test_clients_before_version_6_that_fetch_on_get_all_rows(client: ThriftClient) -> None:
    operation = execute(client, open_session(client, client_protocol=V5), "ROWS 2500")
    answers = [fetch(client, operation, 1000) for _ in range(4)]
    assert [len(row_ids(answer)) for answer in answers] == [1000, 1000, 500, 0]
    assert [row for answer in answers for row in row_ids(answer)] == list(range(2500))
    assert not any(answer.hasMoreRows for answer in answers)


def test_first_rows_too_large_for_one_answer_are_an_error_and_never_a_part(
    monkeypatch: pytest.MonkeyPatch, client: ThriftClient
) -> None:
    monkeypatch.setattr(fetching, "EXTENDED_BYTES_MAX", 1000)
    operation = execute(client, open_session(client, client_protocol=V5), "ROWS 500")
    assert fetch(client, operation, 500, Orientation.FETCH_FIRST).status.sqlState == "54000"
    assert row_ids(fetch(client, operation, 10, Orientation.FETCH_FIRST)) == list(range(10))
    seen: list[int] = []
    while found := row_ids(fetch(client, operation, 500)):
        seen += found
    assert seen == list(range(10, 500))


def test_log_lines_are_one_string_column(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "ROWS 2")
    [[line]] = cells(fetch(client, operation, kind=1))
    assert line.startswith("finished after ")
    assert len(cells(fetch(client, operation))[0]) == 2


def test_timestamps_show_in_the_zone_of_the_session(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    table = pa.table({"ts": pa.array([0, None], pa.timestamp("us", "UTC"))})
    lab.engine.answers["zoned"] = rows(table, time_zone="Asia/Tokyo")
    response = fetch(client, execute(client, session, "zoned"))
    assert response.results.columns[0].stringVal.values == ["1970-01-01 09:00:00", ""]
    assert response.results.columns[0].stringVal.nulls == b"\x02"


def test_a_closed_statement_is_gone_and_closing_it_again_is_no_error(
    client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(client, session, "SELECT 1")
    for _ in range(3):  # so that the answer is a remembered one
        assert status(client, operation).operationState == State.FINISHED_STATE
    for _ in range(2):
        assert client.CloseOperation(t.TCloseOperationReq(operation)).status.statusCode == OK
    assert status(client, operation).status.statusCode == INVALID
    assert fetch(client, operation).status.statusCode == INVALID


def test_cached_statuses_belong_to_requested_statement(client: ThriftClient, session: t.TSessionHandle) -> None:
    good, bad = execute(client, session, "SELECT 1"), execute(client, session, "nonsense", runAsync=True)
    settle(client, bad)
    for _ in range(3):
        assert status(client, good).operationState == State.FINISHED_STATE
        assert status(client, bad).operationState == State.ERROR_STATE
        assert status(client, bad).sqlState == "42601"
