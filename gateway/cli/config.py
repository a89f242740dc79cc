"""`delta-gateway config`: prints all settings with their defaults, as an initial configuration file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.loader import format_example


def main(arguments: Sequence[str]) -> int:
    """Prints the configuration file and returns 0."""
    argparse.ArgumentParser(
        prog="delta-gateway config",
        description="Print all settings with their meanings and defaults, as an initial configuration file.",
        **help_text(
            "",
            ("delta-gateway config > gateway.toml", "delta-gateway serve --config gateway.toml"),
            SETTINGS,
        ),
    ).parse_args(arguments)
    sys.stdout.write(format_example())
    return 0
