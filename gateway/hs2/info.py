"""GetInfo: server properties that drivers request first. One table, with a value for every type.

The types are ODBC's SQLGetInfo. `CLI_DBMS_NAME` is "Spark SQL" and `CLI_DBMS_VER` Spark's own version, because tools
choose their SQL dialect by them and the dialect is Spark's; the version must start with two numbers for JDBC's
getDatabaseMajorVersion. `CLI_SERVER_NAME` names the actual server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from catalog.conditions import InfoTypeUnknown
from gateway.hs2.gen.ttypes import TGetInfoType, TGetInfoValue

SERVER_NAME = "delta-gateway"
DBMS_NAME = "Spark SQL"
NAME_LENGTH_MAX = 255
_IDENTIFIER_IS_CASE_INSENSITIVE = 4  # SQL_IC_MIXED
_NULLS_FIRST = 1  # SQL_NC_LOW: null sorts before all values
_ALL_OUTER_JOINS = 0x7F
_KEYWORDS = "ANTI,ARCHIVE,CLUSTER,DISTRIBUTE,LATERAL,MINUS,OPTIMIZE,OVERWRITE,PIVOT,RLIKE,SEMI,TABLESAMPLE,VACUUM"

_Info = TGetInfoType
_Answer = Callable[[str], TGetInfoValue]


def _text(value: str) -> _Answer:
    return lambda _: TGetInfoValue(stringValue=value)


def _number(value: int) -> _Answer:
    return lambda _: TGetInfoValue(smallIntValue=value)


def _length(value: int) -> _Answer:
    return lambda _: TGetInfoValue(lenValue=value)


def _bits(value: int) -> _Answer:
    return lambda _: TGetInfoValue(integerBitmask=value)


_YES = _text("Y")
_NO = _text("N")
_NO_LIMIT = _number(0)

_ANSWERS: Mapping[int, _Answer] = {
    _Info.CLI_MAX_DRIVER_CONNECTIONS: _NO_LIMIT,
    _Info.CLI_MAX_CONCURRENT_ACTIVITIES: _NO_LIMIT,
    _Info.CLI_DATA_SOURCE_NAME: _text(SERVER_NAME),
    _Info.CLI_FETCH_DIRECTION: _bits(0x1 | 0x2),  # SQL_FD_FETCH_NEXT, SQL_FD_FETCH_FIRST
    _Info.CLI_SERVER_NAME: _text(SERVER_NAME),
    _Info.CLI_SEARCH_PATTERN_ESCAPE: _text("\\"),
    _Info.CLI_DBMS_NAME: _text(DBMS_NAME),
    _Info.CLI_DBMS_VER: _text(version("pyspark")),
    _Info.CLI_ACCESSIBLE_TABLES: _NO,
    _Info.CLI_ACCESSIBLE_PROCEDURES: _NO,
    _Info.CLI_CURSOR_COMMIT_BEHAVIOR: _number(2),  # SQL_CB_PRESERVE
    _Info.CLI_DATA_SOURCE_READ_ONLY: _NO,
    _Info.CLI_DEFAULT_TXN_ISOLATION: _bits(0x8),  # SQL_TXN_SERIALIZABLE
    _Info.CLI_IDENTIFIER_CASE: _number(_IDENTIFIER_IS_CASE_INSENSITIVE),
    _Info.CLI_IDENTIFIER_QUOTE_CHAR: _text("`"),
    _Info.CLI_MAX_COLUMN_NAME_LEN: _number(NAME_LENGTH_MAX),
    _Info.CLI_MAX_CURSOR_NAME_LEN: _NO_LIMIT,
    _Info.CLI_MAX_SCHEMA_NAME_LEN: _number(NAME_LENGTH_MAX),
    _Info.CLI_MAX_CATALOG_NAME_LEN: _number(NAME_LENGTH_MAX),
    _Info.CLI_MAX_TABLE_NAME_LEN: _number(NAME_LENGTH_MAX),
    _Info.CLI_SCROLL_CONCURRENCY: _bits(0x1),  # SQL_SCCO_READ_ONLY
    _Info.CLI_TXN_CAPABLE: _number(0),  # SQL_TC_NONE
    _Info.CLI_USER_NAME: lambda principal: TGetInfoValue(stringValue=principal),
    _Info.CLI_TXN_ISOLATION_OPTION: _bits(0x8),
    _Info.CLI_INTEGRITY: _NO,
    _Info.CLI_GETDATA_EXTENSIONS: _bits(0x1 | 0x2),  # SQL_GD_ANY_COLUMN, SQL_GD_ANY_ORDER
    _Info.CLI_NULL_COLLATION: _number(_NULLS_FIRST),
    _Info.CLI_ALTER_TABLE: _bits(0x1 | 0x2),  # SQL_AT_ADD_COLUMN, SQL_AT_DROP_COLUMN
    _Info.CLI_ORDER_BY_COLUMNS_IN_SELECT: _NO,
    _Info.CLI_SPECIAL_CHARACTERS: _text(""),
    _Info.CLI_MAX_COLUMNS_IN_GROUP_BY: _NO_LIMIT,
    _Info.CLI_MAX_COLUMNS_IN_INDEX: _NO_LIMIT,
    _Info.CLI_MAX_COLUMNS_IN_ORDER_BY: _NO_LIMIT,
    _Info.CLI_MAX_COLUMNS_IN_SELECT: _NO_LIMIT,
    _Info.CLI_MAX_COLUMNS_IN_TABLE: _NO_LIMIT,
    _Info.CLI_MAX_INDEX_SIZE: _length(0),
    _Info.CLI_MAX_ROW_SIZE: _length(0),
    _Info.CLI_MAX_STATEMENT_LEN: _length(0),
    _Info.CLI_MAX_TABLES_IN_SELECT: _NO_LIMIT,
    _Info.CLI_MAX_USER_NAME_LEN: _NO_LIMIT,
    _Info.CLI_OJ_CAPABILITIES: _bits(_ALL_OUTER_JOINS),
    _Info.CLI_XOPEN_CLI_YEAR: _text("1995"),
    _Info.CLI_CURSOR_SENSITIVITY: _bits(1),  # SQL_INSENSITIVE
    _Info.CLI_DESCRIBE_PARAMETER: _NO,
    _Info.CLI_CATALOG_NAME: _YES,
    _Info.CLI_COLLATION_SEQ: _text("UTF8_BINARY"),
    _Info.CLI_MAX_IDENTIFIER_LEN: _number(NAME_LENGTH_MAX),
    _Info.CLI_ODBC_KEYWORDS: _text(_KEYWORDS),
}


def info_value(info_type: int, principal: str) -> TGetInfoValue:
    """Returns one type's value; raises :class:`InfoTypeUnknown` for an undefined number."""
    answer = _ANSWERS.get(info_type)
    if answer is None:
        raise InfoTypeUnknown(info_type)
    return answer(principal)


def info_values(info_types: Sequence[int], principal: str) -> list[TGetInfoValue]:
    """Returns the values that a client requests with its session; an empty text for an undefined number."""
    nothing = _text("")
    return [_ANSWERS.get(info_type, nothing)(principal) for info_type in info_types]
