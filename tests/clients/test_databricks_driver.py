"""npm's @databricks/sql, unmodified, over TLS; it is installed for the test."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from tests.clients.conftest import Served
from tests.gateway.arrow_engine import rows

pytestmark = [pytest.mark.clients, pytest.mark.slow]

SCRIPT = Path(__file__).with_name("databricks_driver.js")
TYPES = json.loads(
    """{"bo": true, "ti": -128, "sm": -32768, "i": 2147483647, "b": -9223372036854776000, "f": 1.5, "d": 1e10,
        "dec": -1.5, "s": "é \\"q\\" 日本", "bin": {"type": "Buffer", "data": [114, 97, 119]},
        "da": "2024-02-29T00:00:00.000Z", "ts": "2024-07-01T12:00:00.250Z", "arr": [1, null],
        "st": {"x": 1, "y": "z"}}"""
)


def test_databricks_jdbc_driver_works_end_to_end(served: Served, tmp_path: Path) -> None:
    install = ["npm", "install", "--prefix", str(tmp_path), "@databricks/sql@2.1.0"]
    subprocess.run(install, check=True, capture_output=True)
    served.engine.answers["SELECT ?"] = served.engine.answers["SELECT :a"] = rows(pa.table({"x": [1]}))
    trusted = {"NODE_PATH": str(tmp_path / "node_modules"), "NODE_EXTRA_CA_CERTS": str(served.certificate.certificate)}
    done = subprocess.run(
        ["node", str(SCRIPT), str(served.http_port)],
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
