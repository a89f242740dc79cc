"""The number and kinds of Java calls that each statement takes (a count, since times depend on the machine); answers do
not wait until their first packet is acknowledged.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.counted_calls import counted_calls

pytestmark = pytest.mark.spark

ANN = Identity("ann")
CALLS_MAX = (
    ("CREATE TABLE called (id BIGINT, name STRING)", 0),
    ("INSERT INTO called VALUES (1, 'a'), (2, 'b'), (3, 'c')", 1),
    ("INSERT INTO called BY NAME SELECT 4 AS id", 2),  # its columns, and the rows
    ("SHOW TABLES", 0),
    ("DESCRIBE HISTORY called", 0),
    ("SELECT count(*) FROM called", 0),  # answered from the log
    ("SELECT 1", 1),
    ("SELECT * FROM called WHERE id = 2", 1),
    ("SELECT a.name, count(*) FROM called a JOIN called b ON a.id = b.id GROUP BY a.name ORDER BY 1", 1),
    ("EXPLAIN SELECT * FROM called WHERE id = 2", 1),
    ("DESCRIBE QUERY SELECT * FROM called", 1),
    ("UPDATE called SET name = upper(name) WHERE id = 2", 4),
    ("DELETE FROM called WHERE id = 1", 3),
    ("MERGE INTO called t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE", 5),
    ("CREATE TABLE copied AS SELECT * FROM called", 2),
)


def test_a_statement_calls_java_no_more_than_it_has_to(session: LakeSession, spark_driver: SparkDriver) -> None:
    list(session.execute("SELECT 0", StatementRequest(identity=ANN)).batches())  # creates Java's session, and sends USE
    called = {}
    for text, _ in CALLS_MAX:
        with counted_calls(spark_driver.process.gateway) as calls:
            list(session.execute(text, StatementRequest(identity=ANN)).batches())
        called[text] = len(calls)
    too_many = {text: (called[text], most) for text, most in CALLS_MAX if called[text] > most}
    assert not too_many


def test_answers_of_java_are_not_held_back(spark_driver: SparkDriver) -> None:
    """On connections from Spark's start, and on later ones from threads."""
    client = spark_driver.process.gateway.java_gateway_server.getCallbackClient()

    def is_prompt() -> bool:
        return bool(client.getPerThreadConnection().getSocket().getTcpNoDelay())

    with ThreadPoolExecutor(1) as other:
        assert is_prompt() and other.submit(is_prompt).result()
