"""`delta-gateway audit verify FOLDER [--heads FILE --key PEM]`: verifies that an audit log is unmodified.

Prints the last valid line's number and digest. A log whose last lines were removed as a whole is valid too; to detect
that, record the newest number elsewhere, or have heads signed (`audit.signing_key`) and pass them here. Exit code 1:
the log is broken; the first broken line is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from catalog.conditions import AuditKeyUnusable
from gateway.audit.audit_log import log_contents
from gateway.audit.chain import verify
from gateway.audit.signed_digests import public_key, read_chain_ends
from gateway.cli.help import help_text

EXIT_BROKEN = 1


def main(arguments: Sequence[str]) -> int:
    """Verifies an audit log and returns the exit code: 0 if its hash chain holds, `EXIT_BROKEN` otherwise."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if (given.heads is None) != (given.key is None):
        parser.error("--heads and --key belong together")
    try:
        signed = _read_signed_ends(given.heads, given.key) if given.heads else {}
        chain_end, broken = verify(log_contents(given.folder), signed=signed)
    except (ValueError, AuditKeyUnusable) as error:
        sys.stderr.write(f"delta-gateway: {given.heads}: {error}\n")
        return EXIT_BROKEN
    except OSError as error:
        sys.stderr.write(f"delta-gateway: {given.folder} cannot be read: {error.strerror}\n")
        return EXIT_BROKEN
    sys.stdout.write(f"{chain_end.seq} lines hold; the digest of the last one is {chain_end.digest}\n")
    if broken is None:
        return 0
    sys.stderr.write(f"delta-gateway: the trail is broken in {broken.file}, line {broken.line}: {broken.reason}\n")
    return EXIT_BROKEN


def _read_signed_ends(chain_ends: Path, key: Path) -> Mapping[int, str]:
    with chain_ends.open("rb") as lines:
        return read_chain_ends(lines, public_key(key))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway audit",
        description="The audit log.",
        **help_text(
            "",
            (
                "delta-gateway audit verify /var/log/gateway/audit",
                "delta-gateway audit verify /var/log/gateway/audit --heads heads.jsonl --key audit.pem",
            ),
        ),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("verify", help="check that no line was changed, removed or added")
    check.add_argument("folder", type=Path, metavar="FOLDER")
    check.add_argument("--heads", type=Path, metavar="FILE", help="signed heads (audit.heads_file)")
    check.add_argument("--key", type=Path, metavar="PEM", help="the public key that they are signed with")
    return parser
