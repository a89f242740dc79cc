"""Fixtures come from the `fix_*` plugins, a topic each.

Property tests draw the same examples in every run unless `HYPOTHESIS_PROFILE=explore` asks for new ones, and no
example is judged by its time: other work on the machine must not fail a test.
"""

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.fix_spark", "tests.clients.fix_server"]

settings.register_profile("repeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
