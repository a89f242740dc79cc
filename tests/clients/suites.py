"""Runs clients' own test suites, unmodified, against a server: `python -m tests.clients.suites FOLDER [SUITE …]`.

FOLDER has checkouts under their repository names: databricks-sqlalchemy, PyHive, dbt-adapters, dbt-databricks,
databricks-sql-python, databricks-sql-nodejs, sqlalchemy, psycopg, asyncpg, spark-connect-go, and of ADBC's drivers
spark and driverbase-go. Suites without a checkout or their program (Go, npx) are left out; impyla's package includes
its own. Dependencies are installed from PyPI, npm and Go's module proxy.

Prints a table with passed, failed, and skipped tests for each suite, and stores the suites' output in
`.clients/reports`. The suites also test features that only their own servers have, so `known_failures` lists each
suite's failing tests with reasons; `--record` writes it, and retains the reasons of tests that it listed before. The
exit code is 1 if other tests fail, or if a suite does not run to its end. `all_clients.py` runs the suites after
`tests/clients`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

from tests.certificates import make_certificate
from tests.clients.environments import client_environment
from tests.clients.plain_forwarding import forward_plain
from tests.paths import ROOT
from tests.server_process import ServerProcess

HIVE_PORT, SPARK_CONNECT_PORT = 10000, 15002  # the suites of PyHive and spark-connect-go have them in their texts
SUITE_S = 7200
WAREHOUSE = "/sql/1.0/warehouses/any"
_SEPARATOR = "  # "
COUNTS = ("passed", "failed", "error", "skipped")
KNOWN_COUNT = "known"  # known failures among the failed tests and errors
REPORTS = ROOT / ".clients" / "reports"
PLUGINS = Path(__file__).with_name("suite_plugins")
KNOWN = Path(__file__).with_name("known_failures")
TEST_S = 180  # for one test
_GO_OUTCOMES = {"pass": "passed", "fail": "failed", "skip": "skipped"}
SKIPS_SHOWN = 15  # reasons per suite
_COLUMNS = (
    "boolean BOOLEAN, tinyint TINYINT, smallint SMALLINT, int INT, bigint BIGINT, float FLOAT, double DOUBLE, "
    "string STRING, timestamp TIMESTAMP, binary BINARY, array ARRAY<INT>, map MAP<INT, INT>, "
    "struct STRUCT<a: INT, b: INT>, `union` STRING, decimal DECIMAL(10, 1)"
)
_TABLES = (  # from PyHive's scripts/make_*.sh; Spark has no union
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
    "CREATE SCHEMA test_schema",  # of both suites of SQLAlchemy
    "CREATE SCHEMA local_suite",
    "CREATE SCHEMA e2e_suite",
    "CREATE TABLE e2e_suite.listed (a INT)",
    "CREATE VOLUME e2e_suite.e2e_volume",
    "CREATE VOLUME e2e_suite.e2etests",
)


# By test: one of COUNTS, and the reason unless it is the first.
Outcomes = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Started:
    """The suites' server; the port of Spark Connect takes TLS only, the others accept it too. `external` is a root for
    external tables.
    """

    thrift_port: int
    http_port: int
    connect_port: int
    postgres_port: int
    certificate: Path
    external: Path


@dataclass(frozen=True)
class Run:
    """A suite's run: its folder, pytest's arguments or a command with the reader of its report, and variables.

    `uses_cache`: its tests use pytest's cache.
    """

    folder: Path
    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    read: Callable[[str], Outcomes] | None = None
    uses_cache: bool = False


@dataclass(frozen=True)
class Suite:
    """A suite, the packages that it runs with, its run for a checkout, an environment, and the server, and a program
    that it needs.
    """

    name: str
    checkout: str | None
    environment: str
    packages: tuple[str, ...]
    run: Callable[[Path, Path, Started], Run]
    program: str = ""

    @property
    def file_name(self) -> str:
        return re.sub(r"\W+", "_", self.name)

    def missing(self, checkouts: Path) -> str:
        """Returns why the suite is left out; an empty text if it can be run."""
        if self.checkout is not None and not (checkouts / self.checkout).is_dir():
            return f"{checkouts} has no checkout {self.checkout}"
        return f"there is no {self.program}" if self.program and not shutil.which(self.program) else ""


@dataclass(frozen=True)
class Row:
    """A row of the table, with lines about it. It succeeded if only known tests failed, and the part was not cut."""

    name: str
    counts: Mapping[str, int]
    lines: tuple[str, ...] = ()
    succeeded: bool = True

    def print(self) -> None:
        print(f"{self.name:<38}" + "".join(f"{self.counts.get(name, 0):>9}" for name in (*COUNTS, KNOWN_COUNT)))
        print(*(f"  {line}\n" for line in self.lines), sep="", end="", flush=True)


def _databricks_variables(server: Started) -> dict[str, str]:
    authorities = {name: str(server.certificate) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
    return {"GATEWAY_URI": f"http://127.0.0.1:{server.http_port}{WAREHOUSE}", **authorities}


def _compliance(checkout: Path, environment: Path, server: Started) -> Run:
    package = Path(sysconfig.get_path("purelib", vars={"base": str(environment.parent)})) / "databricks" / "sqlalchemy"
    if not (package / "test").exists():  # the suite's import path
        (package / "test").symlink_to(checkout / "tests" / "test")
    uri = f"databricks://token:any@127.0.0.1?http_path={WAREHOUSE}&catalog=spark_catalog&schema=sqlalchemy_suite"
    suite = str(checkout / "tests" / "test" / "test_suite.py")
    return Run(
        package, ("-p", "gateway_databricks", "-c", "pytest.ini", suite, "--dburi", uri), _databricks_variables(server)
    )


def _local(checkout: Path, environment: Path, server: Started) -> Run:
    names = {"SERVER_HOSTNAME": "127.0.0.1", "HTTP_PATH": WAREHOUSE, "TOKEN": "any", "USER": "me"}
    names |= {"CATALOG": "spark_catalog", "SCHEMA": "local_suite"}
    variables = {f"DATABRICKS_{name}": value for name, value in names.items()} | _databricks_variables(server)
    return Run(checkout, ("-p", "gateway_databricks", "-c", os.devnull, "tests/test_local"), variables)


def _pyhive(checkout: Path, environment: Path, server: Started) -> Run:
    files = [f"pyhive/tests/{name}.py" for name in ("test_common", "test_hive", "test_sqlalchemy_hive")]
    return Run(checkout, ("-c", os.devnull, *files))


def _impyla(checkout: Path, environment: Path, server: Started) -> Run:
    folder = Path(sysconfig.get_path("purelib", vars={"base": str(environment.parent)})) / "impala" / "tests"
    thrift, http = str(server.thrift_port), str(server.http_port)
    ports_read = {"IMPYLA_TEST_PORT": thrift, "IMPYLA_TEST_HIVE_PORT": thrift, "IMPYLA_TEST_HTTP_PORT": http}
    left_out = ("test_hs2_fault_injection.py", "test_http_connect.py")  # separate servers, long waits
    ignored = (f"--ignore={name}" for name in left_out)
    variables = {"IMPYLA_TEST_HOST": "127.0.0.1", "IMPYLA_TEST_AUTH_MECH": "PLAIN", **ports_read}
    return Run(folder, ("-c", os.devnull, "--connect", *ignored, "."), variables)


def _dbt_spark(profile: str) -> Callable[[Path, Path, Started], Run]:
    def run(checkout: Path, environment: Path, server: Started) -> Run:
        variables = {"GATEWAY_PORT": str(server.thrift_port), "DBT_DATABRICKS_HOST_NAME": "127.0.0.1", **_USERS}
        options = ("-p", "gateway_dbt_spark", "--profile", profile, *_IN_PARALLEL)
        return Run(checkout / "dbt-spark", ("-c", os.devnull, *options, "tests/functional"), variables)

    return run


def _dbt_databricks(checkout: Path, environment: Path, server: Started) -> Run:
    settings = {
        "HOST_NAME": f"localhost:{server.http_port}",
        "HTTP_PATH": WAREHOUSE,
        "UC_CLUSTER_HTTP_PATH": WAREHOUSE,
        "LOCATION_ROOT": str(server.external),
        "TOKEN": "any",
        "AUTH_TYPE": "pat",
        "UC_INITIAL_CATALOG": "spark_catalog",
    }
    variables = {f"DBT_DATABRICKS_{name}": value for name, value in settings.items()} | _USERS
    options = ("-p", "gateway_databricks", "--profile", "databricks_uc_sql_endpoint", *_IN_PARALLEL)
    arguments = ("-c", os.devnull, *options, "tests/functional")
    return Run(checkout, arguments, variables | _databricks_variables(server))


def _connector(checkout: Path, environment: Path, server: Started) -> Run:
    settings = {"SERVER_HOSTNAME": f"localhost:{server.http_port}", "HTTP_PATH": WAREHOUSE, "TOKEN": "any"}
    settings |= {"USER": "me", "CATALOG": "spark_catalog", "SCHEMA": "e2e_suite"}
    variables = {f"DATABRICKS_{name}": value for name, value in settings.items()} | _databricks_variables(server)
    variables["GATEWAY_URI"] = f"https://localhost:{server.http_port}{WAREHOUSE}"  # its retry tests replace TLS' pool
    options = ("-c", os.devnull, "-p", "gateway_databricks", "-k", "not large and not long_running", *_IN_PARALLEL)
    # the excluded tests take minutes each, with millions of rows
    return Run(checkout, (*options, "tests/e2e"), variables)


def _node(checkout: Path, environment: Path, server: Started) -> Run:
    if not (checkout / "node_modules").exists():
        install = ["npm", "ci", "--ignore-scripts"]
        for command in (install, ["npm", "run", "update-version"]):
            subprocess.run(command, cwd=checkout, check=True, stdout=subprocess.DEVNULL, timeout=SUITE_S)
    settings = {"HOST": "localhost", "PATH": WAREHOUSE, "ACCESS_TOKEN": "any", "CATALOG": "spark_catalog"}
    settings |= {"SCHEMA": "e2e_suite", "VOLUME": "e2e_volume", "TABLE_SUFFIX": "suite"}
    variables = {f"E2E_{name}": value for name, value in settings.items()}
    variables |= {"GATEWAY_PORT": str(server.http_port), "NODE_EXTRA_CA_CERTS": str(server.certificate)}
    variables["NODE_OPTIONS"] = f"--require {PLUGINS / 'gateway_tls.js'}"
    mocha = ("npx", "mocha", "--config", str(PLUGINS / "gateway_mocharc.js"))
    return Run(checkout, (), variables, mocha, lambda report: mocha_outcomes(json.loads(report)))


def _adbc(checkout: Path, environment: Path, server: Started) -> Run:
    module, base = checkout / "go", checkout.with_name("driverbase-go")
    (version,) = re.findall(r"(?m)^go .*", (module / "go.mod").read_text())
    # The module requires commits of driverbase-go that Go's proxy does not have.
    names = ("driverbase", "testutil", "validation")
    replaced = (f"replace github.com/adbc-drivers/driverbase-go/{name} => {base / name}" for name in names)
    workspace = REPORTS / "adbc.work"
    workspace.write_text("\n".join((version, f"use {module}", *replaced)))
    uri = f"spark://me:any@127.0.0.1:{server.thrift_port}?auth_type=plain&api=thrift%2Bbinary"
    variables = {"SPARK_URI": uri, "GOWORK": str(workspace), "GOTOOLCHAIN": "auto"}
    return Run(module, (), variables, ("go", "test", "-json", "-count=1", "."), go_outcomes)


def _sqlalchemy(checkout: Path, environment: Path, server: Started) -> Run:
    uri = f"postgresql+psycopg://me:any@127.0.0.1:{server.postgres_port}/{_POSTGRES_DATABASE}"
    # These tables have indexes, UNIQUE constraints and temporary tables, so that each of 600 tests fails at its start.
    left_out = ("-k", "not ComponentReflectionTest_")
    options = ("-p", "gateway_sqlalchemy", "--maxfail=0", "--timeout", str(TEST_S), *left_out)
    return Run(checkout, (*options, "test/dialect/test_suite.py", "--dburi", uri))


def _psycopg(checkout: Path, environment: Path, server: Started) -> Run:
    address = f"host=127.0.0.1 port={server.postgres_port} user=me dbname={_POSTGRES_DATABASE}"
    # The asynchronous tests are generated from the others; the pool and CockroachDB have suites of their own.
    left_out = ("--ignore=tests/pool", "--ignore=tests/crdb", "--ignore-glob=*_async.py")
    marks = ("-m", "not slow and not timing and not mypy", "--timeout", "60")
    return Run(checkout, (*marks, *left_out, "tests", "--test-dsn", address), uses_cache=True)


def _asyncpg(checkout: Path, environment: Path, server: Started) -> Run:
    address = {"HOST": "127.0.0.1", "PORT": str(server.postgres_port), "USER": "me", "DATABASE": _POSTGRES_DATABASE}
    # The checkout has the package's sources, without the compiled modules.
    options = ("-c", os.devnull, "--import-mode=importlib", "--timeout", "60", "tests")
    return Run(checkout, options, {"PYTHONSAFEPATH": "1"} | {f"PG{name}": value for name, value in address.items()})


def _spark_connect_go(checkout: Path, environment: Path, server: Started) -> Run:
    # Its tests connect to a fixed port without TLS.
    forward_plain(SPARK_CONNECT_PORT, server.connect_port, server.certificate)
    # These use results of failed calls, which ends the suite: metadata of columns and watermarks are not supported.
    left_out = "^(TestDataFrame_WithMetadata|TestDataFrame_WithWatermark)$"
    command = ("go", "test", "-json", "-count=1", "-skip", left_out, "./internal/tests/integration/")
    return Run(checkout, (), {"START_SPARK_CONNECT_SERVICE": "0", "GOTOOLCHAIN": "auto"}, command, go_outcomes)


# PostgreSQL's dialect.
_POSTGRES_DATABASE = "postgres:postgres"
_USERS = {f"DBT_TEST_USER_{number}": f"user{number}" for number in (1, 2, 3)}
_IN_PARALLEL = ("-n", "2", "--dist", "loadfile", "--timeout", str(TEST_S))
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
_DBT = ("dbt-core<1.12", "dbt-tests-adapter==1.20.0", "pytest", "pytest-xdist", "pytest-timeout")
_DBT_SPARK = ("dbt-spark[PyHive]==1.11.0", *_DBT)
_DBT_DATABRICKS = ("dbt-databricks==1.12.7", *_DBT, "freezegun", "mock", "pytest-dotenv")
_CONNECTOR = (
    "databricks-sql-connector[pyarrow]==4.8.0",
    "databricks-sql-kernel==1.3.0",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "lz4",
    "pandas<3",
    "pytz",
    "pybreaker",
)
_SQLALCHEMY = ("psycopg[binary]==3.3.4", "typing-extensions", "greenlet", "pytest", "pytest-timeout")
_PSYCOPG = ("psycopg[binary]==3.3.4", "anyio", "pytest", "pytest-timeout")
_ASYNCPG = ("asyncpg==0.31.0", "distro", "pytest", "pytest-timeout")
SUITES = (
    Suite("SQLAlchemy's compliance suite", "databricks-sqlalchemy", "suites-databricks", _DATABRICKS, _compliance),
    Suite("databricks-sqlalchemy test_local", "databricks-sqlalchemy", "suites-databricks", _DATABRICKS, _local),
    Suite("PyHive", "PyHive", "suites-hive", _HIVE, _pyhive),
    Suite("impyla", None, "suites-hive", _HIVE, _impyla),
    Suite("dbt-spark", "dbt-adapters", "suites-dbt-spark", _DBT_SPARK, _dbt_spark("apache_spark")),
    Suite("dbt-spark with Delta", "dbt-adapters", "suites-dbt-spark", _DBT_SPARK, _dbt_spark("databricks_cluster")),
    Suite("databricks-sql-connector", "databricks-sql-python", "suites-connector", _CONNECTOR, _connector),
    Suite("ADBC's Spark driver", "spark", "", (), _adbc, "go"),
    Suite("spark-connect-go", "spark-connect-go", "", (), _spark_connect_go, "go"),
    Suite("@databricks/sql", "databricks-sql-nodejs", "", (), _node, "npx"),
    Suite("dbt-databricks", "dbt-databricks", "suites-dbt-databricks", _DBT_DATABRICKS, _dbt_databricks),
    Suite("SQLAlchemy's PostgreSQL dialect", "sqlalchemy", "suites-sqlalchemy", _SQLALCHEMY, _sqlalchemy),
    Suite("psycopg", "psycopg", "suites-psycopg", _PSYCOPG, _psycopg),
    Suite("asyncpg", "asyncpg", "suites-asyncpg", _ASYNCPG, _asyncpg),
)


def _make_tables(port: int) -> None:
    with hive.connect("127.0.0.1", port) as connection, connection.cursor() as cursor:
        for statement in _TABLES:
            cursor.execute(statement)


def _outcomes(suite: Suite, checkouts: Path, server: Started) -> tuple[Outcomes, str]:
    """Returns each test's outcome, and why the suite did not run to its end; an empty text if it did."""
    environment = client_environment(suite.environment, *suite.packages) if suite.packages else Path()
    run = suite.run(checkouts / (suite.checkout or ""), environment, server)
    result = REPORTS / f"{suite.file_name}.json"
    result.unlink(missing_ok=True)
    cache = () if run.uses_cache else ("-p", "no:cacheprovider")
    options = ("-q", "--tb=short", "--rootdir=.", *cache, "-p", "gateway_outcomes")
    command = run.command or (str(environment / "python"), "-m", "pytest", *options, *run.arguments)
    variables = {"PYTHONPATH": str(PLUGINS), "GATEWAY_OUTCOMES": str(result)}
    printed = REPORTS / f"{suite.file_name}.txt"
    with printed.open("w") as output:
        running = subprocess.Popen(
            command,
            cwd=run.folder,
            env=os.environ | variables | dict(run.variables),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            running.wait(SUITE_S)
        except subprocess.TimeoutExpired:
            output.write(f"\nended after {SUITE_S} s\n")
        finally:  # with the processes that pytest-xdist and npx start
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    if run.read is not None:
        outcomes = Outcomes()
        with suppress(ValueError):  # no report
            outcomes = run.read((result if result.exists() else printed).read_text())
        return outcomes, "" if outcomes else "did not run"
    found = json.loads(result.read_text()) if result.exists() else {}
    if not found:
        return {}, "did not run"
    # An interrupted run writes the outcomes so far.
    is_whole = running.returncode in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    ended = "" if is_whole else f"did not run to its end (exit code {running.returncode})"
    return {name: tuple(each) for name, each in found.items()}, ended


def mocha_outcomes(report: Mapping[str, Any]) -> Outcomes:
    """Returns the outcomes in mocha's JSON report."""
    found = {test["fullTitle"]: ("passed", "") for test in report["passes"]}
    found |= {test["fullTitle"]: ("skipped", "") for test in report["pending"]}
    failures = {test["fullTitle"]: test["err"].get("message", "") for test in report["failures"]}
    return found | {name: ("failed", _reason(message)) for name, message in failures.items()}


def go_outcomes(printed: str) -> Outcomes:
    """Returns the outcomes in the events of `go test -json`, without the tests that only group others."""
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    outputs, found = defaultdict[str, str](str), Outcomes()
    for event in events:
        name = event.get("Test", "")
        output = event.get("Output", "")
        if not output.lstrip().startswith(("=== ", "--- ")):  # the frame of go test
            outputs[name] += output
        if name and event["Action"] in _GO_OUTCOMES:
            outcome = _GO_OUTCOMES[event["Action"]]
            cause = outputs[name].partition("Error:")[2] or outputs[name]
            found[name] = (outcome, "" if outcome == "passed" else _reason(cause) or "no reason given")
    groups = {name.rpartition("/")[0] for name in found}
    return {name: outcome for name, outcome in found.items() if name not in groups}


def _reason(message: str) -> str:
    shown = re.search(r"\[([A-Z][A-Z0-9_.]{4,})\]", message)
    return shown[1] if shown else " ".join(message.split())[:100]


def known_failures(suite: Suite) -> dict[str, str]:
    """Returns a suite's known failures with their reasons."""
    path = KNOWN / f"{suite.file_name}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {test: reason for test, _, reason in (line.partition(_SEPARATOR) for line in lines)}


def _record(suite: Suite, failures: Mapping[str, str]) -> None:
    reasons = known_failures(suite)
    lines = sorted(f"{test}{_SEPARATOR}{reasons.get(test, reason)}" for test, reason in failures.items())
    (KNOWN / f"{suite.file_name}.txt").write_text("".join(f"{line}\n" for line in lines))


def run_suite(suite: Suite, checkouts: Path, server: Started, *, record: bool = False) -> Row:
    """Returns a suite's row; it succeeded if it ran to its end and only known failures occurred."""
    try:
        outcomes, problem = _outcomes(suite, checkouts, server)
    except (OSError, subprocess.SubprocessError, AssertionError) as error:
        return Row(suite.name, {}, (f"did not run: {' '.join(str(error).split())}",), succeeded=False)
    counts = Counter(outcome for outcome, _ in outcomes.values())
    if problem:
        return Row(suite.name, counts, (f"{problem}: {REPORTS / suite.file_name}.txt",), succeeded=False)
    failures = {test: reason for test, (outcome, reason) in outcomes.items() if outcome in ("failed", "error")}
    if record:
        _record(suite, failures)
    known = known_failures(suite)
    passed = [test for test in known if outcomes.get(test, ("", ""))[0] == "passed"]
    new = {test: reason for test, reason in failures.items() if test not in known}
    lines = _skipped(suite, outcomes)
    if passed:
        lines.append(f"{len(passed)} known failures passed, and may leave {KNOWN.name}: {', '.join(passed)}")
    lines += (f"new failure: {test}{_SEPARATOR}{reason}" for test, reason in new.items())
    counts[KNOWN_COUNT] = len(failures) - len(new)
    return Row(suite.name, counts, tuple(lines), succeeded=not new)


def _skipped(suite: Suite, outcomes: Outcomes) -> list[str]:
    """Returns lines with the most frequent reasons of skipped tests."""
    skipped = Counter(reason for outcome, reason in outcomes.values() if outcome == "skipped")
    frequent = skipped.most_common(SKIPS_SHOWN)
    lines = [f"{number} skipped: {reason}" for reason, number in frequent]
    if rest := sum(skipped.values()) - sum(number for _, number in frequent):
        lines.append(f"{rest} skipped for other reasons: {REPORTS / suite.file_name}.json")
    return lines


@contextmanager
def _started(folder: Path, thrift_port: int) -> Iterator[Started]:
    for name in ("lake", "external"):
        (folder / name).mkdir()
    certificate = make_certificate(folder)
    server = ServerProcess(
        folder,
        *(str(folder / "lake"), "--thrift-port", str(thrift_port), "--http-port", "0", "--postgres-port", "0"),
        GATEWAY_LAKE_ALLOWED_ROOTS=f'["{folder}/external"]',
        GATEWAY_SERVER_TLS_CERTIFICATE=str(certificate.certificate),
        GATEWAY_SERVER_TLS_KEY=str(certificate.key),
        GATEWAY_SERVER_CONNECT_PORT="0",
    )
    try:
        ports = server.ports()
        _make_tables(ports["thrift"])
        made = certificate.certificate
        numbers = ports["thrift"], ports["http"], ports["connect"], ports["postgres"]
        yield Started(*numbers, made, folder / "external")
    finally:
        server.popen.send_signal(signal.SIGTERM)
        server.end()


def run_suites(checkouts: Path, suites: Sequence[Suite], *, record: bool = False) -> Iterator[Row]:
    """Yields the row of each suite, all with one server; suites that cannot be run are left out, with the reason."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    port = HIVE_PORT if any(suite.run is _pyhive for suite in suites) else 0
    with tempfile.TemporaryDirectory() as folder, _started(Path(folder), port) as server:
        for suite in suites:
            missing = suite.missing(checkouts)
            yield (
                Row(suite.name, {}, (f"left out: {missing}",))
                if missing
                else run_suite(suite, checkouts, server, record=record)
            )


def print_header() -> None:
    print(f"{'suite':<38}" + "".join(f"{name:>9}" for name in (*COUNTS, KNOWN_COUNT)))


def main() -> int:
    """Prints the table, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", type=Path, metavar="FOLDER")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="names of suites; all if left out")
    parser.add_argument("--record", action="store_true", help="write the lists of known failures")
    request = parser.parse_args()
    unknown = {*request.suites} - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"there is no suite named {', '.join(sorted(unknown))}")
    checkouts = request.checkouts.resolve()
    selected = [suite for suite in SUITES if not request.suites or suite.name in request.suites]
    missing = [suite.missing(checkouts) for suite in selected if suite.missing(checkouts)]
    if request.suites and missing:
        parser.error("; ".join(missing))
    rows = []
    print_header()
    for row in run_suites(checkouts, selected, record=request.record):
        row.print()
        rows.append(row)
    print(f"Reports: {REPORTS}")
    return 0 if all(row.succeeded for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
