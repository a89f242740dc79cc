"""The command line: `delta-gateway serve | sql | config`, also `python -m gateway`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gateway import cli_serve, cli_sql
from gateway.config_loader import format_example
from gateway.release import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of `arguments`, by default the process's own; the exit code."""
    chosen = _parser().parse_args(arguments)
    match chosen.command:
        case "serve":
            return cli_serve.serve(chosen)
        case "sql":
            return cli_sql.run_sql(chosen)
        case _:
            sys.stdout.write(format_example())
            return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="delta-gateway", description="A SQL server for Delta tables.")
    parser.add_argument("--version", action="version", version=f"delta-gateway {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    cli_serve.add_arguments(commands.add_parser("serve", help="serve a folder of Delta tables"))
    cli_sql.add_arguments(commands.add_parser("sql", help="run one statement on a running server"))
    commands.add_parser("config", help="print all settings with their defaults, as a configuration file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
