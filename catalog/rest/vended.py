"""Vended credentials for one table's files, and the settings for Hadoop's connectors that use them.

They are returned with the table, or requested separately when they expire, and are valid below a prefix. They are used
for no other table, and for no path in a statement. The Hadoop settings are specific to the bucket or account, and
override the server's own configuration. A connector is a class that PySpark does not include: the operator adds its jar
to Spark's class path.

Source: Iceberg REST catalog, "loadTable", "loadCredentials"; properties of S3FileIO, GCSFileIO and ADLSFileIO. Hadoop,
"Hadoop-AWS module", "Configuring different S3 buckets", "Hadoop Azure Data Lake Storage Gen2", "SAS".
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from catalog.conditions import RestSigningNotSupported
from catalog.roots import is_below
from catalog.store.interruption import hold_lock

Config = Mapping[str, str]
# Credentials are renewed this long before they expire, or after half of their remaining time if that is later.
_EARLY_MS = 5 * 60_000
# Renewal interval for credentials without an expiry.
_ENDLESS_MS = 15 * 60_000
# Credentials without an expiry are used at least this long before newer ones replace them, because each opens new file
# systems.
_TAKEN_MS = 5 * 60_000
_S3 = frozenset(["s3", "s3a", "s3n"])
_GCS = frozenset(["gs", "gcs"])
_ADLS = frozenset(["abfs", "abfss", "wasb", "wasbs"])


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCredentials:
    """Credentials in a response about a table: `config`, and pairs with a path prefix and its configuration."""

    config: Config = field(default_factory=dict, repr=False)
    by_prefix: tuple[tuple[str, Config], ...] = field(default=(), repr=False)

    def for_location(self, location: str) -> Config:
        """Returns the configuration for a location: the longest prefix overrides the table's own."""
        fitting = [(len(_folders(prefix)), config) for prefix, config in self.by_prefix if _is_for(prefix, location)]
        # REST catalog specification, "StorageCredential": the longest matching prefix is
        # preferred.
        return {**self.config, **max(fitting, key=lambda each: each[0], default=(0, {}))[1]}


def _is_for(prefix: str, location: str) -> bool:
    """Compares by whole segments; a prefix may be only a scheme."""
    return is_below(f"{location}/", prefix if "/" in prefix else f"{prefix.removesuffix(':')}://")


def _folders(prefix: str) -> str:
    return prefix.partition("://")[2].rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """Options for fsspec, and for Spark (None: Spark cannot use them); `ends_ms` is milliseconds since the epoch."""

    options: Mapping[str, Any] = field(repr=False)
    ends_ms: int | None = None
    hadoop: HadoopAccess | None = None


def given_credentials(body: Mapping[str, Any]) -> GivenCredentials:
    """Parses the credentials in a response; malformed items are ignored."""
    listed = body.get("storage-credentials")
    found = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    return GivenCredentials(
        config=_texts(body.get("config")),
        by_prefix=tuple(
            (each["prefix"], _texts(each.get("config")))
            for each in found
            if isinstance(each, Mapping) and isinstance(each.get("prefix"), str)
        ),
    )


def _texts(found: object) -> Config:
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def storage_options(table: str, location: str, given: GivenCredentials) -> StorageOptions | None:
    """Returns the storage options for a location; None if there are no credentials for it. Raises
    `RestSigningNotSupported`.
    """
    config = given.for_location(location)
    parts = urlsplit(location)
    if parts.scheme in _S3:
        return _s3(table, location, config)
    if parts.scheme in _GCS and (token := config.get("gcs.oauth2.token")):
        project = {"project": config["gcs.project-id"]} if "gcs.project-id" in config else {}
        return StorageOptions(options={"token": token, **project}, ends_ms=_time(config, "gcs.oauth2.token-expires-at"))
    if parts.scheme in _ADLS:
        return _adls(location, parts.hostname or "", config)
    return None


def _s3(table: str, location: str, config: Config) -> StorageOptions | None:
    if "s3.access-key-id" not in config:
        # With remote signing each S3 request is signed by the catalog, which Hadoop's S3A
        # cannot do.
        if config.get("s3.remote-signing-enabled", "false").lower() == "true":
            raise RestSigningNotSupported(table)
        return None
    names = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.session-token": "token"}
    options: dict[str, Any] = {name: config[key] for key, name in names.items() if key in config}
    region = config.get("s3.region") or config.get("client.region")
    client = {"endpoint_url": config.get("s3.endpoint"), "region_name": region}
    options["client_kwargs"] = {key: value for key, value in client.items() if value}
    if config.get("s3.path-style-access", "false").lower() == "true":
        options["config_kwargs"] = {"s3": {"addressing_style": "path"}}
    ends_ms = _time(config, "s3.session-token-expires-at-ms")
    return StorageOptions(options=options, ends_ms=ends_ms, hadoop=s3_access(location, config))


