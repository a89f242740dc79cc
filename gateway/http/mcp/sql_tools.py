"""The tools at `/api/2.0/mcp/sql`: statements, and the objects that they name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from flask import Response

from catalog.system.audit_table import SYSTEM_CATALOG
from engine.runtime.statement import Statement
from engine.statements.describe.statement import DescribeHistory, DescribeTable
from engine.statements.listings.statement import ListColumns, ListSchemas, ListTables
from engine.statements.show.statement import ShowCatalogs
from engine.tool_texts import explanation, rows_of_table
from gateway.http.browse import exact_pattern
from gateway.http.mcp.runner import ARROW_BYTES_MAX, Runner
from gateway.http.mcp.running_calls import Call
from gateway.http.mcp.tools import (
    HISTORY_DEFAULT,
    ROWS_DEFAULT,
    SAMPLE_DEFAULT,
    WAIT_DEFAULT_S,
    BoundTool,
    Tool,
    sql_tools,
)
from gateway.http.requests import WAIT_MAX_S, RequestObject, StatementRequest, parse_parameters
from gateway.http.statements import Body

Handler = Callable[[RequestObject, Call], Body | Response]


class SqlTools:
    """The tools of a server in one mode."""

    def __init__(self, runner: Runner, *, may_write: bool) -> None:
        self._runner = runner
        self._tools = {tool.name: tool for tool in sql_tools(runner.rows_max, may_write=may_write)}
        self._handlers: Mapping[str, Handler] = {
            "execute_sql": self._execute,
            "execute_sql_read_only": self._execute,
            "poll_sql_result": self._poll,
            "list_catalogs": self._list_catalogs,
            "list_schemas": self._list_schemas,
            "list_tables": self._list_tables,
            "list_columns": self._list_columns,
            "describe_table": self._describe_table,
            "sample_rows": self._sample_rows,
            "table_history": self._table_history,
            "explain_sql": self._explain,
        }

    def tools(self, after: str, call: Call) -> tuple[Sequence[Tool], str | None]:
        """Returns all tools, which are one page."""
        return tuple(self._tools.values()), None

    def find(self, name: str, call: Call) -> BoundTool | None:
        tool = self._tools.get(name)
        return None if tool is None else BoundTool(tool, partial(self._run_tool, tool))

    @property
    def poll(self) -> BoundTool:
        """Returns the tool for statements that are still running."""
        tool = self._tools["poll_sql_result"]
        return BoundTool(tool, partial(self._run_tool, tool))

    def _run_tool(self, tool: Tool, arguments: object, call: Call) -> Body | Response:
        return self._handlers[tool.name](RequestObject(arguments, tool.arguments), call)

    def _execute(self, arguments: RequestObject, call: Call) -> Body:
        return self._run(required_text(arguments, "query"), arguments, call, ROWS_DEFAULT)

    def _explain(self, arguments: RequestObject, call: Call) -> Body:
        return self._run(explanation(required_text(arguments, "query")), arguments, call, ROWS_DEFAULT)

    def _sample_rows(self, arguments: RequestObject, call: Call) -> Body:
        return self._run(rows_of_table(_table(arguments)), arguments, call, SAMPLE_DEFAULT, is_inside=False)

    def _run(self, text: str, arguments: RequestObject, call: Call, rows: int, *, is_inside: bool = True) -> Body:
        """Runs a text, with the arguments' parameters inside of their catalog and schema."""
        rows_max = self._runner.rows_max
        submitted = StatementRequest(
            text=text,
            catalog=(arguments.text("catalog") or None) if is_inside else None,
            schema=(arguments.text("schema") or None) if is_inside else None,
            parameters=parse_parameters(arguments),
            row_limit=bounded_number(arguments, "row_limit", default=min(rows, rows_max), most=rows_max),
            byte_limit=ARROW_BYTES_MAX,
            wait_timeout_s=wait_of(arguments),
        )
        return self._runner.execute(submitted, call)

    def _poll(self, arguments: RequestObject, call: Call) -> Body | Response:
        return self._runner.poll(required_text(arguments, "statement_id"), wait_of(arguments), call)

    def _list_catalogs(self, arguments: RequestObject, call: Call) -> Body:
        with self._runner.session() as session:
            names = [row["catalog"] for row in self._runner.rows_in(session, ShowCatalogs(), call)]
            current = session.engine_session.current_catalog
        found = [{"name": name} for name in (*names, SYSTEM_CATALOG)]
        return self._runner.bounded("catalogs", found) | {"current": current}

    def _list_schemas(self, arguments: RequestObject, call: Call) -> Body:
        statement = ListSchemas(catalog=required_text(arguments, "catalog"))
        return self._listed("schemas", statement, {"schema": "name"}, call)

    def _list_tables(self, arguments: RequestObject, call: Call) -> Body:
        statement = ListTables(
            catalog=required_text(arguments, "catalog"),
            schema_pattern=exact_pattern(required_text(arguments, "schema")),
            table_pattern=arguments.text("pattern"),
        )
        return self._listed("tables", statement, {"table": "name"}, call)

    def _list_columns(self, arguments: RequestObject, call: Call) -> Body:
        table = arguments.text("table")
        statement = ListColumns(
            catalog=required_text(arguments, "catalog"),
            schema_pattern=exact_pattern(required_text(arguments, "schema")),
            table_pattern=exact_pattern(table) if table else None,
        )
        return self._listed("columns", statement, {"column": "name", "sql_type": "type"}, call)

    def _describe_table(self, arguments: RequestObject, call: Call) -> Body:
        statement = DescribeTable(table_parts=_table(arguments), extended=True, as_json=True)
        table = json.loads(str(self._runner.rows(statement, call)[0]["json_metadata"]))
        columns = self._runner.bounded("columns", table["columns"])
        return {"table": table | {"columns": columns["columns"]}, "truncated": columns["truncated"]}

    def _table_history(self, arguments: RequestObject, call: Call) -> Body:
        rows_max = self._runner.rows_max
        limit = bounded_number(arguments, "limit", default=min(HISTORY_DEFAULT, rows_max), most=rows_max)
        return self._listed("versions", DescribeHistory(table_parts=_table(arguments), limit=limit), {}, call)

    def _listed(self, name: str, statement: Statement, renamed: Mapping[str, str], call: Call) -> Body:
        found = self._runner.rows(statement, call)
        return self._runner.bounded(name, [{renamed.get(key, key): row[key] for key in row} for row in found])


def _table(arguments: RequestObject) -> tuple[str, str, str]:
    catalog, schema, table = (required_text(arguments, name) for name in ("catalog", "schema", "table"))
    return catalog, schema, table


def required_text(arguments: RequestObject, name: str) -> str:
    """Returns a string argument. Raises `InvalidField` if it is missing or empty."""
    text = arguments.text(name)
    if not text:
        raise arguments.wrong(name, "must be given and not be empty")
    return text


def bounded_number(arguments: RequestObject, name: str, *, default: int, most: int, least: int = 1) -> int:
    """Returns an integer argument from `least` to `most`; `default` if it is missing. Raises `InvalidField`."""
    found = arguments.whole_number(name, least=least)
    if found is not None and found > most:
        raise arguments.wrong(name, f"must be a whole number from {least} to {most}")
    return default if found is None else found


def wait_of(arguments: RequestObject) -> float:
    """Returns the argument `wait_seconds`, how long the call waits for the statement."""
    return float(bounded_number(arguments, "wait_seconds", default=WAIT_DEFAULT_S, most=int(WAIT_MAX_S), least=0))
