"""`delta-gateway audit verify FOLDER`: whether an audit trail is as it was written.

Prints the number and the digest of the last line that holds; a trail whose end was cut off by whole lines holds too, so
keep the newest number elsewhere now and then. Exit code 1: the trail is broken, and the first broken line is named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.audit.chain import verify
from gateway.audit.trail import trail_contents

EXIT_BROKEN = 1


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    try:
        head, broken = verify(trail_contents(given.folder))
    except OSError as error:
        sys.stderr.write(f"delta-gateway: {given.folder} cannot be read: {error.strerror}\n")
        return EXIT_BROKEN
    sys.stdout.write(f"{head.seq} lines hold; the digest of the last one is {head.digest}\n")
    if broken is None:
        return 0
    sys.stderr.write(f"delta-gateway: the trail is broken in {broken.file}, line {broken.line}: {broken.reason}\n")
    return EXIT_BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="delta-gateway audit", description="The audit trail.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("verify", help="check that no line was changed, removed or added")
    check.add_argument("folder", type=Path, metavar="FOLDER")
    return parser
