"""The server's credentials for external storage: keys by URL, for this process and for Spark.

A credential applies to URLs by prefix: a store and its bucket, and a path in it if a key covers only a part. The
longest prefix wins. Both interfaces to storage (`catalog/store/remote.py`, `engine/storage`) look up a credential for
each folder that they open; Spark receives its settings at startup. Clients do not choose credentials: a table's
location determines the credential, and external locations determine if a client may access it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from catalog.roots import in_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A credential; `options` are fsspec's options for the URLs' scheme, `hadoop` are Hadoop settings. Both contain
    secrets.
    """

    name: str
    urls: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    hadoop: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def length_for(self, url: str) -> int:
        """Returns the length of the longest prefix of `url` among the URLs; 0 if none matches."""
        # By whole segments: a credential for `s3://a/b` must not apply to `s3://a/bc`. It applies to `s3a://a/b`.
        place, prefixes = f"{in_store(url)}/", (f"{in_store(each).rstrip('/')}/" for each in self.urls)
        return max((len(prefix) for prefix in prefixes if place.startswith(prefix)), default=0)


_known: tuple[Credential, ...] = ()


def use_credentials(credentials: Iterable[Credential]) -> None:
    """Sets this process's credentials, replacing previous ones; called once, at startup."""
    global _known
    _known = tuple(credentials)


def options_for(url: str) -> Mapping[str, Any]:
    """Returns fsspec's options for a URL; empty if the environment provides the credentials."""
    best = max(_known, key=lambda each: each.length_for(url), default=None)
    return best.options if best is not None and best.length_for(url) else {}


def hadoop_settings() -> Mapping[str, str]:
    """Returns the Hadoop settings from all credentials; each is specific to a bucket or account."""
    return {key: value for credential in _known for key, value in credential.hadoop.items()}
