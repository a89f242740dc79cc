"""`delta-gateway check-sql PATH…`: checks which statements of files or logs run here, without a server.

For people who move from another engine: for each statement that does not run, the reason and what to use instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import SqlError
from engine.binding.sources import Sources
from engine.main import EngineOptions, open_sources
from engine.sql.statement_texts import Kind, split_statements
from engine.statement_checks import Check, StatementChecker, Verdict
from gateway.cli.help import help_text

EXIT_REFUSED = 1
EXIT_UNREADABLE = 2
_SHOWN_MAX = 100
# The fields with a statement's text in logs: Databricks' query history, Kyuubi's and Spark's events, this server's
# audit log, Trino's events, and hand-made ones.
_TEXT_FIELDS = ("statement_text", "statement", "query_text", "query", "text", "sql", "description")
_NOTES = """\
PATH is a file with statements, a folder with *.sql files, or a log: JSON lines (also .gz) whose objects have the text
as statement_text, statement, query_text, query, text or sql. Equal statements of a log are checked once.

Without --lake, names are not looked up. Columns and types are checked by Spark alone, so a statement that passes may
still fail on the server.

exit codes: 0 all statements run, 1 some do not, 2 a file cannot be read
"""
_EXAMPLES = (
    "delta-gateway check-sql jobs/ reports.sql",
    "delta-gateway check-sql query_history.jsonl.gz --format json | jq 'select(.verdict == \"refused\")'",
    "delta-gateway check-sql target/compiled --lake /data/lake",
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A statement and where it begins; in a log also how often it occurs."""

    file: str
    line: int
    text: str
    count: int = 1


def main(arguments: Sequence[str]) -> int:
    """Checks statements and returns the exit code, 0 if all can run.

    `EXIT_REFUSED` means that a statement is rejected or lacks an object, `EXIT_UNREADABLE` that a file cannot be read.
    """
    given = _parser().parse_args(arguments)
    verdicts: Counter[Verdict] = Counter()
    try:
        checker = StatementChecker(_sources(given))
        for path in given.paths:
            for found in _statements(path):
                check = checker.check(found.text)
                verdicts[check.verdict] += 1
                _write(found, check, given)
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"delta-gateway: {getattr(error, 'filename', None) or 'a file'} cannot be read: {error}\n")
        return EXIT_UNREADABLE
    except SqlError as error:
        sys.stderr.write(f"delta-gateway: {error.full_message}\n")
        return EXIT_UNREADABLE
    if given.format == "text":
        sys.stdout.write(_summary(verdicts))
    return EXIT_REFUSED if verdicts[Verdict.REFUSED] + verdicts[Verdict.MISSING] else 0


def _sources(given: argparse.Namespace) -> Sources | None:
    if not given.lake:
        return None
    catalog = given.catalog_folder or f"{given.lake.rstrip('/')}/.catalog"
    has_catalog = given.catalog_folder or Path(catalog).is_dir()
    return open_sources(EngineOptions(lake_folder=given.lake, catalog_folder=catalog if has_catalog else None))


def _statements(path: Path) -> Iterator[_Found]:
    if path.is_dir():
        for file in sorted(path.rglob("*.sql")):
            yield from _statements(file)
        return
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = content.decode("utf-8")
    if logged := _logged(text):
        lines: dict[str, int] = {}
        for line, statement in logged:
            lines.setdefault(statement, line)
        counts = Counter(statement for _, statement in logged)
        yield from (_Found(str(path), line, statement, counts[statement]) for statement, line in lines.items())
        return
    for piece in split_statements(text):
        if piece.kind is Kind.STATEMENT:
            yield _Found(str(path), text.count("\n", 0, piece.offset) + 1, piece.text)


def _logged(text: str) -> list[tuple[int, str]]:
    """Returns the statements of a log with their lines; nothing if `text` is no log."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            return []
        if not isinstance(entry, dict):
            return []
        statement = next((entry[name] for name in _TEXT_FIELDS if isinstance(entry.get(name), str)), "")
        found += [(number, piece.text) for piece in split_statements(statement) if piece.kind is Kind.STATEMENT]
    return found


def _write(found: _Found, check: Check, given: argparse.Namespace) -> None:
    line = found.line + (check.position.line - 1 if check.position else 0)
    if given.format == "json":
        fields = {
            "file": found.file,
            "line": line,
            "verdict": check.verdict,
            "condition": check.condition,
            "reason": check.reason,
            "instead": check.hint,
            "count": found.count,
            "statement": found.text,
        }
        sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
    elif check.verdict is not Verdict.RUNS or given.all:
        shown = " ".join(found.text.split())
        shown = shown if len(shown) <= _SHOWN_MAX else shown[: _SHOWN_MAX - 1] + "…"
        often = f" ({found.count} times)" if found.count > 1 else ""
        reasons = "".join(f"    {text}\n" for text in (check.reason, check.hint) if text)
        sys.stdout.write(f"{found.file}:{line}: {check.verdict}{often}: {shown}\n{reasons}")


def _summary(verdicts: Counter[Verdict]) -> str:
    total = verdicts.total()
    parts = [f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict]]
    return f"{total} {'statement' if total == 1 else 'statements'}: {', '.join(parts) or 'nothing to check'}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway check-sql",
        description="Check which statements of files or logs run here, and why others do not.",
        **help_text(_NOTES, _EXAMPLES),
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, a folder, or a log")
    parser.add_argument("--lake", metavar="FOLDER", help="look up tables and views in this folder")
    parser.add_argument("--catalog-folder", metavar="FOLDER", help="the lake's catalog (FOLDER/.catalog)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="lines, or an object per statement")
    parser.add_argument("--all", action="store_true", help="list the statements that run as well")
    return parser
