"""The statements that are no queries: SHOW, DESCRIBE, USE, EXPLAIN, read word by word with a cursor.

Each function begins after the first word of its statement and leaves nothing over. Grammar: Spark's, Delta's `DESCRIBE
HISTORY|DETAIL`, and what Databricks' clients send beyond it (`USE CATALOG`, `SHOW … IN ALL CATALOGS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from engine.sql.ddl.function_calls import read_function
from engine.sql.ddl.right_ddl import show_grants, show_groups, show_locations, show_users
from engine.sql.ddl.tag_ddl import parse_describe_policy, show_policies
from engine.sql.ddl.writes import parse_explained
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_HEADS
from engine.sql.dialect.errors import ShowColumnsConflict, UnsupportedClause, UnsupportedStatement
from engine.sql.dialect.refusals import WORDS_MAX, refused_kind
from engine.sql.dialect.suggestions import hint
from engine.sql.foreign import show_indexes, show_locks
from engine.sql.query.bodies import is_known_function
from engine.sql.query.names import read_catalog, read_schema, read_table, read_table_or_path
from engine.sql.query.query import is_query, parse_query
from engine.statements.explains import ExplainWrite
from engine.statements.foreign import Absent, ShowAbsent
from engine.statements.functions import DescribeFunction
from engine.statements.queries import DescribeQuery, Explain, ExplainMode
from engine.statements.rights import ShowTokens
from engine.statements.session import UseCatalog, UseSchema
from engine.statements.shows import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
    FindColumns,
    FindFunctions,
    FindKeys,
    FindSchemas,
    FindTables,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from engine.statements.statement import Statement
from engine.statements.volumes import DescribeVolume, ShowVolumes

_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
_NO_QUERIES = frozenset({"ANALYZE", "DESC", "DESCRIBE", "EXPLAIN", "RESET", "SET", "SHOW", "USE"})
_OTHER_SHOWS = tuple(
    (word,)
    for word in (
        *(
            "CACHED",
            "CATALOG",
            "COLLATION",
            "COLLATIONS",
            "CONNECTIONS",
            "CONF",
            "CREATE",
            "CREDENTIALS",
            "CURRENT",
            "EXTERNAL",
        ),
        *("IDENTIFIER", "INDEX", "INDEXES", "MATERIALIZED", "PRINCIPALS", "PROCEDURES"),
        *("PROVIDERS", "RECIPIENTS", "ROLE", "SHARES", "STORAGE", "TABLE"),
    )
)
_SCHEMA_WORDS = ("SCHEMA", "DATABASE", "NAMESPACE")


def parse_explain(cursor: Cursor) -> Explain | ExplainWrite:
    """`EXPLAIN [EXTENDED|CODEGEN|COST|FORMATTED] query | INSERT … | DELETE … | UPDATE … | MERGE …`"""
    mode = ExplainMode.SIMPLE
    word = cursor.take_any(*_MODES)
    if word is not None:
        mode = ExplainMode(word.lower())
    inner = parse_explained(cursor)
    if inner is not None:
        return ExplainWrite(mode=mode, inner=inner)
    if not is_query(cursor):
        first = next(iter(cursor.words(1)), "")
        kind = refused_kind(cursor.words(WORDS_MAX)) or (first if first in _NO_QUERIES else None)
        if kind is None:
            raise cursor.fail(f"a query is expected after EXPLAIN{hint(first, sorted(QUERY_HEADS | set(_MODES)))}")
        raise UnsupportedStatement(f"EXPLAIN {kind}")
    return Explain(mode=mode, inner=parse_query(cursor))


def parse_use(cursor: Cursor) -> UseSchema | UseCatalog:
    """`USE [CATALOG|SCHEMA|DATABASE|NAMESPACE] name`"""
    word = next(iter(cursor.words(1)), "")
    if word in ("CATALOG", *_SCHEMA_WORDS):
        cursor.take(word)
        if cursor.is_done:
            return UseSchema(parts=(word.lower(),))
        if word == "CATALOG":
            return UseCatalog(catalog=read_catalog(cursor))
        return UseSchema(parts=read_schema(cursor), schema_only=True)
    return UseSchema(parts=read_schema(cursor))


def parse_set_catalog(cursor: Cursor) -> UseCatalog:
    """What follows `SET CATALOG`: a name, or a string."""
    return UseCatalog(catalog=read_catalog(cursor))


def parse_describe(cursor: Cursor) -> Statement:
    """`DESCRIBE` of a table, a column, a schema, a query, a table's history or its details."""
    if cursor.words(1)[:1] != ["TABLE"] and is_query(cursor):
        return DescribeQuery(inner=parse_query(cursor))
    if _is_word_with_name(cursor, "QUERY"):
        cursor.read("QUERY")
        return DescribeQuery(inner=parse_query(cursor))
    if _is_word_with_name(cursor, "HISTORY"):
        cursor.read("HISTORY")
        parts = read_table_or_path(cursor)
        limit = _read_limit(cursor) if cursor.take("LIMIT") else None
        return DescribeHistory(table_parts=parts, limit=limit)
    if _is_word_with_name(cursor, "DETAIL"):
        cursor.read("DETAIL")
        return DescribeDetail(table_parts=read_table_or_path(cursor))
    if _is_word_with_name(cursor, "CATALOG"):
        cursor.read("CATALOG")
        extended = _take_before_name(cursor, "EXTENDED")
        return DescribeCatalog(catalog=read_catalog(cursor), extended=extended)
    for word in _SCHEMA_WORDS:
        if _is_word_with_name(cursor, word):
            cursor.read(word)
            extended = _take_before_name(cursor, "EXTENDED")
            return DescribeSchema(schema_parts=read_schema(cursor), extended=extended)
    if _is_word_with_name(cursor, "FUNCTION"):
        cursor.read("FUNCTION")
        extended = _take_before_name(cursor, "EXTENDED")
        function = read_function(cursor)
        if len(function) == 1 and is_known_function(function[0]):
            raise UnsupportedStatement("DESCRIBE FUNCTION of a function of Spark's")
        return DescribeFunction(function_parts=function, extended=extended)
    if _is_word_with_name(cursor, "VOLUME"):
        cursor.read("VOLUME")
        return DescribeVolume(volume_parts=read_table(cursor))
    if cursor.words(1) == ["POLICY"] and cursor.words(3)[2:] == ["ON"]:
        cursor.read("POLICY")
        return parse_describe_policy(cursor)
    if _is_word_with_name(cursor, "PROCEDURE"):
        raise UnsupportedStatement("DESCRIBE PROCEDURE")
    return _describe_table(cursor)


