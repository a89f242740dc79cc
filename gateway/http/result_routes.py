"""The console's routes beyond Databricks' API: rows by position, files, and a statement's profile.

GET /api/2.0/sql/statements/{id}/result/rows?offset=&limit=&order=&filter=&columns=&form=&cut=   Arrow stream
GET /api/2.0/sql/statements/{id}/result/count?filter=                               number of rows (`result_filters.py`)
GET /api/2.0/sql/statements/{id}/result/statistics?column=&filter=                  of a column (`column_statistics.py`)
GET /api/2.0/sql/statements/{id}/result/file?format=csv|parquet|arrow               the whole result
GET /api/2.0/sql/statements/{id}/profile                                            progress and reads
GET /api/2.0/sql/statements/{id}/plan                                               executed plans (`plan_body.py`)
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from flask import Blueprint, Response, request

from catalog.conditions import InvalidField, OperationNotFound
from gateway.http.column_statistics import column_statistics
from gateway.http.delivery import API, CONTENT_TYPES
from gateway.http.encode import arrow_stream
from gateway.http.plan_body import plan_body, read_body
from gateway.http.queries import number_of, option_of
from gateway.http.requests import Format
from gateway.http.result_files import MEDIA_TYPES, FileFormat, result_file
from gateway.http.result_filters import Condition, parse_conditions
from gateway.http.result_rows import CellForm, Selection, Selections, Window, window_table
from gateway.http.statements import StatementApi, parse_statement_id, state_name
from gateway.sessions.operation import Operation

_TEXT_ROWS_MAX, _NUMBER_ROWS_MAX = 10_000, 1_000_000
_OFFSET_MAX = 2**62


def result_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes for rows, counts and statistics of a result, its file, and a statement's profile and plan."""
    routes = Blueprint("results", __name__)
    selections = Selections()
    routes.before_request(api.authenticate)

    @routes.get(f"{API}/statements/<statement_id>/result/rows")
    def rows(statement_id: str) -> Response:
        operation, _ = api.find(statement_id)
        window = _window(len(operation.schema))
        content = arrow_stream(window_table(operation, selections, window))
        return Response(content, content_type=CONTENT_TYPES[Format.ARROW_STREAM])

    @routes.get(f"{API}/statements/<statement_id>/result/count")
    def count(statement_id: str) -> dict[str, object]:
        operation, _ = api.find(statement_id)
        selection = Selection(conditions=_conditions(len(operation.schema)))
        matches = operation.row_count() if selection.is_all else len(selections.positions(operation, selection))
        return {"row_count": matches}

    @routes.get(f"{API}/statements/<statement_id>/result/statistics")
    def statistics(statement_id: str) -> dict[str, object]:
        operation, _ = api.find(statement_id)
        width = len(operation.schema)
        if not width:
            raise InvalidField("column", "must be a column's position, and the result has no columns")
        column = number_of("column", default=0, largest=width - 1)
        found = column_statistics(operation, column, _conditions(width))
        return {
            "row_count": found.row_count,
            "null_count": found.null_count,
            "distinct_count": found.distinct_count,
            "min": found.low,
            "max": found.high,
        }

    @routes.get(f"{API}/statements/<statement_id>/result/file")
    def file(statement_id: str) -> Response:
        operation, _ = api.find(statement_id)
        format_ = option_of("format", FileFormat.CSV)
        answer = Response(_Begun(result_file(operation, format_)), content_type=MEDIA_TYPES[format_])
        answer.headers["Content-Disposition"] = f'attachment; filename="result-{statement_id[:8]}.{format_}"'
        return answer

    @routes.get(f"{API}/statements/<statement_id>/profile")
    def profile(statement_id: str) -> dict[str, object]:
        operation_id = parse_statement_id(statement_id)
        _, operation = api.registry().find_operation(operation_id, api.identity())
        if operation.is_call:
            raise OperationNotFound()
        return profile_body(operation)

    @routes.get(f"{API}/statements/<statement_id>/plan")
    def plan(statement_id: str) -> dict[str, object]:
        operation_id = parse_statement_id(statement_id)
        _, operation = api.registry().find_operation(operation_id, api.identity())
        if operation.is_call:
            raise OperationNotFound()
        return plan_body(operation)

    return routes


class _Begun:
    """Pieces, the first already created: a statement's failure can still be an error response."""

    def __init__(self, pieces: Generator[bytes, None, None]) -> None:
        self._first: bytes | None = next(pieces)
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        first, self._first = self._first, None
        return next(self._pieces) if first is None else first

    def close(self) -> None:
        """Ends the file, also before any byte was sent."""
        self._pieces.close()


def profile_body(operation: Operation) -> dict[str, object]:
    """Returns the current information about a run."""
    profile, now = operation.profile, operation.profile.now
    tasks = now.tasks
    return {
        "statement_id": str(operation.id),
        "state": state_name(operation.state),
        "stage": now.stage or profile.stage,
        "statements_begun": profile.parts,
        "from_cache": profile.is_from_cache,
        "from_result_cache": profile.is_from_cache,
        "created_ms": operation.created_ms,
        "ended_ms": operation.ended_ms,
        "stages": [{"name": each.stage, "duration_ms": round(each.duration_ms, 3)} for each in profile.stages],
        "tasks": {"total": tasks.total, "running": tasks.running, "done": tasks.done, "failed": tasks.failed},
        "rules": dict(profile.rules),
        "reads": [read_body(read) for read in profile.reads],
        "rows": operation.rows_held,
        "result_bytes": operation.result_bytes,
        "log": list(operation.profile.log_lines),
    }


def _window(width: int) -> Window:
    form = option_of("form", CellForm.TEXT)
    limit_max = _NUMBER_ROWS_MAX if form is CellForm.NUMBER else _TEXT_ROWS_MAX
    return Window(
        offset=number_of("offset", default=0, largest=_OFFSET_MAX),
        limit=number_of("limit", default=1000, smallest=1, largest=limit_max),
        selection=Selection(conditions=_conditions(width), order=_order(width)),
        columns=_columns(width),
        form=form,
        cut=number_of("cut", default=1, smallest=1, largest=_OFFSET_MAX) if "cut" in request.args else None,
    )


def _conditions(width: int) -> tuple[Condition, ...]:
    return parse_conditions(request.args.get("filter"), width)


def _order(width: int) -> tuple[int, bool] | None:
    text = request.args.get("order")
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})\.(asc|desc)", text)
    if not found or int(found[1]) >= width:
        raise InvalidField("order", f"must be the position of one of {width} columns and asc or desc, as in 0.desc")
    return int(found[1]), found[2] == "desc"


def _columns(width: int) -> tuple[int, ...] | None:
    text = request.args.get("columns")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(,[0-9]{1,6}){0,9999}", text) or any(
        int(each) >= width for each in text.split(",")
    ):
        raise InvalidField("columns", f"must be positions among {width} columns, as in 0,2")
    return tuple(int(each) for each in text.split(","))
