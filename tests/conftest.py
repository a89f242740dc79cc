"""Fixtures come from the `fix_*` plugins, a topic each; the marks `spark` and `clients` follow
from the fixtures that a test asks for.

Property tests draw the same examples in every run unless `HYPOTHESIS_PROFILE=explore` asks for new ones (`quick`: a few
of them), and no example is judged by its time: other work on the machine must not fail a test.

`make test` runs two processes (pytest-xdist), each with a Spark of its own. A file runs in one of them, since its tests
share a lake; the tests with real clients are one group, since they share a server, and begin first.
"""

import os
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.no_java import refuse_java
from tests.paths import HAS_TESTDATA, TESTDATA

pytest_plugins = ["tests.fix_spark", "tests.clients.fix_server"]

settings.register_profile("repeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("repeat"), max_examples=10)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

_LEFT_OUT = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    if "not spark" in config.option.markexpr:
        sys.addaudithook(refuse_java)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests, and leave out those on tables of other engines where these are not there."""
    for item in items:
        is_client = item.path.parent.name == "clients"
        fixtures = getattr(item, "fixturenames", ())
        if is_client:
            item.add_marker(pytest.mark.clients)
        if "spark_driver" in fixtures or (is_client and "server" in fixtures):
            item.add_marker(pytest.mark.spark)
        item.add_marker(pytest.mark.xdist_group("clients" if is_client else item.location[0]))
    if not HAS_TESTDATA:
        _leave_out(config, items)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not item.get_closest_marker("clients"), not item.get_closest_marker("spark")))


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    foreign = [item for item in items if item.get_closest_marker("foreign")]
    items[:] = [item for item in items if not item.get_closest_marker("foreign")]
    config.hook.pytest_deselected(items=foreign)
    config.stash[_LEFT_OUT] = len(foreign)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(foreign)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of this run has ended; each leaves out the same tests."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{count} tests on tables of other engines were left out: there is no folder {TESTDATA}; "
            "GATEWAY_TESTDATA names another one."
        )
