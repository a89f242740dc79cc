"""ADBC's driver for Spark Connect, which is written in Go, with DB-API calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.clients.environments import python_packages
from tests.clients.fix_server import RealServer
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.spark]


def test_driver_runs_statements_and_lists_tables(server: RealServer) -> None:
    folder = python_packages("adbc-spark", "adbc-driver-spark==0.3.0", "adbc-driver-manager==1.13.0")
    url = f"sc://localhost:{server.connect_port}/;use_ssl=true;user_id=adbc"
    environment = os.environ | {"SSL_CERT_FILE": str(server.certificate.certificate), "PYTHONPATH": str(folder)}
    command = [sys.executable, str(ROOT / "tests/clients/adbc_connect.py"), url, "adbc_connect"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["values"] == [[1, "é", None, True, 1.5]]
    assert found["rows"] == [[1, "a"], [2, None]]
    for text, condition in zip(
        found["errors"], ("PARSE_SYNTAX_ERROR", "TABLE_OR_VIEW_NOT_FOUND", "DIVIDE_BY_ZERO"), strict=True
    ):
        assert f"[{condition}]" in text
    assert (found["many"], found["tables"]) == (300_000, ["t"])
