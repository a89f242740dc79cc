"""databricks-sql-go, unmodified, over TLS. `databricks_sql.go` is built once, below `.clients`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import Served
from tests.clients.environments import go_program

pytestmark = [pytest.mark.clients, pytest.mark.go]

SOURCE = Path(__file__).with_name("databricks_sql.go")
MODULE = "github.com/databricks/databricks-sql-go@v1.7.0"


def test_go_driver_reads_rows_errors_and_counts(served: Served) -> None:
    done = subprocess.run(
        [str(go_program(SOURCE, MODULE)), str(served.http_port)],
        env=os.environ | {"SSL_CERT_FILE": str(served.certificate.certificate)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    one, columns, count, error, changed = map(json.loads, done.stdout.splitlines())
    assert (one, columns, count, changed) == (1, ["id", "name"], 100_000, 3)
    assert "PARSE_SYNTAX_ERROR" in error
