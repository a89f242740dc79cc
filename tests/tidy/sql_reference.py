"""Writes the shell's SQL reference from the statement registry: `python -m tests.tidy.sql_reference`."""

from __future__ import annotations

import json

from engine.statements.registry import FAMILIES
from tests.paths import ROOT

REFERENCE = ROOT / "gateway/cli/sql_reference.json"


def reference() -> str:
    """Returns the reference: each SQL statement, ordered by family."""
    entries = [
        {"family": family, "title": spec.title, "syntax": spec.syntax, "example": spec.example}
        for family, specs in FAMILIES.items()
        for spec in specs
        if spec.syntax
    ]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
