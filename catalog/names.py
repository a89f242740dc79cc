"""Catalog, schema and table names, and the patterns that select them. Pure.

Names are case-insensitive and keep their spelling. Equality and hash use the folded parts, so names can be dictionary
keys. Folding is `str.lower`, as in Spark. The default catalog is :data:`DEFAULT_CATALOG`; Databricks' clients call it
`hive_metastore`, which is accepted as an alias everywhere.

Parts arrive as tuples, already unquoted by the parser: a dot inside a part has no meaning here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

from catalog.conditions import InvalidName, TooManyNameParts

DEFAULT_CATALOG = "spark_catalog"
DEFAULT_SCHEMA = "default"
# Table formats that discovery recognizes in folders.
DELTA, ICEBERG = "delta", "iceberg"

PATH_SCHEMA = DELTA
# Maximum length for a folder name on most file systems, in UTF-8 bytes.
NAME_BYTES_MAX = 255

# Folder names with a meaning inside a table.
_RESERVED = frozenset({"_delta_log", "_delta_index", "_change_data"})

_CATALOG_ALIASES = {"hive_metastore": DEFAULT_CATALOG}
_MATCHES_ALL = frozenset({"", "%", "*", ".*"})

Matcher = Callable[[str], bool]


def fold(part: str) -> str:
    """Returns the form in which names are compared."""
    return part.lower()


def quote(part: str) -> str:
    """Returns `part` in backticks."""
    return "`" + part.replace("`", "``") + "`"


def ensure_valid_part(part: str) -> None:
    """Raises InvalidName for a part that no object may have.

    A name is also a folder name, and a slash distinguishes a path from a name (:func:`path_of`). A leading dot hides a
    folder from discovery, and the catalog's own files are in one with a leading dot. Names with a leading underscore
    are hidden as well, but tools use them, and a table that a statement created is found by its entry.
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
    """Checks a part as :func:`ensure_valid_part` does, for a new object: it also fits a folder name, even once it is
    decoded.

    A percent sign is literal here, but a store or a reader may treat it as an escape.
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
    """A catalog name; an alias is replaced by the actual name."""

    catalog: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", _CATALOG_ALIASES.get(fold(self.catalog), self.catalog))
        object.__setattr__(self, "key", _key(self.parts))

    @property
    def parts(self) -> tuple[str, ...]:
        """Returns the catalog as the only name part, as written."""
        return (self.catalog,)

    def __str__(self) -> str:
        return quote(self.catalog)


@dataclass(frozen=True, slots=True)
class SchemaName:
    """A schema name, `catalog.schema`."""

    catalog: str = field(compare=False)
    schema: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", CatalogName(self.catalog).catalog)
        object.__setattr__(self, "key", _key(self.parts))

    @classmethod
    def from_parts(cls, parts: tuple[str, ...], current_catalog: str) -> SchemaName:
        """Builds a name from one or two parts; one part is in the current catalog. Raises TooManyNameParts for more
        than two.
        """
        match parts:
            case (schema,):
                return cls(current_catalog, schema)
            case (catalog, schema):
                return cls(catalog, schema)
            case _:  # a client's text may have any number of parts
                raise TooManyNameParts(_dotted_name(parts), 2)

    @property
    def parts(self) -> tuple[str, ...]:
        """Returns catalog and schema, as written."""
        return (self.catalog, self.schema)

    @property
    def catalog_name(self) -> CatalogName:
        """Returns the name of the schema's catalog."""
        return CatalogName(self.catalog)

    def __str__(self) -> str:
        return _dotted_name(self.parts)


@dataclass(frozen=True, slots=True)
class TableName:
    """A table or view name, `catalog.schema.table`."""

    catalog: str = field(compare=False)
    schema: str = field(compare=False)
    table: str = field(compare=False)
    key: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", CatalogName(self.catalog).catalog)
        object.__setattr__(self, "key", _key(self.parts))

    @classmethod
    def from_parts(cls, parts: tuple[str, ...], current: SchemaName) -> TableName:
        """Builds a name from up to three parts; missing parts come from `current`. Raises TooManyNameParts for more
        than three.
        """
        match parts:
            case (table,):
                return cls(current.catalog, current.schema, table)
            case (schema, table):
                return cls(current.catalog, schema, table)
            case (catalog, schema, table):
                return cls(catalog, schema, table)
            case _:  # a client's text may have any number of parts
                raise TooManyNameParts(_dotted_name(parts), 3)

    @property
    def parts(self) -> tuple[str, ...]:
        """Returns catalog, schema and table, as written."""
        return (self.catalog, self.schema, self.table)

    @property
    def schema_name(self) -> SchemaName:
        """Returns the name of the table's schema."""
        return SchemaName(self.catalog, self.schema)

    def __str__(self) -> str:
        return _dotted_name(self.parts)


def path_of(parts: tuple[str, ...]) -> str | None:
    """Returns the path in ``delta.`/path` `` or ``iceberg.`/path` ``, or None if `parts` are a table's name.

    No name contains a slash and every path does, so a schema called `delta` keeps its tables.
    """
    if len(parts) == 2 and fold(parts[0]) in (DELTA, ICEBERG) and "/" in parts[1]:
        return parts[1]
    return None


def path_format(parts: tuple[str, ...]) -> str:
    """Returns the table format in a name that `path_of` recognizes as a path."""
    return fold(parts[0])


def matches_all(name: str) -> bool:
    """Matches every name; the matcher for a missing pattern."""
    return True


def like_matcher(pattern: str | None) -> Matcher:
    """Parses the pattern in `SHOW … LIKE`: `*` is any text, `.` one character, `|` separates alternatives, case is
    ignored; None matches all. Spark's patterns are regular expressions, which Databricks' kernel makes of `_` too.
    """
    if pattern is None:
        return matches_all
    wild = {"*": ".*", ".": "."}
    branches = ("".join(wild.get(char) or re.escape(char) for char in branch.strip()) for branch in pattern.split("|"))
    return _matcher("|".join(f"(?:{branch})" for branch in branches))


def jdbc_matcher(pattern: str | None) -> Matcher:
    """Parses a metadata call's pattern: `%` is any text, `_` one character, a backslash escapes the next character.

    None, the empty pattern, `*` and `.*` (which some clients send) match all; case is ignored.
    """
    if pattern is None or pattern in _MATCHES_ALL:
        return matches_all
    wild = {"%": ".*", "_": "."}
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    return _matcher("".join(wild.get(token) or re.escape(token[-1]) for token in tokens))


def any_matcher(pattern: str | None) -> Matcher:
    """Parses either kind of pattern, for statements in which clients send both: one with a `%` is a metadata call's,
    any other SHOW's.
    """
    return jdbc_matcher(pattern) if pattern and "%" in pattern else like_matcher(pattern)


def _matcher(regex: str) -> Matcher:
    compiled = re.compile(regex, re.IGNORECASE | re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


def _key(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(fold(part) for part in parts)


def _dotted_name(parts: tuple[str, ...]) -> str:
    return ".".join(quote(part) for part in parts)
