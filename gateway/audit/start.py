"""Creates the configured auditor."""

from __future__ import annotations

from pathlib import Path

from catalog.conditions import LineageWithoutAudit
from catalog.secret_files import read_secret
from gateway.audit.audit_log import AuditLog
from gateway.audit.auditor import Auditor, LogAuditor, NoAudit
from gateway.audit.lineage_sender import LineageEvents, LineageSender
from gateway.audit.signed_digests import ChainSigner, private_key
from gateway.configuration.config import AuditSection, LineageSection


def make_auditor(section: AuditSection, lineage: LineageSection) -> Auditor:
    """Returns the configured auditor; raises an error if the audit log cannot be written."""
    if not section.folder:
        if lineage.url:
            raise LineageWithoutAudit()
        return NoAudit()
    signer = None
    if section.signing_key:
        chain_ends = Path(section.heads_file or f"{section.folder}/heads.jsonl")
        signer = ChainSigner(private_key(Path(section.signing_key)), chain_ends)
    audit_log = AuditLog(Path(section.folder), is_synced=section.synced, signer=signer)
    events = _events(lineage, section) if lineage.url else None
    return LogAuditor(audit_log, text=section.statement_text, on_failure=section.on_failure, events=events)


def _events(section: LineageSection, audit: AuditSection) -> LineageEvents:
    token = read_secret(Path(section.token_file)).decode().strip() if section.token_file else ""
    folder = Path(section.folder or f"{audit.folder}/lineage")
    return LineageEvents(LineageSender(section.url, folder, token), section.namespace)
