"""Settings for external catalogs and their secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from catalog.conditions import RestCatalogInvalid
from catalog.names import DEFAULT_CATALOG, fold
from catalog.rest.connections import RestPolicy, RestSecret, is_private
from catalog.rest.options import RestOptions
from gateway.configuration.fields import Constraint, setting
from gateway.configuration.secrets import find_secret, is_reference

_NAME = re.compile(r"[A-Za-z][\w-]{0,63}")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_MAY_BE_URL = re.compile(f"|{_URL.pattern}")
_TAKEN = frozenset([DEFAULT_CATALOG, "hive_metastore", "system"])


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and fold(text) not in _TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class RestCatalogTable:
    """A REST catalog in catalogs.rest."""

    name: str = setting(
        "", "What it is called here.", constraint=Constraint("a name that no other catalog has", _is_name)
    )
    uri: str = setting("", "Where its paths begin, without /v1.", constraint=Constraint("a URL", _URL.fullmatch))
    warehouse: str = setting("", "Which of its warehouses.")
    token: str = setting("", "A bearer token.")
    credential: str = setting("", "The id and secret of an OAuth2 client.")
    token_url: str = setting(
        "", "Where tokens are given to it.", constraint=Constraint("a URL", re.compile(f"|{_URL.pattern}").fullmatch)
    )
    scope: str = setting("catalog", "What the token is asked for.")
    ca_file: str = setting("", "PEM file of the authorities of its certificate.")
    nested: bool = setting(False, "Whether namespaces inside of others are listed, with a request for each.")
    vended_credentials: bool = setting(False, "Whether it is asked for credentials for the files of each table.")
    timeout_s: float = setting(30.0, "Seconds that an answer may take.", low=0.1, high=600)


def _have_own_names(tables: tuple[RestCatalogTable, ...]) -> bool:
    names = [fold(table.name) for table in tables]
    return all(names) and len(set(names)) == len(names) and all(table.uri for table in tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSecretTable:
    """A secret in catalogs.secrets, for catalogs created by statements."""

    name: str = setting("", "What statements call it.")
    value: str = setting("", "The token, or the id and secret of an OAuth2 client.")
    urls: tuple[str, ...] = setting((), "Beginnings of the URLs that it may be shown to.")
    ca_file: str = setting("", "PEM file of the authorities of their certificates.")


def _are_whole(tables: tuple[RestSecretTable, ...]) -> bool:
    names = [table.name for table in tables]
    are_urls = all(table.urls and all(map(_URL.fullmatch, table.urls)) for table in tables)
    return all(names) and len(set(names)) == len(names) and all(table.value for table in tables) and are_urls


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogsSection:
    """External catalogs, whose tables are served in addition to the lake's."""

    rest: tuple[RestCatalogTable, ...] = setting(
        (),
        "Iceberg REST catalogs, each as [[catalogs.rest]] with: name, uri, warehouse, and token or credential "
        "(an OAuth2 client's id:secret; token_url and scope for its tokens), ca_file, nested (also list "
        "nested namespaces), vended_credentials (request credentials for each table's files; Spark then needs "
        'Hadoop\'s connector on its class path), timeout_s. token and credential are references: "file:/path" '
        '(with mode 0600), "env:NAME" or "systemd:NAME". Tables must be located below lake.allowed_roots, '
        "outside lake.folder, and are read with the keys in storage.credentials.",
        constraint=Constraint("a list of catalogs with a name of their own each, and a uri,", _have_own_names),
    )
    secrets: tuple[RestSecretTable, ...] = setting(
        (),
        "Secrets that CREATE CATALOG … USING rest can name as secret:<name>, each as [[catalogs.secrets]] "
        "with: name, value (a reference, as above, to a bearer token or an id:secret), urls (prefixes of the "
        "URLs to which it may be sent), ca_file.",
        constraint=Constraint("a list of secrets with a name of their own each, a value and urls,", _are_whole),
    )
    allowed_urls: tuple[str, ...] = setting(
        (),
        "Prefixes of URLs to which CREATE CATALOG … USING rest may connect without a secret.",
        constraint=Constraint("a list of URLs", lambda urls: all(map(_URL.fullmatch, urls))),
    )


def open_rest_policy(section: CatalogsSection, environment: Mapping[str, str] = os.environ) -> RestPolicy:
    """Builds the policy for catalogs from statements. Raises as `open_rest_catalogs` does."""
    secrets = (
        RestSecret(
            name=each.name,
            value=_read(each.name, "value", each.value, environment),
            urls=each.urls,
            ca_file=each.ca_file,
        )
        for each in section.secrets
    )
    return RestPolicy(urls=section.allowed_urls, secrets={each.name: each for each in secrets})


def open_rest_catalogs(
    section: CatalogsSection, environment: Mapping[str, str] = os.environ
) -> tuple[RestOptions, ...]:
    """Loads the configured catalogs with their secrets. Raises `RestCatalogInvalid`, and errors from reading secret
    files.
    """
    return tuple(_options(table, environment) for table in section.rest)


def _options(table: RestCatalogTable, environment: Mapping[str, str]) -> RestOptions:
    token = _read(table.name, "token", table.token, environment) if table.token else ""
    credential = _read(table.name, "credential", table.credential, environment) if table.credential else ""
    if token and credential:
        raise RestCatalogInvalid(table.name, "it has a token and a credential, and one of them is used")
    for url in (table.uri, table.token_url):
        if (token or credential) and url and not is_private(url):
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
        vended_credentials=table.vended_credentials,
        timeout_s=table.timeout_s,
    )


def _read(name: str, key: str, reference: str, environment: Mapping[str, str]) -> str:
    """Returns the secret for a reference."""
    if not is_reference(reference):
        raise RestCatalogInvalid(name, f"{key} is a secret, which file:, env: or systemd: has to lead to")
    found = find_secret(reference, environment)
    if found is None or not found.isprintable():
        raise RestCatalogInvalid(name, f"{key} has no value")
    return found
