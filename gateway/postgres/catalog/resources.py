"""Facts about PostgreSQL's own catalog: the columns of its relations, its types, and its functions.

`relations.tsv` has name, oid, kind and columns of each relation; `!` follows the type of a column without NULL.
`types.tsv` and `functions.tsv` have rows of `pg_type` and `pg_proc`. They are those of :data:`SERVER_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from engine.sql.postgres.catalog_expressions import columns_of
from engine.sql.postgres.scopes import Columns

SERVER_VERSION = "15.18"
SERVER_VERSION_NUM = "150018"


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A relation of PostgreSQL's catalog; `required` are its columns without NULL."""

    name: str
    oid: int
    kind: str
    columns: Columns
    required: frozenset[str]


@dataclass(frozen=True, slots=True)
class BaseType:
    """A row of `pg_type`; `display` is its name in SQL."""

    oid: int
    name: str
    row: Mapping[str, str]
    display: str


def _rows(file: str) -> list[list[str]]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


@cache
def system_relations() -> Mapping[str, SystemRelation]:
    """Returns the relations by `schema.name`."""
    found = {}
    for name, oid, kind, columns in _rows("relations.tsv"):
        required = frozenset(word.partition(":")[0] for word in columns.split() if word.endswith("!"))
        found[name] = SystemRelation(name, int(oid), kind, columns_of(columns), required)
    return found


_TYPE_COLUMNS = (
    "oid typname typlen typbyval typtype typcategory typispreferred typdelim typelem typarray typinput typoutput "
    "typreceive typsend typmodin typmodout typsubscript typalign typstorage typcollation typbasetype nspname display "
    "typnotnull typtypmod"
).split()


@cache
def base_types() -> Mapping[str, BaseType]:
    """Returns the types by name."""
    found = {}
    for cells in _rows("types.tsv"):
        row = dict(zip(_TYPE_COLUMNS, cells, strict=True))
        found[row["typname"]] = BaseType(int(row["oid"]), row["typname"], row, row["display"])
    return found


_FUNCTION_COLUMNS = (
    "oid proname prokind pronargs prorettype proretset proargtypes provolatile proisstrict prolang".split()
)


@cache
def base_functions() -> list[dict[str, str]]:
    """Returns rows of `pg_proc`."""
    return [dict(zip(_FUNCTION_COLUMNS, cells, strict=True)) for cells in _rows("functions.tsv")]


def type_oid(name: str) -> int:
    """Returns the oid of a type; that of text for a type that is not offered."""
    known = base_types()
    return known[name].oid if name in known else known["text"].oid


KEYWORDS = tuple(
    "all analyze and any array as asc between both by case cast check collate column constraint create cross "
    "current_date current_time current_timestamp current_user default delete desc describe distinct drop else end "
    "except exists false fetch filter following for foreign from full grant group having in inner insert intersect "
    "interval into is join lateral left like limit merge natural not null nulls offset on or order outer over "
    "partition preceding primary range references revoke right row rows select session_user set show some table "
    "then to trailing true truncate unbounded union unique update user using values view when where window with".split()
)