def parse_show(cursor: Cursor) -> Statement:
    """`SHOW …`, by the table of its kinds."""
    for words, parse in _SHOWS.items():
        if cursor.take(*words):
            return parse(cursor)
    word = next(iter(cursor.words(1)), "")
    if (word,) in _OTHER_SHOWS:
        raise UnsupportedStatement(f"SHOW {word}")
    if not word.isalpha():
        raise cursor.fail("what to show is expected")
    raise cursor.fail_among((*_SHOWS, *_OTHER_SHOWS))


def _describe_table(cursor: Cursor) -> DescribeTable:
    _take_before_name(cursor, "TABLE")
    extended = _take_before_name(cursor, "EXTENDED") or _take_before_name(cursor, "FORMATTED")
    parts = read_table(cursor)
    if cursor.words(2) == ["PARTITION", "("]:
        raise UnsupportedStatement("DESCRIBE TABLE … PARTITION")
    column = cursor.read_names() if cursor.is_name() and cursor.words(2) != ["AS", "JSON"] else ()
    as_json = cursor.take("AS", "JSON")
    if as_json and (column or not extended):
        raise UnsupportedClause("AS JSON without EXTENDED, or of a column", "Write DESCRIBE TABLE EXTENDED t AS JSON.")
    return DescribeTable(table_parts=parts, extended=extended, column_parts=column, as_json=as_json)


def _show_schemas(cursor: Cursor) -> ShowSchemas | FindSchemas:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindSchemas(catalog=catalog, pattern=_take_pattern(cursor))
    catalog = read_catalog(cursor) if cursor.take_any("FROM", "IN") else None
    return ShowSchemas(catalog=catalog, pattern=_take_pattern(cursor))


def _show_tables(cursor: Cursor) -> ShowTables | FindTables:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindTables(
            catalog=catalog,
            schema_pattern=_take_named_pattern(cursor, "SCHEMA"),
            table_pattern=_take_named_pattern(cursor, "TABLE") or _take_pattern(cursor),
        )
    statement = ShowTables(schema_parts=_take_schema(cursor), pattern=_take_pattern(cursor))
    _refuse_json(cursor)
    return statement


