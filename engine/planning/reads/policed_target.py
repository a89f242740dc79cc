"""The table that a DELETE, UPDATE or MERGE changes, where row filters or column masks apply to it.

What the statement says of its rows is evaluated over views, above the barrier that they are (`policies.py`): rows that
are hidden are not found, so they stay as they are, and conditions and new values see masked values. Columns that are
not assigned keep what is stored, which the views have too, under names that occur nowhere in the statement; so has the
place of each row. A `*` would name these, and is refused (`engine.planning.rules.conditions`).

The rows that were found are read a second time, by their places, for their new values. Then the filter is not asked
again: that read decides what is written in the places of rows that go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.names import fold, quote
from engine.planning.plans.reads import ViewScan
from engine.planning.reads.policies import PolicyTexts, policy_text
from engine.sql.query.composed import Names
from engine.tables.scan import Scan


@dataclass(frozen=True, slots=True)
class PolicedTarget:
    """`visible` is the view of the rows that may be found, `chosen` that of rows that were. `stored` are SQL names, by
    the folded names of masked columns.
    """

    visible: ViewScan
    chosen: ViewScan
    stored: Mapping[str, str]

    @property
    def views(self) -> tuple[ViewScan, ...]:
        return self.visible, self.chosen

    @classmethod
    def of(cls, policy: PolicyTexts, scan: Scan, names: Names) -> PolicedTarget:
        """`scan` has a name of its own for its hidden column."""
        stored = {fold(column): names.new("stored") for column, _ in policy.masks}
        items = [scan.metadata, *(f"{quote(column)} AS {stored[fold(column)]}" for column, _ in policy.masks)]

        def view(*, is_filtered: bool) -> ViewScan:
            text = policy_text(policy, scan.schema, scan.relation, items, is_filtered=is_filtered)
            return ViewScan(
                relation=names.new("view"),
                label=scan.label,
                text=text,
                columns=(),
                is_barrier=True,
                settings=policy.settings,
            )

        return cls(view(is_filtered=True), view(is_filtered=False), stored)
