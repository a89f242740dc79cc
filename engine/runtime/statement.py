"""The base class of all statements that are bound, authorized, planned and executed by themselves, and their kinds.

The kind of a statement follows from its first words: enough to choose a queue before the statement is parsed. A queue
does not protect anything: the resources of a statement are bounded by its class if that is known, and else (a script,
EXECUTE IMMEDIATE) by the limits of its user for any statement.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Statement:
    """A statement before its names are bound: a frozen value that depends on nothing but its text.

    Its entry in `engine.statements.registry` says everything that the stages need to know about it.
    """

    __slots__ = ()


class StatementClass(StrEnum):
    # Answered from the catalog and the logs, without Spark.
    METADATA = "metadata"
    READ = "read"
    WRITE = "write"
    MAINTENANCE = "maintenance"


_COMMENTS = re.compile(r"(?s)(?:\s|--[^\n]*+(?:\n|$)|/\*.*?\*/)*+")
_WORDS = re.compile(r"[A-Za-z_]+")
_METADATA = frozenset({"SHOW", "DESCRIBE", "DESC", "USE", "SET", "RESET", "GET", "LIST"})
_READ = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE", "EXPLAIN"})
_MAINTENANCE = frozenset(
    {"OPTIMIZE", "VACUUM", "ANALYZE", "RESTORE", "FSCK", "REORG", "CONVERT", "MSCK", "CALL", "SYNC"}
)
_WRITE = frozenset(
    {
        "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "TRUNCATE", "CREATE", "REPLACE", "ALTER", "DROP", "UNDROP",
        "COMMENT", "GRANT", "PUT", "REMOVE", "REVOKE", "GENERATE", "CACHE", "UNCACHE", "CLEAR", "REFRESH",
    }
)  # fmt: skip
# Prefixes that are followed by a query.
_QUERIES = frozenset({("DESCRIBE", "QUERY"), ("DESC", "QUERY"), ("SET", "VAR"), ("SET", "VARIABLE")})


def class_of(text: str) -> StatementClass | None:
    """Returns the class of an SQL text; None if its first words do not determine it."""
    begin = _COMMENTS.match(text)
    at = begin.end() if begin else 0
    if text[at : at + 1] == "(":
        return StatementClass.READ
    words = tuple(word.upper() for word in _WORDS.findall(text[at : at + 64])[:2])
    head = words[0] if words and text[at : at + len(words[0])].upper() == words[0] else ""
    if head in _METADATA:
        has_query = words in _QUERIES or "(" in text or head.startswith("DESC") and "SELECT" in text.upper()
        return StatementClass.READ if has_query else StatementClass.METADATA
    if head in _READ:
        return StatementClass.READ
    if head in _WRITE:
        return StatementClass.WRITE
    return StatementClass.MAINTENANCE if head in _MAINTENANCE else None
