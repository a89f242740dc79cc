"""The tools as clients see them: names, texts for models, JSON schemas of arguments and results.

`execute_sql`, `execute_sql_read_only` and `poll_sql_result` have the names of Databricks' managed MCP server, and their
results the fields of the statement API: rows are lists of texts, which take a fraction of the tokens of a list with an
object for each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flask import Response

from gateway.http.mcp.running_calls import Call
from gateway.http.openapi_schemas import BOOLEAN, COUNT, STRING, Schema, answer, list_of, optional
from gateway.http.requests import WAIT_MAX_S
from gateway.http.statements import Body

WAIT_DEFAULT_S = 20
# Rows without the argument `row_limit`, and in a sample.
ROWS_DEFAULT, SAMPLE_DEFAULT = 100, 10
HISTORY_DEFAULT = 20


def _described(schema: Schema, description: str, **bounds: object) -> Schema:
    return schema | {"description": description} | bounds


_WHOLE: Schema = {"type": "integer"}
_CATALOG = _described(STRING, "Name of a catalog, as list_catalogs returns it.")
_SCHEMA = _described(STRING, "Name of a schema in the catalog.")
_TABLE = _described(STRING, "Name of a table or view in the schema.")
_TABLE_ARGUMENTS: Mapping[str, Schema] = {"catalog": _CATALOG, "schema": _SCHEMA, "table": _TABLE}
_PATTERN = _described(STRING, "Only names that match this pattern, in which % is any text and _ any character.")
_WAIT = _described(
    _WHOLE,
    "Seconds to wait for the end of the statement; afterwards the result has its statement_id for poll_sql_result.",
    minimum=0,
    maximum=int(WAIT_MAX_S),
    default=WAIT_DEFAULT_S,
)
_PARAMETER: Schema = {
    "type": "object",
    "properties": {
        "name": _described(STRING, "Name of a marker :name; without it, the next marker ?."),
        "value": _described(optional(STRING), "The value as text; null is NULL."),
        "type": _described(STRING, "SQL type to which the text is converted.", default="string"),
    },
    "additionalProperties": False,
}
STATUS: Schema = answer(
    "state",
    state={"type": "string", "enum": ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "CLOSED"]},
    error=answer(
        "message",
        error_code=STRING,
        message=STRING,
        condition=STRING,
        hint=STRING,
        line=COUNT,
        column=COUNT,
        excerpt=STRING,
    ),
    sql_state=STRING,
)
STATEMENT_RESULT: Schema = answer(
    "status",
    statement_id=STRING,
    status=STATUS,
    manifest=answer(
        "schema total_row_count truncated",
        schema=answer(
            "columns",
            column_count=COUNT,
            columns=list_of(answer("name type_text", name=STRING, position=COUNT, type_name=STRING, type_text=STRING)),
        ),
        total_row_count=COUNT,
        truncated=_described(BOOLEAN, "True if there are more rows, or longer texts, than the result has."),
    ),
    result=answer("data_array", data_array=list_of(list_of(optional(STRING)))),
)
_ITEM: Schema = {"type": "object"}


def listing(name: str) -> Schema:
    """Returns the schema of a list of objects. No member is required: after an error there is only the status, and
    some clients check that too.
    """
    described: dict[str, Schema] = {name: list_of(_ITEM), "truncated": BOOLEAN, "status": STATUS}
    return answer("", **described)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool; `arguments` are JSON schemas by name.

    `writes`: it may change data. `acts_as_user`: it may use all that the login may use, where the mode permits it.
    """

    name: str
    title: str
    description: str
    arguments: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    output: Schema
    writes: bool = False
    acts_as_user: bool = False

    def listed(self) -> dict[str, object]:
        """Returns the tool as `tools/list` has it."""
        schema: Schema = {"type": "object", "properties": dict(self.arguments), "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
            "outputSchema": self.output,
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.writes,
                "destructiveHint": self.writes,
                "idempotentHint": not self.writes,
                "openWorldHint": False,
            },
        }


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool with its function, which takes the arguments and the call, and returns the structured result or the
    response of another gateway; it raises `SqlError`.
    """

    tool: Tool
    run: Callable[[object, Call], Body | Response]


class ToolSet(Protocol):
    """The tools at one address, for the request's user."""

    def tools(self, after: str, call: Call) -> tuple[Sequence[Tool], str | None]:
        """Returns a page of tools, and the cursor of the next one."""
        ...

    def find(self, name: str, call: Call) -> BoundTool | None:
        """Returns the tool with this name; None if the user has no such tool."""
        ...


