"""`delta-gateway tokens create | list | revoke`: personal access tokens, for users with write access to their file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from catalog.errors import SqlError
from catalog.grants.tokens import TokenOwner, TokenRequest, TokenStore
from engine.runtime.identity import Method
from gateway.authenticators.names import ensure_name
from gateway.cli.help import help_text

EXIT_FAILED = 1


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand on the token file and returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        given.run(TokenStore(given.token_file), given)
    except SqlError as error:
        sys.stderr.write(f"delta-gateway: {error.full_message}\n")
        return EXIT_FAILED
    return 0


def _create(store: TokenStore, given: argparse.Namespace) -> None:
    token, _ = store.create(
        TokenRequest(
            owner=_owner(given),
            comment=given.comment,
            lifetime_s=given.days * 86_400,
            is_read_only=given.read_only,
        )
    )
    sys.stdout.write(f"{token}\n")


def _owner(given: argparse.Namespace) -> TokenOwner:
    """Returns the owner, looked up as a user unless the groups are given."""
    name = ensure_name(given.name)
    if given.groups is None:
        return TokenOwner(principal=name, method=Method.PASSWORD)
    groups = (group.strip() for group in given.groups.split(","))
    return TokenOwner(principal=name, groups=tuple(ensure_name(group) for group in groups if group))


def _list(store: TokenStore, _: argparse.Namespace) -> None:
    for entry in store.entries():
        end = datetime.fromtimestamp(entry.expires_ms / 1000, UTC).isoformat(timespec="seconds")
        scope = "read-only" if entry.is_read_only else "sql"
        sys.stdout.write(f"{entry.token_id}\t{entry.owner.principal}\t{scope}\t{end}\t{entry.comment}\n")


def _revoke(store: TokenStore, given: argparse.Namespace) -> None:
    store.revoke(given.token_id)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway tokens",
        description="Personal access tokens.",
        **help_text(
            "Users create their own tokens in SQL: CREATE TOKEN.",
            (
                "delta-gateway tokens create etl --groups writers --days 30 --token-file /etc/gateway/tokens",
                "delta-gateway tokens list --token-file /etc/gateway/tokens",
                "delta-gateway tokens revoke ID --token-file /etc/gateway/tokens",
            ),
        ),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="make a token of a user and print it, once")
    create.add_argument("name", metavar="NAME", help="the user, as in the password file or the directory")
    create.add_argument("--days", type=float, default=90.0, help="how long it is good (90)")
    create.add_argument("--comment", default="", help="what it is for")
    create.add_argument("--groups", metavar="A,B", help="for a user whom no password file and no directory has")
    create.add_argument("--read-only", action="store_true", help="it may change nothing")
    shown = commands.add_parser("list", help="print the tokens that are good, without their secrets")
    revoke = commands.add_parser("revoke", help="end a token at once")
    revoke.add_argument("token_id", metavar="ID")
    for command, run in ((create, _create), (shown, _list), (revoke, _revoke)):
        command.set_defaults(run=run)
        command.add_argument("--token-file", type=Path, required=True, metavar="FILE", help="as in the configuration")
    return parser