def _adls(location: str, host: str, config: Config) -> StorageOptions | None:
    account = host.partition(".")[0]
    for name in (host, account):
        if token := config.get(f"adls.sas-token.{name}"):
            ends_ms = _time(config, f"adls.sas-token-expires-at-ms.{name}")
            options = {"account_name": account, "sas_token": token}
            return StorageOptions(options=options, ends_ms=ends_ms, hadoop=abfs_access(location, token))
    return None


def _time(config: Config, key: str) -> int | None:
    text = config.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else None


def now_ms() -> int:
    """Returns the system clock's time in milliseconds since the epoch, rounded."""
    return round(time.time() * 1000)


class VendedOptions:
    """Vended credentials for one table's files, as options for fsspec and Spark, renewed in time. Thread-safe.

    `credentials_id` is a random name by which Spark's side requests them (`vended_by`).
    """

    def __init__(
        self,
        first: StorageOptions,
        ask: Callable[[], StorageOptions],
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """Starts with `first`; `ask` requests newer credentials, and may raise."""
        self.credentials_id = uuid.uuid4().hex
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._use(first)
        # Weak: the entry ends with the last snapshot that uses the credentials. Spark's
        # side asks by the random id, so that no plan contains a secret.
        _vended_by_id[self.credentials_id] = self

    def __call__(self) -> Mapping[str, Any]:
        """Returns fsspec's options."""
        return self.newest().options

    def newest(self) -> StorageOptions:
        """Returns the current options; if renewal fails, the previous ones remain in use until they expire."""
        with hold_lock(self._lock):
            now = self._clock()
            if now >= self._again_ms:
                self._renew(now)
            return self._current

    def take(self, newest: StorageOptions) -> None:
        """Replaces credentials without an expiry by those that a table was just loaded with."""
        with hold_lock(self._lock):
            if self._current.ends_ms is None and self._clock() >= self._since_ms + _TAKEN_MS:
                self._use(newest)

    def _renew(self, now: int) -> None:
        try:
            found = self._ask()
        except Exception:
            if self._current.ends_ms is not None and now >= self._current.ends_ms:
                raise
            # The old ones are still good, and a catalog that does not answer must not be
            # asked for every file.
            self._again_ms = now + 10_000
            return
        self._use(found)

    def _use(self, options: StorageOptions) -> None:
        self._current = options
        self._since_ms = self._clock()
        self._again_ms = self._due_ms(options)

    def _due_ms(self, options: StorageOptions) -> int:
        if options.ends_ms is None:
            return self._clock() + _ENDLESS_MS
        return max(options.ends_ms - _EARLY_MS, (self._clock() + options.ends_ms) // 2)


_vended_by_id: WeakValueDictionary[str, VendedOptions] = WeakValueDictionary()


def vended_by(credentials_id: str) -> StorageOptions:
    """Returns the options for a lease, as `VendedOptions.newest` does; raises KeyError if it is no longer in use."""
    return _vended_by_id[credentials_id].newest()


_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3A_PROVIDERS = "org.apache.hadoop.fs.s3a."
_ABFS = {
    "abfs": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
    "abfss": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopAccess:
    """Hadoop access to one location; `connector` is the file system's class; `settings` contain secrets."""

    connector: str
    settings: Mapping[str, str] = field(repr=False)


def s3_access(location: str, config: Mapping[str, str]) -> HadoopAccess:
    """Returns S3A settings from S3FileIO's properties, which include a key."""
    has_token = "s3.session-token" in config
    provider = "TemporaryAWSCredentialsProvider" if has_token else "SimpleAWSCredentialsProvider"
    said = {
        "aws.credentials.provider": f"{_S3A_PROVIDERS}{provider}",
        "access.key": config.get("s3.access-key-id"),
        "secret.key": config.get("s3.secret-access-key"),
        "session.token": config.get("s3.session-token"),
        "endpoint": config.get("s3.endpoint"),
        "endpoint.region": config.get("s3.region") or config.get("client.region"),
        "path.style.access": config.get("s3.path-style-access", "").lower(),
    }
    # S3A's per-bucket settings override the global ones for this bucket alone.
    bucket = f"fs.s3a.bucket.{urlsplit(location).netloc}"
    settings = {f"{bucket}.{key}": value for key, value in said.items() if value}
    return HadoopAccess(connector=_S3A, settings=settings)


def abfs_access(location: str, sas_token: str) -> HadoopAccess | None:
    """Returns ABFS settings; None for the schemes of Hadoop's deprecated connector."""
    parts = urlsplit(location)
    connector = _ABFS.get(parts.scheme)
    if connector is None or parts.hostname is None:
        return None
    settings = {
        f"fs.azure.account.auth.type.{parts.hostname}": "SAS",
        f"fs.azure.sas.fixed.token.{parts.hostname}": sas_token,
    }
    return HadoopAccess(connector=connector, settings=settings)