def _statement_arguments(rows_max: int) -> dict[str, Schema]:
    return {
        "query": _described(STRING, "One SQL statement, in Spark's dialect.", minLength=1),
        "catalog": _described(STRING, "Catalog in which names of the statement are looked up."),
        "schema": _described(STRING, "Schema in which names of the statement are looked up."),
        "parameters": _described(list_of(_PARAMETER), "Values for the parameter markers of the statement."),
        "row_limit": _limit(rows_max, ROWS_DEFAULT),
        "wait_seconds": _WAIT,
    }


def _limit(most: int, default: int) -> Schema:
    return _described(
        _WHOLE, "Maximum number of rows in the result.", minimum=1, maximum=most, default=min(default, most)
    )


def sql_tools(rows_max: int, *, may_write: bool) -> tuple[Tool, ...]:
    """Returns the tools of a server whose results have at most `rows_max` rows."""
    return (*_statement_tools(rows_max, may_write=may_write), *_list_tools(), *_table_tools(rows_max))


def _statement_tools(rows_max: int, *, may_write: bool) -> tuple[Tool, ...]:
    statement = _statement_arguments(rows_max)
    execute = Tool(
        name="execute_sql",
        title="Execute SQL",
        description="Runs one SQL statement, which may change data, and returns its rows. Use execute_sql_read_only "
        "if nothing is to be changed.",
        arguments=statement,
        required=("query",),
        output=STATEMENT_RESULT,
        writes=True,
        acts_as_user=True,
    )
    return (
        *((execute,) if may_write else ()),
        Tool(
            name="execute_sql_read_only",
            title="Execute SQL (read-only)",
            description="Runs one SQL query, or SHOW, DESCRIBE or EXPLAIN, and returns its rows. A statement that "
            "would change anything fails. Aggregate or filter in SQL rather than fetching many rows.",
            arguments=statement,
            required=("query",),
            output=STATEMENT_RESULT,
        ),
        Tool(
            name="poll_sql_result",
            title="Poll SQL result",
            description="Returns the state of a statement that was still running, and its rows once it has ended.",
            arguments={
                "statement_id": _described(STRING, "The statement_id in an earlier result."),
                "wait_seconds": _WAIT,
            },
            required=("statement_id",),
            output=STATEMENT_RESULT,
            acts_as_user=True,
        ),
        Tool(
            name="explain_sql",
            title="Explain SQL",
            description="Returns the plan of a SQL statement without running it; finds errors in it as well.",
            arguments={name: statement[name] for name in ("query", "catalog", "schema", "parameters", "wait_seconds")},
            required=("query",),
            output=STATEMENT_RESULT,
        ),
    )


def _list_tools() -> tuple[Tool, ...]:
    return (
        Tool(
            name="list_catalogs",
            title="List catalogs",
            description="Lists the catalogs, and names the one in which statements begin.",
            output=listing("catalogs"),
        ),
        Tool(
            name="list_schemas",
            title="List schemas",
            description="Lists the schemas of a catalog.",
            arguments={"catalog": _CATALOG},
            required=("catalog",),
            output=listing("schemas"),
        ),
        Tool(
            name="list_tables",
            title="List tables",
            description="Lists the tables and views of a schema with their comments.",
            arguments={"catalog": _CATALOG, "schema": _SCHEMA, "pattern": _PATTERN},
            required=("catalog", "schema"),
            output=listing("tables"),
        ),
        Tool(
            name="list_columns",
            title="List columns",
            description="Lists the columns of a table, or of all tables of a schema, with types and comments.",
            arguments=_TABLE_ARGUMENTS,
            required=("catalog", "schema"),
            output=listing("columns"),
        ),
    )


def _table_tools(rows_max: int) -> tuple[Tool, ...]:
    table = _TABLE_ARGUMENTS
    return (
        Tool(
            name="describe_table",
            title="Describe table",
            description="Describes a table or view: columns, keys, partitioning, owner, comment and properties.",
            arguments=table,
            required=tuple(table),
            output=answer(table=_ITEM, truncated=BOOLEAN, status=STATUS),
        ),
        Tool(
            name="sample_rows",
            title="Sample rows",
            description="Returns some rows of a table or view.",
            arguments={**table} | {"row_limit": _limit(rows_max, SAMPLE_DEFAULT), "wait_seconds": _WAIT},
            required=tuple(table),
            output=STATEMENT_RESULT,
        ),
        Tool(
            name="table_history",
            title="Table history",
            description="Lists the versions of a table, newest first: when, by whom and by which operation.",
            arguments={**table} | {"limit": _limit(rows_max, HISTORY_DEFAULT)},
            required=tuple(table),
            output=listing("versions"),
        ),
    )
