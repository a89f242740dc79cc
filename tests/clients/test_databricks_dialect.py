"""databricks-sqlalchemy and pandas over databricks-sql-connector, unmodified, in a separate environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

SCRIPT = Path(__file__).with_name("databricks_dialect.py")
PACKAGES = ("databricks-sqlalchemy==2.0.10", "databricks-sql-connector==4.9.0", "pandas", "pyarrow")
COLUMNS = ["id", "name", "day", "amount", "at", "paid"]


def test_databricks_sqlalchemy_dialect_works_end_to_end(server: RealServer) -> None:
    python = client_environment("databricks-sqlalchemy", *PACKAGES) / "python"
    done = subprocess.run([python, SCRIPT, str(server.http_port)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    updated, rows, listed, there, columns, key, reflected, frame = map(json.loads, done.stdout.splitlines())
    assert updated == 1 and [row[:4] for row in rows] == [
        [1, "it's", "2024-01-02", "1.50"],
        [2, "x", "2024-01-02", "1.50"],
    ]
    assert listed == [True, True] and there == [True, False]
    assert [name for name, _ in columns] == COLUMNS == reflected and key == ["id"]
    assert dict(columns)["id"] == "BIGINT" and dict(columns)["amount"] == "NUMERIC(10, 2)"
    assert frame["a"] == [1, 2] and frame["s"][0] == "x" and frame["s"][1] != frame["s"][1]  # NaN: pandas' null
