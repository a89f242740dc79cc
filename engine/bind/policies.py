"""Row filters and column masks as expressions: the functions that decide, put over the columns of one snapshot.

They are looked up whoever asks, and run as their owners; what they say of who asks (`current_user()`, `is_member('g')`)
is about the session's principal, through any number of views. Whatever is amiss (a function or a column that is gone,
another type) makes the table unreadable: nothing is shown unfiltered.
"""

from __future__ import annotations

from collections.abc import Sequence

from catalog.entries import FunctionEntry
from catalog.names import fold, quote
from catalog.policies import Policies, PolicyArgument, PolicyFunction
from engine.bind.bound import BoundPolicy
from engine.bind.functions import Functions
from engine.errors.policy_errors import PolicyNotUsable
from engine.types.schema import StructField, StructType
from engine.types.sql_types import column_sql_type, same_sql_type


def bind_policies(policies: Policies, label: str, schema: StructType, functions: Functions) -> BoundPolicy:
    """Raises `PolicyNotUsable`."""
    binding = _Binding(label, {fold(column.name): column for column in schema.fields}, functions)
    filters = () if policies.row_filter is None else (binding.expression(policies.row_filter, ()),)
    masks = tuple(
        (binding.column(mask.column).name, binding.expression(mask.call, (PolicyArgument(column=mask.column),)))
        for mask in policies.masks
    )
    return BoundPolicy(filters=filters, masks=masks)


def mismatch(entry: FunctionEntry, types: Sequence[str | None]) -> str | None:
    """Why a function does not take columns of these types (None: literals) without a cast, which may fail."""
    if len(types) != len(entry.parameters):
        return f"{entry.name} takes {len(entry.parameters)} arguments, and {len(types)} are given"
    for actual, parameter in zip(types, entry.parameters, strict=True):
        if actual is not None and not same_sql_type(actual, parameter.type):
            return f"its parameter {parameter.name} is {parameter.type}, and the column is {actual}"
    return None


class _Binding:
    def __init__(self, label: str, columns: dict[str, StructField], functions: Functions) -> None:
        self._label, self._columns, self._functions = label, columns, functions

    def column(self, name: str) -> StructField:
        found = self._columns.get(fold(name))
        if found is None:
            raise PolicyNotUsable(self._label, f"the column {name} is not there")
        return found

    def expression(self, call: PolicyFunction, first: Sequence[PolicyArgument]) -> str:
        entry = self._functions.entry(call.function)
        if entry is None:
            raise PolicyNotUsable(self._label, f"the function {call.function} is not there")
        arguments = (*first, *call.arguments)
        reason = mismatch(entry, [self._type(argument) for argument in arguments])
        if reason is not None:
            raise PolicyNotUsable(self._label, reason)
        return self._functions.expression(call.function, [self._text(argument) for argument in arguments])

    def _type(self, argument: PolicyArgument) -> str | None:
        return None if argument.column is None else column_sql_type(self.column(argument.column))

    def _text(self, argument: PolicyArgument) -> str:
        return f"{argument.literal}" if argument.column is None else quote(self.column(argument.column).name)
