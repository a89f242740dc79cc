"""JSON objects that cross between Python and Java, with the names of their fields.

`Schema.java` declares the same names, and a test compares both. The types below are those of the functions that create
or read the objects, so that mypy checks the names too. Whoever changes one of them increments `VERSION` on both sides:
it is compared when Spark starts, because a jar of another version would be read without an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from engine.planning.plans.reads import FrameInput, FrameScan, ViewScan
from engine.runtime.jvm_statistics import JvmStatistics
from engine.runtime.profile import SparkJob, TaskCounts
from engine.runtime.variables import RowValue, Variable

VERSION = 4


class StatementJson(TypedDict):
    id: str
    principal: str
    instant_us: int
    text: str
    scans: list[ScanJson]
    views: list[dict[str, Any]]
    given: list[PythonRowsJson]
    hidden_relations: list[str]
    parameters: list[ParameterJson]
    variables: VariablesJson
    body_call: str
    spool: str
    result_bytes_max: int
    rows_wanted: int | None
    bytes_wanted: int | None
    pool: str | None
    announces_rows: bool
    reports_lineage: bool


class ScanJson(TypedDict):
    relation: str
    metadata: str
    root: str
    shown_root: str
    allowed_roots: list[str]
    excluded_roots: list[str]
    accepts_hard_links: bool
    lease: str | None
    source: int
    hidden: bool
    bytes: int
    schema: str
    read: str | None
    shown: dict[str, str]
    physical: str
    by_id: bool
    partition_columns: list[str]
    path_columns: list[str]
    vectors: dict[str, str]
    format: FormatJson | None
    row_tracking: RowTrackingJson | None


class FormatJson(TypedDict):
    kind: str
    options: dict[str, str]
    infers: bool


class RowTrackingJson(TypedDict):
    base_row_id: str
    default_row_commit_version: str
    row_id_column: str | None
    row_commit_version_column: str | None
    field_ids: tuple[int, int] | None


class PythonRowsJson(TypedDict):
    relation: str
    columns: str
    keys: list[str]
    costly: list[str]
    paths: list[str]
    is_stamped: bool
    spooled: SpooledRowsJson | None


class SpooledRowsJson(TypedDict):
    files: list[str]
    rows: int
    bytes: int


class ParameterJson(TypedDict):
    name: str | None
    value: str | None
    type: str
    text: NotRequired[str]
    row_value: NotRequired[dict[str, Any]]


class VariablesJson(TypedDict):
    session: list[dict[str, Any]]
    scopes: list[ScopeJson]


class ScopeJson(TypedDict):
    label: str
    variables: list[dict[str, Any]]


class ColumnJson(TypedDict):
    name: str
    type: str | dict[str, Any]
    ddl: str
    nullable: bool
    comment: str | None
    metadata: dict[str, Any]


class ResultJson(TypedDict):
    time_zone: str
    columns: list[ColumnJson]
    steps_us: dict[str, int]
    rules: dict[str, int]
    rows: int
    repeatable: str
    segments: list[tuple[str | None, int, int]]


class QueryColumnsJson(TypedDict):
    time_zone: str
    columns: list[ColumnJson]
    traits: dict[str, str]
    variables: list[str]


class AssignmentJson(TypedDict):
    default: str | None
    row_type: str
    rows: list[str]
    targets: NotRequired[list[tuple[str, str]]]


class LineageJson(TypedDict):
    columns: list[dict[str, Any]]
    rows: list[tuple[str, str, str]]


class FilesCallback(TypedDict):
    statement: str
    scan: int
    zone: str
    filters: list[Any]
    rows: NotRequired[int]
    estimate: NotRequired[list[Any]]


class RowsCallback(TypedDict):
    statement: str
    given: int
    chosen: NotRequired[list[int] | None]
    used: NotRequired[list[str]]


class FirstRowsCallback(TypedDict):
    statement: str
    result: dict[str, Any]


class DiskCallback(TypedDict):
    statement: str
    disk_bytes: int
    needed: int


class CredentialsCallback(TypedDict):
    statement: str
    lease: str
    place: str


_TYPES: Mapping[str, type] = {
    "STATEMENT": StatementJson,
    "SCAN": ScanJson,
    "FORMAT": FormatJson,
    "ROW_TRACKING": RowTrackingJson,
    "VIEW": ViewScan,
    "FRAME": FrameScan,
    "FRAME_INPUT": FrameInput,
    "PYTHON_ROWS": PythonRowsJson,
    "SPOOLED_ROWS": SpooledRowsJson,
    "PARAMETER": ParameterJson,
    "ROW_VALUE": RowValue,
    "VARIABLES": VariablesJson,
    "SCOPE": ScopeJson,
    "VARIABLE": Variable,
    "RESULT": ResultJson,
    "QUERY_COLUMNS": QueryColumnsJson,
    "COLUMN": ColumnJson,
    "ASSIGNMENT": AssignmentJson,
    "LINEAGE": LineageJson,
    "FILES_CALLBACK": FilesCallback,
    "ROWS_CALLBACK": RowsCallback,
    "FIRST_ROWS_CALLBACK": FirstRowsCallback,
    "DISK_CALLBACK": DiskCallback,
    "CREDENTIALS_CALLBACK": CredentialsCallback,
    "JVM_STATISTICS": JvmStatistics,
    "TASK_COUNTS": TaskCounts,
    "JOB": SparkJob,
}
# Fields for errors, which Python translates: they are not sent.
_NOT_SENT: Mapping[str, frozenset[str]] = {"VIEW": frozenset({"place"}), "FRAME": frozenset({"expressions"})}
# The names of the fields by the name of their object in `Schema.java`.
FIELDS: Mapping[str, frozenset[str]] = {
    name: frozenset(each.__annotations__) - _NOT_SENT.get(name, frozenset()) for name, each in _TYPES.items()
}
