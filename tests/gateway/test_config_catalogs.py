"""Secrets for catalogs from CREATE CATALOG, and errors that prevent a server's start with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.conditions import RestCatalogInvalid
from gateway.configuration.catalogs import open_rest_policy
from gateway.configuration.loader import load_config

SECRET = '[[catalogs.secrets]]\nname = "prod"\nvalue = "env:PROD"\nurls = ["https://catalog.example.com"]\n'


def test_secrets_are_read_from_where_they_are(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f'[catalogs]\nallowed_urls = ["https://open.example.com"]\n{SECRET}')
    section = load_config(file, {}, {}).catalogs
    found = open_rest_policy(section, {"PROD": "id:s3cret"})
    assert found.urls == ("https://open.example.com",)
    assert found.secrets["prod"].value == "id:s3cret" and "s3cret" not in repr(found)
    with pytest.raises(RestCatalogInvalid):
        open_rest_policy(section, {})


def test_a_secret_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(SECRET.replace("env:PROD", "the-s3cret"))
    with pytest.raises(RestCatalogInvalid) as error:
        open_rest_policy(load_config(file, {}, {}).catalogs, {})
    assert "s3cret" not in str(error.value)
