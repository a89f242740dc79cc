"""Remote sessions of PySpark's own client, with Spark in the same process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of releases of pandas
    from pyspark.sql.connect.client.core import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession


class TrustingChannel(DefaultChannelBuilder):
    """A channel over TLS that trusts one authority."""

    def __init__(self, url: str, authority: Path) -> None:
        super().__init__(url)
        self._authority = authority.read_bytes()

    def toChannel(self) -> grpc.Channel:
        return self._secure_channel(self.endpoint, grpc.ssl_channel_credentials(self._authority))


@contextmanager
def remote_session(
    port: int, *, user: str = "ann", authority: Path | None = None, parameters: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yields a session of its own; `parameters` are added to its URL."""
    extra = "".join(f";{name}={quote(value)}" for name, value in (parameters or {}).items())
    ssl = "use_ssl=true;" if authority is not None else ""
    url = f"sc://127.0.0.1:{port}/;{ssl}user_id={user}{extra}"
    connection: Any = url if authority is None else TrustingChannel(url, authority)
    session = SparkSession(connection=connection)
    try:
        yield session
    finally:
        session.client.release_session()
        session.client.close()
