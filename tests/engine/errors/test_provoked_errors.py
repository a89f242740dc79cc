"""Errors that users provoke, as clients get them: statements and full texts are in `provoked_errors.txt`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import LakeSession
from gateway.observability.status import describe
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).with_name("provoked_errors.txt")
SETUP = """
CREATE SCHEMA shop
CREATE TABLE shop.orders (id BIGINT NOT NULL, status STRING, amount DECIMAL(10, 2), day DATE)
INSERT INTO shop.orders VALUES (1, 'open', 9.5, DATE '2024-01-01'), (2, 'closed', 1, DATE '2024-01-02')
ALTER TABLE shop.orders ADD CONSTRAINT positive CHECK (id > 0)
CREATE TABLE shop.parts (id INT, part STRING) PARTITIONED BY (part)
INSERT INTO shop.parts VALUES (7, 'a')
CREATE TABLE shop.numbered (id BIGINT GENERATED ALWAYS AS IDENTITY, name STRING)
CREATE TABLE shop.log (id INT) TBLPROPERTIES ('delta.appendOnly' = 'true')
CREATE TABLE shop.clustered (a INT, b INT, c INT, d INT, e INT) CLUSTER BY (a)
CREATE TABLE shop.short (code VARCHAR(3))
CREATE VIEW shop.v AS SELECT id, status FROM shop.orders
CREATE VIEW shop.numbers AS SELECT id, CAST(status AS INT) AS n FROM shop.orders
CREATE VIEW shop.wrapped AS SELECT * FROM shop.numbers WHERE id > 0
CREATE FUNCTION shop.ratio(x INT) RETURNS DOUBLE RETURN 1 / x
CREATE TEMPORARY VIEW temporary_orders AS SELECT * FROM shop.orders
"""
GENERATED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*")


def test_provoked_errors_read_as_the_golden_file(session: LakeSession, lake: Path) -> None:
    for statement in SETUP.strip().splitlines():
        run(session, statement)
    expected = GOLDEN.read_text(encoding="utf-8")
    found = "\n".join(provoke_all(session, lake, expected)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == expected


def provoke_all(session: LakeSession, lake: Path, golden: str) -> Iterator[str]:
    """Yields the golden file's lines, with what each statement raises now after it."""
    for block in re.split(r"\n\n(?=> |== )", golden.rstrip("\n")):
        quoted = [line for line in block.split("\n") if line.startswith("> ")]
        if not quoted:
            yield from (block, "")
            continue
        statement = "\n".join(line.removeprefix("> ") for line in quoted).replace("{lake}", str(lake))
        yield "\n".join(quoted)
        yield from (provoke(session, statement).replace(str(lake), "{lake}"), "")


def provoke(session: LakeSession, statement: str) -> str:
    try:
        run(session, statement)
    except SqlError as error:
        return GENERATED.sub("…", describe(error).message)
    return "(no error)"
