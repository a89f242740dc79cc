"""Row conditions on a table: name resolution, and checks before Spark's analysis.

A column may be qualified with the table (`t.x`, `s.t.x`). As in SQL in general this is column x of the table, and hides
field x of a column t. If the condition refers to other relations too (REPLACE ON), the short form stays unchanged,
because the table has that name there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from catalog.conditions import MetadataInExpression, PolicyForbidsStatement, SubqueryInCondition
from catalog.names import fold
from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.writes import ReplaceMatching, ReplaceRows, ReplaceWholeFiles
from engine.planning.reads.answer_conditions import typed_condition
from engine.planning.reads.scans import empty_scan
from engine.planning.reads.target_reads import places_where
from engine.planning.semantics.allowed_expressions import condition_check
from engine.pruning.metadata_answers import NoAnswer
from engine.sql.expressions import Expression, parse_expression, plain_condition, requalify, to_one_line
from engine.tables.config import Capability
from engine.tables.scan import FILE_METADATA


def target_condition(table: BoundTable, clause: str, text: str, alias: str | None = None) -> Expression:
    """Returns a condition over the columns of `table` alone, each without the table, or its alias, in front."""
    _ensure_allowed(table, clause, text)

    def unqualify(parts: Sequence[str]) -> tuple[int, str] | None:
        qualifiers = _qualifiers(table, parts, (3, 2, 1)) if alias is None else _alias_of(alias, parts)
        for count in qualifiers:
            if table.snapshot.schema.field(parts[count]) is not None:
                return count, ""
        return None

    return parse_expression(requalify(text, unqualify))


def rows_matching(table: BoundTable, own: Expression) -> ReplaceMatching | ReplaceRows:
    """Deletes the rows for which a condition is true: by whole files if the partition columns decide."""
    matching = partitions_matching(table, own)
    if matching is not None:
        return matching
    # Spark reads `t WHERE (flag)` as a table with the alias WHERE and one column alias flag: a column alias list has no
    # second parentheses.
    return ReplaceRows(places=places_where(table, f"WHERE ({own.in_parentheses})"), shown=f"({to_one_line(own.text)})")


def partitions_matching(table: BoundTable, own: Expression) -> ReplaceMatching | None:
    """Returns the partitions for which a condition is true, if partition columns alone decide."""
    partitions = {fold(name) for name in table.snapshot.partition_columns}
    if not own.columns or any(fold(path[0]) not in partitions for path in own.columns):
        return None
    return ReplaceMatching(condition=own.in_parentheses, shown=f"({to_one_line(own.text)})")


def whole_files_matching(table: BoundTable, own: Expression) -> ReplaceWholeFiles | None:
    """Returns the files whose rows all satisfy a condition, if it is simple and the format can determine them."""
    is_reported = table.snapshot.table_config.has(Capability.WHOLE_FILES) and not table.has_dates_as_texts
    plain = plain_condition(own.text) if is_reported else None
    typed = None if plain is None else typed_condition(plain, table.snapshot.columns())
    if typed is None or isinstance(typed, NoAnswer):
        return None
    return ReplaceWholeFiles(condition=typed, shown=f"({to_one_line(own.text)})")


def joint_condition(table: BoundTable, clause: str, text: str, *, has_alias: bool) -> Expression:
    """Returns a condition over `table`, which has its last name there if it has no alias, and another relation."""
    _ensure_allowed(table, clause, text)

    def shorten(parts: Sequence[str]) -> tuple[int, str] | None:
        return next(((count - 1, "") for count in _qualifiers(table, parts, (3, 2))), None)

    return parse_expression(text if has_alias else requalify(text, shorten))


def target_condition_check(table: BoundTable, clause: str, condition: Expression) -> ExpressionCheckPlan:
    """Returns the analysis that a condition requires."""
    scan = empty_scan(table.snapshot.schema, table.entry.location)
    check = condition_check(clause, condition.text, condition.in_parentheses)
    return ExpressionCheckPlan(over=ReadPlan(text=f"FROM {scan.relation}", scans=(scan,)), checks=(check,))


def _qualifiers(table: BoundTable, parts: Sequence[str], counts: Iterable[int]) -> list[int]:
    """Returns the elements of `counts` for which the first parts are the end of the table's name."""
    full = [fold(part) for part in table.name.parts] if table.name else []
    folded = [fold(part) for part in parts]
    return [count for count in counts if count < len(parts) and folded[:count] == full[-count:]]


def _alias_of(alias: str, parts: Sequence[str]) -> list[int]:
    """Matches the alias; a table with an alias cannot be referred to by its name."""
    return [1] if len(parts) > 1 and fold(parts[0]) == fold(alias) else []


def _ensure_allowed(table: BoundTable, clause: str, text: str) -> None:
    ensure_no_metadata(table, clause, parse_expression(text, subquery=SubqueryInCondition(clause, text)))


def ensure_no_metadata(
    table: BoundTable, clause: str, expression: Expression, what: Literal["The condition", "A value"] = "The condition"
) -> None:
    """Raises `MetadataInExpression`, unless the table has a column with that name, and `PolicyForbidsStatement` for a
    `*` over a table with policies, which would include stored values (`engine.planning.reads.target_reads`).
    """
    if expression.has_star and table.is_protected:
        raise PolicyForbidsStatement(f"A * in {clause}", table.label)
    if table.snapshot.schema.field(FILE_METADATA) is None and any(
        fold(part) == FILE_METADATA for path in expression.columns for part in path[:4]
    ):
        raise MetadataInExpression(f"{what} of {clause}")
