"""Restrictions on tables with a row filter or column masks, and what a view hides of how it reads.

Each statement declares its effects on such tables (:class:`PolicyEffect`). Queries read a table through its policies,
and so does everything that takes its rows from a query; rows may be added to it. DELETE, UPDATE and MERGE change the
rows that a query would find (`engine.planning.reads.target_reads`), unless a constraint or generated column of the
table would look at a masked column of a row that changes: whether it is satisfied would reveal the value. Everything
else that would reveal what is stored (files, history, whether all rows satisfy a constraint), or would remove hidden
rows, is rejected, and so is a change of a column that a policy uses.

A reader of a view sees its rows, and not how many files its tables have: without SELECT on all of them there is no
EXPLAIN of it. In both cases a statement's progress reveals nothing of its work, and maintenance of a table does not
answer what it did. Pure, over what was bound.
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
from engine.binding.sight import is_hidden
from engine.sql.expressions import parse_any_expression


def hides_work(bound: BoundStatement) -> bool:
    """Return whether the work of the statement must not be shown."""
    if isinstance(bound.target, BoundTable) and bound.target.is_policed:
        return True
    return any(table.is_policed or is_hidden(bound.view, table) for table in tables_of(bound.relations))


def hides_texts(bound: BoundStatement) -> bool:
    """Whether the text that runs has bodies of functions in it that read tables."""
    return any(isinstance(relation, BoundInBody) for relation in bound.relations)


def ensure_hides(bound: BoundStatement, effects: Iterable[Effect]) -> None:
    """Raise `PolicyForbidsStatement`, `ColumnUsedByPolicy` or `InsufficientPermissions` for what would reveal rows."""
    declared = tuple(effects)
    if not declared:
        raise ValueError(f"{type(bound.statement).__name__} declares no effect on protected tables")
    for effect in declared:
        _ensure_hides(bound, effect)


def _ensure_hides(bound: BoundStatement, effect: Effect) -> None:
    target = bound.target if isinstance(bound.target, BoundTable) else None
    match effect.kind:
        case PolicyEffect.REVEALS_PLAN:
            _refuse_if_policed(effect, tables_of(bound.relations))
            _ensure_shows_plans(bound)
            _refuse_if_policed(effect, () if target is None else (target,))
        case PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES:
            _refuse_if_policed(effect, tables_of(bound.relations))
        case (
            PolicyEffect.REVEALS_STORED_STATE_OF_TARGET
            | PolicyEffect.REMOVES_OR_REPLACES_ROWS
            | PolicyEffect.CHECKS_STORED_ROWS
        ):
            _refuse_if_policed(effect, () if target is None else (target,))
        case PolicyEffect.CHANGES_COLUMNS:
            for column in effect.columns:
                if target is not None and target.is_used_by_policy(column):
                    raise ColumnUsedByPolicy(column, target.label)
        case PolicyEffect.CHANGES_VISIBLE_ROWS:
            if target is not None and target.is_policed:
                _ensure_rules_reveal_nothing(effect, target)
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


def _refuse_if_policed(effect: Effect, tables: Iterable[BoundTable]) -> None:
    for table in tables:
        if table.is_policed:
            raise PolicyForbidsStatement(effect.what, table.label)


def _ensure_shows_plans(bound: BoundStatement) -> None:
    """A plan shows the files of the tables that a view or a function reads."""
    for relation in bound.relations:
        if not isinstance(relation, BoundTable) and any(is_hidden(bound.view, each) for each in tables_of((relation,))):
            raise InsufficientPermissions(Privilege.SELECT.value, f"what {_called(relation)} reads")


def _called(relation: BoundRelation) -> str:
    return label_of(relation.called) if isinstance(relation, BoundInBody) else relation.label


def _ensure_rules_reveal_nothing(effect: Effect, table: BoundTable) -> None:
    """Constraints and generated columns are evaluated on a changed row with the stored values of other columns."""
    masked = {fold(mask.column) for mask in table.policies.masks}
    rules = table.snapshot.rules
    texts = [*(constraint.expression for constraint in rules.constraints), *rules.generations.values()]
    if masked and any(fold(path[0]) in masked for text in texts for path in parse_any_expression(text).columns):
        what = f"{effect.what}, where a constraint or generated column uses a masked column,"
        raise PolicyForbidsStatement(what, table.label)


class PolicyEffect(Enum):
    """The relation of a statement, or of one change of it, to a table that has a row filter or column masks."""

    NONE = auto()
    """Neither reads nor reveals stored data, and changes no row."""
    READS_THROUGH_POLICIES = auto()
    """Reads rows by a query, which sees them filtered and masked."""
    ADDS_ROWS = auto()
    """Adds rows to its target and looks at no row that is there."""
    REMOVES_VISIBLE_ROWS = auto()
    """Removes rows of its target that its principal sees."""
    CHANGES_VISIBLE_ROWS = auto()
    """Changes rows of its target that its principal sees; constraints are checked on them."""
    REARRANGES_FILES = auto()
    """Rewrites or removes files of its target and keeps its rows; its answer about that work is hidden."""
    REMOVES_OR_REPLACES_ROWS = auto()
    """Removes or replaces rows of its target that its principal may not see."""
    REVEALS_STORED_STATE_OF_TARGET = auto()
    """Answers files, history or statistics of its target, or an answer that depends on hidden rows."""
    REVEALS_STORED_STATE_OF_SOURCES = auto()
    """The same of the relations that it reads."""
    REVEALS_PLAN = auto()
    """Shows how relations are read, including relations inside views."""
    CHECKS_STORED_ROWS = auto()
    """Succeeds or fails depending on all rows that are stored in its target."""
    CHANGES_COLUMNS = auto()
    """Changes or drops columns, which a policy may use."""
    ADMINISTERS = auto()
    """Drops, replaces or moves its target as a whole, or changes its policies, which takes MANAGE."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect on protected tables. `what` names the statement or clause in errors; `columns` belong to
    CHANGES_COLUMNS.
    """

    kind: PolicyEffect
    what: str
    columns: tuple[str, ...] = ()
