"""Which of Spark's built-in functions a statement may call: a list by allowance, reviewed name by name.

`functions.tsv` beside this file has the allowed ones (`scalar` includes aggregate, window and generator
functions; `table` for those in FROM), :data:`EXCLUDED_FUNCTIONS` the others, each with its reason. Together they are
all built-in functions of the Spark release that is shipped; a test compares them with Spark's registry, so an upgrade
that brings new ones fails until somebody has looked at them.

The authoritative check is made on Spark's own parsed plan (`engine/spark`). The parser refuses the excluded ones
already, with their reason; a name that is in neither list is left to Spark, which does not find it.
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
"""Built-in functions of Spark that may not run, and why: `it {reason}`."""

UNAVAILABLE_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("cloud_files", "read_kafka", "read_statestore", "read_state_metadata", "file_content"),
        "reads files or services outside of the tables",
    )
    | dict.fromkeys(("ai_query", "http_request"), "sends data to a service outside")
)
"""Functions of other products that users know; Spark has none of them, but a refusal with the reason says more."""


def _load(kind: str) -> frozenset[str]:
    rows = (line.split("\t") for line in files(__package__).joinpath("functions.tsv").read_text().splitlines())
    return frozenset(name for row_kind, name in rows if row_kind == kind)


ALLOWED_FUNCTIONS = _load("scalar")
"""Names, in lower case, of the scalar, aggregate, window and generator functions that may run, operators included."""

ALLOWED_TABLE_FUNCTIONS = _load("table")
"""Names, in lower case, of the table-valued functions that may run."""


TABLE_CHANGES, TABLE_CHANGES_BY_PATH = "table_changes", "table_changes_by_path"
CHANGE_FEED_FUNCTIONS = frozenset({TABLE_CHANGES, TABLE_CHANGES_BY_PATH})
READ_FILES = "read_files"
"""Table-valued functions of our own; Spark has none of them (`engine/sql/query/change_feeds.py`)."""


def ensure_callable(name: str) -> None:
    """Raise `UnsupportedFunction` for a function that may not be called."""
    reason = refusal_reason(name)
    if reason is not None:
        raise UnsupportedFunction(name, reason)


def refusal_reason(name: str) -> str | None:
    """Why the function of this name (any case, last part only) may not be called; None where it may or is unknown."""
    folded = name.lower()
    return EXCLUDED_FUNCTIONS.get(folded) or UNAVAILABLE_FUNCTIONS.get(folded)
