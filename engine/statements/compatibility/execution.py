"""Answers to statements about what does not exist here: no rows, in the columns that the other system has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import empty_result, string_rows
from engine.statements.compatibility.statement import Absent, ForeignStatement, Refresh

_COLUMNS: Mapping[Absent, tuple[str, ...]] = MappingProxyType(
    {
        Absent.LOCKS: ("tab_name", "mode"),
        Absent.TRANSACTIONS: ("txnid", "state", "startedtime", "lastheartbeattime", "user", "host"),
        Absent.COMPACTIONS: ("compactionid", "dbname", "tabname", "partname", "type", "state"),
        Absent.INDEXES: ("idx_name", "tab_name", "col_names", "idx_tab_name", "idx_type", "comment"),
        Absent.ROLES: ("role",),
    }
)
"""Hive's."""


def answer_foreign(_: BoundStatement, statement: ForeignStatement) -> Outcome:
    """No rows; a table that the statement names was found when it was bound."""
    if isinstance(statement, Refresh):
        return Outcome(result=empty_result())
    return Outcome(result=string_rows(_COLUMNS[statement.kind], []))
