"""The bind stage: names → catalog entries → one pinned snapshot per table. The only maker of a `BoundStatement`.

Columns, types and functions are not bound here; Spark analyzes them. A statement's names are defined in its family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.runtime.statement import Statement

S = TypeVar("S", bound=Statement)


def bind(statement: S, bind_names: Callable[[S, Binder], BoundNames], binder: Binder) -> BoundStatement:
    """Resolves the names in `statement`. Raises the catalog's and the log's errors."""
    statement, functions = binder.functions.in_statement(statement, binder.state.current)
    names = bind_names(statement, binder)
    return BoundStatement(
        statement=names.statement or statement,
        state=binder.state,
        view=binder.view,
        relations=names.relations,
        target=names.target,
        functions=functions,
        securable=names.securable,
        time_ms=names.time_ms,
        is_persistent=names.is_persistent,
        knows_user=binder.activity.knows_user,
        load_lineage=binder.load_lineage,
    )
