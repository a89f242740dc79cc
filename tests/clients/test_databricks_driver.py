"""npm's @databricks/sql, unmodified, over TLS; it is installed once, below `.clients`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from tests.clients.conftest import Served
from tests.clients.environments import NODE, node_packages
from tests.gateway.arrow_engine import rows

pytestmark = pytest.mark.clients

SCRIPT = Path(__file__).with_name("databricks_driver.js")
TYPES = json.loads(
    """{"bo": true, "ti": -128, "sm": -32768, "i": 2147483647, "b": -9223372036854776000, "f": 1.5, "d": 1e10,
        "dec": -1.5, "s": "é \\"q\\" 日本", "bin": {"type": "Buffer", "data": [114, 97, 119]},
        "da": "2024-02-29T00:00:00.000Z", "ts": "2024-07-01T12:00:00.250Z", "arr": [1, null],
        "st": {"x": 1, "y": "z"}}"""
)


def test_databricks_driver_of_node_works_end_to_end(served: Served) -> None:
    modules = node_packages("databricks-sql", "@databricks/sql@2.1.0")
    served.engine.answers["SELECT ?"] = served.engine.answers["SELECT :a"] = rows(pa.table({"x": [1]}))
    trusted = {"NODE_PATH": str(modules), "NODE_EXTRA_CA_CERTS": str(served.certificate.certificate)}
    done = subprocess.run(
        [str(NODE), str(SCRIPT), str(served.http_port)],
        env=os.environ | trusted,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    one, types, many, error, insert, *more, session, another = map(json.loads, done.stdout.splitlines())
    *lists, product, timeout, cancelled = more
    assert session == another == one
    assert one == [{"1": 1}] and types == TYPES and many == [1_000_000, 999_999]
    assert error.startswith("[PARSE_SYNTAX_ERROR.TEST]") and insert == [[], 3]
    assert lists == [["spark_catalog"], ["t"], ["i", "s"], ["id"], True] and product == "Spark SQL"
    sent = [run.parameters[0] for run in served.engine.runs if run.parameters]
    assert [(each.name, each.value) for each in sent[-2:]] == [("a", "5"), (None, "x")]
    assert "time" in timeout.lower() and "cancel" in cancelled.lower()
