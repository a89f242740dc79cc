"""MERGE in the history: the condition and each clause, on one line."""

from __future__ import annotations

import json

from engine.statements.merge.planning import describe_merge
from engine.statements.merge.statement import Merge
from engine.statements.parse import parse
from engine.tables.operations import TableOperation


def test_every_clause_with_its_condition_and_action() -> None:
    statement = parse(
        """MERGE INTO t USING s ON t.k =
                s.k -- the key
            WHEN MATCHED AND s.gone THEN DELETE
            WHEN MATCHED THEN UPDATE SET *
            WHEN NOT MATCHED AND s.v > 0 THEN INSERT *
            WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0
            WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    )
    assert isinstance(statement, Merge)
    found = describe_merge(statement, "ann")
    assert (found.name, found.operation, found.user_name) == ("MERGE", TableOperation.DML, "ann")
    assert {key: json.loads(text) for key, text in found.parameters.items()} == {
        "predicate": ["(t.k = s.k)"],
        "matchedPredicates": [{"predicate": "(s.gone)", "actionType": "delete"}, {"actionType": "update"}],
        "notMatchedPredicates": [{"predicate": "(s.v > 0)", "actionType": "insert"}],
        "notMatchedBySourcePredicates": [{"actionType": "update"}, {"actionType": "delete"}],
    }
