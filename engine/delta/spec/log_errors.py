"""Conditions of logs that lead elsewhere, or describe what is not read here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class LogPathNotAllowed(DeltaError, condition="LOG_PATH_NOT_ALLOWED", sqlstate="42501"):
    """Raised before anything is opened, and says nothing of what lies there."""

    table: str
    path: str
    """As the log names it, decoded; or the place in the table's folder that is a link."""
    template = (
        "The log of {table} leads to {path!r}, which is not below the table's folder. A relative path must stay below "
        "that folder; an absolute one, and what a symbolic link leads to, must lie below it, the served folder or one "
        "of lake.allowed_roots in the server's configuration. What is written must lie below the table's own folder."
    )
