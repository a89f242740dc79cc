"""The grammar of CALL: `CALL [catalog.]system.procedure([name =>] value, …)`, as the Iceberg runtime has it.

Arguments are literals, but for times, which are expressions: they are evaluated when the statement is bound. Each
procedure has a row with its parameters in the order in which they are taken without names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlglot.errors import TokenError

from catalog.names import fold
from engine.errors.procedure_errors import (
    ArgumentGivenTwice,
    MissingArgument,
    PositionalAfterNamed,
    ProcedureNotFound,
    TooManyArguments,
    UnknownArgument,
    WrongArgument,
)
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.errors import UnsupportedClause, UnsupportedStatement
from engine.sql.query.names import read_table
from engine.statements.procedures import (
    AddFiles,
    AncestorsOf,
    Call,
    CherrypickSnapshot,
    ExpireSnapshots,
    FastForward,
    Procedure,
    PublishChanges,
    RegisterTable,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
)

_SYSTEM = "system"
_TABLE = "table"
_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a value is read, and what is said of one that is something else."""

    read: Callable[[Cursor], Any]
    expected: str


def _read_string(cursor: Cursor) -> str | None:
    return cursor.take_string()


def _read_integer(cursor: Cursor) -> int | None:
    sign = -1 if cursor.take("-") else 1
    text = cursor.take_number_text() or ""
    cursor.take("::", "BIGINT")  # a suffix L, as sqlglot has it
    return sign * int(text) if text.isdecimal() and int(text) <= _LONG_MAX else None


def _read_int(cursor: Cursor) -> int | None:
    found = _read_integer(cursor)
    return found if found is not None and abs(found) <= _INT_MAX else None


def _read_boolean(cursor: Cursor) -> bool | None:
    word = cursor.take_any("TRUE", "FALSE")
    return None if word is None else word == "TRUE"


def _read_integers(cursor: Cursor) -> tuple[int, ...] | None:
    return _read_items(cursor, "ARRAY", _read_integer)


def _read_map(cursor: Cursor) -> Mapping[str, str] | None:
    items = _read_items(cursor, "MAP", _read_map_item)
    if items is None or len(items) % 2:
        return None
    return MappingProxyType(dict(zip(items[::2], items[1::2], strict=True)))


def _read_map_item(cursor: Cursor) -> str | None:
    """Values of options are often written as numbers and booleans."""
    text = cursor.take_string() or cursor.take_number_text()
    return text if text is not None else (cursor.take_any("TRUE", "FALSE") or "").lower() or None


def _read_items(cursor: Cursor, word: str, read: Callable[[Cursor], Any]) -> tuple[Any, ...] | None:
    if not cursor.take(word):
        return None
    closing = "]" if cursor.take("[") else ")"
    if closing == ")":
        cursor.read("(")
    items: list[Any] = []
    while not cursor.take(closing):
        if items:
            cursor.read(",")
        item = read(cursor)
        if item is None:
            return None
        items.append(item)
    return tuple(items)


_TEXT = _Kind(_read_string, "it takes a string in quotes")
_LONG = _Kind(_read_integer, "it takes a whole number")
_INT = _Kind(_read_int, "it takes a whole number of 32 bits")
_BOOLEAN = _Kind(_read_boolean, "it takes true or false")
_LONGS = _Kind(_read_integers, "it takes whole numbers, as array(1, 2)")
_MAP = _Kind(_read_map, "it takes strings in pairs, as map('key', 'value')")
_TIME = _Kind(lambda cursor: cursor.read_text(what="a time"), "it takes a timestamp")


@dataclass(frozen=True, slots=True)
class _Signature:
    make: Callable[..., Procedure | str]
    parameters: Mapping[str, _Kind]
    """Those behind the table, in their order."""
    required: tuple[str, ...] = ()


