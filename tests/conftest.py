"""Fixtures come from the `fix_*` plugins, one per topic; the marks `spark` and `clients` follow from a test's fixtures.

Property tests draw the same examples in every run unless `HYPOTHESIS_PROFILE=explore` requests new ones (`quick`: a
few), and no example has a deadline: other work on the machine must not fail a test.

`make test` runs two processes (pytest-xdist), each with its own Spark; `scheduling.py` assigns the tests. Tests with
real clients begin first, tests without Spark are last, so that both processes end at the same time.
"""

import gc
import logging
import os
import shutil
import sys
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.no_java import refuse_java
from tests.paths import (
    HAPROXY,
    HAS_CONSOLE,
    HAS_NODE_MODULES,
    HAS_TESTDATA,
    HELM,
    MAY_MOUNT,
    MINIO,
    PROMTOOL,
    PSQL,
    PSQLODBC,
    SLAPD,
    SYSTEMD_ANALYZE,
    TESTDATA,
)
from tests.postgres_server import POSTGRES
from tests.samples import beside_diagonals
from tests.scheduling import FileScheduling, UnitsSeen

pytest_plugins = ["tests.fix_spark", "tests.clients.fix_server", "tests.clients.fix_users"]

settings.register_profile("repeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("repeat"), max_examples=10)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

_LEFT_OUT = pytest.StashKey[dict[str, int]]()
_UNITS = UnitsSeen()
_THERE = {
    "foreign": HAS_TESTDATA,
    "slapd": SLAPD is not None,
    "console": HAS_CONSOLE,
    "debootstrap": os.geteuid() == 0 and shutil.which("debootstrap") is not None,
    "node": HAS_NODE_MODULES,
    "mounts": MAY_MOUNT,
    "minio": MINIO is not None,
    "helm": HELM is not None,
    "haproxy": HAPROXY is not None,
    "go": shutil.which("go") is not None,
    "google": shutil.which("go") is not None and os.geteuid() == 0,
    "psql": PSQL is not None,
    "pgbench": shutil.which("pgbench") is not None,
    "psqlodbc": PSQLODBC is not None,
    "promtool": PROMTOOL is not None,
    "systemd": SYSTEMD_ANALYZE is not None,
    "postgresql": POSTGRES is not None,
}
_MISSING = {name for name, is_there in _THERE.items() if not is_there}
_REASONS = {
    "foreign": f"on tables of other engines were left out: no folder {TESTDATA}; GATEWAY_TESTDATA names another.",
    "console": "in a browser were left out: no Chromium (apt-get install chromium), or no console (make install).",
    "node": "of the console's source were left out: its packages are fetched when it is built (make install).",
    "mounts": "on disks that are read-only or full were left out: mounting a file system is not permitted here.",
    "minio": "with MinIO were left out: make test-slow and make test-clients build it, where Go is installed.",
    "helm": "of the Helm chart were left out: Helm is built by make helm, where Go is installed.",
    "go": "of Go's drivers were left out: no Go (apt-get install golang).",
    "google": "with the emulator of Google's store were left out: they need Go, and root's right to port 443.",
    "psql": "with psql were left out: no psql (apt-get install postgresql-client).",
    "pgbench": "with pgbench were left out: no pgbench (apt-get install postgresql).",
    "psqlodbc": "with psqlODBC were left out: no driver (apt-get install odbc-postgresql).",
    "haproxy": "with HAProxy were left out: no haproxy (apt-get install haproxy).",
    "systemd": "of units were left out: no systemd-analyze (apt-get install systemd).",
    "promtool": "of alerts were left out: no promtool (apt-get install prometheus).",
    "debootstrap": "with the steps of the Dockerfile were left out: they need root and debootstrap.",
    "postgresql": "of recorded answers were left out: no PostgreSQL 15 (apt-get install postgresql-15).",
    "slapd": "with a directory were left out: no slapd; apt-get install slapd, or name its folder in SLAPD_ROOT.",
}


def pytest_configure(config: pytest.Config) -> None:
    # A client's channel in this process would disturb the start of Java by a fork.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    if "not spark" in config.option.markexpr:
        sys.addaudithook(refuse_java)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests, and deselects tests whose dependencies are missing."""
    for item in items:
        is_client = item.path.parent.name == "clients"
        fixtures = getattr(item, "fixturenames", ())
        if is_client:
            item.add_marker(pytest.mark.clients)
        if "spark_driver" in fixtures or (is_client and "server" in fixtures):
            item.add_marker(pytest.mark.spark)
    for item in beside_diagonals(items):
        item.add_marker(pytest.mark.slow)
    _leave_out(config, items)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not item.get_closest_marker("clients"), not item.get_closest_marker("spark")))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects garbage along with the tests, then freezes them, since they exist until the end.

    Their collection took a third longer with it, and later each garbage collection 0.4 s, which every client test runs
    once (`tests/clients/conftest.py`).
    """
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = {name: [item for item in items if item.get_closest_marker(name)] for name in _MISSING}
    items[:] = [item for item in items if not any(map(item.get_closest_marker, _MISSING))]
    for left in out.values():
        config.hook.pytest_deselected(items=left)
    config.stash[_LEFT_OUT] = {name: len(left) for name, left in out.items()}
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = config.stash[_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    return FileScheduling(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _UNITS.add(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _UNITS.spread():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Reports a process's end once; each deselects the same tests."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for unit in _UNITS.spread():
        terminalreporter.write_line(f"ERROR: tests of {unit} ran in several processes, and share something")
    for name, count in config.stash.get(_LEFT_OUT, {}).items():
        if count:
            terminalreporter.write_line(f"{count} tests {_REASONS[name]}")


@pytest.fixture(autouse=True)
def log_settings() -> Iterator[None]:
    """Restores the settings of the process's log, which commands such as `prepare` change."""
    root = logging.getLogger()
    before = root.handlers[:], root.level, root.filters[:], threading.excepthook
    yield
    root.handlers[:], root.level, root.filters[:], threading.excepthook = before
    logging.captureWarnings(False)
