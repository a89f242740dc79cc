"""Functions for an editor's completion: the gateway's own, and those of the catalog that are visible to a principal."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.catalog import CatalogView
from catalog.conditions import StatementSyntaxError
from catalog.entries import RETURNS_TABLE, FunctionEntry, FunctionParameter
from catalog.errors import SqlError
from engine.pipeline import parse_statement
from engine.runtime.function_help import FunctionHelp
from engine.sql.formatter import format_text
from engine.sql.query.source_text import position_in
from engine.sql.statement_texts import Kind, Piece, split_statements

OWN_FUNCTIONS = (
    FunctionHelp(
        name_parts=("is_account_group_member",),
        type="scalar",
        usage=("is_account_group_member(group)",),
        description="Returns true if the user who runs the statement is a member of the group.",
        examples=("SELECT is_account_group_member('analysts');",),
    ),
    FunctionHelp(
        name_parts=("is_member",),
        type="scalar",
        usage=("is_member(group)",),
        description="Returns the same as is_account_group_member.",
        examples=("SELECT is_member('analysts');",),
    ),
    FunctionHelp(
        name_parts=("read_files",),
        type="table",
        usage=("read_files(path[, option => value]*)",),
        description="Reads the rows of files in a volume or an external location.",
        arguments="* path - The path of a file or a folder, which may have wildcards.\n"
        "* option - format (parquet, csv, json, …) and options of the format, as header.",
        examples=("SELECT * FROM read_files('/Volumes/main/raw/sales', format => 'csv', header => true);",),
    ),
    FunctionHelp(
        name_parts=("table_changes",),
        type="table",
        usage=("table_changes(table, start[, end])",),
        description="Returns the rows that versions of a table changed, with _change_type, _commit_version and "
        "_commit_timestamp. The change data feed of the table must be on.",
        arguments="* table - The table's name as a string.\n* start, end - Versions, or times; both are included.",
        examples=("SELECT * FROM table_changes('shop.orders', 2);",),
    ),
    FunctionHelp(
        name_parts=("table_changes_by_path",),
        type="table",
        usage=("table_changes_by_path(path, start[, end])",),
        description="Returns the same as table_changes for a table that is named by its path.",
        examples=("SELECT * FROM table_changes_by_path('/data/orders', 2);",),
    ),
)


def user_functions(view: CatalogView, catalog: str | None) -> Iterator[FunctionHelp]:
    """Yields the functions in a catalog, or in all, that `view` shows."""
    for schema in view.find_schemas(catalog):
        yield from map(_help, view.functions(schema.name))


def _help(entry: FunctionEntry) -> FunctionHelp:
    parameters = ", ".join(map(_parameter, entry.parameters))
    is_table = bool(entry.table_columns)
    columns = ", ".join(f"{column.name} {column.type}" for column in entry.table_columns)
    returns = f"{RETURNS_TABLE} ({columns})" if is_table else entry.returns
    comments = [f"* {each.name} - {each.comment}" for each in entry.parameters if each.comment]
    return FunctionHelp(
        name_parts=entry.name.parts,
        type="table" if is_table else "scalar",
        usage=(f"{entry.name.table}({parameters}) RETURNS {returns}",),
        description=entry.comment or "",
        arguments="\n".join(comments),
    )


def _parameter(parameter: FunctionParameter) -> str:
    default = "" if parameter.default is None else f" DEFAULT {parameter.default}"
    return f"{parameter.name} {parameter.type}{default}"


def format_sql(text: str) -> str:
    """Returns the formatted statements. Raises `StatementSyntaxError`, and `FormatNotPossible`.

    Statements that are rejected for other reasons, for example because they are not supported, are formatted.
    """
    for piece in split_statements(text):
        if piece.kind is Kind.STATEMENT:
            _ensure_syntax(text, piece)
    return format_text(text)


def _ensure_syntax(text: str, piece: Piece) -> None:
    try:
        parse_statement(piece.text)
    except StatementSyntaxError as error:
        if error.position is not None:
            lines = piece.text.split("\n")[: error.position.line - 1]
            offset = sum(len(line) + 1 for line in lines) + error.position.column - 1
            error.position = position_in(text, piece.offset + offset)
        raise
    except SqlError:
        return
