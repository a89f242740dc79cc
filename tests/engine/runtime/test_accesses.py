"""Lineage for a statement with several queries."""

from __future__ import annotations

from engine.runtime.accesses import ColumnLineage, ColumnSource, Lineage, Transformation, resolve_lineage

A, T = Transformation.AGGREGATION, Transformation.TRANSFORMATION


def test_lineage_resolves_materialized_rows_to_sources() -> None:
    remaining = Lineage(
        materialized_as="kept",
        columns=(ColumnLineage(None, "k", (ColumnSource("s", "a"), ColumnSource("s", "b", A))),),
        others=(ColumnSource("s", "d"),),
    )
    written = Lineage(
        columns=(ColumnLineage("t", "x", (ColumnSource("kept", "k", T), ColumnSource("t", "x"))),),
        others=(ColumnSource("kept", "k"), ColumnSource("s", "d")),
    )
    again = Lineage(columns=(ColumnLineage("t", "x", (ColumnSource("s", "c"),)), ColumnLineage("t", "y", ())))
    columns, others = resolve_lineage([remaining, written, again])
    made_of = (ColumnSource("s", "a", T), ColumnSource("s", "b", A), ColumnSource("t", "x"), ColumnSource("s", "c"))
    assert columns == [ColumnLineage("t", "x", made_of), ColumnLineage("t", "y", ())]
    assert others == [ColumnSource("s", "d"), ColumnSource("s", "a"), ColumnSource("s", "b", A)]
