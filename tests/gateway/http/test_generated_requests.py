"""Requests that schemathesis generates from the OpenAPI document: no internal error, and no undocumented response.

It sends allowed and disallowed requests, to a server over the scripted engine.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.environments import client_environment
from tests.gateway.http.conftest import serving_http

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,negative_data_rejection"
)
# Routes with other responses: pages, unsigned links, and files, which the engine does not have.
LEFT_OUT = (
    *("/login", "/login/provider", "/login/callback", "/logout", "/console/{name}"),
    *("/api/2.0/sql/results/{statement_id}/{index}", "/api/2.0/fs/files/{path}"),
    *("/api/2.0/fs/directories/{path}", "/api/2.0/fs/staged/{key}"),
    # JSON-RPC, whose errors have another form, and entries of the catalog, which the engine does not have.
    *("/api/2.0/mcp/sql", "/api/2.0/mcp/functions/{catalog}/{schema}"),
    "/api/2.0/mcp/functions/{catalog}/{schema}/{function}",
    *(f"/api/2.1/unity-catalog/{part}" for part in ("catalogs", "schemas", "tables", "functions", "volumes")),
    *(f"/api/2.1/unity-catalog/{part}/{{full_name}}" for part in ("catalogs", "schemas", "tables", "functions")),
    *("/api/2.1/unity-catalog/volumes/{full_name}", "/api/2.1/unity-catalog/tables/{full_name}/exists"),
)


@pytest.mark.slow
def test_no_request_is_an_internal_error(tmp_path: Path) -> None:
    program = client_environment("schemathesis", "schemathesis==4.32.5") / "schemathesis"
    with serving_http(threads=16) as live:
        excluded = [word for path in LEFT_OUT for word in ("--exclude-path", path)]
        command: list[str | Path] = [program, "run", f"{live.url}/api/openapi.json", "--checks", CHECKS, *excluded]
        options = ["--max-examples", "40", "--seed", "7", "--request-timeout", "60"]
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout[-8000:]
        assert len(live.engine.runs) > 50
