"""Lineage for a statement with several queries."""

from __future__ import annotations

from engine.runtime.accesses import ColumnLineage, ColumnSource, Lineage, Transformation, resolved

A, T = Transformation.AGGREGATION, Transformation.TRANSFORMATION


def test_rows_that_are_kept_on_the_way_are_what_they_were_made_of() -> None:
    kept = Lineage(
        kept="kept",
        columns=(ColumnLineage(None, "k", (ColumnSource("s", "a"), ColumnSource("s", "b", A))),),
        others=(ColumnSource("s", "d"),),
    )
    written = Lineage(
        columns=(ColumnLineage("t", "x", (ColumnSource("kept", "k", T), ColumnSource("t", "x"))),),
        others=(ColumnSource("kept", "k"), ColumnSource("s", "d")),
    )
    again = Lineage(columns=(ColumnLineage("t", "x", (ColumnSource("s", "c"),)), ColumnLineage("t", "y", ())))
    columns, others = resolved([kept, written, again])
    made_of = (ColumnSource("s", "a", T), ColumnSource("s", "b", A), ColumnSource("t", "x"), ColumnSource("s", "c"))
    assert columns == [ColumnLineage("t", "x", made_of), ColumnLineage("t", "y", ())]
    assert others == [ColumnSource("s", "d"), ColumnSource("s", "a"), ColumnSource("s", "b", A)]
