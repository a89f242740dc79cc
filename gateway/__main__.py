"""The command line: `delta-gateway COMMAND`, also `python -m gateway`.

A command is a module with a `main(arguments) -> exit code`, imported on demand: `sql` responds in a fraction of
the import time that `serve` needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from gateway.cli.help import help_text
from gateway.release import VERSION

_COMMANDS = {
    "serve": ("gateway.cli.serve", "serve a folder of Delta and Iceberg tables"),
    "sql": ("gateway.cli.sql", "run statements on a running server, or a shell"),
    "check-sql": ("gateway.cli.check_sql", "check which statements of files or logs run here, and why others do not"),
    "users": ("gateway.cli.users", "add, remove and list the users of a password file"),
    "tokens": ("gateway.cli.tokens", "make, list and revoke personal access tokens"),
    "credentials": ("gateway.cli.credentials", "keep credentials for storage in the catalog, encrypted"),
    "audit": ("gateway.cli.audit", "check the audit log"),
    "backup": ("gateway.cli.backup", "write the catalog and the audit log to one file"),
    "restore": ("gateway.cli.restore", "restore the catalog and the audit log from a backup"),
    "import-catalog": ("gateway.cli.import_catalog", "create another catalog's objects on a running server"),
    "config": ("gateway.cli.config", "print all settings with their defaults, as a configuration file"),
    "health": ("gateway.cli.health", "check whether the server on this machine takes statements"),
    "container": ("gateway.cli.container", "serve in a container: users and addresses are set up at the first start"),
    "prepare": ("gateway.cli.prepare", "create files that speed up each start, once"),
}


_EXAMPLES = (
    "delta-gateway serve                     # a sample lake, in ./sample-lake",
    "delta-gateway serve /data/lake          # then open http://127.0.0.1:8080",
    'delta-gateway sql "SHOW TABLES"',
    "delta-gateway sql                       # a shell",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command in `arguments`, by default the process's own; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        _parser().print_help()
        return 0
    _parser().parse_args(given[:1])
    module, _ = _COMMANDS[given[0]]
    if given[0] == "serve" and arguments is None:
        module = "gateway.process.parent"  # runs this command again as its child
    return int(import_module(module).main(given[1:]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway",
        description="A SQL server for Delta and Iceberg tables.",
        **help_text("delta-gateway COMMAND --help has the options and examples of a command.\n", _EXAMPLES),
    )
    parser.add_argument("--version", action="version", version=f"delta-gateway {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (_, purpose) in _COMMANDS.items():
        commands.add_parser(name, help=purpose, add_help=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
