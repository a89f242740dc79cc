"""A lake on an S3-like store in a separate process, whose requests are counted and fail on demand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA
from catalog.store.credentials import Credential, use_credentials
from engine.main import EngineOptions, open_sources
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from tests.engine.bare_lake import BareLake
from tests.paths import MINIO, ROOT
from tests.rest.s3_keys import give_out
from tests.rest.s3_server import HANG_S

BUCKET = "bucket"


class S3Server:
    """See `tests.rest.s3_server`."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.rest.s3_server", *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def requests(self) -> list[tuple[str, str, int]]:
        """Returns method, path and status of the requests since the last call."""
        with urllib.request.urlopen(f"{self.url}/-/requests") as answer:
            return [(method, path, status) for _, method, path, status in json.load(answer)]

    def fail(self, *faults: dict[str, Any]) -> None:
        self._set("faults", json.dumps(faults))

    def _set(self, name: str, value: str) -> None:
        request = urllib.request.Request(f"{self.url}/-/{name}", value.encode(), method="POST")
        urllib.request.urlopen(request).close()

    @contextmanager
    def distant(self, seconds: float) -> Iterator[None]:
        """Lets each request take so many seconds more."""
        self._set("distance", str(seconds))
        try:
            yield
        finally:
            self._set("distance", "0")

    def round_trips(self) -> int:
        """Returns how many requests followed one another since the last call."""
        with urllib.request.urlopen(f"{self.url}/-/round-trips") as answer:
            return int(answer.read())

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class S3Lake(BareLake):
    """A server over a lake below `place` in the bucket; several are several servers over one lake."""

    def __init__(self, place: str) -> None:
        self.place = place
        root = f"s3://{BUCKET}/{place}"
        options = EngineOptions(lake_folder=f"{root}/lake", catalog_folder=f"{root}/catalog")
        self.sources = open_sources(options)
        self.state = SessionState(identity=Identity("ann"), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)

    def other(self) -> S3Lake:
        """Another server over the same lake, which has listed nothing yet."""
        return S3Lake(self.place)

    def names(self, schema: str) -> list[str]:
        return sorted(name for _, name, *_ in self.rows(f"SHOW TABLES IN {schema}"))


@contextmanager
def s3_server(folder: Path | None = None, *arguments: str) -> Iterator[S3Server]:
    """Yields a store with keys in this process; its objects are files in the folder, if given."""
    keys = give_out(BUCKET, 3600)
    options = {
        "key": keys["s3.access-key-id"],
        "secret": keys["s3.secret-access-key"],
        "token": keys["s3.session-token"],
    }
    with _opened(S3Server(*([] if folder is None else [str(folder)]), *arguments), options) as server:
        yield server


MINIO_KEYS = {"key": "minio-root", "secret": "minio-secret"}


@contextmanager
def minio_server(folder: Path, timeout_s: float = HANG_S / 4) -> Iterator[S3Server]:
    """Yields MinIO over a folder, with a proxy that counts requests and fails on demand.

    This process has its keys, and repeats requests after the given time without an answer.
    """
    assert MINIO is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    account = {"MINIO_ROOT_USER": MINIO_KEYS["key"], "MINIO_ROOT_PASSWORD": MINIO_KEYS["secret"]}
    (folder / BUCKET).mkdir()
    process = subprocess.Popen(
        [MINIO, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder)],
        env={**os.environ, **account, "MINIO_BROWSER": "off"},
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_until_live(f"http://127.0.0.1:{port}/minio/health/ready")
        with _opened(S3Server("--of", f"http://127.0.0.1:{port}"), MINIO_KEYS, timeout_s) as server:
            yield server
    finally:
        process.kill()
        process.wait()


def _wait_until_live(url: str) -> None:
    until_s = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < until_s, f"{url} does not answer"
            time.sleep(0.1)


@contextmanager
def _opened(server: S3Server, keys: dict[str, str], timeout_s: float = HANG_S / 4) -> Iterator[S3Server]:
    options = {
        **keys,
        "config_kwargs": {"read_timeout": timeout_s},
        "client_kwargs": {"endpoint_url": server.url, "region_name": "us-east-1"},
        "skip_instance_cache": True,
    }
    use_credentials([Credential(name="store", urls=(f"s3://{BUCKET}", f"s3a://{BUCKET}"), options=options)])
    try:
        yield server
    finally:
        use_credentials([])
        server.stop()
