"""Handles open only their own principal's sessions and statements; for others they are unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.sessions.operation_state import OperationState
from tests.gateway.hs2.wire import Lab, execute, open_session

Ask = Callable[[ThriftClient, t.TSessionHandle, t.TOperationHandle], Any]

ASKS: dict[str, Ask] = {
    "ExecuteStatement": lambda c, s, o: c.ExecuteStatement(t.TExecuteStatementReq(s, "SELECT 1")),
    "ExecuteAsync": lambda c, s, o: c.ExecuteStatement(t.TExecuteStatementReq(s, "SELECT 1", runAsync=True)),
    "GetInfo": lambda c, s, o: c.GetInfo(t.TGetInfoReq(s, t.TGetInfoType.CLI_DBMS_NAME)),
    "SetClientInfo": lambda c, s, o: c.SetClientInfo(t.TSetClientInfoReq(s, {})),
    "GetTypeInfo": lambda c, s, o: c.GetTypeInfo(t.TGetTypeInfoReq(s)),
    "GetCatalogs": lambda c, s, o: c.GetCatalogs(t.TGetCatalogsReq(s)),
    "GetSchemas": lambda c, s, o: c.GetSchemas(t.TGetSchemasReq(s)),
    "GetTables": lambda c, s, o: c.GetTables(t.TGetTablesReq(s)),
    "GetTableTypes": lambda c, s, o: c.GetTableTypes(t.TGetTableTypesReq(s)),
    "GetColumns": lambda c, s, o: c.GetColumns(t.TGetColumnsReq(s)),
    "GetFunctions": lambda c, s, o: c.GetFunctions(t.TGetFunctionsReq(s, functionName="%")),
    "GetPrimaryKeys": lambda c, s, o: c.GetPrimaryKeys(t.TGetPrimaryKeysReq(s)),
    "GetCrossReference": lambda c, s, o: c.GetCrossReference(t.TGetCrossReferenceReq(s)),
    "GetOperationStatus": lambda c, s, o: c.GetOperationStatus(t.TGetOperationStatusReq(o)),
    "GetResultSetMetadata": lambda c, s, o: c.GetResultSetMetadata(t.TGetResultSetMetadataReq(o)),
    "FetchResults": lambda c, s, o: c.FetchResults(t.TFetchResultsReq(o, 0, 10)),
    "FetchLog": lambda c, s, o: c.FetchResults(t.TFetchResultsReq(o, 0, 10, 1)),
    "GetLog": lambda c, s, o: c.GetLog(t.TGetLogReq(o)),
    "CancelOperation": lambda c, s, o: c.CancelOperation(t.TCancelOperationReq(o)),
    "CloseOperation": lambda c, s, o: c.CloseOperation(t.TCloseOperationReq(o)),
    "CloseSession": lambda c, s, o: c.CloseSession(t.TCloseSessionReq(s)),
}


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("other", ["grace", None])
def test_another_principals_handles_are_answered_like_closed_ones(lab: Lab, name: str, other: str | None) -> None:
    owner, stranger = lab.client("ada"), lab.client(other)
    closed = open_session(owner)
    closed_operation = execute(owner, closed, "SELECT 1")
    owner.CloseSession(t.TCloseSessionReq(closed))
    session = open_session(owner)
    operation = execute(owner, session, "SELECT 1")
    runs = len(lab.engine.runs)

    expected = ASKS[name](stranger, closed, closed_operation)
    assert ASKS[name](stranger, session, operation) == expected
    assert len(lab.engine.runs) == runs
    (remaining,) = lab.registry.operations()
    assert remaining.state is OperationState.FINISHED and len(lab.registry.sessions()) == 1
    if not name.startswith(("Close", "Cancel")):  # which do nothing to closed ones
        assert expected.status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS
    mine = ASKS[name](owner, session, operation)
    assert mine.status.statusCode == t.TStatusCode.SUCCESS_STATUS, mine


def test_query_id_is_visible_to_owner_only(lab: Lab) -> None:
    owner, stranger = lab.client("ada"), lab.client("grace")
    operation = execute(owner, open_session(owner), "SELECT 1")
    assert owner.GetQueryId(t.TGetQueryIdReq(operation)).queryId
    with pytest.raises(Exception, match="GetQueryId failed"):
        stranger.GetQueryId(t.TGetQueryIdReq(operation))


def test_two_connections_of_one_principal_share_their_handles(lab: Lab) -> None:
    first, second = lab.client("ada"), lab.client("ada")
    operation = execute(first, open_session(first), "SELECT 1")
    assert ASKS["FetchResults"](second, None, operation).status.statusCode == t.TStatusCode.SUCCESS_STATUS


def test_a_name_given_with_open_session_is_the_principal_of_its_connection(lab: Lab) -> None:
    """Over a transport that has no log-in."""
    owner, stranger = lab.client(None), lab.client(None)
    session = open_session(owner, username="ada")
    open_session(stranger, username="grace")
    assert stranger.GetTables(t.TGetTablesReq(session)).status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS
    assert owner.GetTables(t.TGetTablesReq(session)).status.statusCode == t.TStatusCode.SUCCESS_STATUS
