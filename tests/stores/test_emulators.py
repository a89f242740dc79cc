"""`delta-gateway serve URL` over the emulators of Google's and Microsoft's stores, with Hadoop's connectors.

The connector for Google Cloud Storage connects to storage.googleapis.com only. So Java resolves this name to a proxy at
port 443 of this machine with a certificate that it trusts; the proxy also joins the doubled slash in the connector's
batch requests, which Google's servers accept and the emulator does not. For Azure, the connector puts `null` for the
account into URLs of an emulator, so the account has this name.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from engine.spark.connectors import installed_jars
from tests.certificates import STORE_PASSWORD, Certificate, make_certificate
from tests.clients.environments import NODE, installed_go_program, node_packages, python_packages
from tests.paths import ROOT
from tests.server_process import ServerProcess
from tests.stores.test_served_stores import read_and_write

GCS_HOST, HTTPS_PORT = "storage.googleapis.com", 443
FAKE_GCS, FAKE_GCS_VERSION = "github.com/fsouza/fake-gcs-server", "v1.56.1"
# The public key of all emulators of Azure.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
START_S = 60
_OF_A_HOP = frozenset({"transfer-encoding", "content-length", "connection"})
pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.spark]


class GoogleProxy(BaseHTTPRequestHandler):
    """Forwards requests to the emulator, and issues tokens."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # see `tests.rest.s3_server`
    emulator_port = 0

    def _forward(self) -> None:
        content = self._content()
        if self.path == "/token":
            self._respond(200, [("Content-Type", "application/json")], b'{"access_token": "x", "expires_in": 3600}')
            return
        connection = HTTPConnection("127.0.0.1", self.emulator_port)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_HOP}
        connection.request(self.command, "/" + self.path.lstrip("/"), content, headers)
        response = connection.getresponse()
        found = [(name, value) for name, value in response.getheaders() if name.lower() not in _OF_A_HOP]
        self._respond(response.status, found, response.read(), response.getheader("Content-Length"))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _forward

    def _content(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _respond(
        self, status: int, headers: Sequence[tuple[str, str]], content: bytes, length: str | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value.replace(f"http://{GCS_HOST}", f"https://{GCS_HOST}"))
        self.send_header("Content-Length", (length or "0") if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def started(port: int, *command: str | Path, **environment: str) -> Iterator[None]:
    """Runs a server in a process of its own, and waits for its port."""
    process = subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def google_store(certificate: Certificate) -> Iterator[int]:
    """Yields the port of an emulator with the bucket `lake`; port 443 is a proxy in front of it."""
    port = free_port()
    program = installed_go_program(FAKE_GCS, FAKE_GCS_VERSION)
    arguments = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory")
    with started(port, program, *arguments):
        bucket = json.dumps({"name": "lake"}).encode()
        url, headers = f"http://127.0.0.1:{port}/storage/v1/b?project=p", {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(url, bucket, headers), timeout=30).close()
        handler = type("Handler", (GoogleProxy,), {"emulator_port": port})
        with ThreadingHTTPServer(("127.0.0.1", HTTPS_PORT), handler) as proxy:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            proxy.socket = context.wrap_socket(proxy.socket, server_side=True)
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            try:
                yield port
            finally:
                proxy.shutdown()


def service_account(folder: Path) -> Path:
    """Returns a file with a key of a service account whose tokens the proxy issues."""
    key = rsa.generate_private_key(65537, 2048)
    fields = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "client_email": "lake@p.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"https://{GCS_HOST}/token",
    }
    file = folder / "account.json"
    file.write_text(json.dumps(fields))
    file.chmod(0o600)
    return file


def spark_conf(store: str, **settings: str) -> str:
    jars = installed_jars(ROOT / f".oracle-{store}")
    assert jars, f"make test-slow gets Hadoop's connector for {store}, by Maven"
    values = {"spark.driver.extraClassPath": ":".join(map(str, jars)), **settings}
    return "{" + ", ".join(f'"{name}" = "{value}"' for name, value in values.items()) + "}"


def serve_and_use(folder: Path, config: str, packages: Path, environment: Mapping[str, str], secret: str) -> None:
    """Runs the statements on a server with this configuration, whose output must not have the secret."""
    file = folder / "gateway.toml"
    file.write_text(config)
    server = ServerProcess(folder, "--config", str(file), PYTHONPATH=str(packages), **environment)
    try:
        read_and_write(server.ports())
        assert secret not in server.output
        assert "azure.core" not in server.output
    finally:
        server.popen.kill()
        server.end()


@pytest.mark.google
def test_lake_on_google_cloud_storage(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path, 30, GCS_HOST)
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {GCS_HOST} {socket.gethostname()}\n")
    options = {
        "jdk.net.hosts.file": hosts,
        "javax.net.ssl.trustStore": certificate.trust_store,
        "javax.net.ssl.trustStoreType": "PKCS12",
        "javax.net.ssl.trustStorePassword": STORE_PASSWORD,
    }
    java = " ".join(f"-D{name}={value}" for name, value in options.items())
    packages = python_packages("gcsfs", "gcsfs", has_dependencies=True)
    with google_store(certificate) as port:
        config = f"""
[lake]
folder = "gs://lake/tables"
catalog_folder = "gs://lake/catalog"
[[storage.credentials]]
name = "lake"
urls = ["gs://lake"]
options = {{endpoint_url = "http://127.0.0.1:{port}", token = "env:GCS_TOKEN", project = "p"}}
[storage.credentials.hadoop]
"fs.gs.auth.type" = "SERVICE_ACCOUNT_JSON_KEYFILE"
"fs.gs.auth.service.account.json.keyfile" = "{service_account(tmp_path)}"
"fs.gs.project.id" = "p"
"""
        # gcsfs would ask for the kind of a bucket by gRPC, which the emulator does not have.
        environment = {"GCS_TOKEN": "anon", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
        environment["GATEWAY_SPARK_CONF"] = spark_conf("gcs", **{"spark.driver.extraJavaOptions": java})
        serve_and_use(tmp_path, config, packages, environment, "PRIVATE KEY")


def test_lake_on_azure_blob_storage(tmp_path: Path) -> None:
    modules, port = node_packages("azurite", "azurite@3.35.0"), free_port()
    account = f"AccountName=null;AccountKey={AZURE_KEY};BlobEndpoint=http://127.0.0.1:{port}/null;"
    connection = f"DefaultEndpointsProtocol=http;{account}"
    packages = python_packages("adlfs", "adlfs", has_dependencies=True)
    make_container = f"import fsspec; fsspec.filesystem('abfs', connection_string={connection!r}).mkdir('lake')"
    program = (NODE, modules / "azurite" / "dist" / "src" / "blob" / "main.js")
    arguments = ("--silent", "--inMemoryPersistence", "--blobPort", str(port), "--skipApiVersionCheck")
    with started(port, *program, *arguments, AZURITE_ACCOUNTS=f"null:{AZURE_KEY}"):
        subprocess.run(
            [sys.executable, "-c", make_container],
            env=os.environ | {"PYTHONPATH": str(packages)},
            check=True,
            timeout=60,
        )
        url = "abfs://lake@null.blob.core.windows.net"
        config = f"""
[lake]
folder = "{url}/tables"
catalog_folder = "{url}/catalog"
[[storage.credentials]]
name = "lake"
urls = ["{url}"]
account_key = "env:AZURE_KEY"
options = {{connection_string = "env:AZURE_CONNECTION"}}
[storage.credentials.hadoop]
"fs.azure.abfs.endpoint" = "127.0.0.1:{port}"
"fs.azure.always.use.https" = "false"
"fs.azure.networking.library" = "JDK_HTTP_URL_CONNECTION"
"fs.azure.account.hns.enabled" = "false"
"""
        environment = {"AZURE_KEY": AZURE_KEY, "AZURE_CONNECTION": connection}
        environment["GATEWAY_SPARK_CONF"] = spark_conf("azure")
        serve_and_use(tmp_path, config, packages, environment, AZURE_KEY)