_SIGNATURES: Mapping[str, _Signature] = MappingProxyType(
    {
        "ancestors_of": _Signature(AncestorsOf, {"snapshot_id": _LONG}),
        "rollback_to_snapshot": _Signature(RollbackToSnapshot, {"snapshot_id": _LONG}, ("snapshot_id",)),
        "rollback_to_timestamp": _Signature(RollbackToTimestamp, {"timestamp": _TIME}, ("timestamp",)),
        "set_current_snapshot": _Signature(SetCurrentSnapshot, {"snapshot_id": _LONG, "ref": _TEXT}),
        "cherrypick_snapshot": _Signature(CherrypickSnapshot, {"snapshot_id": _LONG}, ("snapshot_id",)),
        "publish_changes": _Signature(PublishChanges, {"wap_id": _TEXT}, ("wap_id",)),
        "fast_forward": _Signature(FastForward, {"branch": _TEXT, "to": _TEXT}, ("branch", "to")),
        "expire_snapshots": _Signature(
            ExpireSnapshots,
            {
                "older_than": _TIME,
                "retain_last": _INT,
                "max_concurrent_deletes": _INT,
                "stream_results": _BOOLEAN,
                "snapshot_ids": _LONGS,
                "clean_expired_metadata": _BOOLEAN,
            },
        ),
        "remove_orphan_files": _Signature(
            RemoveOrphanFiles,
            {
                "older_than": _TIME,
                "location": _TEXT,
                "dry_run": _BOOLEAN,
                "max_concurrent_deletes": _INT,
                "file_list_view": _TEXT,
                "equal_schemes": _MAP,
                "equal_authorities": _MAP,
                "prefix_mismatch_mode": _TEXT,
                "prefix_listing": _BOOLEAN,
                "stream_results": _BOOLEAN,
            },
        ),
        "rewrite_data_files": _Signature(
            RewriteDataFiles, {"strategy": _TEXT, "sort_order": _TEXT, "options": _MAP, "where": _TEXT}
        ),
        "rewrite_manifests": _Signature(RewriteManifests, {"use_caching": _BOOLEAN, "spec_id": _INT}),
        "rewrite_position_delete_files": _Signature(RewritePositionDeleteFiles, {"options": _MAP, "where": _TEXT}),
        "add_files": _Signature(
            AddFiles,
            {"source_table": _TEXT, "partition_filter": _MAP, "check_duplicate_files": _BOOLEAN, "parallelism": _INT},
            ("source_table",),
        ),
        "register_table": _Signature(lambda metadata_file: metadata_file, {"metadata_file": _TEXT}, ("metadata_file",)),
    }
)
_NOT_HERE: Mapping[str, str] = MappingProxyType(
    {
        "snapshot": "Create the table with CREATE TABLE … AS SELECT.",
        "migrate": "Create the table with CREATE TABLE … AS SELECT.",
        "create_changelog_view": "Read table_changes(table, start, end).",
        "compute_table_stats": "Statistics of Puffin files are not read here.",
        "compute_partition_stats": "Read the metadata table partitions.",
        "rewrite_table_path": "A table may be copied or moved as a whole, and is read where it is.",
    }
)
"""Procedures of other engines, and what to do instead."""
_IGNORED = frozenset({"max_concurrent_deletes", "parallelism", "prefix_listing", "stream_results", "use_caching"})
"""How the work is done, and not what."""
_WITHOUT = {
    "file_list_view": "Leave it out: the folder of the table is listed.",
}


def parse_call(cursor: Cursor) -> Call | RegisterTable:
    """What follows CALL."""
    *places, written = cursor.read_names()
    name = fold(written)
    if not places or fold(places[-1]) != _SYSTEM or len(places) > 2:
        raise UnsupportedStatement("CALL of a procedure that is not in the schema system of a catalog")
    if name in _NOT_HERE:
        raise UnsupportedClause(f"CALL {_SYSTEM}.{name}", _NOT_HERE[name])
    signature = _SIGNATURES.get(name)
    if signature is None:
        raise ProcedureNotFound(".".join((*places, written)), ", ".join(sorted(_SIGNATURES)))
    arguments = _read_arguments(cursor, name, signature)
    for required in (_TABLE, *signature.required):
        if required not in arguments:
            raise MissingArgument(name, required)
    catalog = places[0] if len(places) > 1 else None
    table_parts = _parse_table(arguments.pop(_TABLE), name)
    procedure = signature.make(**{key: value for key, value in arguments.items() if key not in _IGNORED})
    if isinstance(procedure, str):
        return RegisterTable(catalog=catalog, table_parts=table_parts, metadata_file=procedure)
    return Call(catalog=catalog, table_parts=table_parts, name=name, procedure=procedure)


def _read_arguments(cursor: Cursor, name: str, signature: _Signature) -> dict[str, Any]:
    """Those that are given and not NULL, by parameter."""
    kinds = {_TABLE: _TEXT, **signature.parameters}
    known = ", ".join(kinds)
    given: dict[str, Any] = {}
    named: str | None = None
    cursor.read("(")
    while not cursor.take(")"):
        if given:
            cursor.read(",")
        parameter = _take_parameter(cursor)
        if parameter is None:
            if named is not None:
                raise PositionalAfterNamed(name, named)
            if len(given) == len(kinds):
                raise TooManyArguments(name, known)
            parameter = list(kinds)[len(given)]
        else:
            named = parameter
        if parameter not in kinds:
            raise UnknownArgument(name, parameter, known)
        if parameter in given:
            raise ArgumentGivenTwice(name, parameter)
        given[parameter] = _read_value(cursor, name, parameter, kinds[parameter])
        if given[parameter] is not None and parameter in _WITHOUT:
            raise UnsupportedClause(f"{parameter} of {name}", _WITHOUT[parameter])
    return {parameter: value for parameter, value in given.items() if value is not None}


def _take_parameter(cursor: Cursor) -> str | None:
    """`name =>`"""
    ahead = cursor.copy()
    if not ahead.is_name():
        return None
    ahead.read_name()
    if not (ahead.take("=>") or ahead.take("=", ">")):
        return None
    name = fold(cursor.read_name())
    if not cursor.take("=>"):
        cursor.read("=", ">")
    return name


def _read_value(cursor: Cursor, name: str, parameter: str, kind: _Kind) -> Any:
    if cursor.words(1) == ["NULL"] and cursor.is_last_of_list:
        cursor.read("NULL")
        return None
    found = kind.read(cursor)
    if cursor.is_done:
        raise cursor.fail("a comma or ')' is expected")
    if found is None or cursor.words(1) not in ([","], [")"]):
        raise WrongArgument(name, parameter, kind.expected)
    return found


def _parse_table(text: str, name: str) -> tuple[str, ...]:
    """The name of a table in a string."""
    try:
        cursor = Cursor(text, tokenize(text))
        parts = read_table(cursor)
        cursor.ensure_done()
    except TokenError:
        raise WrongArgument(name, _TABLE, f"{text!r} is not the name of a table") from None
    except SyntaxFailure as failure:
        raise WrongArgument(name, _TABLE, f"{text!r} is not the name of a table, since {failure.reason}") from None
    return parts
