"""Parses table maintenance statements: OPTIMIZE, REORG, VACUUM and others (as in Delta's own parser)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import GenerateModeNotSupported, InvalidTimeTravel, UnsupportedClause
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table, read_table_or_path
from engine.sql.query.values import AsOfTimestamp, AsOfVersion, TimeTravel
from engine.statements.create_table.grammar_clauses import read_dotted_list
from engine.statements.maintenance.statement import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)

_CONDITION = "a condition"


def parse_optimize(cursor: Cursor) -> Optimize:
    """Parses the text after OPTIMIZE: `t [FULL] [WHERE condition] [ZORDER BY (a, b.c)]`."""
    table = read_table_or_path(cursor)
    full = cursor.take("FULL")
    condition = cursor.read_text(("ZORDER", "BY"), what=_CONDITION) if cursor.take("WHERE") else None
    columns = _read_columns(cursor) if cursor.take("ZORDER", "BY") else ()
    return Optimize(table_parts=table, condition=condition, zorder_by=columns, full=full)


def parse_reorg(cursor: Cursor) -> Reorg:
    """Parses the text after REORG TABLE: `t [WHERE condition] APPLY (PURGE)`."""
    table = read_table_or_path(cursor)
    condition = cursor.read_text(("APPLY",), what=_CONDITION) if cursor.take("WHERE") else None
    cursor.read("APPLY")
    cursor.read("(")
    if cursor.take("UPGRADE", "UNIFORM"):
        raise unsupported_statement("REORG TABLE … APPLY (UPGRADE UNIFORM)")
    cursor.read("PURGE")
    cursor.read(")")
    return Reorg(table_parts=table, condition=condition)


def _read_columns(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    """Reads a list with or without parentheses."""
    if cursor.words(1) == ["("]:
        return read_dotted_list(cursor)
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return tuple(columns)


def parse_vacuum(cursor: Cursor) -> Vacuum:
    """Parses the text after VACUUM: a table, then `LITE|FULL`, `RETAIN n HOURS`, `DRY RUN` in any order, each at most
    once.
    """
    table = read_table_or_path(cursor)
    mode: str | None = None
    hours: float | None = None
    dry_run = False
    while not cursor.is_done:
        if mode is None and (mode := cursor.take_any("LITE", "FULL")):
            continue
        if not dry_run and (dry_run := cursor.take("DRY", "RUN")):
            continue
        if hours is None and cursor.take("RETAIN"):
            hours = _read_hours(cursor)
            continue
        if cursor.take("USING", "INVENTORY"):
            raise UnsupportedClause("VACUUM … USING INVENTORY", "Leave it out: the folders of the table are listed.")
        break
    return Vacuum(table_parts=table, retain_hours=hours, lite=mode == "LITE", dry_run=dry_run)


def parse_restore(cursor: Cursor) -> RestoreTable:
    """Parses the text after RESTORE."""
    cursor.take("TABLE")
    table = read_table_or_path(cursor)
    cursor.take("TO")
    return RestoreTable(table_parts=table, to=_read_time_travel(cursor))


def parse_fsck(cursor: Cursor) -> RepairTable:
    """Parses the text after FSCK REPAIR TABLE."""
    table = read_table_or_path(cursor)
    return RepairTable(table_parts=table, dry_run=cursor.take("DRY", "RUN"))


def parse_generate(cursor: Cursor) -> GenerateManifest:
    """Parses the text after GENERATE."""
    mode = cursor.take_string() or cursor.read_name()
    if mode.lower() != _MANIFEST_MODE:
        raise GenerateModeNotSupported(mode, _MANIFEST_MODE)
    cursor.read("FOR", "TABLE")
    return GenerateManifest(table_parts=read_table_or_path(cursor))


def parse_analyze(cursor: Cursor) -> AnalyzeTable:
    """Parses the text after ANALYZE TABLE."""
    table = read_table(cursor)
    if cursor.words(1) == ["PARTITION"]:
        raise UnsupportedClause("ANALYZE TABLE … PARTITION", "Leave it out: only files without statistics are read.")
    cursor.read("COMPUTE")
    if cursor.take("DELTA", "STATISTICS"):
        return AnalyzeTable(table_parts=table)
    cursor.read("STATISTICS")
    if cursor.take("NOSCAN"):
        return AnalyzeTable(table_parts=table, no_scan=True)
    if cursor.take("FOR", "ALL", "COLUMNS"):
        return AnalyzeTable(table_parts=table, columns=())
    if not cursor.take("FOR", "COLUMNS"):
        return AnalyzeTable(table_parts=table)
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return AnalyzeTable(table_parts=table, columns=tuple(columns))


_MANIFEST_MODE = "symlink_format_manifest"


def _read_time_travel(cursor: Cursor) -> TimeTravel:
    """Reads `[FOR] VERSION|SYSTEM_VERSION AS OF n` or `[FOR] TIMESTAMP|SYSTEM_TIME AS OF expression`."""
    cursor.take("FOR")
    if cursor.take_any("VERSION", "SYSTEM_VERSION"):
        cursor.read("AS", "OF")
        text = cursor.read_any()
        if not text.isdecimal() or len(text) > _DIGITS_MAX:
            raise InvalidTimeTravel(f"VERSION AS OF {text}")
        return AsOfVersion(int(text))
    if not cursor.take_any("TIMESTAMP", "SYSTEM_TIME"):
        raise cursor.fail("VERSION AS OF or TIMESTAMP AS OF is expected")
    cursor.read("AS", "OF")
    return AsOfTimestamp(cursor.read_text(what="a timestamp"))


_DIGITS_MAX = 18


def _read_hours(cursor: Cursor) -> float:
    sign = -1 if cursor.take("-") else 1
    text = cursor.take_number_text()
    try:
        hours = sign * float(text or "")
    except ValueError:
        raise cursor.fail("a number of hours is expected") from None
    cursor.read("HOURS")
    return hours


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("ANALYZE", "TABLE"): parse_analyze,
        ("FSCK", "REPAIR", "TABLE"): parse_fsck,
        ("GENERATE",): parse_generate,
        ("OPTIMIZE",): parse_optimize,
        ("REORG", "TABLE"): parse_reorg,
        ("RESTORE",): parse_restore,
        ("VACUUM",): parse_vacuum,
    }
)
