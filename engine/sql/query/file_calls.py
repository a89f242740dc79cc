"""`read_files('path', format => 'csv', header => true, schema => 'a INT, …')` as a query's relation.

The grammar treats it as a function in FROM; later stages treat it as files, under COPY INTO's rules. Its arguments are
constants. Without a format, the path's extension determines it; without a schema Spark infers the columns, for CSV
files with their types unless `inferColumnTypes` (or `inferSchema`) is false.

Formats and their options are an allowlist, so that each one has been reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from catalog.conditions import CopyOptionNotSupported, UnsupportedClause, WrongArgumentCount
from engine.sql.dialect.dialect import FILE_ARGUMENTS, SPAN
from engine.sql.dialect.functions import READ_FILES
from engine.sql.dialect.type_text import parse_type
from engine.sql.query.values import FilesAt, Properties, Relation, Span
from engine.tables.scan import FileFormat, FileKind
from engine.types.schema import StructType

_OWN = frozenset({"path", "format", "schema"})
_INFERS, _INFERS_TYPES = "inferschema", "infercolumntypes"
_ENDS = {kind.value: kind for kind in (FileKind.PARQUET, FileKind.CSV, FileKind.JSON, FileKind.ORC)} | {
    "txt": FileKind.TEXT
}


def is_file_call(node: exp.Table) -> bool:
    """Returns True for a call of `read_files`, whose arguments the dialect has stored in the node's `meta`."""
    return isinstance(node.this, exp.Anonymous) and FILE_ARGUMENTS in node.this.meta


def read_file_call(node: exp.Table) -> Relation:
    """Returns the relation for the call in `node`.

    Raises `WrongArgumentCount`, `UnsupportedClause` for a repeated argument, an unsupported format, or AS OF after the
    call, `CopyOptionNotSupported`, `UnsupportedDataType`.
    """
    call = node.this
    if node.args.get("version"):
        raise UnsupportedClause(f"AS OF after {READ_FILES}", "Files have no versions; leave it out.")
    values: dict[str, str] = {}
    for number, (name, value) in enumerate(call.meta[FILE_ARGUMENTS]):
        if name is None and number:
            raise UnsupportedClause(f"A second argument of {READ_FILES} without a name", "Write format => 'csv'.")
        key = (name or "path").lower()
        if key in values:
            raise UnsupportedClause(f"{key} twice in {READ_FILES}", "Leave one of them out.")
        values[key] = value
    if "path" not in values:
        raise WrongArgumentCount(READ_FILES, 0, 1, 1)
    return Relation(
        name_parts=(READ_FILES,),
        span=Span(*call.meta[SPAN]),
        alias=node.alias or None,
        files=_files(values),
    )


def _files(values: dict[str, str]) -> FilesAt:
    kind = _kind(values)
    options = {key: value for key, value in values.items() if key not in _OWN}
    if kind is FileKind.CSV:
        options.setdefault(_INFERS, options.pop(_INFERS_TYPES, "true"))
    format_, recursive = file_format(kind, tuple(options.items()))
    schema = parse_type(f"struct<{values['schema']}>").data_type if "schema" in values else None
    assert schema is None or isinstance(schema, StructType)
    return FilesAt(path=values["path"], format=format_, recursive=recursive, schema=schema)


def _kind(values: dict[str, str]) -> FileKind:
    if "format" in values:
        return file_kind(values["format"], f"{READ_FILES} with the format")
    found = _ENDS.get(values["path"].rpartition(".")[2].lower())
    if found is None:
        raise UnsupportedClause(f"{READ_FILES} without a format", "Write it: format => 'csv'.")
    return found


_RECURSIVE = "recursivefilelookup"

_TEXT = "dateFormat encoding lineSep locale mode multiLine samplingRatio timestampFormat timestampNTZFormat"
_CSV = (
    "charset charToEscapeQuoteEscaping comment delimiter emptyValue escape header ignoreLeadingWhiteSpace "
    "ignoreTrailingWhiteSpace inferSchema maxCharsPerColumn maxColumns nanValue negativeInf nullValue positiveInf "
    "preferDate quote sep unescapedQuoteHandling"
)
_JSON = (
    "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers allowNumericLeadingZeros "
    "allowSingleQuotes allowUnquotedControlChars allowUnquotedFieldNames dropFieldIfAllNull inferTimestamp "
    "prefersDecimal primitivesAsString"
)
# Names in lower case.
_OPTIONS: Mapping[FileKind, frozenset[str]] = MappingProxyType(
    {
        kind: frozenset(f"{names} {_RECURSIVE}".lower().split())
        for kind, names in {
            FileKind.PARQUET: "mergeSchema",
            FileKind.CSV: f"{_TEXT} {_CSV}",
            FileKind.JSON: f"{_TEXT} {_JSON}",
            FileKind.ORC: "mergeSchema",
            FileKind.TEXT: "lineSep wholeText",
        }.items()
    }
)


def file_format(kind: FileKind, options: Properties) -> tuple[FileFormat, bool]:
    """Returns the file format, and whether subdirectories are read too. Raises `CopyOptionNotSupported`."""
    for name, _ in options:
        if name.lower() not in _OPTIONS[kind]:
            raise CopyOptionNotSupported(name, f"files of the format {kind.value.upper()}")
    remaining = tuple(item for item in options if item[0].lower() != _RECURSIVE)
    recursive = any(name.lower() == _RECURSIVE and value.lower() == "true" for name, value in options)
    return FileFormat(kind=kind, options=remaining), recursive


def file_kind(name: str, clause: str) -> FileKind:
    """Returns the file kind; Spark's documentation also has names such as `org.apache.spark.sql.parquet`.

    Raises `UnsupportedClause` for a format whose files cannot be read directly.
    """
    kind = name.lower().removeprefix("org.apache.spark.sql.")
    if kind not in _OPTIONS:
        tables = f" Use {kind}.`path` for a table." if kind in ("delta", "iceberg") else ""
        formats = "The formats are PARQUET, CSV, JSON, ORC and TEXT."
        raise UnsupportedClause(f"{clause} {name.upper()}", f"{formats}{tables}")
    return FileKind(kind)
