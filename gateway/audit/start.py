"""The auditor that a configuration asks for."""

from __future__ import annotations

from pathlib import Path

from gateway.audit.auditor import Auditor, NoAudit, TrailAuditor
from gateway.audit.heads import HeadSigner, private_key
from gateway.audit.trail import Trail
from gateway.config import AuditSection


def make_auditor(section: AuditSection) -> Auditor:
    """Raises what keeps a trail from being written."""
    if not section.folder:
        return NoAudit()
    signer = None
    if section.signing_key:
        heads = Path(section.heads_file or f"{section.folder}/heads.jsonl")
        signer = HeadSigner(private_key(Path(section.signing_key)), heads)
    trail = Trail(Path(section.folder), is_synced=section.synced, signer=signer)
    return TrailAuditor(trail, text=section.statement_text, on_failure=section.on_failure)
