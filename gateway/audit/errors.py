"""What goes wrong with an audit trail."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class AuditNotWritten(SqlError, condition="AUDIT_NOT_WRITTEN", sqlstate="58030"):
    folder: str
    reason: str
    template = (
        "The audit trail in {folder} could not be written: {reason}. Nothing was done that was to be recorded; ask "
        "the administrator to make room, or to set audit.on_failure."
    )


@dataclass(eq=False)
class AuditTrailInUse(SqlError, condition="AUDIT_TRAIL_IN_USE", sqlstate="55006"):
    folder: str
    template = "Another server writes the audit trail in {folder}. Give each server a folder of its own."


@dataclass(eq=False)
class AuditTrailBroken(SqlError, condition="AUDIT_TRAIL_BROKEN", sqlstate="XX001"):
    file: str
    reason: str
    template = (
        "The newest line of the audit trail {file} is no line of a trail: {reason}. Move the folder away to begin a "
        "new trail; `delta-gateway audit verify` shows how far the old one holds."
    )


@dataclass(eq=False)
class AuditKeyUnusable(SqlError, condition="AUDIT_KEY_UNUSABLE", sqlstate="F0000"):
    file: str
    reason: str
    template = (
        "The key {file} of the audit trail cannot be used: {reason}. `openssl genpkey -algorithm ed25519` makes one, "
        "and `openssl pkey -pubout` its public half."
    )


@dataclass(eq=False)
class LineageWithoutAudit(SqlError, condition="LINEAGE_WITHOUT_AUDIT", sqlstate="F0000"):
    template = "lineage.url is set, and events are made of what the audit trail is told: set audit.folder, too."
