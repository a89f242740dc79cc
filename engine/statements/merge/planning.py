"""Plans MERGE: the materialized source, the matched rows for each clause, and their new values.

One query finds the rows. It joins the table with the source and returns row positions on both sides: target rows with
their clause and, if there are INSERT clauses, source rows that match any target row. INSERT then reads the remaining
source rows by position, and UPDATE joins only the rows that it changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from catalog.conditions import (
    ColumnNotInSource,
    ConflictingAssignments,
    DuplicateColumns,
    NonLastBySourceUnconditional,
    NonLastMatchedUnconditional,
    NonLastNotMatchedUnconditional,
    StatementNotSupported,
)
from catalog.errors import SqlError
from catalog.names import fold, quote
from engine.binding.bound import BoundRelation, BoundTable
from engine.errors.table_errors import column_not_found
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.expression_checks import QueryCheck
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.reads import QueryColumn, TargetRead
from engine.planning.plans.write_plan import WritePlan
from engine.planning.plans.writes import MATCHING_SOURCE, ChangedValues, MatchedKey, MergePlan
from engine.planning.reads.scans import read_scan, row_id_columns
from engine.planning.reads.target_reads import TargetReading, bitmaps, policy_of_target, project
from engine.planning.semantics.allowed_expressions import condition_refusals
from engine.planning.semantics.assignments import assigned_values, assignment_refusals, path_in_table
from engine.planning.semantics.conditions import ensure_no_metadata
from engine.planning.semantics.idempotence import idempotent_write
from engine.planning.semantics.query_columns import given_fields, materialized_scan
from engine.runtime.settings import AUTO_MERGE
from engine.sql.expressions import parse_any_expression, to_one_line
from engine.sql.query.source_text import join_texts
from engine.sql.query.splice import generated_alias
from engine.sql.query.values import Assignment, TargetQuery
from engine.statements.merge.planning_evolution import assigned_fields, evolve_definition
from engine.statements.merge.planning_keys import matched_keys
from engine.statements.merge.statement import ClauseKind, DeleteAction, Merge, MergeClause, SetAction, StarAction
from engine.statements.row_changes.planning import reads_besides, target_of
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.scan import Scan
from engine.types.schema import PrimitiveType, StructField, StructType

MERGE = "MERGE"
_UNCONDITIONAL: Mapping[ClauseKind, type[SqlError]] = {
    ClauseKind.MATCHED: NonLastMatchedUnconditional,
    ClauseKind.NOT_MATCHED: NonLastNotMatchedUnconditional,
    ClauseKind.NOT_MATCHED_BY_SOURCE: NonLastBySourceUnconditional,
}


def plan_merge(analyzed: AnalyzedStatement, statement: Merge) -> MergePlan:
    """Plans MERGE. Raises for table features that prevent row changes, and for invalid clauses."""
    bound, columns = analyzed.bound, analyzed.columns or ()
    table = target_of(bound)
    _ensure_clauses(table, statement, columns)
    merging = _MergeBuilder(analyzed, statement, table, columns)
    clauses = list(enumerate(statement.clauses, 1))
    return MergePlan(
        table=table,
        source=merging.source,
        source_table=merging.source_table,
        source_query=None if merging.source_table else analyzed.query,
        places=merging.places(),
        duplicates=merging.duplicates(),
        updates=tuple(
            merging.update(number, clause)
            for number, clause in clauses
            if clause.kind is not ClauseKind.NOT_MATCHED and not isinstance(clause.action, DeleteAction)
        ),
        inserts=tuple(
            merging.insert(number, clause) for number, clause in clauses if clause.kind is ClauseKind.NOT_MATCHED
        ),
        deletes=frozenset(number for number, clause in clauses if isinstance(clause.action, DeleteAction)),
        by_source=frozenset(number for number, clause in clauses if clause.kind is ClauseKind.NOT_MATCHED_BY_SOURCE),
        keys=merging.keys(),
        changes_all_matches=any(
            clause.kind is ClauseKind.MATCHED and clause.condition is None for clause in statement.clauses
        ),
        definition=merging.definition,
        reads_table=reads_besides(bound.relations, table, merging.target_relations),
        description=describe_merge(statement, bound.state.principal),
        checks=merging.checks(),
        idempotent_write=idempotent_write(bound.state),
    )


def _ensure_clauses(table: BoundTable, statement: Merge, columns: Sequence[QueryColumn]) -> None:
    for kind, error in _UNCONDITIONAL.items():
        # A clause without a condition always applies, so that a later one of its kind could
        # never be reached. Delta reports this as an error.
        for clause in [clause for clause in statement.clauses if clause.kind is kind][:-1]:
            if clause.condition is None:
                raise error()
    names = Counter(fold(column.name) for column in columns)
    for name in (name for name, count in names.items() if count > 1):
        raise DuplicateColumns(name)
    for text in (statement.condition, *(clause.condition for clause in statement.clauses if clause.condition)):
        ensure_no_metadata(table, MERGE, parse_any_expression(text))
    for clause in statement.clauses:
        assignments = clause.action.assignments if isinstance(clause.action, SetAction) else ()
        for each in assignments:
            if not each.is_default:
                ensure_no_metadata(table, MERGE, parse_any_expression(each.text), "A value")


class _MergeBuilder:
    """The shared state in one plan's construction."""

    def __init__(
        self, analyzed: AnalyzedStatement, statement: Merge, table: BoundTable, columns: Sequence[QueryColumn]
    ) -> None:
        bound = analyzed.bound
        self._statement, self._table, self._columns = statement, table, columns
        self._relations: dict[int, tuple[BoundRelation, ...]] = {}
        first, at = {}, 0
        for query in statement.queries:
            first[id(query)] = at
            self._relations[id(query)] = bound.relations[at : at + len(query.relations)]
            at += len(query.relations)
        self.target_relations = tuple(
            first[id(target.query)] + target.target for target in statement.target_queries if target.target is not None
        )
        taken = (statement.alias or "", statement.source_alias, *(column.name for column in columns))
        queries = [(query, self._relations[id(query)]) for query in statement.queries]
        policy = policy_of_target(bound.relations, self.target_relations[0] if self.target_relations else None)
        self._is_protected = policy is not None
        self._reading = TargetReading(table, queries, taken, policy=policy, apart=statement.is_of_one_name)
        found = self._relations[id(statement.source)]
        table_alone = found[0] if statement.is_table else None
        relation, metadata = self._reading.names.new("source"), self._reading.names.new("place")
        # A protected table must be read through its policy's view, whose result is
        # materialized like any other query.
        is_whole = isinstance(table_alone, BoundTable) and table_alone.policy is None
        scan = read_scan(relation, table_alone) if isinstance(table_alone, BoundTable) and is_whole else None
        self.source_table: BoundTable | None = None
        if isinstance(scan, Scan) and isinstance(table_alone, BoundTable):
            self.source_table = table_alone
            # A pinned version returns the same rows each time, so it needs no
            # materialization.
            self.source = replace(scan, metadata=metadata, row_tracking=None)
        else:
            self.source = materialized_scan(relation, columns, table.snapshot.table_root, metadata)
        self._reading.source = self.source
        self._ids = row_id_columns(table.label, self._reading.target.row_tracking)
        self._evolves = statement.schema_evolution or bound.state.value(AUTO_MERGE) == "true"
        self._fields = FieldMatching.FILLED if self._evolves else FieldMatching.NAME
        self.definition = self._definition()
        self._config = self.definition.config(table.label)
        self._source_relation = found[0] if found and statement.source_parts is not None else None

    def _definition(self) -> TableDefinition:
        """Returns the table's definition, evolved by new source columns if a clause assigns them."""
        snapshot = self._table.snapshot
        if not self._evolves:
            return snapshot.definition
        clauses = self._statement.clauses
        actions = [clause.action for clause in clauses if clause.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE]
        takes_all = any(isinstance(action, StarAction) for action in actions)
        # The type is irrelevant here: a path's first part only has to be recognized as a
        # column.
        of_source = (StructField(column.name, PrimitiveType.VOID) for column in self._columns)
        known = StructType((*snapshot.schema.fields, *of_source))
        paths = {
            tuple(map(fold, path_in_table(self._table, known, each.path, self._statement.alias)))
            for action in actions
            if isinstance(action, SetAction)
            for each in action.assignments
        }
        columns = [column for column in self._columns if takes_all or fold(column.name) in {path[0] for path in paths}]
        given = tuple(assigned_fields(given_fields(columns), paths, takes_all=takes_all))
        rows = WritePlan(table=self._table.label, config=snapshot.table_config)
        return evolve_definition(self._table, rows, given, by_name=True, fields_by_name=True) or snapshot.definition

    def _target_name(self, query: TargetQuery) -> str:
        """Returns the table's name in this query's text."""
        if self._statement.is_of_one_name:
            assert query.target is not None
            return generated_alias(query.target)
        return quote(self._statement.alias or self._statement.table_parts[-1])

    def _source_name(self, query: TargetQuery) -> str:
        if self._statement.is_of_one_name:
            assert query.source_relation is not None
            return generated_alias(query.source_relation)
        return quote(self._statement.source_alias)

    def _text(self, query: TargetQuery, items: Sequence[str], *, are_found: bool = False) -> str:
        more = "".join(f", {item}" for item in items)
        return self._reading.splice_text(query, self._relations[id(query.query)], more, are_found=are_found)

    # --- Matched rows ------------------------------------------------------------------------------------------------

    def places(self) -> TargetRead:
        """Returns a query for row positions on both sides, by clause."""
        own, other = self._reading.target.metadata, self.source.metadata
        kinds = {clause.kind for clause in self._statement.clauses}
        parts = []
        # f and i are file and row index, k is the clause number. Matching source rows have `MATCHING_SOURCE` as k, so
        # that INSERT can skip them without a second join.
        pair = "struct(f AS f, k AS k, i + 1 AS i)"
        matching = f"struct(sf AS f, {MATCHING_SOURCE} AS k, si + 1 AS i)"
        sides = [pair] if ClauseKind.MATCHED in kinds else []
        sides += [matching] if ClauseKind.NOT_MATCHED in kinds else []
        if sides:
            items = [f"{own}.base_row_id", f"{own}.row_index", f"{other}.base_row_id", f"{other}.row_index"]
            pairs = self._text(self._statement.pairs, items)
            parts.append(project(pairs, ("k", "f", "i", "sf", "si"), [f"inline(array({', '.join(sides)}))"]))
        # WHEN NOT MATCHED BY SOURCE concerns target rows that the join above does not return: an anti-join finds them.
        if self._statement.unmatched is not None:
            lone = self._text(self._statement.unmatched, [f"{own}.base_row_id", f"{own}.row_index"])
            parts.append(project(lone, ("k", "f", "i"), ["f", "k", "i + 1 AS i"]))
        union = [piece for part in parts for piece in (" UNION ALL ", "(", part, ")")][1:]
        # k is NULL for pairs to which no clause applies. They are matched, but nothing
        # happens to them.
        text = join_texts(("SELECT * FROM (", *union, "\n) WHERE k IS NOT NULL"))
        # A subquery on the target is another scan of the same files, with a condition of
        # its own.
        is_once = len(parts) == 1 and not self._has_subquery()
        return self._reading.read_places(bitmaps(text), is_once=is_once)

    def _has_subquery(self) -> bool:
        conditions = [clause.condition for clause in self._statement.clauses if clause.kind is ClauseKind.MATCHED]
        texts = [self._statement.condition, *(condition for condition in conditions if condition)]
        return any(parse_any_expression(text).has_subquery for text in texts)

    def keys(self) -> tuple[MatchedKey, ...]:
        """Returns the keys for file pruning; empty if a clause applies to target rows without a match, or if a compared
        value may be masked.
        """
        # Rows without a match may be in any file. A masked value differs from the stored one, so it cannot prune files.
        if self._statement.unmatched is not None or self._is_protected:
            return ()
        return matched_keys(self._statement, self._table, self.source, self._source_relation)

    def duplicates(self) -> TargetRead | None:
        """Returns a query for the condition's columns in a target row that several source rows would change."""
        matched = [clause for clause in self._statement.clauses if clause.kind is ClauseKind.MATCHED]
        is_delete = len(matched) == 1 and isinstance(matched[0].action, DeleteAction) and matched[0].condition is None
        # An unconditional DELETE has the same effect however many source rows match; other actions would be
        # ambiguous.
        if not matched or is_delete:
            return None
        schema, own = self._table.snapshot.schema, self._reading.target.metadata
        paths = parse_any_expression(self._statement.condition).columns
        # The message shows the target row by the columns that the user compared, as far as
        # they can be told apart.
        own_paths = [path for path in paths if fold(path[0]) != fold(self._statement.source_alias)]
        found = [schema.field(path_in_table(self._table, schema, path, self._statement.alias)[0]) for path in own_paths]
        names = list(dict.fromkeys(field.name for field in found if field is not None)) or list(schema.names)
        target = self._target_name(self._statement.pairs)
        row = ", ".join(f"{target}.{quote(name)}" for name in names[:20])
        key = f"to_json(struct({row}), map('ignoreNullFields', 'false'))"
        pairs = self._text(self._statement.pairs, [f"{own}.file_path", f"{own}.row_index", key])
        several = "k IS NOT NULL GROUP BY f, i HAVING count(*) > 1 LIMIT 1"
        text = project(pairs, ("k", "f", "i", "r"), ["min(r)"], several)
        return self._reading.read(text)

    def checks(self) -> tuple[QueryCheck, ...]:
        """Returns checks: conditions must be deterministic and per row pair, and values per pair too."""
        deciding = [self._statement.pairs, self._statement.unmatched]
        reads = [(self._text(query, ()), condition_refusals(MERGE)) for query in deciding if query is not None]
        for clause in self._statement.clauses:
            if not isinstance(clause.action, DeleteAction):
                reads.append((self._text(clause.action.values, ()), assignment_refusals(MERGE)))
        return tuple(QueryCheck(read=self._reading.read(text).read, refused=refused) for text, refused in reads)

    # --- New values --------------------------------------------------------------------------------------------------

    def update(self, number: int, clause: MergeClause) -> ChangedValues:
        assignments = self._assignments(clause)
        new = assigned_values(self._table, self._config, assignments, self._statement.alias)
        if isinstance(clause.action, StarAction) and self._evolves:
            new = new.with_unassigned_fields(given_fields(self._columns_of(assignments)))
        ids, old_schema = self._ids, self._table.snapshot.schema
        assert not isinstance(clause.action, DeleteAction)
        query = clause.action.values
        unassigned = [
            f"{self._target_name(query)}.{self._reading.stored_value(column.name)}"
            if old_schema.field(column.name)
            else "NULL"
            for column in new.old_columns
        ]
        row_id = [f"{self._reading.target.metadata}.row_id"] if ids else []
        text = self._text(query, (*self._stars_of(clause, assignments), *unassigned, *row_id), are_found=True)
        names = self._reading.names
        given, old = names.several("value", len(assignments)), names.several("old", len(unassigned))
        clause_name, moved = names.new("clause"), names.several("id", len(row_id))
        # A NULL commit version lets readers take the file's default one: the row was
        # changed by this commit.
        items = (*new.items(given, old), *moved, *(["CAST(NULL AS BIGINT)"] if ids else []))
        # Several source rows may match, of which only those under this clause give the new
        # values. Without a source there is one row for each target row.
        condition = f"{clause_name} = {number}" if clause.kind is ClauseKind.MATCHED else None
        read = project(text, (clause_name, *given, *old, *moved), items, condition)
        return ChangedValues(
            clause=number,
            values=self._reading.read(read, with_ids=bool(ids)),
            rows=WritePlan(
                table=self._table.label,
                config=self._config,
                insert_columns=tuple(column.name for column in new.columns),
                extra_columns=ids,
                fields=self._fields,
                assigns=True,
                removes=True,
                updates=True,
            ),
        )

    def insert(self, number: int, clause: MergeClause) -> ChangedValues:
        assignments = self._assignments(clause)
        assert not isinstance(clause.action, DeleteAction)
        text = self._text(clause.action.values, self._stars_of(clause, assignments))
        names = self._reading.names
        given, clause_name = names.several("value", len(assignments)), names.new("clause")
        pairs = [(each, name) for each, name in zip(assignments, given, strict=True) if not each.is_default]
        if not pairs:
            raise StatementNotSupported("An INSERT clause of a MERGE whose values are all DEFAULT")
        items = [name for _, name in pairs]
        read = project(text, (clause_name, *given), items, f"{clause_name} = {number}")
        return ChangedValues(
            clause=number,
            values=self._reading.read(read, of=self.source),
            rows=WritePlan(
                table=self._table.label,
                config=self._config,
                insert_columns=tuple(each.path[0] for each, _ in pairs),
                fields=self._fields,
                assigns=True,
            ),
        )

    def _assignments(self, clause: MergeClause) -> tuple[Assignment, ...]:
        match clause.action:
            case SetAction(assignments=assignments) if clause.kind is ClauseKind.NOT_MATCHED:
                return self._insert_assignments(assignments)
            case SetAction(assignments=assignments):
                return assignments
            case StarAction():
                return tuple(self._stars(clause))
            case DeleteAction():
                return ()
            case _:
                assert_never(clause.action)

    def _insert_assignments(self, assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
        """Returns the assignments with columns as spelled in the table; fields are not allowed."""
        schema, found, seen = self._config.schema, [], set()
        for each in assignments:
            path = path_in_table(self._table, schema, each.path, self._statement.alias)
            field = schema.field(path[0])
            if field is None or len(path) > 1:
                raise column_not_found(".".join(path), schema.names)
            if field.name in seen:
                raise ConflictingAssignments(field.name)
            seen.add(field.name)
            found.append(replace(each, path=(field.name,)))
        return tuple(found)

    def _stars(self, clause: MergeClause) -> list[Assignment]:
        """Expands `*`: a table column is assigned the source column with its name; generated columns are computed if
        the source lacks them.
        """
        known = {fold(column.name): column.name for column in self._columns}
        made = {*self._config.generations, *(identity.name for identity in self._config.identities)}
        found = []
        for field in self._config.schema.fields:
            name = known.get(fold(field.name))
            if name is not None:
                found.append(Assignment(path=(field.name,), text=quote(name)))
            elif not self._evolves and field.name not in made:
                what = "INSERT" if clause.kind is ClauseKind.NOT_MATCHED else "UPDATE SET"
                raise ColumnNotInSource(field.name, what, ", ".join(column.name for column in self._columns))
        return found

    def _columns_of(self, stars: Sequence[Assignment]) -> list[QueryColumn]:
        """Returns the source columns that `*` assigns."""
        known = {fold(column.name): column for column in self._columns}
        return [known[fold(path[0])] for path in (star.path for star in stars)]

    def _stars_of(self, clause: MergeClause, assignments: Sequence[Assignment]) -> list[str]:
        """Returns the values that `*` expands to; other values are in the query."""
        if not isinstance(clause.action, StarAction):
            return []
        source = self._source_name(clause.action.values)
        return [f"{source}.{each.text}" for each in assignments]


def describe_merge(statement: Merge, principal: str) -> CommitDescription:
    """Returns the commit's description, with the predicates as delta-spark's `operationParameters` for MERGE."""
    parameters = {
        "predicate": json.dumps([f"({to_one_line(statement.condition)})"]),
        "matchedPredicates": _clauses(statement, ClauseKind.MATCHED),
        "notMatchedPredicates": _clauses(statement, ClauseKind.NOT_MATCHED),
        "notMatchedBySourcePredicates": _clauses(statement, ClauseKind.NOT_MATCHED_BY_SOURCE),
    }
    return CommitDescription(name="MERGE", operation=TableOperation.DML, parameters=parameters, user_name=principal)


def _clauses(statement: Merge, kind: ClauseKind) -> str:
    return json.dumps([_clause(clause) for clause in statement.clauses if clause.kind is kind])


def _clause(clause: MergeClause) -> dict[str, str]:
    predicate = {} if clause.condition is None else {"predicate": f"({to_one_line(clause.condition)})"}
    if isinstance(clause.action, DeleteAction):
        return {**predicate, "actionType": "delete"}
    return {**predicate, "actionType": "insert" if clause.kind is ClauseKind.NOT_MATCHED else "update"}
