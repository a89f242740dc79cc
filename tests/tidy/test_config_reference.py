"""The configuration reference matches the code."""

from __future__ import annotations

import re
from pathlib import Path

from gateway.configuration.config import settings
from gateway.configuration.loader import format_example, load_config
from tests.paths import ROOT

EXAMPLE = ROOT / "deploy" / "gateway.example.toml"


def test_the_example_is_the_codes_own() -> None:
    """Made by: delta-gateway config > deploy/gateway.example.toml"""
    assert EXAMPLE.read_text(encoding="utf-8") == format_example()


def test_the_example_changes_nothing() -> None:
    assert load_config(EXAMPLE, {}, {}) == load_config(None, {}, {})


def test_the_example_with_every_line_switched_on_is_the_default(tmp_path: Path) -> None:
    switched_on = re.sub(r"^# (\w+ = )", r"\1", format_example(), flags=re.MULTILINE)
    file = tmp_path / "gateway.toml"
    file.write_text(switched_on, encoding="utf-8")
    assert switched_on.count(" = ") > 15
    assert load_config(file, {}, {}) == load_config(None, {}, {})


def test_every_setting_is_documented() -> None:
    assert not [setting.name for setting in settings() if len(setting.doc) < 20 or not setting.doc.endswith(".")]
