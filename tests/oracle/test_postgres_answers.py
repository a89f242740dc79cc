"""The recorded answers are those of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.sql.postgres import dialect_cases
from tests.gateway.postgres import catalog_cases
from tests.postgres_server import PostgresServer, postgres_server

pytestmark = [pytest.mark.oracle, pytest.mark.postgresql]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        with running.connect("postgres", "admin") as connection:
            connection.execute("CREATE ROLE alice LOGIN")
            connection.execute("CREATE DATABASE main OWNER alice")
            connection.execute("CREATE DATABASE dialect OWNER alice")
        yield running


def test_answers_in_the_dialect_are_recorded(server: PostgresServer) -> None:
    with server.connect("dialect", "alice") as connection:
        found = list(dialect_cases.answered(connection))
    pairs = zip(dialect_cases.queries(), found, dialect_cases.answers(), strict=True)
    assert not [(text, made, expected) for text, made, expected in pairs if made != expected]


def test_columns_of_catalog_queries_are_recorded(server: PostgresServer) -> None:
    with server.connect("main", "alice") as connection:
        for client, found in catalog_cases.answered(connection):
            expected = [answer.get("columns") for answer in catalog_cases.golden(client)]
            assert [answer.get("columns") for answer in found] == expected, client
