"""The auditor that a configuration asks for."""

from __future__ import annotations

from pathlib import Path

from gateway.audit.auditor import Auditor, NoAudit, TrailAuditor
from gateway.audit.trail import Trail
from gateway.config import AuditSection


def make_auditor(section: AuditSection) -> Auditor:
    """Raises what keeps a trail from being written."""
    if not section.folder:
        return NoAudit()
    trail = Trail(Path(section.folder), is_synced=section.synced)
    return TrailAuditor(trail, text=section.statement_text, on_failure=section.on_failure)
