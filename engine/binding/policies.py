"""Row filters and column masks as expressions: the policy functions, applied to one snapshot's columns.

They are looked up independent of the principal, and run as their owners; functions about the current user
(`current_user()`, `is_member('g')`) refer to the session's principal, through any number of views. The tables that
their bodies read are read as the functions' owners too, without policies. Any defect (a missing function or column,
another type) makes the table unreadable: nothing is shown unfiltered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from catalog.conditions import PolicyForbidsTimeTravel, PolicyNotUsable
from catalog.entries import FunctionEntry, TableEntry
from catalog.errors import SqlError
from catalog.grants.privileges import Principal
from catalog.names import fold, quote
from catalog.policies.effective_policies import effective_policies, levels_of
from catalog.policies.policies import NO_POLICIES, Policies, PolicyArgument, PolicyFunction
from catalog.state import CatalogState
from catalog.view import CatalogView
from engine.binding.bound import BoundExpression, BoundPolicy, BoundRelation, BoundTable, tables_of
from engine.binding.functions import Functions, Settings
from engine.sql.query.bodies import inlined_expression, is_deterministic, readable
from engine.sql.query.values import Query
from engine.tables.changes import TableChanges
from engine.tables.column_metadata import COLUMN_ID
from engine.types.schema import StructField
from engine.types.sql_types import column_sql_type, is_same_sql_type

NOT_DETERMINISTIC = "it may give another value each time"
Relations = tuple[BoundRelation, ...]


def policies_of(table: BoundTable, state: CatalogState, principals: Collection[Principal]) -> Policies:
    """Returns the policies that apply to a principal with the identities `principals`. Raises if they cannot be
    determined.
    """
    entries = (table.entry, *(owner for owner in table.owners if isinstance(owner, TableEntry)))
    columns = table.snapshot.schema.names
    # A path may name a table that has a catalog entry; its policies apply to the path as
    # well.
    return next(filter(None, (effective_policies(state, each, principals, columns) for each in entries)), NO_POLICIES)


def protected_at(view: CatalogView, location: str) -> tuple[TableEntry, ...]:
    """Returns the tables to which a path belongs that have, or may have, policies: used if privileges do not apply."""
    tables = view.unrestricted.tables_at(location)
    state = view.state
    return tuple(
        each
        for each in tables
        if each.policies or each.tags.columns or any(level.named_policies for level in levels_of(state, each))
    )


def bind_policies(table: BoundTable, functions: Functions, read: Callable[[Query], Relations]) -> BoundPolicy:
    """Binds the policies; `read` binds the relations in the bodies, without policies. Raises `PolicyNotUsable`."""
    binding = _Binding(table, functions, read)
    policies = table.policies
    filters = () if policies.row_filter is None else (binding.expression(policies.row_filter, ()),)
    masks = tuple(
        (
            binding.column(mask.column).name,
            binding.expression(mask.call, (PolicyArgument(column=mask.column),), hides_files=True),
        )
        for mask in policies.masks
    )
    return BoundPolicy(filters=filters, masks=masks, settings=binding.settings or ())


def ensure_same_columns(table: BoundTable, feed: TableChanges) -> None:
    """Checks that a table's policies, which refer to its newest columns, apply to its change feed's rows.

    Raises `PolicyForbidsTimeTravel` if the version range has columns that were renamed or dropped later, or lacks
    current ones.
    """
    newest = {fold(column.name): column for column in table.snapshot.schema.fields}
    older = {fold(column.name): column for column in feed.table_columns.fields}
    if newest.keys() != older.keys() or any(not _is_same(newest[name], older[name]) for name in newest):
        raise PolicyForbidsTimeTravel(table.label)


def _is_same(one: StructField, other: StructField) -> bool:
    # With column mapping a column that was dropped and added again under its name has
    # another id, and other data.
    ids = [column.metadata.get(COLUMN_ID) for column in (one, other)]
    return column_sql_type(one) == column_sql_type(other) and (None in ids or ids[0] == ids[1])


def unsuitable_reason(table: BoundTable, expression: BoundExpression) -> str | None:
    """Returns why an expression cannot be a policy for the rows of `table`: it must be deterministic."""
    # Its body would be read through the same policy, without end.
    if any(each.snapshot.table_root == table.snapshot.table_root for each in tables_of(expression.relations)):
        return "it reads the table itself"
    if not is_deterministic(readable(inlined_expression(expression.query))):
        return NOT_DETERMINISTIC
    return None


def mismatch(entry: FunctionEntry, types: Sequence[str | None]) -> str | None:
    """Returns why a function does not accept columns with these types (None: literals) without a cast, which may
    fail.
    """
    if len(types) != len(entry.parameters):
        return f"{entry.name} takes {len(entry.parameters)} arguments, and {len(types)} are given"
    for actual, parameter in zip(types, entry.parameters, strict=True):
        if actual is not None and not is_same_sql_type(actual, parameter.type):
            return f"its parameter {parameter.name} is {parameter.type}, and the column is {actual}"
    return None


class _Binding:
    def __init__(self, table: BoundTable, functions: Functions, read: Callable[[Query], Relations]) -> None:
        self._table = table
        self._functions = functions
        self._read = read
        self._columns = {fold(column.name): column for column in table.snapshot.schema.fields}
        # The first function's settings, for all expressions; other functions have their bodies analyzed separately.
        self.settings: Settings | None = None

    @property
    def _label(self) -> str:
        return self._table.label

    def column(self, name: str) -> StructField:
        found = self._columns.get(fold(name))
        if found is None:
            raise PolicyNotUsable(self._label, f"the column {name} is not there")
        return found

    def expression(
        self, call: PolicyFunction, first: Sequence[PolicyArgument], *, hides_files: bool = False
    ) -> BoundExpression:
        entry = self._functions.entry(call.function)
        if entry is None:
            raise PolicyNotUsable(self._label, f"the function {call.function} is not there")
        self.settings = entry.settings if self.settings is None else self.settings
        arguments = (*first, *call.arguments)
        reason = mismatch(entry, [self._type(argument) for argument in arguments])
        if reason is not None:
            raise PolicyNotUsable(self._label, reason)
        try:
            texts = [self._text(argument) for argument in arguments]
            query = self._functions.expression(call.function, texts, self.settings, hides_files=hides_files)
            found = BoundExpression(query=query, relations=self._read(query))
        except SqlError as error:  # the message may name objects that the function reads
            raise PolicyNotUsable(self._label, f"what {call.function} calls or reads is not there") from error
        reason = unsuitable_reason(self._table, found)
        if reason is not None:
            raise PolicyNotUsable(self._label, f"of {call.function}, {reason}")
        return found

    def _type(self, argument: PolicyArgument) -> str | None:
        return None if argument.column is None else column_sql_type(self.column(argument.column))

    def _text(self, argument: PolicyArgument) -> str:
        return f"{argument.literal}" if argument.column is None else quote(self.column(argument.column).name)
