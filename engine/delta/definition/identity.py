"""Identity columns: how the high-water mark of a column moves.

A column whose metadata has `delta.identity.start`, `.step` and `.allowExplicitInsert` gives values of the form
`start + k * step` (k = 0, 1, …) to rows that come without one. `delta.identity.highWaterMark` is the furthest value
that was ever given out: the greatest for a positive step, the least for a negative one; absent before the first. A new
value lies past the high-water mark, and the commit that adds the values moves it. It is metadata of the table, so of
two writers that give out values at once the protocol's conflict rules let only one through.

Protocol: "Identity Columns".
"""

from __future__ import annotations

from collections.abc import Mapping

HIGH_WATER_MARK_ONLY_TAG: Mapping[str, str] = {"delta.identity.schemaUpdate": "true"}
"""The tag of commits whose metadata changes nothing but high-water marks: other commits need not fail for them."""
