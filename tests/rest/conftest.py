"""A REST catalog in a separate process, and pyiceberg as another client."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from catalog.rest.client import RestClient
from catalog.rest.options import RestOptions
from tests.paths import ROOT
from tests.rest.catalog_server import PREFIX


class RestServer:
    """A server; tables are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "tests.rest.catalog_server", str(folder)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.uri = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def options(self, **given: Any) -> RestOptions:
        return RestOptions(**{"name": "elsewhere", "uri": self.uri, "token": "a-fixed-token", "timeout_s": 10, **given})

    def client(self, **given: Any) -> RestClient:
        return RestClient(self.options(**given), sleep=lambda seconds: None)

    def other_client(self) -> RestCatalog:
        return RestCatalog("other", uri=self.uri, token="a-fixed-token")

    def faults(self, *faults: dict[str, Any]) -> None:
        """See `tests.rest.catalog_server`."""
        self._post("/faults", json.dumps(faults).encode())

    def vend(self, **given: Any) -> None:
        """Sets each table's vended `config`, `storage-credentials`."""
        self._post("/vend", json.dumps(given).encode())

    def release(self) -> None:
        """Requests that are held."""
        self._post("/release", b"")

    def create_view(self, namespace: str, name: str, sql: str, dialect: str = "spark", **more: Any) -> None:
        """A view as another engine makes it; `more` belongs to its version."""
        version = {
            "version-id": 1,
            "schema-id": 0,
            "timestamp-ms": 1,
            "summary": {},
            "representations": [{"type": "sql", "sql": sql, "dialect": dialect}],
            "default-namespace": [namespace],
            **more,
        }
        field = {"id": 1, "name": "id", "type": "long", "required": False}
        schema = {"type": "struct", "schema-id": 0, "fields": [field]}
        body = {"name": name, "schema": schema, "view-version": version, "properties": {}}
        token = {"Authorization": "Bearer a-fixed-token"}
        url = f"{self.uri}/v1/{PREFIX}/namespaces/{namespace}/views"
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), token, method="POST")):
            pass

    def requests(self) -> list[str]:
        """Returns the requests since the last call."""
        with urllib.request.urlopen(f"{self.uri}/requests") as answer:
            found: list[str] = json.load(answer)["requests"]
            return found

    def _post(self, path: str, data: bytes) -> None:
        with urllib.request.urlopen(urllib.request.Request(f"{self.uri}{path}", data, method="POST")):
            pass

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class S3Server:
    """A small S3, see `tests.rest.s3_server`."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.rest.s3_server"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.uri = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def properties(self) -> dict[str, str]:
        """Returns S3FileIO properties without a key."""
        return {"s3.endpoint": self.uri, "s3.path-style-access": "true", "client.region": "us-east-1"}

    def requests(self) -> list[tuple[str, str, str, int]]:
        """Returns key, method, path and status for each request since the last call."""
        with urllib.request.urlopen(f"{self.uri}/-/requests") as answer:
            return [tuple(each) for each in json.load(answer)]

    def slow(self, seconds: float) -> None:
        """Sets the delay for each object read."""
        request = urllib.request.Request(f"{self.uri}/-/slow", str(seconds).encode(), method="POST")
        with urllib.request.urlopen(request):
            pass

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    found = S3Server()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """Yields a server with the namespaces `a`, `b`, `shop` and `shop.eu`; `shop.orders` has ids 0 to 4,
    `shop.eu.orders` 7.
    """
    found = RestServer(tmp_path_factory.mktemp("elsewhere"))
    try:
        other = found.other_client()
        for name in ("a", "b", "shop", "shop.eu"):
            other.create_namespace(name)
        for name, ids in (("shop.orders", range(5)), ("shop.eu.orders", [7]), ("shop.Mixed", [1]), ("shop.empty", [])):
            rows = pa.table({"id": pa.array(ids, pa.int64())})
            table = other.create_table(name, rows.schema)
            if len(rows):
                table.append(rows)
        yield found
    finally:
        found.stop()
