"""JDBC's metadata calls, from the request to the rows."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.conditions import TableNotFound
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.hs2.wire import ERROR, OK, Lab, cells, fetch

LISTS: list[tuple[str, dict[str, Any], int, list[Any]]] = [  # request's fields, columns, the telling column's values
    ("GetCatalogs", {}, 1, ["spark_catalog"]),
    ("GetSchemas", {"schemaName": "%"}, 2, ["default", "lab"]),
    ("GetSchemas", {"schemaName": "la_"}, 2, ["lab"]),
    ("GetTables", {}, 10, ["t", "u"]),
    ("GetTables", {"schemaName": "lab", "tableTypes": ["TABLE"]}, 10, ["u"]),
    ("GetTables", {"tableTypes": ["INDEX"]}, 10, []),
    ("GetTableTypes", {}, 1, ["TABLE", "VIEW"]),
    ("GetColumns", {"tableName": "%", "columnName": ".*"}, 23, ["i", "s"]),
    ("GetFunctions", {"functionName": "con%"}, 6, ["concat"]),
    ("GetPrimaryKeys", {"catalogName": "", "schemaName": "", "tableName": "t"}, 6, ["id"]),
    ("GetPrimaryKeys", {"tableName": "nope"}, 6, []),
    ("GetCrossReference", {"foreignTableName": "u"}, 14, ["parent_id"]),
    ("GetCrossReference", {"foreignTableName": "nope"}, 14, []),
]
TELLING = {"GetTables": 2, "GetColumns": 3, "GetFunctions": 2, "GetPrimaryKeys": 3, "GetCrossReference": 7}


@pytest.mark.parametrize(("name", "fields", "columns", "values"), LISTS, ids=lambda case: str(case)[:40])
def test_metadata(
    client: ThriftClient,
    session: t.TSessionHandle,
    name: str,
    fields: dict[str, Any],
    columns: int,
    values: list[Any],
) -> None:
    response = getattr(client, name)(getattr(t, f"T{name}Req")(session, **fields))
    assert response.status.statusCode == OK, response
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(response.operationHandle)).schema
    assert len(schema.columns) == columns
    answer = fetch(client, response.operationHandle, 50)
    assert len(answer.results.columns) == columns
    assert cells(answer)[TELLING.get(name, 0)] == values


def test_type_info(client: ThriftClient, session: t.TSessionHandle) -> None:
    response = client.GetTypeInfo(t.TGetTypeInfoReq(session))
    answer = cells(fetch(client, response.operationHandle, 50))
    assert len(answer) == 18 and "DECIMAL" in answer[0]


def test_an_error_of_a_metadata_call_is_the_answer(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    def broken(*_: object) -> None:
        raise TableNotFound("t")

    lab.engine.sessions[0].run = broken  # type: ignore[assignment, method-assign]
    response = client.GetColumns(t.TGetColumnsReq(session))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "42P01")
