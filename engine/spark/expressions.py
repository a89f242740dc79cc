"""Which of Spark's classes of expressions a plan may hold: a list by allowance, reviewed class by class.

`expressions.tsv` beside this file has every class of expressions of the Spark release that is shipped, by its name
below `org.apache.spark.sql.catalyst`; one that a plan may not hold has the reason in a second column. A test compares
them with Spark's jars, so an upgrade that brings new ones fails until somebody has looked at them. Classes elsewhere
(Hive's functions, those of physical plans) are in no list and therefore refused.

The functions that a text may name are a list of their own (`engine/sql/dialect/functions.py`). This one also holds for
what the analyzer makes of a text: of what it was allowed to name, of views, of defaults, of variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

PACKAGE = "org.apache.spark.sql.catalyst."


def _rows() -> list[tuple[str, str]]:
    lines = files(__package__).joinpath("expressions.tsv").read_text().splitlines()
    return [(PACKAGE + name, reason) for name, _, reason in (line.partition("\t") for line in lines)]


ALLOWED_EXPRESSIONS = frozenset(name for name, reason in _rows() if not reason)
"""Full names of classes, `$` at the end of those that Scala has as objects."""

REFUSED_EXPRESSIONS: Mapping[str, str] = MappingProxyType({name: reason for name, reason in _rows() if reason})
"""Full names of classes, and why a plan may not hold them: `it {reason}`."""