def _show_table_extended(cursor: Cursor) -> ShowTableExtended:
    schema = _take_schema(cursor)
    cursor.read("LIKE")
    pattern = cursor.read_string()
    if cursor.take("PARTITION"):
        raise UnsupportedStatement("SHOW TABLE EXTENDED … PARTITION")
    _refuse_json(cursor)
    return ShowTableExtended(schema_parts=schema, pattern=pattern)


def _refuse_json(cursor: Cursor) -> None:
    if cursor.take("AS", "JSON"):
        raise UnsupportedStatement("SHOW TABLES … AS JSON")


def _show_views(cursor: Cursor) -> ShowViews:
    return ShowViews(schema_parts=_take_schema(cursor), pattern=_take_pattern(cursor))


def _show_volumes(cursor: Cursor) -> ShowVolumes:
    return ShowVolumes(schema_parts=_take_schema(cursor), pattern=_take_pattern(cursor))


def _show_columns(cursor: Cursor) -> ShowColumns | FindColumns:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindColumns(
            catalog=catalog,
            schema_pattern=_take_named_pattern(cursor, "SCHEMA"),
            table_pattern=_take_named_pattern(cursor, "TABLE"),
            column_pattern=cursor.read_string() if cursor.take("LIKE") else None,
        )
    if not cursor.take_any("FROM", "IN"):
        raise cursor.fail("FROM or IN is expected after SHOW COLUMNS")
    table = read_table(cursor)
    if cursor.take_any("FROM", "IN"):
        schema = read_schema(cursor)
        written = [part.lower() for part in table[:-1]]
        if written and written != [part.lower() for part in schema[-len(written) :]]:
            raise ShowColumnsConflict(".".join(table), ".".join(schema))
        table = (*schema, table[-1])
    return ShowColumns(table_parts=table)


def _show_functions(cursor: Cursor, *, builtin: bool = True, user: bool = True) -> ShowFunctions | FindFunctions:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        schemas = _take_named_pattern(cursor, "SCHEMA")
        return FindFunctions(catalog=catalog, schema_pattern=schemas, pattern=_take_pattern(cursor))
    schema = _take_schema(cursor)
    pattern = _take_pattern(cursor)
    if pattern is None and cursor.is_name():
        pattern = cursor.read_names()[-1]
    return ShowFunctions(schema_parts=schema, pattern=pattern, builtin=builtin, user=user)


def _show_keys(cursor: Cursor) -> FindKeys:
    """`{IN | FROM} t`, or Databricks' `IN CATALOG c IN SCHEMA s IN TABLE t`."""
    if not cursor.take("FROM"):
        cursor.read("IN")
    ahead = cursor.copy()
    if not (ahead.take("CATALOG") and ahead.is_name()):  # a table may have that name
        cursor.take("TABLE")
        return FindKeys(table_parts=read_table(cursor))
    cursor.read("CATALOG")
    catalog = read_catalog(cursor)
    cursor.read("IN", "SCHEMA")
    schema = cursor.read_name()
    cursor.read("IN", "TABLE")
    return FindKeys(table_parts=(catalog, schema, cursor.read_name()))


def _show_tblproperties(cursor: Cursor) -> ShowTblProperties:
    table = read_table(cursor)
    key = None
    if cursor.take("("):
        key = cursor.take_string() or ".".join(cursor.read_names())
        cursor.read(")")
    return ShowTblProperties(table_parts=table, key=key)


def _show_partitions(cursor: Cursor) -> ShowPartitions:
    table = read_table(cursor)
    spec: list[tuple[str, str | None]] = []
    if cursor.take("PARTITION"):
        cursor.read("(")
        while not spec or cursor.take(","):
            column = cursor.read_name()
            cursor.read("=")
            spec.append((column, _read_partition_value(cursor)))
        cursor.read(")")
    return ShowPartitions(table_parts=table, spec=tuple(spec))


def _read_partition_value(cursor: Cursor) -> str | None:
    if cursor.take("NULL"):
        return None
    sign = "-" if cursor.take("-") else ""
    value = cursor.take_number_text() if sign else cursor.take_string() or cursor.take_number_text()
    value = value or cursor.take_any("TRUE", "FALSE")
    if value is None:
        raise cursor.fail("a value (a string, a number, true, false or NULL) is expected")
    return sign + value


