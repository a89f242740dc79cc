"""Settings for storage credentials, and their secrets."""

from __future__ import annotations

import base64
import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from catalog.conditions import CredentialInvalid, CredentialsKeyInvalid
from catalog.store.credentials import Credential, use_credentials
from catalog.store.sealed_credentials import KEY_BYTES, CredentialStore, SealedCredential, seal, unseal
from gateway.configuration.fields import Constraint, setting
from gateway.configuration.secrets import find_secret, is_reference

_SECRET = re.compile(
    r"(?i)secret|password|token|(?<!public_)key(?!_?id$|file)|sas|signature|credential|connection_string"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@]+(@[^\s/?#@]+)?(/[^\s?#]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialTable:
    """A credential in storage.credentials."""

    name: str = setting(
        "", "What the log and errors call it.", constraint=Constraint("a name", re.compile(r"[\w.-]{1,64}").fullmatch)
    )
    urls: tuple[str, ...] = setting(
        (),
        "Beginnings of URLs that it is for: s3a://bucket, abfss://container@account.dfs.core.windows.net/path.",
        constraint=Constraint("a list of URLs", lambda urls: bool(urls) and all(map(_URL.fullmatch, urls))),
    )
    access_key_id: str = setting("", "Of S3.")
    secret_access_key: str = setting("", "Of S3.")
    session_token: str = setting("", "Of S3.")
    endpoint: str = setting("", "Of a store that speaks S3 and is not Amazon's: https://minio.example.com.")
    region: str = setting("", "Of S3.")
    account_key: str = setting("", "Of an Azure storage account, whose name is in the URL.")
    options: Mapping[str, str] = setting({}, "Further options of fsspec.")
    hadoop: Mapping[str, str] = setting({}, "Further settings of Hadoop.")


def _have_own_names(tables: tuple[CredentialTable, ...]) -> bool:
    names = [table.name for table in tables]
    return all(names) and len(set(names)) == len(names) and all(table.urls for table in tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSection:
    """Credentials for storage."""

    credentials: tuple[CredentialTable, ...] = setting(
        (),
        "Credentials, each as [[storage.credentials]] with: name, urls, and for S3 access_key_id, "
        "secret_access_key, session_token, endpoint, region; for Azure account_key; for other stores options "
        '(for fsspec) and hadoop (for Hadoop). Secrets are references: "file:/path" (with mode 0600), '
        '"env:NAME" or "systemd:NAME" (LoadCredential=). Without an entry for a URL, the environment\'s '
        "credentials are used.",
        constraint=Constraint("a list of credentials with a name each, and urls,", _have_own_names),
    )
    credentials_key: str = setting(
        "",
        "Key for the credentials in the catalog, which `delta-gateway credentials` adds: a reference, as above, to the "
        "32 bytes in Base64 that `delta-gateway credentials key` writes. The server reads these credentials when it "
        "starts. Empty: the catalog has none.",
        constraint=Constraint("a reference such as file:/path", lambda it: not it or is_reference(it)),
    )


def use_configured_credentials(
    section: StorageSection, catalog_folder: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Sets this process's credentials: the configuration's, with which the catalog is opened, and the catalog's.

    Raises `CredentialInvalid`, `CredentialsKeyInvalid`, `CredentialSealed`, and errors from reading secret files.
    """
    configured = open_credentials(section, environment)
    use_credentials(configured)
    key = credentials_key(section, environment)
    if catalog_folder and (stored := CredentialStore(catalog_folder).load()):
        use_credentials(_compatible((*configured, *(_unsealed(each, key) for each in stored))))


def credentials_key(section: StorageSection, environment: Mapping[str, str] = os.environ) -> bytes | None:
    """Returns the key for the catalog's credentials; None if it is not set. Raises `CredentialsKeyInvalid`."""
    if not section.credentials_key:
        return None
    found = find_secret(section.credentials_key, environment)
    if found is None:
        raise CredentialsKeyInvalid(f"{section.credentials_key} has no value")
    try:
        key = base64.b64decode(found, validate=True)
    except ValueError as error:
        raise CredentialsKeyInvalid("it is not Base64") from error
    if len(key) != KEY_BYTES:
        raise CredentialsKeyInvalid(f"it has {len(key)} bytes, not {KEY_BYTES}")
    return key


def new_credential(name: str, urls: tuple[str, ...], fields: Mapping[str, object], key: bytes) -> SealedCredential:
    """Returns a credential for the catalog, whose fields are as in storage.credentials, with secrets in place of
    references. Raises `CredentialInvalid`.
    """
    sealed = seal(name, urls, fields, key)
    _unsealed(sealed, key)
    return sealed


def _unsealed(sealed: SealedCredential, key: bytes | None) -> Credential:
    given = {"name": sealed.name, "urls": sealed.urls, **unseal(sealed, key)}
    for each in dataclasses.fields(CredentialTable):
        value, constraint = given.get(each.name), each.metadata["constraint"]
        if value is not None and constraint is not None and not constraint.holds(value):
            raise CredentialInvalid(sealed.name, f"{each.name} is not {constraint.expected}")
    try:
        table = msgspec.convert(given, _Table)
    except msgspec.ValidationError as error:
        raise CredentialInvalid(sealed.name, str(error)) from error
    return _credential(CredentialTable(**msgspec.structs.asdict(table)), lambda _, value: value)


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `CredentialTable`, as a credential in the catalog has them."""

    name: str
    urls: tuple[str, ...]
    access_key_id: str = ""
    secret_access_key: str = ""
    session_token: str = ""
    endpoint: str = ""
    region: str = ""
    account_key: str = ""
    options: dict[str, str] = {}
    hadoop: dict[str, str] = {}


def open_credentials(section: StorageSection, environment: Mapping[str, str] = os.environ) -> tuple[Credential, ...]:
    """Loads the credentials with their secrets. Raises `CredentialInvalid`, and errors from reading secret files."""
    return _compatible(tuple(_configured(table, environment) for table in section.credentials))


def _compatible(credentials: tuple[Credential, ...]) -> tuple[Credential, ...]:
    owners: dict[str, str] = {}
    for credential in credentials:
        for key in credential.hadoop:
            if (other := owners.setdefault(key, credential.name)) != credential.name:
                raise CredentialInvalid(credential.name, f"{other} has another value of {key}; Spark can have one")
    return credentials


def _configured(table: CredentialTable, environment: Mapping[str, str]) -> Credential:
    def read(key: str, value: str) -> str:
        if not is_reference(value):
            if value and _SECRET.search(key):
                raise CredentialInvalid(table.name, f"{key} is a secret; refer to it with file:, env: or systemd:")
            return value
        found = find_secret(value, environment)
        if found is None:
            raise CredentialInvalid(table.name, f"{value} has no value")
        return found

    return _credential(table, read)


def _credential(table: CredentialTable, read: Callable[[str, str], str]) -> Credential:
    """Returns a credential; `read` returns the value of a key."""
    options: dict[str, Any] = {key: read(key, value) for key, value in table.options.items()}
    hadoop = {key: read(key, value) for key, value in table.hadoop.items()}
    s3 = {
        key: read(key, getattr(table, key))
        for key in ("access_key_id", "secret_access_key", "session_token", "endpoint", "region")
        if getattr(table, key)
    }
    if s3:
        options = _s3_options(s3) | options
    if table.account_key:
        options = {"account_key": read("account_key", table.account_key)} | options
    for url in table.urls:
        if s3:
            hadoop = dict(_s3_hadoop(urlsplit(url).netloc, s3)) | hadoop
        if table.account_key:
            host = urlsplit(url).hostname or ""
            hadoop = {f"fs.azure.account.key.{host}": options["account_key"]} | hadoop
            options = {"account_name": host.partition(".")[0]} | options
    return Credential(name=table.name, urls=table.urls, options=options, hadoop=hadoop)


def _s3_options(given: Mapping[str, str]) -> dict[str, Any]:
    names = {"access_key_id": "key", "secret_access_key": "secret", "session_token": "token"}
    client = {"endpoint": "endpoint_url", "region": "region_name"}
    options: dict[str, Any] = {names[key]: value for key, value in given.items() if key in names}
    if kwargs := {client[key]: value for key, value in given.items() if key in client}:
        options["client_kwargs"] = kwargs
    return options


def _s3_hadoop(bucket: str, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = {
        "access_key_id": "access.key",
        "secret_access_key": "secret.key",
        "session_token": "session.token",
        "endpoint": "endpoint",
        "region": "endpoint.region",
    }
    for key, value in given.items():
        yield f"fs.s3a.bucket.{bucket}.{names[key]}", value
    if "secret_access_key" in given:
        kind = "TemporaryAWSCredentialsProvider" if "session_token" in given else "SimpleAWSCredentialsProvider"
        yield f"fs.s3a.bucket.{bucket}.aws.credentials.provider", f"org.apache.hadoop.fs.s3a.{kind}"
    if "endpoint" in given:
        yield f"fs.s3a.bucket.{bucket}.path.style.access", "true"
