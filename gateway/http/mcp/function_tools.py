"""The tools at `/api/2.0/mcp/functions/<catalog>/<schema>[/<function>]`: SQL functions that the user may see.

A tool is called `catalog__schema__function`, as at Databricks. A name with other characters than a tool's may have gets
a digest, so that tools of different functions differ. A call is a query, in which the function runs with the rights of
its owner, as in any other query. A call that takes longer is polled by `poll_sql_result`, which is a tool here too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from catalog.names import fold
from engine.statements.listings.statement import ListEntries, ObjectKind
from engine.tool_texts import Argument, function_call, takes_json
from gateway.http.mcp.runner import ARROW_BYTES_MAX, Runner
from gateway.http.mcp.running_calls import Call
from gateway.http.mcp.tools import STATEMENT_RESULT, WAIT_DEFAULT_S, BoundTool, Tool
from gateway.http.openapi_schemas import Schema
from gateway.http.requests import RequestObject, StatementRequest
from gateway.http.statements import Body

_NAME_MAX, _DIGEST = 128, 8
_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]")
_INTEGERS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_SCHEMAS: Mapping[str, Schema] = {
    "boolean": {"type": ["boolean", "null"]},
    "float": {"type": ["number", "null"]},
    "double": {"type": ["number", "null"]},
    # A number in JSON may lose digits on its way.
    "decimal": {"type": ["number", "string", "null"]},
    "date": {"type": ["string", "null"], "format": "date"},
    "timestamp": {"type": ["string", "null"], "format": "date-time"},
    "array": {"type": ["array", "null"]},
    "map": {"type": ["object", "null"]},
    "struct": {"type": ["object", "null"]},
    "variant": {},
}


@dataclass(frozen=True, slots=True)
class FunctionTools:
    """The functions of a schema, or one of them, as tools of the request's user."""

    runner: Runner
    catalog: str
    schema: str
    function: str | None
    # The tool for calls that are still running.
    poll: BoundTool

    def tools(self, after: str, call: Call) -> tuple[Sequence[Tool], str | None]:
        page = self.runner.rows_max
        found = self._entries(call, after, page + 1)
        following = fold(str(found[page - 1]["name"][-1])) if len(found) > page else None
        listed = [_tool(entry) for entry in found[:page]]
        return (listed, following) if following is not None else ([*listed, self.poll.tool], None)

    def find(self, name: str, call: Call) -> BoundTool | None:
        if name == self.poll.tool.name:  # no function's tool has this name, without the names of its containers
            return self.poll
        for entry in self._entries(call):
            if tool_name(entry["name"]) == name:
                return BoundTool(tool := _tool(entry), partial(self._run, tool, entry))
        return None

    def _run(self, tool: Tool, entry: Mapping[str, Any], arguments: object, call: Call) -> Body:
        given = RequestObject(arguments, tool.arguments)
        if missing := [name for name in tool.required if name not in given.names()]:
            raise given.wrong(missing[0], "must be given")
        values = [
            Argument(each["name"], each["type"], _value(given, each["name"], each["type"]))
            for each in entry["parameters"]
            if each["name"] in given.names()
        ]
        text, parameters = function_call(entry["name"], values, is_table=bool(entry["table_columns"]))
        submitted = StatementRequest(
            text=text,
            parameters=parameters,
            row_limit=self.runner.rows_max,
            byte_limit=ARROW_BYTES_MAX,
            wait_timeout_s=WAIT_DEFAULT_S,
        )
        return self.runner.execute(submitted, call)

    def _entries(self, call: Call, after: str = "", limit: int | None = None) -> list[dict[str, Any]]:
        statement = ListEntries(
            kind=ObjectKind.FUNCTION,
            catalog=self.catalog,
            schema=self.schema,
            name=self.function,
            after=after,
            limit=limit,
        )
        return [json.loads(str(row["entry"])) for row in self.runner.rows(statement, call)]


def _tool(entry: Mapping[str, Any]) -> Tool:
    """Returns the tool of a catalog entry (`engine/statements/listings/execution_entries.py`)."""
    parameters = entry["parameters"]
    listed = ", ".join(f"{each['name']} {each['type']}" for each in parameters)
    signature = f"{'.'.join(entry['name'])}({listed}) RETURNS {entry['returns']}"
    comment = entry.get("comment")
    return Tool(
        name=tool_name(entry["name"]),
        title=entry["name"][-1],
        description=f"{comment} (SQL function {signature})" if comment else f"Calls the SQL function {signature}.",
        arguments={each["name"]: _schema(each) for each in parameters},
        required=tuple(each["name"] for each in parameters if "default" not in each),
        output=STATEMENT_RESULT,
    )


def tool_name(name_parts: Sequence[str]) -> str:
    """Returns a name of the characters and the length that a tool's name may have."""
    full = "__".join(name_parts)
    plain = _OTHER_CHARACTERS.sub("_", full)
    if plain == full and len(full) <= _NAME_MAX:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:_DIGEST]
    return f"{plain[: _NAME_MAX - _DIGEST - 1]}_{digest}"


def _schema(parameter: Mapping[str, Any]) -> Schema:
    sql_type = parameter["type"].lower()
    word = re.split(r"[(<\s]", sql_type, maxsplit=1)[0]
    if (bits := _INTEGERS.get(word)) is not None:
        known: Schema = {"type": ["integer", "null"], "minimum": -(2**bits), "maximum": 2**bits - 1}
    else:
        known = _SCHEMAS.get(word, {"type": ["string", "null"]})
    default = f" DEFAULT {parameter['default']}" if "default" in parameter else ""
    about = f"{parameter['comment']} ({sql_type}{default})" if "comment" in parameter else f"{sql_type}{default}"
    return known | {"description": about}


def _value(given: RequestObject, name: str, sql_type: str) -> object:
    value = given.value(name)
    if isinstance(value, list | dict) and not takes_json(sql_type):
        raise given.wrong(name, f"must be a value of type {sql_type}")
    return value
