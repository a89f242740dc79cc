"""`delta-gateway users add | remove | list`: the users in a password file. A running server applies changes
immediately.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path

from catalog.errors import SqlError
from catalog.grants.tokens import TokenStore
from gateway.authenticators.names import ensure_name
from gateway.authenticators.password_file import load_users, make_user, remove_user, store_user
from gateway.authenticators.passwords import ensure_new_password
from gateway.cli.help import help_text

EXIT_FAILED = 1


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand on the password file and returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        return int(given.run(given))
    except SqlError as error:
        return _fail(error.full_message)


def read_secret_line(prompt: str) -> str | None:
    """Reads one line from standard input, or a twice-typed value on a terminal; None if the two differ."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass(f"{prompt}: ")
    return first if first == getpass.getpass(f"{prompt} again: ") else None


def _add(given: argparse.Namespace) -> int:
    groups = tuple(ensure_name(group.strip()) for group in given.groups.split(",") if group.strip())
    name = ensure_name(given.name)
    password = read_secret_line(f"Password of {given.name}")
    if password is None:
        return _fail("the two passwords differ; nothing was changed.")
    ensure_new_password(password)
    was_there = store_user(given.password_file, make_user(name, password, groups))
    return _say(f"{name} {'has a new password and these groups' if was_there else 'can log in'}.")


def _remove(given: argparse.Namespace) -> int:
    removed = remove_user(given.password_file, given.name)
    if removed is None:
        return _fail(f"there is no user {given.name} in {given.password_file}.")
    count = TokenStore(given.token_file).revoke_all(removed.name) if given.token_file else 0
    revoked = f", and has no tokens ({count} were revoked)" if given.token_file else ""
    return _say(f"{removed.name} cannot log in any more{revoked}; statements that run end by themselves.")


def _list(given: argparse.Namespace) -> int:
    for user in load_users(given.password_file).values():
        _say(f"{user.name}\t{','.join(user.groups)}")
    return 0


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def _fail(text: str) -> int:
    sys.stderr.write(f"delta-gateway: {text}\n")
    return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway users",
        description="Users with passwords.",
        **help_text(
            "The password is read from a terminal twice, otherwise from standard input.",
            (
                "delta-gateway users add ann --groups staff,analysts --password-file /etc/gateway/users",
                "delta-gateway users list --password-file /etc/gateway/users",
                "delta-gateway users remove ann --password-file /etc/gateway/users --token-file /etc/gateway/tokens",
            ),
        ),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    purposes = {
        "add": (_add, "add a user, or change one; the password is read from the standard input"),
        "remove": (_remove, "remove a user"),
        "list": (_list, "print the users and their groups"),
    }
    for command, (run, purpose) in purposes.items():
        one = commands.add_parser(command, help=purpose, description=purpose.capitalize())
        one.set_defaults(run=run)
        if command != "list":
            one.add_argument("name", metavar="NAME")
        if command == "add":
            one.add_argument("--groups", default="", metavar="A,B", help="the groups that the user is in")
        if command == "remove":
            one.add_argument("--token-file", type=Path, metavar="FILE", help="revoke their tokens in this file too")
        one.add_argument("--password-file", type=Path, required=True, metavar="FILE", help="as in the configuration")
    return parser
