"""Restrictions on tables with row filters or column masks, and redaction for views.

Each statement declares its effects on these tables (:class:`PolicyEffect`). Queries read a table through its policies,
as does each statement that takes its rows from a query; inserting rows is allowed. DELETE, UPDATE and MERGE change the
rows that a query would return (`engine.planning.reads.target_reads`), unless a table constraint or generated column
would use a masked column in a changed row: its result would reveal the value. All other operations that reveal stored
data (files, history, whether all rows satisfy a constraint), or remove hidden rows, are rejected, and so is a change to
a column that a policy uses.

A view's reader sees its rows, but not the number of files in its tables: without SELECT on all tables, EXPLAIN is
rejected. In both cases a statement's progress hides its metrics, and table maintenance does not return metrics. Pure,
over bound values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from catalog.conditions import ColumnUsedByPolicy, InsufficientPermissions, PolicyForbidsStatement
from catalog.grants.privileges import Privilege
from catalog.grants.rights import label_of
from catalog.names import fold
from engine.binding.bound import BoundInBody, BoundRelation, BoundStatement, BoundTable, tables_of
from engine.binding.visibility import is_hidden
from engine.sql.expressions import parse_any_expression


def hides_metrics(bound: BoundStatement) -> bool:
    """Returns whether the statement's metrics must be hidden."""
    if isinstance(bound.target, BoundTable) and bound.target.is_protected:
        return True
    return any(table.is_protected or is_hidden(bound.view, table) for table in tables_of(bound.relations))


def hides_texts(bound: BoundStatement) -> bool:
    """Returns whether the executed text contains function bodies that read tables."""
    return any(isinstance(relation, BoundInBody) for relation in bound.relations)


def ensure_hides(bound: BoundStatement, effects: Iterable[Effect]) -> None:
    """Raises `PolicyForbidsStatement`, `ColumnUsedByPolicy` or `InsufficientPermissions` for an effect that would
    reveal rows.
    """
    declared = tuple(effects)
    if not declared:
        # Fails closed: a new statement without a declaration would otherwise bypass row
        # filters.
        raise ValueError(f"{type(bound.statement).__name__} declares no effect on protected tables")
    for effect in declared:
        _ensure_hides(bound, effect)


def _ensure_hides(bound: BoundStatement, effect: Effect) -> None:
    target = bound.target if isinstance(bound.target, BoundTable) else None
    match effect.kind:
        case PolicyEffect.REVEALS_PLAN:
            _refuse_if_protected(effect, tables_of(bound.relations))
            _ensure_shows_plans(bound)
            _refuse_if_protected(effect, () if target is None else (target,))
        case PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES:
            _refuse_if_protected(effect, tables_of(bound.relations))
        case (
            PolicyEffect.REVEALS_STORED_STATE_OF_TARGET
            | PolicyEffect.REMOVES_OR_REPLACES_ROWS
            | PolicyEffect.CHECKS_STORED_ROWS
        ):
            _refuse_if_protected(effect, () if target is None else (target,))
        case PolicyEffect.CHANGES_COLUMNS:
            for column in effect.columns:
                if target is not None and target.is_used_by_policy(column):
                    raise ColumnUsedByPolicy(column, target.label)
        case PolicyEffect.CHANGES_VISIBLE_ROWS:
            if target is not None and target.is_protected:
                _ensure_constraints_reveal_nothing(effect, target)
        case (
            PolicyEffect.NONE
            | PolicyEffect.READS_THROUGH_POLICIES
            | PolicyEffect.ADDS_ROWS
            | PolicyEffect.REMOVES_VISIBLE_ROWS
            | PolicyEffect.REARRANGES_FILES
            | PolicyEffect.ADMINISTERS
        ):
            pass
        case _:
            assert_never(effect.kind)


def _refuse_if_protected(effect: Effect, tables: Iterable[BoundTable]) -> None:
    for table in tables:
        if table.is_protected:
            raise PolicyForbidsStatement(effect.what, table.label)


def _ensure_shows_plans(bound: BoundStatement) -> None:
    """Checks EXPLAIN: a plan shows the files of tables that a view or a function reads."""
    for relation in bound.relations:
        # A view grants its rows, not the layout and size of the tables below it.
        if not isinstance(relation, BoundTable) and any(is_hidden(bound.view, each) for each in tables_of((relation,))):
            raise InsufficientPermissions(Privilege.SELECT.value, f"what {_label(relation)} reads")


def _label(relation: BoundRelation) -> str:
    return label_of(relation.called) if isinstance(relation, BoundInBody) else relation.label


def _ensure_constraints_reveal_nothing(effect: Effect, table: BoundTable) -> None:
    """Checks that constraints and generated columns, which are evaluated with a row's stored values, reveal nothing."""
    masked = {fold(mask.column) for mask in table.policies.masks}
    table_config = table.snapshot.table_config
    texts = [*(constraint.expression for constraint in table_config.constraints), *table_config.generations.values()]
    if masked and any(fold(path[0]) in masked for text in texts for path in parse_any_expression(text).columns):
        # The constraint's error message shows the violating row's values, and its success
        # alone reveals one bit of them.
        what = f"{effect.what}, where a constraint or generated column uses a masked column,"
        raise PolicyForbidsStatement(what, table.label)


class PolicyEffect(Enum):
    """A statement's effect, or one clause's effect, on a table with a row filter or column masks."""

    # Neither reads nor reveals stored data, and changes no row.
    NONE = auto()
    # Reads rows by a query, which sees them filtered and masked.
    READS_THROUGH_POLICIES = auto()
    # Adds rows to its target without reading existing rows.
    ADDS_ROWS = auto()
    # Removes visible target rows.
    REMOVES_VISIBLE_ROWS = auto()
    # Changes visible target rows; constraints are checked on them.
    CHANGES_VISIBLE_ROWS = auto()
    # Rewrites or removes its target's files and keeps its rows; the returned metrics are hidden.
    REARRANGES_FILES = auto()
    # Removes or replaces target rows that may be hidden from its principal.
    REMOVES_OR_REPLACES_ROWS = auto()
    # Returns its target's files, history or statistics, or a result that depends on hidden rows.
    REVEALS_STORED_STATE_OF_TARGET = auto()
    # Does the same for the relations that it reads.
    REVEALS_STORED_STATE_OF_SOURCES = auto()
    # Shows how relations are read, including relations inside views.
    REVEALS_PLAN = auto()
    # Succeeds or fails depending on all rows stored in its target.
    CHECKS_STORED_ROWS = auto()
    # Changes or drops columns, which a policy may use.
    CHANGES_COLUMNS = auto()
    # Drops, replaces or moves its target as a whole, or changes its policies, which requires MANAGE.
    ADMINISTERS = auto()


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect on protected tables. `what` names the statement or clause in errors; `columns` are for
    CHANGES_COLUMNS.
    """

    kind: PolicyEffect
    what: str
    columns: tuple[str, ...] = ()
