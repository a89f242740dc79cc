"""Formats of files that are read by themselves, and their options.

These are a list, so that none has a meaning that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.conditions import CopyOptionNotSupported, UnsupportedClause
from engine.sql.query.values import Properties
from engine.tables.scan import FileFormat, FileKind

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
_OPTIONS: Mapping[FileKind, frozenset[str]] = MappingProxyType(
    {
        kind: frozenset(f"{names} {_RECURSIVE}".lower().split())
        for kind, names in {
            FileKind.PARQUET: "mergeSchema",
            FileKind.CSV: f"{_TEXT} {_CSV}",
            FileKind.JSON: f"{_TEXT} {_JSON}",
            FileKind.ORC: "mergeSchema",
        }.items()
    }
)
"""Names in lower case."""


def file_format(kind: FileKind, options: Properties) -> tuple[FileFormat, bool]:
    """Returns how files are read, and whether also those of folders below the path. Raises `CopyOptionNotSupported`."""
    for name, _ in options:
        if name.lower() not in _OPTIONS[kind]:
            raise CopyOptionNotSupported(name, f"files of the format {kind.value.upper()}")
    kept = tuple(item for item in options if item[0].lower() != _RECURSIVE)
    recursive = any(name.lower() == _RECURSIVE and value.lower() == "true" for name, value in options)
    return FileFormat(kind=kind, options=kept), recursive


def file_kind(name: str, clause: str) -> FileKind:
    """Raises `UnsupportedClause` for a format whose files are not read by themselves."""
    if name.lower() not in _OPTIONS:
        raise UnsupportedClause(f"{clause} {name.upper()}", "The formats are PARQUET, CSV, JSON and ORC.")
    return FileKind(name.lower())
