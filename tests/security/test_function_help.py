"""Functions for completion over HTTP: visibility, and an answer that a browser keeps."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

from catalog.changes import CreateSchema
from catalog.entries import FunctionColumn, FunctionEntry, FunctionParameter, SchemaEntry
from catalog.grants.privileges import Kind, Privilege, user
from catalog.grants.right_changes import CreateFunction, GrantPrivileges, Securable
from catalog.names import SchemaName, TableName
from tests.security.secure_server import SecureServer, basic

PATH = "/api/2.0/catalog/functions"
LAB = SchemaName("spark_catalog", "lab")


def make_functions(server: SecureServer) -> None:
    catalog = server.engine.catalog
    catalog.change(CreateSchema(SchemaEntry(name=LAB)))
    parameters = (
        FunctionParameter(name="amount", type="DECIMAL(10,2)", comment="Net"),
        FunctionParameter(name="rate", type="DOUBLE", default="0.2"),
    )
    tax = FunctionEntry(
        name=TableName("spark_catalog", "lab", "tax"),
        current=LAB,
        owner="ann",
        parameters=parameters,
        returns="DOUBLE",
        body="amount * rate",
        comment="Adds tax",
    )
    days = replace(
        tax,
        name=TableName("spark_catalog", "lab", "days"),
        parameters=(),
        returns="TABLE",
        body="(SELECT 1)",
        table_columns=(FunctionColumn(name="d", type="INT"),),
        comment=None,
    )
    for entry in (tax, days):
        catalog.change(CreateFunction(entry))


def functions(server: SecureServer, by: str, parameters: str = "") -> list[dict[str, Any]]:
    answer = server.ask("GET", PATH + parameters, **basic(by))
    assert answer.status == 200, answer.body
    return [each for each in answer.body["functions"] if each["kind"] == "user"]


def test_user_functions_are_those_that_the_user_may_see(server: SecureServer) -> None:
    make_functions(server)
    assert functions(server, "bob") == []
    days, tax = functions(server, "ann")
    assert tax == {
        "name": "tax",
        "kind": "user",
        "type": "scalar",
        "catalog": "spark_catalog",
        "schema": "lab",
        "usage": ["tax(amount DECIMAL(10,2), rate DOUBLE DEFAULT 0.2) RETURNS DOUBLE"],
        "description": "Adds tax",
        "examples": [],
        "arguments": "* amount - Net",
    }
    assert (days["type"], days["usage"]) == ("table", ["days() RETURNS TABLE (d INT)"])
    on = Securable(Kind.FUNCTION, TableName("spark_catalog", "lab", "tax"))
    server.engine.catalog.change(GrantPrivileges(on, user("bob"), (Privilege.EXECUTE,), None))
    assert [each["name"] for each in functions(server, "bob")] == ["tax"]
    assert functions(server, "ann", "?catalog=other") == []


def test_answer_is_compressed_and_not_sent_again(server: SecureServer) -> None:
    first = server.ask("GET", PATH, **basic("ann"))
    assert {"name", "kind", "type", "usage", "description", "examples"} <= first.body["functions"][0].keys()
    assert first.body["keywords"] == ["SELECT", "FROM"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    packed = server.ask("GET", PATH, Accept_Encoding="gzip", **basic("ann"))
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.content) == first.content
    again = server.ask("GET", PATH, If_None_Match=first.headers["ETag"], **basic("ann"))
    assert (again.status, again.content) == (304, b"")
    make_functions(server)
    assert server.ask("GET", PATH, If_None_Match=first.headers["ETag"], **basic("ann")).status == 200
