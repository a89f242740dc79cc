"""The effective row filter and column masks for a principal and a table: the table's own, and those from CREATE POLICY.
Pure.

They are resolved when a statement names the table, from one catalog generation and the columns in the table version
that the statement reads. Ambiguity never weakens protection: if two policies apply to the same rows or the same column,
if a column alias is ambiguous, or if a tagged column is missing, then principals to whom the policies apply cannot read
the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from catalog.conditions import PoliciesConflict, PolicyNotClear
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry
from catalog.grants.privileges import Principal
from catalog.names import fold
from catalog.policies.policies import ColumnMask, NamedPolicy, Policies, PolicyArgument, PolicyFunction, PolicyKind
from catalog.policies.tags import TagCondition, is_met
from catalog.state import CatalogState

Level = CatalogEntry | SchemaEntry | TableEntry


def levels_of(state: CatalogState, entry: TableEntry) -> tuple[Level, ...]:
    """Returns the table's containers, outermost first, and the table; a container without an entry has neither tags nor
    policies.
    """
    schema = entry.name.schema_name
    found = (state.catalogs.get(schema.catalog_name), state.schemas.get(schema))
    return (*(each for each in found if each is not None), entry)


def table_tags(levels: Sequence[Level]) -> dict[str, str]:
    """Returns the tags that apply to a table, given its levels outermost first; the innermost value of a key wins."""
    return {key: value for level in levels for key, value in level.tags.own}


def effective_policies(
    state: CatalogState, entry: TableEntry, principals: Collection[Principal], columns: Sequence[str]
) -> Policies:
    """Returns the policies in effect. Raises `PoliciesConflict`, `PolicyNotClear`."""
    levels = levels_of(state, entry)
    named = [policy for level in levels for policy in level.named_policies if policy.is_for(principals)]
    if not named:
        return entry.policies
    tags = table_tags(levels)
    resolving = _Resolving(entry, columns)
    filters = [entry.policies.row_filter] if entry.policies.row_filter is not None else []
    masks = list(entry.policies.masks)
    for policy in named:
        if is_met(policy.when, tags):
            for column, call in resolving.calls(policy):
                if column is None:
                    filters.append(call)
                else:
                    masks.append(ColumnMask(column, call))
    # As in Databricks, two filters on one table are an error rather than combined. Equal
    # filters from two levels are one.
    if len(set(filters)) > 1:
        raise PoliciesConflict(str(entry.name), "row filter")
    single = {fold(mask.column): mask for mask in masks}
    for mask in masks:
        if single[fold(mask.column)].call != mask.call:
            raise PoliciesConflict(str(entry.name), f"mask for the column {mask.column}")
    return Policies(filters[0] if filters else None, tuple(single.values()))


class _Resolving:
    """Resolves a policy's aliases to the columns in one table."""

    def __init__(self, entry: TableEntry, columns: Sequence[str]) -> None:
        self._entry = entry
        self._columns = columns

    def calls(self, policy: NamedPolicy) -> Iterator[tuple[str | None, PolicyFunction]]:
        """Yields each masked column with its mask, or None with the row filter. Yields nothing if some condition
        matches no column.
        """
        if policy.matches:
            self._ensure_tags_readable(policy)
        found = [self._matching_columns(match.condition) for match in policy.matches]
        # A policy whose columns the table lacks does not concern this table.
        if not all(found):
            return
        meant = {
            fold(match.alias): columns for match, columns in zip(policy.matches, found, strict=True) if match.alias
        }
        call = PolicyFunction(policy.function, tuple(self._argument(policy, meant, each) for each in policy.arguments))
        match policy.kind:
            case PolicyKind.ROW_FILTER:
                yield None, call
            case PolicyKind.COLUMN_MASK:
                for column in meant[fold(policy.on_column or "")]:
                    yield column, call

    def _matching_columns(self, condition: TagCondition) -> list[str]:
        return [each for each in self._columns if is_met(condition, dict(self._entry.tags.of_column(each)))]

    def _argument(self, policy: NamedPolicy, meant: dict[str, list[str]], argument: PolicyArgument) -> PolicyArgument:
        if argument.column is None:
            return argument
        columns = meant[fold(argument.column)]
        if len(columns) > 1:
            raise PolicyNotClear(
                str(self._entry.name), f"{argument.column} of {policy.name} may be {len(columns)} columns"
            )
        return PolicyArgument(column=columns[0])

    def _ensure_tags_readable(self, policy: NamedPolicy) -> None:
        """Raises PolicyNotClear for a renamed tagged column, which would lose its mask."""
        # Tags are recorded by column name. Another engine may rename the column without
        # telling the catalog: its values would be shown unmasked under the new name.
        known = set(map(fold, self._columns))
        for column, _ in self._entry.tags.columns:
            if fold(column) not in known:
                reason = f"its column {column}, whose tags {policy.name} depends on, is not there"
                raise PolicyNotClear(str(self._entry.name), reason)
