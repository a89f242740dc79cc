"""The allowlist of Spark's built-in functions, reviewed name by name.

`functions.tsv` in this directory lists the allowed functions (`scalar` includes aggregate, window and generator
functions; `table` is for functions in FROM; `postgres` are the gateway's own), :data:`EXCLUDED_FUNCTIONS` the others,
each with its reason. Together they are all built-in functions in the shipped Spark release; a test compares them with
Spark's registry, so an upgrade that adds functions fails until they are reviewed.

The authoritative check uses Spark's own parsed plan (`engine/spark`). The parser already rejects excluded functions,
with their reason; a name in neither list is passed to Spark, which does not find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from catalog.conditions import UnsupportedFunction

_RUNS_CODE = "calls any method of the server's Java classes"
_OPENS_XML = "makes the server open any file or address that its XML text names as a DTD"
_VALIDATES_XML = "reads any file of the server as an XML schema, by the option rowValidationXSDPath"
_READS_AVRO_SCHEMA = "reads its schema from any file or address, by the option avroSchemaUrl"
_READS_DESCRIPTOR = "reads its message descriptor from any file of the server"

# Spark's built-in functions that are not allowed, and the reason: `it {reason}`.
EXCLUDED_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "from_avro": _READS_AVRO_SCHEMA,
        "from_protobuf": _READS_DESCRIPTOR,
        "from_xml": _VALIDATES_XML,
        "java_method": _RUNS_CODE,
        "python_worker_logs": "shows the logs of other sessions",
        "reflect": _RUNS_CODE,
        "schema_of_avro": _READS_AVRO_SCHEMA,
        "schema_of_xml": _VALIDATES_XML,
        "to_avro": _READS_AVRO_SCHEMA,
        "to_protobuf": _READS_DESCRIPTOR,
        "try_reflect": _RUNS_CODE,
        "xpath": _OPENS_XML,
        "xpath_boolean": _OPENS_XML,
        "xpath_double": _OPENS_XML,
        "xpath_float": _OPENS_XML,
        "xpath_int": _OPENS_XML,
        "xpath_long": _OPENS_XML,
        "xpath_number": _OPENS_XML,
        "xpath_short": _OPENS_XML,
        "xpath_string": _OPENS_XML,
    }
)

# Functions of other products that users may expect; Spark does not have them, but a reason helps more than "not found".
UNAVAILABLE_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("cloud_files", "read_kafka", "read_statestore", "read_state_metadata", "file_content"),
        "reads files or services outside of the tables",
    )
    | dict.fromkeys(("ai_query", "http_request"), "sends data to a service outside")
)


def _load(kind: str) -> frozenset[str]:
    rows = (line.split("\t") for line in files(__package__).joinpath("functions.tsv").read_text().splitlines())
    return frozenset(name for row_kind, name in rows if row_kind == kind)


# Names, in lower case, of the allowed scalar, aggregate, window and generator functions, operators included.
ALLOWED_FUNCTIONS = _load("scalar")

# Names of the functions that PostgreSQL's dialect is translated to (`engine/sql/postgres`); no list shows them.
POSTGRES_FUNCTIONS = _load("postgres")

CALLABLE_FUNCTIONS = ALLOWED_FUNCTIONS | POSTGRES_FUNCTIONS

# Names, in lower case, of the allowed table-valued functions.
ALLOWED_TABLE_FUNCTIONS = _load("table")


TABLE_CHANGES, TABLE_CHANGES_BY_PATH = "table_changes", "table_changes_by_path"
CHANGE_FEED_FUNCTIONS = frozenset({TABLE_CHANGES, TABLE_CHANGES_BY_PATH})
# The gateway's own table-valued functions; Spark does not have them (`engine/sql/query/change_feeds.py`).
READ_FILES = "read_files"


def ensure_callable(name: str) -> None:
    """Raises `UnsupportedFunction` for a function that is not allowed."""
    reason = refusal_reason(name)
    if reason is not None:
        raise UnsupportedFunction(name, reason)


def refusal_reason(name: str) -> str | None:
    """Returns why the function `name` (any case, last part only) is not allowed; None if it is allowed or unknown."""
    folded = name.lower()
    return EXCLUDED_FUNCTIONS.get(folded) or UNAVAILABLE_FUNCTIONS.get(folded)
