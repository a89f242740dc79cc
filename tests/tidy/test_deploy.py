"""deploy/ and the pages for operators match the code."""

from __future__ import annotations

import configparser
import re
from dataclasses import asdict

import pytest

from catalog.discovery.discovery import DEPTH_MAX
from catalog.store.file_store import GENERATIONS_RETAINED
from catalog.store.remote import LISTING_TTL_S
from gateway.configuration.config import Config
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
PAGES = " ".join(" ".join(page.read_text(encoding="utf-8").split()) for page in sorted((ROOT / "docs").rglob("*.md")))
NAMED = re.compile(rf"`((?:{'|'.join(asdict(Config()))})\.[a-z_]+)`")
SETTINGS = {f"{section}.{key}" for section, keys in asdict(Config()).items() for key in keys}


def test_systemd_waits_longer_than_the_server_drains() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "gateway.service")
    assert unit.getint("Service", "TimeoutStopSec") > Config().server.drain_deadline_s


def test_the_image_copies_what_is_there() -> None:
    lines = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    sources = [source for line in lines for source in line.split()]
    assert sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_container_runs_as_a_user_with_a_number() -> None:
    """Kubernetes cannot see whether a user with a name is root."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^(USER|EXPOSE|VOLUME|HEALTHCHECK) (.+)$", text, re.MULTILINE) == [
        ("USER", "10001:10001"),
        ("VOLUME", "/var/lib/delta-gateway"),
        ("EXPOSE", "8080 10000 15002"),
        ("HEALTHCHECK", '--interval=30s --timeout=15s --start-period=90s CMD ["delta-gateway", "health"]'),
    ]


def test_context_of_the_image_has_only_what_is_copied() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == {name for line in copied for name in line.split()}


@pytest.mark.parametrize("name", sorted(set(NAMED.findall(PAGES)) - {"server.py"}))
def test_pages_name_settings_that_exist(name: str) -> None:
    assert name in SETTINGS


@pytest.mark.parametrize(
    "sentence",
    [
        f"the last {GENERATIONS_RETAINED} generations are kept",
        f"more than {DEPTH_MAX} folders between",
        f"may be {LISTING_TTL_S:g} seconds old",
    ],
)
def test_pages_have_the_numbers_of_the_code(sentence: str) -> None:
    assert sentence in PAGES
