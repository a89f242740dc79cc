"""What a MERGE says of itself in the log, as Delta's users know it."""

from __future__ import annotations

import json

from engine.sql.expressions import one_line
from engine.statements.merge.statement import ClauseKind, DeleteAction, Merge, MergeClause
from engine.tables.operations import CommitDescription, TableOperation


def describe_merge(statement: Merge, principal: str) -> CommitDescription:
    parameters = {
        "predicate": json.dumps([f"({one_line(statement.condition)})"]),
        "matchedPredicates": _clauses(statement, ClauseKind.MATCHED),
        "notMatchedPredicates": _clauses(statement, ClauseKind.NOT_MATCHED),
        "notMatchedBySourcePredicates": _clauses(statement, ClauseKind.NOT_MATCHED_BY_SOURCE),
    }
    return CommitDescription(name="MERGE", operation=TableOperation.DML, parameters=parameters, user_name=principal)


def _clauses(statement: Merge, kind: ClauseKind) -> str:
    return json.dumps([_clause(clause) for clause in statement.clauses if clause.kind is kind])


def _clause(clause: MergeClause) -> dict[str, str]:
    predicate = {} if clause.condition is None else {"predicate": f"({one_line(clause.condition)})"}
    if isinstance(clause.action, DeleteAction):
        return {**predicate, "actionType": "delete"}
    return {**predicate, "actionType": "insert" if clause.kind is ClauseKind.NOT_MATCHED else "update"}
