"""The settings of catalogs that are elsewhere, and where their secrets are read from."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from catalog.names import DEFAULT_CATALOG, fold
from catalog.rest.options import RestOptions
from gateway.config_fields import Rule, setting
from gateway.config_secrets import find_secret, is_reference
from gateway.start_errors import RestCatalogInvalid

_NAME = re.compile(r"[A-Za-z][\w-]{0,63}")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_MAY_BE_URL = re.compile(f"|{_URL.pattern}")
_TAKEN = frozenset([DEFAULT_CATALOG, "hive_metastore", "system"])


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and fold(text) not in _TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class RestCatalogTable:
    """A REST catalog, as a table of catalogs.rest."""

    name: str = setting("", "What it is called here.", rule=Rule("a name that no other catalog has", _is_name))
    uri: str = setting("", "Where its paths begin, without /v1.", rule=Rule("a URL", _URL.fullmatch))
    warehouse: str = setting("", "Which of its warehouses.")
    token: str = setting("", "A bearer token.")
    credential: str = setting("", "The id and secret of an OAuth2 client.")
    token_url: str = setting(
        "", "Where tokens are given to it.", rule=Rule("a URL", re.compile(f"|{_URL.pattern}").fullmatch)
    )
    scope: str = setting("catalog", "What the token is asked for.")
    ca_file: str = setting("", "PEM file of the authorities of its certificate.")
    nested: bool = setting(False, "Whether namespaces inside of others are listed, with a request for each.")
    timeout_s: float = setting(30.0, "Seconds that an answer may take.", low=0.1, high=600)


def _have_own_names(tables: tuple[RestCatalogTable, ...]) -> bool:
    names = [fold(table.name) for table in tables]
    return all(names) and len(set(names)) == len(names) and all(table.uri for table in tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogsSection:
    """Catalogs elsewhere, whose tables are served beside those of the lake."""

    rest: tuple[RestCatalogTable, ...] = setting(
        (),
        "Iceberg REST catalogs, each as [[catalogs.rest]] with: name, uri, warehouse, and token or credential (an "
        "OAuth2 client's id:secret; token_url and scope for its tokens), ca_file, nested (also list namespaces inside "
        'of others), timeout_s. token and credential are "file:/path" (of the mode 0600), "env:NAME" or '
        '"systemd:NAME", never themselves. Tables have to lie below lake.folder or lake.allowed_roots, and are read '
        "with the keys of storage.credentials.",
        rule=Rule("a list of catalogs with a name of their own each, and a uri,", _have_own_names),
    )


def open_rest_catalogs(
    section: CatalogsSection, environment: Mapping[str, str] = os.environ
) -> tuple[RestOptions, ...]:
    """With their secrets. Raises `RestCatalogInvalid`, and what reading a file of secrets raises."""
    return tuple(_options(table, environment) for table in section.rest)


def _options(table: RestCatalogTable, environment: Mapping[str, str]) -> RestOptions:
    def read(key: str, reference: str) -> str:
        if not reference:
            return ""
        if not is_reference(reference):
            raise RestCatalogInvalid(table.name, f"{key} is a secret, which file:, env: or systemd: has to lead to")
        found = find_secret(reference, environment)
        if found is None or not found.isprintable():
            raise RestCatalogInvalid(table.name, f"{key} leads to nothing")
        return found

    token, credential = read("token", table.token), read("credential", table.credential)
    if token and credential:
        raise RestCatalogInvalid(table.name, "it has a token and a credential, and one of them is used")
    for url in (table.uri, table.token_url):
        if (token or credential) and url and not _is_private(url):
            raise RestCatalogInvalid(table.name, f"{url} is no https URL, and would show the secret to the network")
    return RestOptions(
        name=table.name,
        uri=table.uri,
        warehouse=table.warehouse,
        token=token,
        credential=credential,
        token_url=table.token_url,
        scope=table.scope,
        ca_file=table.ca_file,
        nested=table.nested,
        timeout_s=table.timeout_s,
    )


def _is_private(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
