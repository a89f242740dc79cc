"""Parses CREATE TABLE, REPLACE TABLE, CREATE TABLE LIKE, clones and CONVERT TO DELTA, from the second word on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from catalog.conditions import InvalidTimeTravel, SeveralTimeTravels, TooManyNameParts, UnsupportedClause
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table
from engine.sql.query.query import is_query, parse_query
from engine.sql.query.relations import is_file_name, parse_timestamp_suffix, split_path_suffix
from engine.sql.query.values import AsOfTimestamp, AsOfVersion, TimeTravel
from engine.statements.create_table.grammar_clauses import (
    read_clustering,
    read_column,
    read_properties,
    take_constraint,
    take_if_exists,
    take_if_not_exists,
)
from engine.statements.create_table.grammar_partitions import is_column, is_term_only, read_term, read_write_order
from engine.statements.create_table.statement import (
    Check,
    CloneTable,
    ColumnDef,
    ConvertTable,
    CreateMode,
    CreateTable,
    CreateTableLike,
    DropTable,
)
from engine.statements.functions.grammar_calls import read_row_filter
from engine.tables.keys import KeyDef
from engine.types.partition_terms import PartitionTerm

_REFUSED_CLAUSES = (
    (("CLUSTERED", "BY"), "Use CLUSTER BY or PARTITIONED BY."),
    (("SKEWED", "BY"), "Delta tables are not skewed."),
    (("ROW", "FORMAT"), "Delta tables are Parquet."),
    (("STORED", "BY"), "Delta tables are Parquet; leave it out."),
    (("DEFAULT", "COLLATION"), "Give columns a collation of their own."),
)


def parse_create_table(cursor: Cursor, mode: CreateMode) -> CreateTable | CreateTableLike | CloneTable:
    """Parses the text after TABLE."""
    if mode is CreateMode.CREATE and take_if_not_exists(cursor):
        mode = CreateMode.CREATE_IF_NOT_EXISTS
    table = CreateTable(mode=mode, table_parts=read_table(cursor))
    if cursor.take("LIKE"):
        if mode in (CreateMode.REPLACE, CreateMode.CREATE_OR_REPLACE):
            raise unsupported_statement(f"{mode} TABLE … LIKE")
        return _like(cursor, table)
    for words in (("SHALLOW", "CLONE"), ("DEEP", "CLONE"), ("CLONE",)):
        if cursor.take(*words):
            return _clone(cursor, table, shallow=words[0] == "SHALLOW")
    if cursor.words(1) == ["("] and not is_query(cursor):
        table = _read_elements(cursor, table)
    table = _read_clauses(cursor, table)
    if cursor.take("AS") or is_query(cursor):
        table = replace(table, query=parse_query(cursor))
    return table


def parse_create_external_table(cursor: Cursor) -> CreateTable | CreateTableLike | CloneTable:
    """Parses the text after EXTERNAL TABLE. A table with a location is always external; the word only requires one."""
    table = parse_create_table(cursor, CreateMode.CREATE)
    if table.location is None:
        raise UnsupportedClause(
            "CREATE EXTERNAL TABLE without LOCATION", "Give the table's folder with LOCATION, or leave EXTERNAL out."
        )
    return table


def _read_elements(cursor: Cursor, table: CreateTable) -> CreateTable:
    """Reads `(column…, [CONSTRAINT name] CHECK (e), [CONSTRAINT name] PRIMARY KEY (columns), …)`."""
    columns: list[ColumnDef] = []
    checks: list[Check] = []
    keys: list[KeyDef] = []
    cursor.read("(")
    if cursor.take(")"):
        return table
    while True:
        constraint = take_constraint(cursor) if _is_constraint(cursor) else None
        if constraint is None:
            columns.append(_read_top_column(cursor))
        elif isinstance(constraint, Check):
            checks.append(constraint)
        else:
            keys.append(constraint)
        if not cursor.take(","):
            break
    cursor.read(")")
    return replace(table, columns=tuple(columns), checks=tuple(checks), keys=tuple(keys))


def _is_constraint(cursor: Cursor) -> bool:
    """Returns True for a constraint; a column may be called `check` or `constraint`, then a type follows."""
    words = cursor.words(2)
    return words in (["CHECK", "("], ["PRIMARY", "KEY"], ["FOREIGN", "KEY"], ["UNIQUE", "("]) or (
        words[:1] == ["CONSTRAINT"] and cursor.count > 2
    )


def _read_top_column(cursor: Cursor) -> ColumnDef:
    column = read_column(cursor, may_mask=True)
    if len(column.parts) > 1 or column.position is not None:
        raise cursor.fail("the column before this may have no dots and no position")
    return column


@dataclass(slots=True)
class _Seen:
    """Clauses that were read; each may occur once."""

    clauses: set[str]

    def add(self, cursor: Cursor, clause: str) -> None:
        if clause in self.clauses:
            raise cursor.fail(f"{clause} before this is given twice")
        self.clauses.add(clause)


def _read_clauses(cursor: Cursor, table: CreateTable) -> CreateTable:
    """Reads `USING … OPTIONS … PARTITIONED BY … CLUSTER BY … WRITE … ORDERED BY … LOCATION … COMMENT … TBLPROPERTIES …
    WITH ROW FILTER`, in any order.
    """
    seen = _Seen(set())
    while not cursor.is_done:
        for words, advice in _REFUSED_CLAUSES:
            if cursor.take(*words):
                raise UnsupportedClause(" ".join(words), advice)
        if cursor.take("STORED", "AS"):
            _read_stored_as(cursor)
        elif cursor.take("USING"):
            seen.add(cursor, "USING")
            table = replace(table, provider=".".join(cursor.read_names()))
        elif cursor.take("OPTIONS"):
            seen.add(cursor, "OPTIONS")
            table = replace(table, options=read_properties(cursor))
        elif cursor.take("PARTITIONED", "BY"):
            seen.add(cursor, "PARTITIONED BY")
            table = _read_partitioning(cursor, table)
        elif cursor.take("CLUSTER", "BY"):
            seen.add(cursor, "CLUSTER BY")
            clustering = read_clustering(cursor)
            table = replace(table, cluster_by=clustering.columns, clusters_automatically=clustering.is_automatic)
        elif cursor.take("WRITE"):
            seen.add(cursor, "WRITE")
            terms, distribution = read_write_order(cursor)
            table = replace(table, sort_terms=terms, distribution=distribution)
        elif cursor.take("LOCATION"):
            seen.add(cursor, "LOCATION")
            table = replace(table, location=cursor.read_string())
        elif cursor.take("COMMENT"):
            seen.add(cursor, "COMMENT")
            table = replace(table, comment=cursor.read_string())
        elif cursor.take("WITH", "ROW", "FILTER"):
            seen.add(cursor, "WITH ROW FILTER")
            table = replace(table, row_filter=read_row_filter(cursor))
        elif cursor.take("TBLPROPERTIES"):
            seen.add(cursor, "TBLPROPERTIES")
            table = replace(table, properties=read_properties(cursor))
        else:
            break
    return _with_path(table)


def _with_path(table: CreateTable) -> CreateTable:
    """Returns the table with the option `path` as its location, as Spark treats it."""
    path = next((value for key, value in table.options if key.lower() == "path"), None)
    if path is None:
        return table
    if table.location is not None:
        raise UnsupportedClause("The option path beside LOCATION", "Give the table's folder once.")
    others = tuple((key, value) for key, value in table.options if key.lower() != "path")
    return replace(table, location=path, options=others)


def _read_stored_as(cursor: Cursor) -> None:
    """Reads Hive's file format, which must be Parquet whatever the table's format is."""
    if cursor.take_any("PARQUET", "DELTA") is None:
        raise UnsupportedClause("STORED AS", "Tables are stored as PARQUET; leave it out.")


def _read_partitioning(cursor: Cursor, table: CreateTable) -> CreateTable:
    """Reads `(a, b)`, or `(a INT, b DATE)`, which adds the columns, or transforms: `(day(at), bucket(16, id))`."""
    terms: list[PartitionTerm] = []
    columns: list[ColumnDef] = []
    cursor.read("(")
    while not terms or cursor.take(","):
        if cursor.is_last_of_list or is_term_only(cursor):
            terms.append(read_term(cursor))
        else:
            columns.append(_read_top_column(cursor))
            terms.append(PartitionTerm(column=columns[-1].parts))
    cursor.read(")")
    table = replace(table, columns=(*table.columns, *columns))
    if all(map(is_column, terms)):
        return replace(table, partitioned_by=tuple(term.column[0] for term in terms))
    return replace(table, partition_terms=tuple(terms))


def _like(cursor: Cursor, table: CreateTable) -> CreateTableLike:
    source = read_table(cursor)
    table = _read_clauses(cursor, table)
    _ensure_no_policy(table)
    if table.is_partitioned or table.cluster_by is not None or table.comment is not None or table.options:
        raise UnsupportedClause("A layout or comment in CREATE TABLE … LIKE", "They come from the other table.")
    return CreateTableLike(
        table_parts=table.table_parts,
        source_parts=source,
        if_not_exists=table.mode is CreateMode.CREATE_IF_NOT_EXISTS,
        provider=table.provider,
        location=table.location,
        properties=table.properties,
    )


def _ensure_no_policy(table: CreateTable) -> None:
    if table.row_filter is not None:
        raise UnsupportedClause("WITH ROW FILTER here", "Set it with ALTER TABLE … SET ROW FILTER.")


def _clone(cursor: Cursor, table: CreateTable, *, shallow: bool) -> CloneTable:
    source, time_travel = read_table_version(cursor)
    table = _read_clauses(cursor, table)
    if table.provider is not None and table.provider.lower() != "delta":
        raise UnsupportedClause(f"USING {table.provider} in a clone", "A clone is a Delta table; leave it out.")
    _ensure_no_policy(table)
    if table.is_partitioned or table.cluster_by is not None or table.comment is not None or table.options:
        raise UnsupportedClause("A layout or comment in a clone", "They come from the other table.")
    return CloneTable(
        mode=table.mode,
        table_parts=table.table_parts,
        source_parts=source,
        time_travel=time_travel,
        shallow=shallow,
        location=table.location,
        properties=table.properties,
    )


def parse_drop_table(cursor: Cursor) -> DropTable:
    """Parses the text after DROP TABLE: `[IF EXISTS] t [PURGE]`."""
    if_exists = take_if_exists(cursor)
    table = read_table(cursor)
    return DropTable(table_parts=table, if_exists=if_exists, purge=cursor.take("PURGE"))


_NAME_PARTS_MAX = 3


def parse_convert(cursor: Cursor) -> ConvertTable:
    """Parses the text after CONVERT TO DELTA."""
    parts = cursor.read_names()
    if len(parts) > _NAME_PARTS_MAX:
        raise TooManyNameParts(".".join(parts), _NAME_PARTS_MAX)
    path = None
    if is_file_name(parts):
        if parts[0].lower() != "parquet":
            advice = "Only Parquet files and Iceberg tables can be converted."
            raise UnsupportedClause(f"CONVERT TO DELTA {parts[0]}.`…`", advice)
        path = parts[1]
    has_statistics = not cursor.take("NO", "STATISTICS")
    partitioned_by = _read_columns_of_partitions(cursor) if cursor.take("PARTITIONED", "BY") else ()
    return ConvertTable(
        table_parts=parts if path is None else ("delta", path),
        path=path,
        has_statistics=has_statistics,
        partitioned_by=partitioned_by,
    )


def _read_columns_of_partitions(cursor: Cursor) -> tuple[ColumnDef, ...]:
    cursor.read("(")
    columns = [read_column(cursor)]
    while cursor.take(","):
        columns.append(read_column(cursor))
    cursor.read(")")
    for column in columns:
        if column.default or column.generated or column.identity or column.checks or column.position:
            raise UnsupportedClause("A rule in PARTITIONED BY", "Give names and types, NOT NULL and COMMENT alone.")
        if len(column.parts) > 1:
            raise cursor.fail("a column of PARTITIONED BY may have no dots")
    return tuple(columns)


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("CONVERT", "TO", "DELTA"): parse_convert,
        ("CREATE", "EXTERNAL", "TABLE"): parse_create_external_table,
        ("CREATE", "TABLE"): partial(parse_create_table, mode=CreateMode.CREATE),
        ("CREATE", "OR", "REPLACE", "TABLE"): partial(parse_create_table, mode=CreateMode.CREATE_OR_REPLACE),
        ("REPLACE", "TABLE"): partial(parse_create_table, mode=CreateMode.REPLACE),
        ("DROP", "TABLE"): parse_drop_table,
    }
)


_VERSION_WORDS = (("VERSION", "AS", "OF"), ("SYSTEM_VERSION", "AS", "OF"))
_TIMESTAMP_WORDS = (("TIMESTAMP", "AS", "OF"), ("SYSTEM_TIME", "AS", "OF"))
_VERSION = re.compile(r"[0-9]{1,18}")
_SUFFIX = re.compile(r"[vV]([0-9]{1,18})|([0-9]{17})")


def read_table_version(cursor: Cursor) -> tuple[tuple[str, ...], TimeTravel | None]:
    """Reads a table, and its version or time in one of three spellings."""
    parts, suffix = split_path_suffix(read_table(cursor))
    if cursor.take("@"):
        suffix = _read_suffix(cursor)
    clause = take_time_travel(cursor)
    if suffix is not None and clause is not None:
        raise SeveralTimeTravels(".".join(parts))
    return parts, suffix or clause


def take_time_travel(cursor: Cursor) -> TimeTravel | None:
    """Reads `[FOR] VERSION|SYSTEM_VERSION AS OF n`, `[FOR] TIMESTAMP|SYSTEM_TIME AS OF e`."""
    for words in _VERSION_WORDS:
        if cursor.take(*words) or cursor.take("FOR", *words):
            text = cursor.take_string()
            version = text if text is not None else cursor.read_any()
            if not _VERSION.fullmatch(version):
                raise InvalidTimeTravel(version)
            return AsOfVersion(int(version))
    for words in _TIMESTAMP_WORDS:
        if cursor.take(*words) or cursor.take("FOR", *words):
            return AsOfTimestamp(cursor.read_text(("TBLPROPERTIES",), ("LOCATION",), ("USING",)))
    return None


def _read_suffix(cursor: Cursor) -> TimeTravel:
    text = cursor.read_any()
    found = _SUFFIX.fullmatch(text)
    if found is None:
        raise InvalidTimeTravel(f"@{text}")
    version, time = found.groups()
    return AsOfVersion(int(version)) if version else parse_timestamp_suffix(time)
