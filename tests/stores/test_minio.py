"""Changes in a lake on a real MinIO, through a proxy that loses answers, resets, hangs, and answers 503."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stores.s3_lake import S3Server, minio_server
from tests.stores.test_object_store import CHANGES, FAULTS, lose, new_lake

pytestmark = [pytest.mark.slow, pytest.mark.minio]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with minio_server(tmp_path_factory.mktemp("minio")) as server:
        yield server


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", CHANGES)
def test_statement_each_of_whose_puts_failed_once(store: S3Server, case: str, fault: str) -> None:
    number, puts = 0, 1
    while number < puts:
        puts = lose(store, case, fault, number)
        number += 1
    assert number > 1


def test_creating_is_refused_by_the_store_where_another_server_was_first(store: S3Server) -> None:
    lake = new_lake(store)
    other = lake.other()
    assert other.names("s") == []
    lake.answer("CREATE TABLE s.a (id BIGINT)")
    store.requests()
    assert other.refuse("CREATE TABLE s.a (again INT)").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert [name for name, *_ in other.rows("SHOW COLUMNS IN s.a")] == ["id"]
