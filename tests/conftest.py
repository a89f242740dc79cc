"""Fixtures come from the `fix_*` plugins, a topic each."""

pytest_plugins = ["tests.fix_spark", "tests.clients.fix_server"]
