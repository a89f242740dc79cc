"""Names of catalogs, schemas and tables, and the patterns that select them. Pure.

Names are case-insensitive and keep their spelling: two names are equal when their folded parts are, and both hash by
them, so they key a dictionary directly. Folding is `str.lower`, as Spark folds. The default catalog is
:data:`DEFAULT_CATALOG`; clients of Databricks say `hive_metastore` for it, which is taken as the same name everywhere.

Parts arrive as tuples, already unquoted by the parser: dots inside a part mean nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

from catalog.conditions import InvalidName, TooManyNameParts

DEFAULT_CATALOG = "spark_catalog"
DEFAULT_SCHEMA = "default"
DELTA, ICEBERG = "delta", "iceberg"
"""Formats of tables that are recognised in folders."""

PATH_SCHEMA = DELTA
NAME_BYTES_MAX = 255
"""The limit of a folder's name on most file systems, in UTF-8."""

_RESERVED = frozenset({"_delta_log", "_delta_index", "_change_data"})
"""Folders that mean something inside of a table."""

_CATALOG_ALIASES = {"hive_metastore": DEFAULT_CATALOG}
_MATCHES_ALL = frozenset({"", "%", "*", ".*"})

Matcher = Callable[[str], bool]


def fold(part: str) -> str:
    """The form in which names are compared."""
    return part.lower()


def quote(part: str) -> str:
    """`part` in backticks."""
    return "`" + part.replace("`", "``") + "`"


def ensure_valid_part(part: str) -> None:
    """Raise InvalidName for a part that no object may have.

    A name is also a folder's name, and a slash tells a path from a name (:func:`path_of`). A leading dot hides a folder
    from discovery, and the catalog's own files lie in such a one; names with a leading underscore are hidden as well,
    but tools use them, and a table that a statement made is found by its record.
    """
    if (
        not part
        or part.startswith(".")
        or len(part) > NAME_BYTES_MAX
        or any(separator in part for separator in "/\\")
        or not part.isprintable()
        or fold(part) in _RESERVED
    ):
        raise InvalidName(part)


def ensure_new_part(part: str) -> None:
    """As :func:`ensure_valid_part`, for a new object: the name fits into a folder's, and still does once it is decoded.

    Here a percent sign is a percent sign, but a store or a reader below may take it for an escape.
    """
    ensure_valid_part(part)
    try:
        ensure_valid_part(unquote(part))
    except InvalidName:
        raise InvalidName(part) from None
    if len(part.encode()) > NAME_BYTES_MAX:
        raise InvalidName(part)


@dataclass(frozen=True, slots=True)
class CatalogName:
    """A catalog; an alias becomes the name that it means."""

    catalog: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", _CATALOG_ALIASES.get(fold(self.catalog), self.catalog))
        object.__setattr__(self, "key", _key(self.parts))

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.catalog,)

    def __str__(self) -> str:
        return quote(self.catalog)


@dataclass(frozen=True, slots=True)
class SchemaName:
    """`catalog.schema`."""

    catalog: str = field(compare=False)
    schema: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", CatalogName(self.catalog).catalog)
        object.__setattr__(self, "key", _key(self.parts))

    @classmethod
    def from_parts(cls, parts: tuple[str, ...], current_catalog: str) -> SchemaName:
        """One part is in the current catalog; raises TooManyNameParts for more than two."""
        match parts:
            case (schema,):
                return cls(current_catalog, schema)
            case (catalog, schema):
                return cls(catalog, schema)
            case _:  # a text may have any number of parts
                raise TooManyNameParts(_dotted(parts), 2)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.catalog, self.schema)

    @property
    def catalog_name(self) -> CatalogName:
        return CatalogName(self.catalog)

    def __str__(self) -> str:
        return _dotted(self.parts)


@dataclass(frozen=True, slots=True)
class TableName:
    """`catalog.schema.table`: a table or a view."""

    catalog: str = field(compare=False)
    schema: str = field(compare=False)
    table: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", CatalogName(self.catalog).catalog)
        object.__setattr__(self, "key", _key(self.parts))

    @classmethod
    def from_parts(cls, parts: tuple[str, ...], current: SchemaName) -> TableName:
        """One part is in the current schema, two in the current catalog; raises TooManyNameParts for more than 3."""
        match parts:
            case (table,):
                return cls(current.catalog, current.schema, table)
            case (schema, table):
                return cls(current.catalog, schema, table)
            case (catalog, schema, table):
                return cls(catalog, schema, table)
            case _:  # a text may have any number of parts
                raise TooManyNameParts(_dotted(parts), 3)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.catalog, self.schema, self.table)

    @property
    def schema_name(self) -> SchemaName:
        return SchemaName(self.catalog, self.schema)

    def __str__(self) -> str:
        return _dotted(self.parts)


def path_of(parts: tuple[str, ...]) -> str | None:
    """The path in ``delta.`/path` `` or ``iceberg.`/path` ``, or None where `parts` are the name of a table.

    No name holds a slash and every path does, so a schema called `delta` keeps its tables.
    """
    if len(parts) == 2 and fold(parts[0]) in (DELTA, ICEBERG) and "/" in parts[1]:
        return parts[1]
    return None


def path_format(parts: tuple[str, ...]) -> str:
    """The format that a name says which `path_of` takes for a path."""
    return fold(parts[0])


def matches_all(name: str) -> bool:
    """The matcher of no pattern."""
    return True


def like_matcher(pattern: str | None) -> Matcher:
    """The pattern of `SHOW … LIKE`: `*` is any text, `|` separates alternatives, case is ignored; None matches all."""
    if pattern is None:
        return matches_all
    branches = (".*".join(re.escape(piece) for piece in branch.strip().split("*")) for branch in pattern.split("|"))
    return _matcher("|".join(f"(?:{branch})" for branch in branches))


def jdbc_matcher(pattern: str | None) -> Matcher:
    r"""The pattern of a metadata call: `%` is any text, `_` one character, a backslash takes the next one literally.

    None and an empty pattern match all, and so do `*` and `.*`, which some clients send; case is ignored.
    """
    if pattern is None or pattern in _MATCHES_ALL:
        return matches_all
    wild = {"%": ".*", "_": "."}
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    return _matcher("".join(wild.get(token) or re.escape(token[-1]) for token in tokens))


def any_matcher(pattern: str | None) -> Matcher:
    """For statements in which clients send both kinds: with a `%` it is a metadata call's pattern, else SHOW's."""
    return jdbc_matcher(pattern) if pattern and "%" in pattern else like_matcher(pattern)


def _matcher(regex: str) -> Matcher:
    compiled = re.compile(regex, re.IGNORECASE | re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


def _key(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(fold(part) for part in parts)


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(quote(part) for part in parts)
