"""Runs clients' own test suites, unmodified, against a server: `python -m tests.clients.suites FOLDER`.

FOLDER holds checkouts under the names of their repositories: databricks-sqlalchemy, PyHive. Suites without a checkout
are left out; impyla's package brings its own. Prints a table of passed, failed, and skipped tests for each suite, and
keeps the reports of pytest in `.clients/reports`. Failures do not change the exit code, because the suites also test
features that only their own servers have.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyhive import hive

from tests.clients.environments import client_environment
from tests.paths import ROOT
from tests.server_process import ServerProcess

HIVE_PORT = 10000  # PyHive's suite has it in its text
SUITE_S = 1800
WAREHOUSE = "/sql/1.0/warehouses/any"
COUNTS = ("passed", "failed", "error", "skipped")
REPORTS = ROOT / ".clients" / "reports"
_DATABRICKS_PLUGIN = '''"""Lets the connector of Databricks connect without TLS, to the URI of the environment."""
import os

from databricks import sql

connect = sql.connect
sql.connect = lambda *args, **settings: connect(
    *args, **settings, _connection_uri=os.environ["GATEWAY_URI"], enable_telemetry=False
)
'''
_COLUMNS = (
    "boolean BOOLEAN, tinyint TINYINT, smallint SMALLINT, int INT, bigint BIGINT, float FLOAT, double DOUBLE, "
    "string STRING, timestamp TIMESTAMP, binary BINARY, array ARRAY<INT>, map MAP<INT, INT>, "
    "struct STRUCT<a: INT, b: INT>, `union` STRING, decimal DECIMAL(10, 1)"
)
_TABLES = (  # those of PyHive's scripts/make_*.sh; Spark has no union
    "CREATE TABLE one_row (number_of_rows INT)",
    "INSERT INTO one_row VALUES (1)",
    f"CREATE TABLE one_row_complex ({_COLUMNS})",
    "INSERT INTO one_row_complex VALUES (true, 127, 32767, 2147483647, 9223372036854775807, 0.5, 0.25, 'a string', "
    "timestamp_seconds(0), X'313233', array(1, 2), map(1, 2, 3, 4), named_struct('a', 1, 'b', 2), '{0:1}', 0.1)",
    f"CREATE TABLE one_row_complex_null ({_COLUMNS})",
    f"INSERT INTO one_row_complex_null VALUES ({', '.join(['NULL'] * 15)})",
    "CREATE TABLE many_rows (a INT, b STRING) PARTITIONED BY (b)",
    "INSERT INTO many_rows SELECT CAST(id AS INT), 'blah' FROM range(10000)",
    "CREATE SCHEMA pyhive_test_database",
    "CREATE TABLE pyhive_test_database.dummy_table (a INT)",
    "CREATE SCHEMA sqlalchemy_suite",
    "CREATE SCHEMA test_schema",
    "CREATE SCHEMA local_suite",
)


@dataclass(frozen=True)
class Run:
    """How pytest runs a suite: where, over what, and with which variables."""

    folder: Path
    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A suite, the packages that it runs with, and its run for a checkout, an environment, and the server's ports."""

    name: str
    checkout: str | None
    environment: str
    packages: tuple[str, ...]
    run: Callable[[Path, Path, Mapping[str, int]], Run]


def _databricks_variables(ports: Mapping[str, int]) -> dict[str, str]:
    (REPORTS / "gateway_plugin.py").write_text(_DATABRICKS_PLUGIN)
    return {"PYTHONPATH": str(REPORTS), "GATEWAY_URI": f"http://127.0.0.1:{ports['http']}{WAREHOUSE}"}


def _compliance(checkout: Path, environment: Path, ports: Mapping[str, int]) -> Run:
    package = Path(sysconfig.get_path("purelib", vars={"base": str(environment.parent)})) / "databricks" / "sqlalchemy"
    if not (package / "test").exists():  # where the suite imports itself from
        (package / "test").symlink_to(checkout / "tests" / "test")
    uri = f"databricks://token:any@127.0.0.1?http_path={WAREHOUSE}&catalog=spark_catalog&schema=sqlalchemy_suite"
    suite = str(checkout / "tests" / "test" / "test_suite.py")
    return Run(
        package, ("-p", "gateway_plugin", "-c", "pytest.ini", suite, "--dburi", uri), _databricks_variables(ports)
    )


