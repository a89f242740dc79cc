"""Spark SQL as PostgreSQL's drivers write it: their quoting, casts and markers in a text that is otherwise Spark's.

Drivers quote names with `"`, write values with `E'…'`, `ARRAY[…]` and `::type`, and number their markers, whatever SQL
the rest of the text is. :func:`adapt_text` replaces these by Spark's spelling: `` `name` ``, `'…'`, `array(…)`, a cast
to Spark's name of the type, and `:p1`; and the types of columns in CREATE TABLE and ALTER TABLE … ADD. Backslashes in
strings are escapes, as in Spark and as in PostgreSQL with `standard_conforming_strings` off. In PostgreSQL's dialect
they are not: :func:`standard_text` writes such strings as `E'…'` first. This module imports no parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from catalog.names import quote
from engine.sql.string_literals import spark_string, unescape

# PostgreSQL's type → Spark's, where the names differ or have another meaning.
SPARK_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "boolean",
        "bpchar": "string",
        "bytea": "binary",
        "char": "string",
        "character": "string",
        "character varying": "string",
        "double precision": "double",
        "float": "double",
        "float4": "float",
        "float8": "double",
        "int2": "smallint",
        "int4": "int",
        "int8": "bigint",
        "json": "string",
        "jsonb": "string",
        "name": "string",
        "numeric": "decimal(38,18)",
        "decimal": "decimal(38,18)",
        "oid": "bigint",
        "real": "float",
        "text": "string",
        "time": "time(6)",
        "timestamp": "timestamp_ntz",
        "timestamp with time zone": "timestamp",
        "timestamp without time zone": "timestamp_ntz",
        "timestamptz": "timestamp",
        "time without time zone": "time(6)",
        "unknown": "string",
        "uuid": "string",
        "varchar": "string",
    }
)
MARKER_PREFIX = "p"
# Spaces and comments at the begin of a statement: dbt and others write their name there.
_BEGIN = r"(?:\s|--[^\n]*+(?:\n|$)|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_INSERT = re.compile(
    rf"""{_BEGIN}INSERT\s+INTO\s+(?:TABLE\s+)?(?P<target>(?:`(?:[^`]|``)+`|[\w$]+)(?:\s*\.\s*(?:`(?:[^`]|``)+`|[\w$]+))*)
    \s*(?P<columns>\(\s*(?:`(?:[^`]|``)+`|[\w$]+)\s*(?:,\s*(?:`(?:[^`]|``)+`|[\w$]+)\s*)*\))?\s*VALUES\s*(?=\()""",
    re.IGNORECASE | re.VERBOSE,
)
_VALUE_PIECES = re.compile(
    r"""(?sx) (?P<skipped> --(?:\\\r?\n|[^\r\n])* | /\*.*?\*/ | \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*'
    | `[^`]*` ) | (?P<open> [(\[] ) | (?P<close> [)\]] ) | (?P<comma> , ) | (?P<other> \S )"""
)
_LIMITS = re.compile(rf"\b(?:LIMIT|OFFSET)\s+:{MARKER_PREFIX}([0-9]+)\b", re.IGNORECASE)
_LITERAL = re.compile(
    r"""\s*(?:(?P<null>NULL(?:::[a-z_]+)?)|(?P<word>TRUE|FALSE)|(?P<text>'(?:[^'\\]|\\.|'')*')(?:::(?P<cast>[a-z_]+))?
    |(?P<double>[+-]?[0-9]+(?:\.[0-9]*)?E[+-]?[0-9]+)|(?P<fraction>[+-]?[0-9]*\.[0-9]+)|(?P<whole>[+-]?[0-9]+))\s*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_STRING_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_CHARS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_BIGINT_DIGITS, _PRECISION_MAX = 18, 38
_MARKER = re.compile(rf"\s*:{MARKER_PREFIX}([0-9]+)\s*")
_ADAPTED = re.compile(r"""["$\[]|::|[eE]'""")
_PIECES = re.compile(
    r"""(?sx)
      (?P<comment> --(?:\\\r?\n|[^\r\n])* | /\*.*?\*/ )
    | (?P<escaped> \b[eE]'(?:[^'\\]|\\.|'')*' )
    | (?P<literal> \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | `[^`]*` | \$\$.*?\$\$ )
    | (?P<name> "(?:[^"]|"")*" )
    | (?P<marker> \$(?P<number>[0-9]{1,5}) )
    | (?P<cast> ::\s*"?(?P<type> timestamp\s+with(?:out)?\s+time\s+zone | time\s+without\s+time\s+zone
        | double\s+precision | character\s+varying | [A-Za-z_]\w* )"?(?P<size> \s*\([0-9,\s]*\))?
        (?P<dimensions> (?:\s*\[\s*\])+ )? )
    | (?P<array> \bARRAY\s*\[ )
    | (?P<open> \[ )
    | (?P<close> \] )
    | (?P<word> \w+ )""",
    re.IGNORECASE,
)
# Strings in which a backslash is a character, and the pieces that may contain a quote.
_STANDARD_PIECES = re.compile(
    r"""(?sx) (?P<skipped> --[^\n]* | /\*.*?\*/ | \b[eE]'(?:[^'\\]|\\.|'')*' | (?:\b[bBxXnN]|\b[uU]&)'(?:[^']|'')*'
        | (?P<tag> \$(?:[A-Za-z_]\w*)?\$ ).*?(?P=tag) )
    | (?P<name> "(?:[^"]|"")*" )
    | (?P<text> '(?:[^']|'')*' )"""
)
_NAME = r'(?:"(?:[^"]|"")+"|`(?:[^`]|``)+`|[\w$]+)'
_DEFINITION = re.compile(
    rf"""{_BEGIN}(?:(?P<create>CREATE\s+(?:OR\s+REPLACE\s+)?(?:EXTERNAL\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?
    {_NAME}(?:\s*\.\s*{_NAME})*\s*\()|(?P<alter>ALTER\s+TABLE\s+(?=.*?\bADD\b)))""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# Types that Spark does not have, or that have another meaning without a size.
_COLUMN_TYPE = re.compile(
    rf"""(?:[(,]|\bADD\s+(?:COLUMNS?\s+)?(?:IF\s+NOT\s+EXISTS\s+)?\(?)\s*{_NAME}\s+
    (?P<whole>(?P<type>double\s+precision|character\s+varying|timestamp\s+with(?:out)?\s+time\s+zone|timestamptz
    |time\s+without\s+time\s+zone|(?:big|small)?serial|text|bytea|bool|int[248]|float[48]|real|varchar|bpchar|jsonb?|uuid
    |numeric|decimal|(?:int|integer|bigint|smallint|boolean|date|double|float)(?=\s*\[))
    \b(?:\s*(?P<size>\([\d\s,]*\)))?(?P<array>(?:\s*\[\s*\])+)?)""",
    re.IGNORECASE | re.VERBOSE,
)
# Types that have another meaning in Spark.
_OTHER_TYPE = re.compile(
    rf"(?:[(,]|\bADD\s+(?:COLUMNS?\s+)?(?:IF\s+NOT\s+EXISTS\s+)?\(?)\s*{_NAME}\s+"
    r"(?P<whole>(?P<type>float|timestamp)\b(?:\s*\(\s*(?P<size>\d{1,3})\s*\))?)"
    r"(?!\s*\[|\s*\(|\s+with(?:out)?\s+time\s+zone)",
    re.IGNORECASE,
)
_FLOAT_DIGITS = 24
_IDENTITY_TYPES = frozenset({"serial", "bigserial", "smallserial"})
# Identity columns of Delta are BIGINT; PostgreSQL's may have any integral type.
_IDENTITY = re.compile(
    r"\s(?P<type>smallint|int[24]?|integer)(?=\s+(?:NOT\s+NULL\s+)?GENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY\b)",
    re.IGNORECASE,
)
# All generated columns of Delta are stored.
_STORED = re.compile(r"\)(?P<stored>\s*STORED)\b", re.IGNORECASE)
_SIZED_TYPES = {
    "numeric": "decimal",
    "decimal": "decimal",
    "varchar": "varchar",
    "character varying": "varchar",
    "bpchar": "char",
}
# After the first of three names.
_QUALIFIES = re.compile(rf"\s*\.\s*{_NAME}\s*\.")
_HEXADECIMAL = re.compile(r"[eE]?'\\{1,2}x((?:[0-9A-Fa-f]{2})*)'")


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text` replaces the source from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class AdaptedText:
    """The text for Spark, and the highest number of a marker in it."""

    text: str
    source: str
    markers: int = 0
    _edits: tuple[_Edit, ...] = ()
    # The text that was adapted before, which is not the source then.
    _before: AdaptedText | None = None

    def after(self, before: AdaptedText) -> AdaptedText:
        """Returns the text with the source of `before`, whose text was adapted to this one."""
        return replace(self, source=before.source, _before=before)

    def origin(self, offset: int) -> int:
        """Returns the place in `source` of the character at `offset` of `text`."""
        before = self._before
        if before is None:
            return self._origin(offset, len(self.source))
        return before.origin(self._origin(offset, len(before.text)))

    def _origin(self, offset: int, length: int) -> int:
        shift = 0  # source - text
        for edit in self._edits:
            begin = edit.start - shift
            if offset < begin:
                break
            if offset < begin + len(edit.text):
                return edit.start
            shift += (edit.end - edit.start) - len(edit.text)
        return min(offset + shift, length)


@dataclass(slots=True)
class _Reader:
    # Databases as the client names them, with their catalogs.
    catalogs: Mapping[str, str] = field(default_factory=dict)
    edits: list[_Edit] = field(default_factory=list)
    markers: int = 0
    # For each open bracket, whether it begins an array.
    brackets: list[bool] = field(default_factory=list)
    literal: re.Match[str] | None = None

    def read(self, piece: re.Match[str]) -> None:
        kind, before = piece.lastgroup, self.literal
        self.literal = None
        match kind:
            case "escaped":
                self.literal = piece
                self._replace(piece, f" {spark_string(unescape(piece[0][2:-1]))}")
            case "literal":
                self.literal = piece
            case "name":
                self._replace(piece, quote(self.catalog_of(piece) or _name_of(piece)))
            case "marker":
                self.markers = max(self.markers, int(piece["number"]))
                self._replace(piece, f":{MARKER_PREFIX}{int(piece['number'])}")
            case "cast":
                self._read_cast(piece, before)
            case "array":
                self.brackets.append(True)
                self._replace(piece, "array(")
            case "open":
                self.brackets.append(False)
            case "close" if self.brackets and self.brackets.pop():
                self._replace(piece, ")")
            case _:  # a word, a comment, or a bracket of Spark's
                pass

    def catalog_of(self, piece: re.Match[str]) -> str | None:
        """Returns the catalog of a database's name before a schema and a table; None for another name."""
        found = self.catalogs.get(_name_of(piece))
        return found if found is not None and _QUALIFIES.match(piece.string, piece.end()) else None

    def read_catalog(self, piece: re.Match[str]) -> None:
        """Reads a piece for the names of databases alone."""
        if piece.lastgroup == "name" and (catalog := self.catalog_of(piece)) is not None:
            quoted = catalog.replace('"', '""')
            self._replace(piece, f'"{quoted}"')

    def _read_cast(self, piece: re.Match[str], literal: re.Match[str] | None) -> None:
        name = re.sub(r"\s+", " ", piece["type"]).lower()
        if name == "bytea" and literal is not None and (found := _HEXADECIMAL.fullmatch(literal[0])):
            if self.edits and self.edits[-1].start == literal.start():
                self.edits.pop()
            self.edits.append(_Edit(literal.start(), piece.end(), f"X'{found[1]}'"))
            return
        spark = SPARK_TYPES.get(name, name if piece["dimensions"] else None)
        if spark is None:
            return
        has_size = piece["size"] is not None and name in ("numeric", "decimal", "varchar", "character varying")
        size = re.sub(r"\s", "", piece["size"]) if has_size else ""
        spark = f"{spark.partition('(')[0] if name in ('numeric', 'decimal') else 'varchar'}{size}" if size else spark
        self._replace(piece, f"::array<{spark}>" if piece["dimensions"] else f"::{spark}")

    def _replace(self, piece: re.Match[str], text: str) -> None:
        self.edits.append(_Edit(piece.start(), piece.end(), text))


def _name_of(piece: re.Match[str]) -> str:
    return piece[0][1:-1].replace('""', '"')


def adapt_catalogs(source: str, catalogs: Mapping[str, str], markers: int) -> AdaptedText:
    """Returns a text in PostgreSQL's dialect, with the catalogs of the databases that it names in quotes before a
    schema and a table; `markers` is its highest number of a marker.
    """
    if not any(name in source for name in catalogs):
        return AdaptedText(source, source, markers)
    reader = _Reader(catalogs)
    for piece in _STANDARD_PIECES.finditer(source):
        reader.read_catalog(piece)
    return _edited(source, reader.edits, markers)


def standard_text(source: str) -> AdaptedText:
    """Returns a text with standard strings, in which a backslash is a character, for the other functions here."""
    if "\\" not in source:
        return AdaptedText(source, source)
    edits = []
    for piece in _STANDARD_PIECES.finditer(source):
        if piece.lastgroup == "text" and "\\" in piece[0]:
            space = " " if re.match(r"\w", source[piece.start() - 1 : piece.start()]) else ""
            doubled = piece[0].replace("\\", "\\\\")
            edits.append(_Edit(*piece.span(), f"{space}E{doubled}"))
    return _edited(source, edits, 0)


def adapt_text(
    source: str, catalogs: Mapping[str, str] = MappingProxyType({}), *, is_postgres: bool = False
) -> AdaptedText:
    """Returns a driver's text in Spark's spelling; `catalogs` as in :func:`adapt_catalogs`. In PostgreSQL's dialect the
    types FLOAT and TIMESTAMP of columns are PostgreSQL's.
    """
    defines = _DEFINITION.match(source)
    if defines is None and not _ADAPTED.search(source):
        return AdaptedText(source, source)
    reader = _Reader(catalogs)
    for piece in _PIECES.finditer(source):
        reader.read(piece)
    edits = reader.edits
    if defines is not None:
        edits = sorted([*edits, *_type_edits(source, defines, is_postgres=is_postgres)], key=lambda edit: edit.start)
    return _edited(source, edits, reader.markers)


def _edited(source: str, edits: list[_Edit], markers: int) -> AdaptedText:
    pieces, done = [], 0
    for edit in edits:
        pieces += [source[done : edit.start], edit.text]
        done = edit.end
    return AdaptedText("".join([*pieces, source[done:]]), source, markers, tuple(edits))


def defines_columns(text: str) -> bool:
    """Returns True for CREATE TABLE and ALTER TABLE, whose types may be PostgreSQL's."""
    return _DEFINITION.match(text) is not None


def _type_edits(source: str, head: re.Match[str], *, is_postgres: bool) -> list[_Edit]:
    """Returns replacements for the types of columns: in the list of CREATE TABLE, or after ADD in ALTER TABLE."""
    end = len(source) if head["alter"] else _end_of_list(source, head.end())
    begin = head.end() - 1 if head["create"] else head.end()
    literals = [piece.span() for piece in _VALUE_PIECES.finditer(source, begin, end) if piece["skipped"]]

    def is_code(at: int) -> bool:
        return not any(first <= at < last for first, last in literals)

    identities = [found for found in _IDENTITY.finditer(source, begin, end) if is_code(found.start("type"))]
    edits = [_Edit(*found.span("type"), "bigint") for found in identities]
    edits += (
        _Edit(*found.span("stored"), "")
        for found in _STORED.finditer(source, begin, end)
        if is_code(found.start("stored"))
    )
    if is_postgres:
        others = (found for found in _OTHER_TYPE.finditer(source, begin, end) if is_code(found.start("whole")))
        edits += (_Edit(*found.span("whole"), _other_type(found)) for found in others)
    ends = {found.end("type") for found in identities}
    for column in _COLUMN_TYPE.finditer(source, begin, end):
        if not is_code(column.start("type")) or column.end("type") in ends:
            continue
        name = re.sub(r"\s+", " ", column["type"]).lower()
        size = re.sub(r"\s", "", column["size"] or "")
        if name in _IDENTITY_TYPES:
            kind = "bigint GENERATED BY DEFAULT AS IDENTITY"
        elif size and name in _SIZED_TYPES:
            kind = f"{_SIZED_TYPES[name]}{size}"
        else:
            kind = SPARK_TYPES.get(name, name)
        edits.append(_Edit(*column.span("whole"), f"array<{kind}>" if column["array"] else kind))
    return edits


def _other_type(found: re.Match[str]) -> str:
    """Returns Spark's type for TIMESTAMP, and for FLOAT with a number of binary digits."""
    if found["type"].lower() == "timestamp":
        return "timestamp_ntz"
    return "float" if found["size"] is not None and int(found["size"]) <= _FLOAT_DIGITS else "double"


def _end_of_list(source: str, start: int) -> int:
    """Returns the end of the list in parentheses that begins before `start`."""
    depth = 1
    for piece in _VALUE_PIECES.finditer(source, start):
        depth += (piece.lastgroup == "open") - (piece.lastgroup == "close")
        if not depth:
            return piece.start()
    return len(source)


def limit_markers(text: str) -> set[int]:
    """Returns the numbers of the markers after LIMIT and OFFSET in an adapted text."""
    return {int(number) for number in _LIMITS.findall(text)}


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as text (None: NULL), and the SQL type of it."""

    value: str | None
    sql_type: str = "string"


@dataclass(frozen=True, slots=True)
class InsertText:
    """An INSERT … VALUES, in Spark's spelling: the table, its columns in parentheses (or nothing), and the rows.

    `items` are the values of its only row; empty for several rows. `literals` are the values of all rows if these are
    literals; else empty.
    """

    target: str
    columns: str
    rows: str
    items: tuple[str, ...]
    row_count: int = 1
    literals: tuple[tuple[Literal, ...], ...] = ()

    @property
    def query(self) -> str:
        """Returns a query with the columns that are written, in their order."""
        return f"SELECT {self.columns[1:-1].strip() or '*'} FROM {self.target}"

    def marker(self, index: int) -> int | None:
        """Returns the number of the marker that is the value of the column `index`; None for another value."""
        found = _MARKER.fullmatch(self.items[index])
        return None if found is None else int(found[1])


def parse_insert(text: str) -> InsertText | None:
    """Parses an INSERT … VALUES without further clauses; returns None for another text."""
    head = _INSERT.match(text)
    if head is None:
        return None
    rows = text[head.end() :].rstrip(" \t\r\n;")
    found = _split_rows(rows)
    if found is None:
        return None
    columns = head["columns"] or ""
    items = tuple(found[0]) if len(found) == 1 else ()
    return InsertText(head["target"], columns, rows, items, len(found), _literal_rows(found))


def _literal_rows(rows: list[list[str]]) -> tuple[tuple[Literal, ...], ...]:
    """Returns the values of all rows; nothing if one is not a literal, or if rows have different lengths."""
    found: list[tuple[Literal, ...]] = []
    for row in rows:
        literals = [literal for item in row if (literal := _literal(item)) is not None]
        if len(literals) != len(row) or len(row) != len(rows[0]):
            return ()
        found.append(tuple(literals))
    return tuple(found)


def _literal(item: str) -> Literal | None:
    found = _LITERAL.fullmatch(item)
    if found is None:
        return None
    kind = found.lastgroup
    if kind == "cast":
        kind = "text"
    match kind:
        case "null":
            return Literal(None)
        case "word":
            return Literal(found["word"].lower(), "boolean")
        case "whole":
            digits = len(found["whole"])
            return Literal(found["whole"], "bigint" if digits <= _BIGINT_DIGITS else f"decimal({_PRECISION_MAX},0)")
        case "fraction":
            whole, _, fraction = found["fraction"].lstrip("+-").partition(".")
            return Literal(found["fraction"], f"decimal({max(1, len(whole) + len(fraction))},{len(fraction)})")
        case "double":
            return Literal(found["double"], "double")
        case _:  # a string, perhaps with a cast
            return Literal(_unescape(found["text"]), found["cast"] or "string")


def _unescape(text: str) -> str:
    """Returns the value of a string of Spark."""
    value = text[1:-1].replace("''", "'")
    return _STRING_ESCAPE.sub(_escaped_char, value) if "\\" in value else value


def _escaped_char(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return _CHARS.get(code, code)
    return chr(int(code, 8)) if code[0] in "01234567" else chr(int(code[1:], 16))


def _split_rows(text: str) -> list[list[str]] | None:
    """Returns the values of each row of `(…), (…)`; None for another text."""
    rows: list[list[str]] = []
    depth = start = 0
    expects_row = True
    for piece in _VALUE_PIECES.finditer(text):
        match piece.lastgroup:
            case "open":
                depth += 1
                if depth == 1:
                    if not expects_row or piece[0] != "(":
                        return None
                    rows.append([])
                    start, expects_row = piece.end(), False
            case "close":
                depth -= 1
                if depth < 0:
                    return None
                if depth == 0:
                    rows[-1].append(text[start : piece.start()])
            case "comma" if depth == 1:
                rows[-1].append(text[start : piece.start()])
                start = piece.end()
            case "comma" if depth == 0:
                if expects_row:
                    return None
                expects_row = True
            case "other" if depth == 0:
                return None
            case _:  # within a value
                if depth == 0 and piece.lastgroup == "skipped" and piece[0][0] not in "-/":
                    return None
    return None if depth or expects_row or not rows else rows
