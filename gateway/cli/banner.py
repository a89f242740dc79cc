"""The text at the end of the start: what is served, the console's address, and a line for each kind of client."""

from __future__ import annotations

from dataclasses import dataclass

from engine.engine import TableCount
from gateway.configuration.config import Config
from gateway.lifecycle import Ports
from gateway.release import VERSION

_WILDCARDS = frozenset({"0.0.0.0", "::", ""})
_NO_TABLES = """\
  A table is a folder with Delta's _delta_log or Iceberg's metadata: {folder}/schema/table,
  or {folder}/table in the schema default. Tables in other folders, below lake.allowed_roots:
  CREATE TABLE shop.orders USING DELTA LOCATION '/data/orders'. Without a folder, a sample lake is served.
"""


@dataclass(frozen=True, slots=True)
class Banner:
    """`count` None: the number of tables is not known."""

    config: Config
    ports: Ports
    count: TableCount | None

    @property
    def served(self) -> str:
        """Returns the release, the folder and the number of tables."""
        folder, count = self.config.lake.folder, self.count
        if count is None:
            return f"delta-gateway {VERSION} serves {folder}"
        if not count.tables:
            return f"delta-gateway {VERSION} serves {folder}: no tables"
        tables = f"{count.tables} {'table' if count.tables == 1 else 'tables'}"
        return f"delta-gateway {VERSION} serves {folder}: {tables} in {_schemas(count.schemas)}"

    @property
    def url(self) -> str:
        """Returns the console's address."""
        server = self.config.server
        scheme = "https" if server.tls_certificate else "http"
        return server.public_url or f"{scheme}://{self._address}:{self.ports.http}"

    @property
    def line(self) -> str:
        """Returns one line for a log."""
        line = f"{self.served}; console and HTTP {self.url}, Thrift {self._address}:{self.ports.thrift}"
        line = line if self._remote is None else f"{line}, Spark Connect {self._remote}"
        return line if self._postgres is None else f"{line}, PostgreSQL {self._postgres}"

    @property
    def text(self) -> str:
        """Returns lines for a terminal."""
        host, ports, server = self._address, self.ports, self.config.server
        url = f"http://{host}:{ports.http}"
        hint = _NO_TABLES.format(folder=self.config.lake.folder) if self.count and not self.count.tables else ""
        tls = (
            f"  TLS     https://{host}:{ports.http}, jdbc:hive2://{host}:{ports.thrift}/;ssl=true\n"
            if server.tls_certificate
            else ""
        )
        connect = f"  Spark   {self._remote}\n" if self._remote is not None else ""
        connect += f"  psql    {self._postgres}\n" if self._postgres is not None else ""
        return f"""\
{self.served}
{hint}  Console {self.url}
  Thrift  {host}:{ports.thrift}
          beeline -u jdbc:hive2://{host}:{ports.thrift}/
          hive.connect("{host.strip("[]")}", {ports.thrift})    # PyHive
  HTTP    {url}
          delta-gateway sql "SHOW TABLES" --server {url}
          curl --json '{{"statement": "SHOW TABLES"}}' {url}/api/2.0/sql/statements
          beeline -u "jdbc:hive2://{host}:{ports.http}/;transportMode=http;httpPath=cliservice"
{connect}{tls}Ctrl-C or SIGTERM stops it.
"""

    @property
    def _remote(self) -> str | None:
        """Returns the address for PySpark's remote sessions; None if the port is closed."""
        port = self.ports.optional.get("connect")
        if port is None:
            return None
        ssl = "/;use_ssl=true" if self.config.server.tls_certificate else ""
        return f"sc://{self._address}:{port}{ssl}"

    @property
    def _postgres(self) -> str | None:
        """Returns the address for PostgreSQL's clients; None if the port is closed."""
        port = self.ports.optional.get("postgres")
        return None if port is None else f"postgresql://{self._address}:{port}/"

    @property
    def _address(self) -> str:
        """Returns a host that clients can use, in brackets if it is an IPv6 address."""
        host = "localhost" if self.config.server.host in _WILDCARDS else self.config.server.host
        return f"[{host}]" if ":" in host else host


def _schemas(count: int) -> str:
    return f"{count} {'schema' if count == 1 else 'schemas'}"
