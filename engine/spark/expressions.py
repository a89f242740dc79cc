"""The allowlist for Spark's expression classes in a plan, reviewed class by class.

`expressions.tsv` in this directory has every expression class in the shipped Spark release, by its name below
`org.apache.spark.sql.catalyst`; a disallowed class has the reason in a second column. A test compares them with Spark's
jars, so an upgrade that adds classes fails until they are reviewed. Classes from other packages (Hive functions,
physical plans) are in no list and therefore rejected.

The functions that a text may name have a separate list (`engine/sql/dialect/functions.py`). This list also covers the
analyzer's output for a text: for allowed functions, views, defaults, variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

PACKAGE = "org.apache.spark.sql.catalyst."


def _rows() -> list[tuple[str, str]]:
    lines = files(__package__).joinpath("expressions.tsv").read_text().splitlines()
    return [(PACKAGE + name, reason) for name, _, reason in (line.partition("\t") for line in lines)]


# Full class names, with `$` at the end for Scala objects.
ALLOWED_EXPRESSIONS = frozenset(name for name, reason in _rows() if not reason)

# Full class names, and the reason why a plan may not contain them: `it {reason}`.
REFUSED_EXPRESSIONS: Mapping[str, str] = MappingProxyType({name: reason for name, reason in _rows() if reason})
