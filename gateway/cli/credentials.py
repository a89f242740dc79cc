"""`delta-gateway credentials`: encrypted storage credentials in the catalog (`catalog/store/sealed_credentials.py`).

A credential is read from standard input, so that it is on no command line, and in no statement, log or history.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from catalog.conditions import CredentialInvalid, CredentialsKeyInvalid
from catalog.errors import SqlError
from catalog.secret_files import write_secret
from catalog.store.credentials import use_credentials
from catalog.store.sealed_credentials import KEY_BYTES, CredentialStore
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.configuration.storage import credentials_key, new_credential, open_credentials

EXIT_FAILED = 1
_NOTES = """\
A credential is TOML on standard input, with the fields of storage.credentials and the secrets themselves:
  access_key_id = "AKIAEXAMPLE"
  secret_access_key = "…"
Servers read the credentials when they start; storage.credentials_key has the key.
"""
_EXAMPLES = (
    "delta-gateway credentials key /etc/delta-gateway/credentials-key",
    "delta-gateway credentials add lake --url s3://lake --config gateway.toml < lake.toml",
    "delta-gateway credentials list --config gateway.toml",
    "delta-gateway credentials remove lake --config gateway.toml",
)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand and returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], None] = given.run
        run(given)
    except SqlError as error:
        sys.stderr.write(f"delta-gateway: {error.full_message}\n")
        return EXIT_FAILED
    return 0


def _make_key(given: argparse.Namespace) -> None:
    if given.file.exists():
        raise CredentialsKeyInvalid(f"{given.file} exists already; a new key would make its credentials unreadable")
    write_secret(given.file, base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")


def _add(given: argparse.Namespace) -> None:
    config, store = _open(given)
    key = credentials_key(config.storage)
    if key is None:
        raise CredentialsKeyInvalid("it is not set")
    try:
        fields = tomllib.loads(sys.stdin.read())
    except ValueError as error:  # without the text, which may have a secret
        raise CredentialInvalid(given.name, "the standard input is not TOML") from error
    if not fields:
        raise CredentialInvalid(given.name, "the standard input has no fields")
    store.put(new_credential(given.name, tuple(given.urls), fields, key))


def _list(given: argparse.Namespace) -> None:
    _, store = _open(given)
    for each in store.load():
        sys.stdout.write(f"{each.name}\t{' '.join(each.urls)}\t{' '.join(each.fields)}\t{each.key_id}\n")


def _remove(given: argparse.Namespace) -> None:
    _, store = _open(given)
    store.remove(given.name)


def _open(given: argparse.Namespace) -> tuple[Config, CredentialStore]:
    config = load_config(given.config, os.environ, {"lake.folder": given.lake})
    use_credentials(open_credentials(config.storage))
    return config, CredentialStore(config.catalog_folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway credentials",
        description="Credentials for storage in the catalog.",
        **help_text(_NOTES, _EXAMPLES, SETTINGS),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    key = commands.add_parser("key", help="create a key in a new file with mode 0600")
    key.add_argument("file", type=Path, metavar="FILE")
    key.set_defaults(run=_make_key)
    add = commands.add_parser("add", help="add a credential, or replace the one of this name")
    add.add_argument("name", metavar="NAME", help="name in the log and in errors")
    add.add_argument("--url", dest="urls", action="append", required=True, help="beginning of URLs that it is for")
    add.set_defaults(run=_add)
    shown = commands.add_parser("list", help="print the credentials without their values")
    shown.set_defaults(run=_list)
    remove = commands.add_parser("remove", help="remove a credential")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(run=_remove)
    for command in (add, shown, remove):
        command.add_argument("--config", type=Path, metavar="FILE", help="the server's configuration")
        command.add_argument("--lake", metavar="FOLDER", help="the served folder, as for `serve`")
    return parser
