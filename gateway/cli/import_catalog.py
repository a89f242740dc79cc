"""`delta-gateway import-catalog SOURCE`: creates another catalog's objects on a running server.

Sources: `hive://HOST:PORT` (a Hive metastore), an `http(s)://` URL (a Unity Catalog), or a file or folder with DDL. The
user who runs it needs the privileges for the statements. It can be repeated: what exists stays as it is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from catalog.errors import SqlError
from gateway.catalog_import.ddl import read_ddl
from gateway.catalog_import.hive_metastore import HiveMetastore, MetastoreError
from gateway.catalog_import.objects import (
    ImportedObject,
    ImportStatement,
    Skipped,
    import_statement,
    in_order,
    relocate,
)
from gateway.catalog_import.unity import UnityCatalog, UnityError
from gateway.cli.client import ApiClient, ClientError, RunOptions
from gateway.cli.help import help_text
from gateway.cli.sql import SERVER_ENVIRONMENT, add_server_flags, open_client

EXIT_FAILED = 1
_METASTORE_PORT = 9083
_EXISTS = "[TABLE_OR_VIEW_ALREADY_EXISTS]"
_SOURCE_TOKEN = "DELTA_GATEWAY_IMPORT_TOKEN"
_EXAMPLES = (
    "delta-gateway import-catalog hive://metastore:9083 --dry-run",
    "delta-gateway import-catalog https://unity.example.com --catalog main --relocate s3a://old=s3://new",
    "delta-gateway import-catalog dump.sql --server https://gateway.example --user admin",
)
_ENVIRONMENT = {**SERVER_ENVIRONMENT, _SOURCE_TOKEN: "the bearer token for a Unity Catalog"}


def main(arguments: Sequence[str]) -> int:
    """Imports; returns 1 if a statement failed. Skipped objects are reported, and are no failure."""
    given = _parser().parse_args(arguments)
    try:
        prefixes = dict(_prefix_pair(pair) for pair in given.relocate)
        work = [import_statement(found) for found in in_order(relocate(_objects(given), prefixes))]
        if given.dry_run:
            return _print(work)
        with open_client(given) as client:
            return _run(client, work)
    except (ClientError, MetastoreError, UnityError, SqlError, OSError, ValueError) as error:
        sys.stderr.write(f"delta-gateway: {error}\n")
        return EXIT_FAILED


def _objects(given: argparse.Namespace) -> Iterator[ImportedObject]:
    parts = urlsplit(given.source)
    match parts.scheme:
        case "hive":
            with HiveMetastore(parts.hostname or "127.0.0.1", parts.port or _METASTORE_PORT) as metastore:
                yield from metastore.objects()
        case "http" | "https":
            token = os.environ.get(_SOURCE_TOKEN, "")
            yield from UnityCatalog(given.source, token, tuple(given.catalog)).objects()
        case _:  # a path; Windows paths do not occur
            yield from read_ddl(Path(given.source))


def _prefix_pair(pair: str) -> tuple[str, str]:
    old, sign, new = pair.partition("=")
    if not (old and sign and new):
        raise ValueError(f"--relocate expects OLD=NEW, not {pair}")
    return old, new


def _print(work: Iterable[ImportStatement | Skipped]) -> int:
    for item in work:
        if isinstance(item, Skipped):
            sys.stdout.write(f"-- skipped {item.name}: {item.reason}\n")
            continue
        if item.current is not None:
            sys.stdout.write(f"USE {item.current.sql};\n")
        sys.stdout.write(f"{item.text};\n")
    return 0


def _run(client: ApiClient, work: Sequence[ImportStatement | Skipped]) -> int:
    """Runs the statements. Failed ones run again while that helps, since a view may read another one."""
    pending = [item for item in work if isinstance(item, ImportStatement)]
    counts = Counter({"imported": 0, "skipped": 0, "failed": 0})
    failures: dict[str, str] = {}
    while pending:
        failed = []
        for item in pending:
            reason = _failure(client, item)
            if reason is None:
                counts["imported"] += 1
                sys.stdout.write(f"imported {item.subject}\n")
            else:
                failures[item.subject] = reason
                failed.append(item)
        if len(failed) == len(pending):
            break
        pending = failed
    for item in pending:
        counts["failed"] += 1
        sys.stdout.write(f"failed {item.subject}: {failures[item.subject]}\n")
    for skipped in work:
        if isinstance(skipped, Skipped):
            counts["skipped"] += 1
            sys.stdout.write(f"skipped {skipped.name}: {skipped.reason}\n")
    sys.stdout.write(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + "\n")
    return EXIT_FAILED if counts["failed"] else 0


def _failure(client: ApiClient, item: ImportStatement) -> str | None:
    parts = () if item.current is None else item.current.parts
    schema = parts[-1] if parts else None
    catalog = parts[0] if len(parts) > 1 else None
    try:
        client.run(item.text, RunOptions(rows_inline=True, catalog=catalog, schema=schema)).close()
    except ClientError as error:
        # CALL has no IF NOT EXISTS.
        return None if _EXISTS in str(error) else str(error).replace("\n", " ")
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway import-catalog",
        description="Create the schemas, tables, views, comments and grants of another catalog on a running server.",
        allow_abbrev=False,
        **help_text("", _EXAMPLES, _ENVIRONMENT),
    )
    parser.add_argument("source", metavar="SOURCE", help="hive://HOST:PORT, the URL of a Unity Catalog, or DDL files")
    parser.add_argument("--catalog", action="append", default=[], metavar="NAME", help="only this Unity catalog")
    parser.add_argument(
        "--relocate", action="append", default=[], metavar="OLD=NEW", help="replace a prefix of table locations"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the statements, and run nothing")
    add_server_flags(parser)
    return parser
