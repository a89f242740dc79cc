"""The limit for a statement's text, and commits that an ended statement made before its end."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.conditions import StatementEnded

# Maximum characters in a statement.
TEXT_LENGTH_MAX = 4 * 1024 * 1024
_NAMED_MAX = 20


def add_commits(error: StatementEnded, versions: Mapping[str, int]) -> None:
    """Adds the newest version that the statement committed for each table; a script makes more than one commit."""
    if versions:
        shown = [f"{table} (version {version})" for table, version in versions.items()]
        more = f" and {len(shown) - _NAMED_MAX} more" if len(shown) > _NAMED_MAX else ""
        error.committed = f" These commits were made before, and stay: {', '.join(shown[:_NAMED_MAX])}{more}."
