"""pyspark-client, the former release, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(900)
def test_former_release_reads_and_writes(server: RealServer) -> None:
    folder = client_environment("pyspark-client", "pyspark-client==4.2.0", "pandas<3")
    url = f"sc://localhost:{server.connect_port}/;use_ssl=true;user_id=old"
    environment = os.environ | {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(server.certificate.certificate)}
    command = [str(folder / "python"), str(ROOT / "tests/clients/pyspark_client.py"), url, "former_release"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "version": "4.3.0",
        "rows": [{"id": 1, "name": "a", "list": [1, None]}, {"id": 2, "name": "b", "list": None}],
        "aggregated": [["a", 2], ["b", 4]],
        "joined": 8,
        "sql": [[42]],
        "pandas": [1, 2, 1, 2],
        "view": 4,
        "schema": "struct<id:int,name:string,list:array<int>>",
        "tables": ["t"],
        "errors": [["ParseException", "42601"], ["AnalysisException", "42P01"], ["ArithmeticException", "22012"]],
        "deleted": [[2]],
        "many": 300_000,
    }
