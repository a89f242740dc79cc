"""The tracer that a configuration asks for."""

from __future__ import annotations

import importlib
from pathlib import Path

from catalog.conditions import TracingNotInstalled
from catalog.rest.secret_files import read_secret
from gateway.configuration.config import TracingSection
from gateway.observability.tracing import SpanExporter, StatementTracer

_EXPORTER = "gateway.observability.open_telemetry"
"""Imported by its name where it is asked for: its packages are optional, and take a while to load."""


def make_tracer(section: TracingSection) -> StatementTracer | None:
    """None where nothing is traced. Raises `TracingNotInstalled`."""
    if not section.url:
        return None
    try:
        module = importlib.import_module(_EXPORTER)
    except ModuleNotFoundError as error:
        raise TracingNotInstalled(error.name or "opentelemetry") from error
    token = read_secret(Path(section.token_file)).decode().strip() if section.token_file else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    exporter: SpanExporter = module.OtlpExporter(
        section.url, service=section.service, share=section.share, headers=headers
    )
    return StatementTracer(exporter, section.statement_text)
