"""`delta-gateway health`: checks whether the server on this machine takes statements, for containers and scripts.

The port is in the file that the server writes when it is ready (`server.port_file`), so it is the configured one.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.cli.help import help_text

EXIT_UNHEALTHY = 1
_PORT_FILE = "GATEWAY_SERVER_PORT_FILE"
_TIMEOUT_S = 10.0


def main(arguments: Sequence[str]) -> int:
    """Returns 0 if the server is ready."""
    given = _parser().parse_args(arguments)
    try:
        port = json.loads(given.port_file.read_text())["http"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        connection.request("GET", "/readyz")
        response = connection.getresponse()
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        sys.stderr.write(f"delta-gateway: not ready: {error}\n")
        return EXIT_UNHEALTHY
    sys.stdout.write(response.read().decode() + "\n")
    return 0 if response.status == http.client.OK else EXIT_UNHEALTHY


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway health",
        description="Check whether the server on this machine takes statements.",
        **help_text(
            "exit codes: 0 ready, 1 not\n",
            ("delta-gateway health --port-file /run/gateway/ports.json",),
            {_PORT_FILE: "the file with the ports, as --port-file and for the server"},
        ),
    )
    default = os.environ.get(_PORT_FILE)
    parser.add_argument(
        "--port-file", type=Path, metavar="FILE", default=default, required=not default, help="as of the server"
    )
    return parser
