"""What the server shows to storages of others: keys by URL, for this process and for Spark.

A credential is for URLs by their beginnings: a store and its bucket, and a path in it where a key is for a part alone.
The longest beginning counts. The two doors to storages (`catalog/store/remote.py`, `engine/storage`) ask here with each
folder that they open; Spark is given its part when it starts. Clients name no credentials: which one is used follows
from where a table lies, and whether they may reach that is up to external locations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """`options` are those of fsspec for the URLs' scheme, `hadoop` are settings of Hadoop. Both hold secrets."""

    name: str
    urls: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    hadoop: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def length_for(self, url: str) -> int:
        """How much of `url` one of the URLs covers; 0 where none does."""
        return max((len(each) for each in self.urls if f"{url}/".startswith(f"{each.rstrip('/')}/")), default=0)


_known: tuple[Credential, ...] = ()


def use_credentials(credentials: Iterable[Credential]) -> None:
    """Those of this process, in place of any before; called once, when the server starts."""
    global _known
    _known = tuple(credentials)


def options_for(url: str) -> Mapping[str, Any]:
    """What fsspec is given for a URL; nothing where the environment has to say."""
    best = max(_known, key=lambda each: each.length_for(url), default=None)
    return best.options if best is not None and best.length_for(url) else {}


def hadoop_settings() -> Mapping[str, str]:
    """Those of all credentials, which are by bucket or account each."""
    return {key: value for credential in _known for key, value in credential.hadoop.items()}
