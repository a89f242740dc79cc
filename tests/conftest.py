"""Fixtures come from the `fix_*` plugins, a topic each.

Property tests draw the same examples in every run unless `HYPOTHESIS_PROFILE=explore` asks for new ones (`quick`: a few
of them), and no example is judged by its time: other work on the machine must not fail a test.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.paths import HAS_TESTDATA, TESTDATA

pytest_plugins = ["tests.fix_spark", "tests.clients.fix_server"]

settings.register_profile("repeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("repeat"), max_examples=10)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests on tables of other engines where these are not there."""
    if HAS_TESTDATA:
        return
    foreign = [item for item in items if item.get_closest_marker("foreign")]
    items[:] = [item for item in items if not item.get_closest_marker("foreign")]
    config.stash[_LEFT_OUT] = len(foreign)
    config.hook.pytest_deselected(items=foreign)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{count} tests on tables of other engines were left out: there is no folder {TESTDATA}; "
            "GATEWAY_TESTDATA names another one."
        )