def _show_create_table(cursor: Cursor) -> ShowCreateTable:
    table = read_table(cursor)
    if cursor.take("AS", "SERDE"):
        raise UnsupportedStatement("SHOW CREATE TABLE … AS SERDE")
    return ShowCreateTable(table_parts=table)


_SHOWS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("CATALOGS",): lambda cursor: ShowCatalogs(pattern=_take_pattern(cursor)),
        ("SCHEMAS",): _show_schemas,
        ("DATABASES",): _show_schemas,
        ("NAMESPACES",): _show_schemas,
        ("TABLES",): _show_tables,
        ("TABLE", "EXTENDED"): _show_table_extended,
        ("VIEWS",): _show_views,
        ("VOLUMES",): _show_volumes,
        ("COLUMNS",): _show_columns,
        ("FUNCTIONS",): _show_functions,
        ("ALL", "FUNCTIONS"): _show_functions,
        ("USER", "FUNCTIONS"): lambda cursor: _show_functions(cursor, builtin=False),
        ("SYSTEM", "FUNCTIONS"): lambda cursor: _show_functions(cursor, user=False),
        ("CURRENT", "NAMESPACE"): lambda _: ShowCurrentNamespace(),
        ("TBLPROPERTIES",): _show_tblproperties,
        ("PARTITIONS",): _show_partitions,
        ("CREATE", "TABLE"): _show_create_table,
        ("KEYS",): _show_keys,
        ("PRIMARY", "KEYS"): _show_keys,
        ("FOREIGN", "KEYS"): lambda cursor: replace(_show_keys(cursor), foreign=True),
        ("LOCKS",): show_locks,
        ("TRANSACTIONS",): lambda _: ShowAbsent(kind=Absent.TRANSACTIONS),
        ("COMPACTIONS",): lambda _: ShowAbsent(kind=Absent.COMPACTIONS),
        ("INDEX",): show_indexes,
        ("INDEXES",): show_indexes,
        ("FORMATTED", "INDEX"): show_indexes,
        ("FORMATTED", "INDEXES"): show_indexes,
        ("CURRENT", "ROLES"): lambda _: ShowAbsent(kind=Absent.ROLES),
        ("ROLES",): lambda _: ShowAbsent(kind=Absent.ROLES),
        ("GRANT",): show_grants,
        ("GRANTS",): show_grants,
        ("GROUPS",): show_groups,
        ("USERS",): show_users,
        ("TOKENS",): lambda _: ShowTokens(),
        ("EXTERNAL", "LOCATIONS"): show_locations,
        ("POLICIES",): partial(show_policies, effective=False),
        ("EFFECTIVE", "POLICIES"): partial(show_policies, effective=True),
    }
)


def _is_word_with_name(cursor: Cursor, word: str) -> bool:
    """Whether `word` is here as a keyword, so followed by something; alone, or before a dot, it is a name."""
    words = cursor.words(2)
    return words[:1] == [word] and cursor.count > 1 and words[1:] != ["."]


def _take_before_name(cursor: Cursor, word: str) -> bool:
    return _is_word_with_name(cursor, word) and cursor.take(word)


def _read_limit(cursor: Cursor) -> int:
    limit = cursor.take_number()
    if limit is None:
        raise cursor.fail("a whole number is expected after LIMIT")
    return limit


def _take_schema(cursor: Cursor) -> tuple[str, ...]:
    """`FROM|IN schema`, or () for the current one."""
    return read_schema(cursor) if cursor.take_any("FROM", "IN") else ()


def _take_catalogs(cursor: Cursor) -> tuple[bool, str | None]:
    """`IN ALL CATALOGS` (True, None), `IN CATALOG c` (True, c), or neither (False, None)."""
    for word in ("IN", "FROM"):
        if cursor.take(word, "ALL", "CATALOGS"):
            return True, None
        if cursor.words(2) == [word, "CATALOG"] and cursor.count > 2 and cursor.words(3)[2:] not in (["."], ["LIKE"]):
            cursor.read(word, "CATALOG")
            return True, read_catalog(cursor)
    return False, None


def _take_pattern(cursor: Cursor) -> str | None:
    """`[LIKE] 'pattern'`"""
    return cursor.read_string() if cursor.take("LIKE") else cursor.take_string()


def _take_named_pattern(cursor: Cursor, word: str) -> str | None:
    """`SCHEMA LIKE 'pattern'`"""
    return cursor.read_string() if cursor.take(word, "LIKE") else None