def _local(checkout: Path, environment: Path, ports: Mapping[str, int]) -> Run:
    names = {"SERVER_HOSTNAME": "127.0.0.1", "HTTP_PATH": WAREHOUSE, "TOKEN": "any", "USER": "me"}
    names |= {"CATALOG": "spark_catalog", "SCHEMA": "local_suite"}
    variables = {f"DATABRICKS_{name}": value for name, value in names.items()} | _databricks_variables(ports)
    return Run(checkout, ("-p", "gateway_plugin", "-c", os.devnull, "tests/test_local"), variables)


def _pyhive(checkout: Path, environment: Path, ports: Mapping[str, int]) -> Run:
    files = [f"pyhive/tests/{name}.py" for name in ("test_common", "test_hive", "test_sqlalchemy_hive")]
    return Run(checkout, ("-c", os.devnull, *files))


def _impyla(checkout: Path, environment: Path, ports: Mapping[str, int]) -> Run:
    folder = Path(sysconfig.get_path("purelib", vars={"base": str(environment.parent)})) / "impala" / "tests"
    thrift, http = str(ports["thrift"]), str(ports["http"])
    ports_read = {"IMPYLA_TEST_PORT": thrift, "IMPYLA_TEST_HIVE_PORT": thrift, "IMPYLA_TEST_HTTP_PORT": http}
    left_out = ("test_hs2_fault_injection.py", "test_http_connect.py")  # servers of their own, long waits
    ignored = (f"--ignore={name}" for name in left_out)
    variables = {"IMPYLA_TEST_HOST": "127.0.0.1", "IMPYLA_TEST_AUTH_MECH": "PLAIN", **ports_read}
    return Run(folder, ("-c", os.devnull, "--connect", *ignored, "."), variables)


_DATABRICKS = (
    "databricks-sqlalchemy==2.0.10",
    "databricks-sql-connector==4.9.0",
    "sqlalchemy==2.0.37",  # newer ones lack tests that the suite imports
    "pytest<8",
    "pandas",
    "pyarrow",
    "openpyxl",
)
_HIVE = (
    "pyhive==0.7.0",
    "impyla==0.24.0",
    "thrift-sasl",
    "pure-sasl",
    "sqlalchemy<2.1",
    "pandas",
    "pytest",
    "mock",
    "future",
    "requests",
)
SUITES = (
    Suite("SQLAlchemy's compliance suite", "databricks-sqlalchemy", "suites-databricks", _DATABRICKS, _compliance),
    Suite("databricks-sqlalchemy test_local", "databricks-sqlalchemy", "suites-databricks", _DATABRICKS, _local),
    Suite("PyHive", "PyHive", "suites-hive", _HIVE, _pyhive),
    Suite("impyla", None, "suites-hive", _HIVE, _impyla),
)


def _make_tables(port: int) -> None:
    with hive.connect("127.0.0.1", port) as connection, connection.cursor() as cursor:
        for statement in _TABLES:
            cursor.execute(statement)


def _counts(suite: Suite, checkouts: Path, ports: Mapping[str, int]) -> list[int]:
    environment = client_environment(suite.environment, *suite.packages)
    run = suite.run(checkouts / (suite.checkout or ""), environment, ports)
    command = [environment / "python", "-m", "pytest", "-q", "--tb=short", "--rootdir=.", "-p", "no:cacheprovider"]
    report = REPORTS / (re.sub(r"\W+", "_", suite.name) + ".txt")
    with report.open("w") as output:
        subprocess.run(
            [*command, *run.arguments],
            cwd=run.folder,
            env=os.environ | dict(run.variables),
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=SUITE_S,
        )
    return parse_counts(report.read_text())


def parse_counts(report: str) -> list[int]:
    """Returns the counts of pytest's summary, which output at the end of the process may follow."""
    summaries = [line for line in report.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)]
    assert summaries, report[-2000:]
    return [int(found[1]) if (found := re.search(rf"(\d+) {name}", summaries[-1])) else 0 for name in COUNTS]


def main(checkouts: Path) -> None:
    """Prints the table."""
    present = [suite for suite in SUITES if suite.checkout is None or (checkouts / suite.checkout).is_dir()]
    REPORTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lake").mkdir()
        arguments = (str(Path(folder) / "lake"), "--thrift-port", str(HIVE_PORT), "--http-port", "0")
        server = ServerProcess(Path(folder), *arguments)
        try:
            ports = server.ports()
            _make_tables(ports["thrift"])
            print(f"{'suite':<34}" + "".join(f"{name:>9}" for name in COUNTS))
            for suite in present:
                numbers = _counts(suite, checkouts, ports)
                print(f"{suite.name:<34}" + "".join(f"{number:>9}" for number in numbers), flush=True)
        finally:
            server.popen.send_signal(signal.SIGTERM)
            server.end()
    print(f"Reports: {REPORTS}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
