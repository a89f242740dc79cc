"""Parses CALL: `CALL [catalog.]system.procedure([name =>] value, …)`, as in the Iceberg runtime.

Arguments are literals, except times, which are expressions evaluated during binding. Each procedure has a row with its
parameters in positional order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from catalog.conditions import (
    ArgumentGivenTwice,
    MissingArgument,
    PositionalAfterNamed,
    ProcedureNotFound,
    TooManyArguments,
    UnknownArgument,
    UnsupportedClause,
    WrongArgument,
)
from catalog.names import fold
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.tokens import TokenError
from engine.sql.query.names import read_table
from engine.sql.query.relations import is_file_name
from engine.statements.procedures.grammar_arguments import BOOLEAN, INT, LONG, LONGS, MAP, TEXT, TIME, Kind
from engine.statements.procedures.statement import (
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
    SnapshotTable,
)

_SYSTEM = "system"
_TABLE = "table"
_PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Signature:
    make: Callable[..., Procedure | SnapshotTable | str]
    # The parameters after the table, in order; all parameters if the table is among them.
    parameters: Mapping[str, Kind]
    required: tuple[str, ...] = ()


SIGNATURES: Mapping[str, Signature] = MappingProxyType(
    {
        "ancestors_of": Signature(AncestorsOf, {"snapshot_id": LONG}),
        "rollback_to_snapshot": Signature(RollbackToSnapshot, {"snapshot_id": LONG}, ("snapshot_id",)),
        "rollback_to_timestamp": Signature(RollbackToTimestamp, {"timestamp": TIME}, ("timestamp",)),
        "set_current_snapshot": Signature(SetCurrentSnapshot, {"snapshot_id": LONG, "ref": TEXT}),
        "cherrypick_snapshot": Signature(CherrypickSnapshot, {"snapshot_id": LONG}, ("snapshot_id",)),
        "publish_changes": Signature(PublishChanges, {"wap_id": TEXT}, ("wap_id",)),
        "fast_forward": Signature(FastForward, {"branch": TEXT, "to": TEXT}, ("branch", "to")),
        "expire_snapshots": Signature(
            ExpireSnapshots,
            {
                "older_than": TIME,
                "retain_last": INT,
                "max_concurrent_deletes": INT,
                "stream_results": BOOLEAN,
                "snapshot_ids": LONGS,
                "clean_expired_metadata": BOOLEAN,
            },
        ),
        "remove_orphan_files": Signature(
            RemoveOrphanFiles,
            {
                "older_than": TIME,
                "location": TEXT,
                "dry_run": BOOLEAN,
                "max_concurrent_deletes": INT,
                "file_list_view": TEXT,
                "equal_schemes": MAP,
                "equal_authorities": MAP,
                "prefix_mismatch_mode": TEXT,
                "prefix_listing": BOOLEAN,
                "stream_results": BOOLEAN,
            },
        ),
        "rewrite_data_files": Signature(
            RewriteDataFiles, {"strategy": TEXT, "sort_order": TEXT, "options": MAP, "where": TEXT}
        ),
        "rewrite_manifests": Signature(RewriteManifests, {"use_caching": BOOLEAN, "spec_id": INT}),
        "rewrite_position_delete_files": Signature(RewritePositionDeleteFiles, {"options": MAP, "where": TEXT}),
        "add_files": Signature(
            lambda source_table, **others: AddFiles(**_parse_source(source_table), **others),
            {"source_table": TEXT, "partition_filter": MAP, "check_duplicate_files": BOOLEAN, "parallelism": INT},
            ("source_table",),
        ),
        "snapshot": Signature(
            lambda source_table, **others: SnapshotTable(
                catalog=None,
                table_parts=(),
                source_parts=_parse_table(source_table, "snapshot", "source_table"),
                **others,
            ),
            {"source_table": TEXT, _TABLE: TEXT, "location": TEXT, "properties": MAP, "parallelism": INT},
            ("source_table",),
        ),
        "register_table": Signature(lambda metadata_file: metadata_file, {"metadata_file": TEXT}, ("metadata_file",)),
    }
)
# Other engines' procedures, and their alternatives here.
_NOT_HERE: Mapping[str, str] = MappingProxyType(
    {
        "migrate": "CALL system.snapshot makes another table of the files, CREATE TABLE … AS SELECT copies the rows.",
        "create_changelog_view": "Read table_changes(table, start, end).",
        "compute_table_stats": "Statistics of Puffin files are not read here.",
        "compute_partition_stats": "Read the metadata table partitions.",
        "rewrite_table_path": "A table may be copied or moved as a whole, and is read where it is.",
    }
)
# Options about how the work is done, which do not affect the result.
_IGNORED = frozenset({"max_concurrent_deletes", "parallelism", "prefix_listing", "stream_results", "use_caching"})
_WITHOUT = {
    "file_list_view": "Leave it out: the folder of the table is listed.",
}


def parse_call(cursor: Cursor) -> Call | RegisterTable | SnapshotTable:
    """Parses the text after CALL."""
    *places, written = cursor.read_names()
    name = fold(written)
    if not places or fold(places[-1]) != _SYSTEM or len(places) > 2:
        raise unsupported_statement("CALL of a procedure that is not in the schema system of a catalog")
    if name in _NOT_HERE:
        raise UnsupportedClause(f"CALL {_SYSTEM}.{name}", _NOT_HERE[name])
    signature = SIGNATURES.get(name)
    if signature is None:
        raise ProcedureNotFound(".".join((*places, written)), ", ".join(sorted(SIGNATURES)))
    catalog = places[0] if len(places) > 1 else None
    arguments = _read_arguments(cursor, name, signature)
    for required in (_TABLE, *signature.required):
        if required not in arguments:
            raise MissingArgument(name, required)
    table_parts = _parse_table(arguments.pop(_TABLE), name)
    procedure = signature.make(**{key: value for key, value in arguments.items() if key not in _IGNORED})
    if isinstance(procedure, SnapshotTable):
        return replace(procedure, catalog=catalog, table_parts=table_parts)
    if isinstance(procedure, str):
        return RegisterTable(catalog=catalog, table_parts=table_parts, metadata_file=procedure)
    return Call(catalog=catalog, table_parts=table_parts, name=name, procedure=procedure)


def _read_arguments(cursor: Cursor, name: str, signature: Signature) -> dict[str, Any]:
    """Returns the non-NULL arguments, by parameter."""
    kinds = signature.parameters if _TABLE in signature.parameters else {_TABLE: TEXT, **signature.parameters}
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
    """Reads `name =>`."""
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


def _read_value(cursor: Cursor, name: str, parameter: str, kind: Kind) -> Any:
    if cursor.words(1) == ["NULL"] and cursor.is_last_of_list:
        cursor.read("NULL")
        return None
    found = kind.read(cursor)
    if cursor.is_done:
        raise cursor.fail("a comma or ')' is expected")
    if found is None or cursor.words(1) not in ([","], [")"]):
        raise WrongArgument(name, parameter, kind.expected)
    return found


def _parse_source(text: str) -> dict[str, Any]:
    """Returns the path in ``parquet.`/path` ``, or the table name."""
    try:
        cursor = Cursor(text, tokenize(text))
        parts = cursor.read_names()
        cursor.ensure_done()
    except (TokenError, SyntaxFailure):
        parts = ()
    if not is_file_name(parts):
        return {"source_parts": _parse_table(text, "add_files", "source_table")}
    if fold(parts[0]) != _PARQUET:
        expected = "it takes the Parquet files of a folder, parquet.`/path`, or those of a table"
        raise WrongArgument("add_files", "source_table", expected)
    return {"folder": parts[1]}


def _parse_table(text: str, name: str, parameter: str = _TABLE) -> tuple[str, ...]:
    """Returns the table name in a string."""
    try:
        cursor = Cursor(text, tokenize(text))
        parts = read_table(cursor)
        cursor.ensure_done()
    except TokenError:
        raise WrongArgument(name, parameter, f"{text!r} is not the name of a table") from None
    except SyntaxFailure as failure:
        raise WrongArgument(name, parameter, f"{text!r} is not the name of a table, since {failure.reason}") from None
    return parts


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType({("CALL",): parse_call})
