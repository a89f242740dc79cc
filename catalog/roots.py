"""Paths that a statement may name: those below the allowed roots, after links are resolved.

``delta.`/path` `` and `LOCATION '/path'` let a client choose a path; the choice is checked only here.
:meth:`AllowedRoots.ensure_allowed` returns the canonical location, at which the table is opened: links and `..` are
resolved *before* the check, so the checked path is the opened path.

- Local paths are absolute, bare or as a `file:` URI. A path in SQL is literal: as in Hadoop, a percent sign is a
  percent sign, and nothing is decoded that a later layer could decode differently.
- Other schemes are compared by scheme, authority and whole segments. The check of allowed roots compares the scheme as
  it is spelled; the comparison of two folders uses the store that the scheme denotes (`s3a` is `s3`; `wasbs` and
  `abfss` are services in one account). Empty, `.` and `..` segments are rejected rather than normalized, because object
  stores take them literally and their clients disagree; so is `::`, which chains file systems in fsspec.
- A rejection does not reveal if anything exists at the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.conditions import PathNotAllowed, StorageNotAvailable

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_LOCAL_AUTHORITIES = ("", "localhost")
# Alternative spellings of schemes.
SAME_STORE: Mapping[str, str] = MappingProxyType(
    {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "wasbs": "wasb"}
)
_AZURE = frozenset(["abfs", "abfss", "az", "wasb", "wasbs"])
# Two services for the same containers.
_AZURE_SERVICES = frozenset(["blob", "dfs"])


class AllowedRoots:
    """Folders below which tables may be named by path. Immutable."""

    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(configured_location(root) for root in roots)

    def ensure_allowed(self, path: str) -> str:
        """Returns the canonical location for `path`; raises PathNotAllowed."""
        location = canonical_location(path)
        if not self.contains(location):
            raise PathNotAllowed(path)
        return location

    def contains(self, location: str) -> bool:
        """Returns True if a canonical location is a root or below one."""
        return bool(self.around(location))

    def around(self, location: str) -> list[str]:
        """Returns the roots that are prefixes of a canonical location, with the scheme as it is spelled there."""
        return [root for root in self.roots if location == root or location.startswith(root.rstrip("/") + "/")]


def overlap(one: str, other: str) -> bool:
    """Returns True if two canonical locations are equal or nested, or may be: an Azure container that is named without
    its account may belong to any account.
    """
    here, there = _comparable_locations(one, other)
    return here == there or _is_inside(here, there) or _is_inside(there, here)


def may_be_below(location: str, folder: str) -> bool:
    """Returns True if `location` is below `folder`, or may be, because an Azure container lacks its account (see
    `overlap`).
    """
    return _is_inside(*_comparable_locations(location, folder))


def is_same(one: str, other: str) -> bool:
    """Returns True if two canonical locations are the same folder."""
    return in_store(one) == in_store(other)


def is_below(location: str, folder: str) -> bool:
    """Returns True if a canonical location is inside a folder."""
    return _is_inside(in_store(location), in_store(folder))


def is_at_or_below(location: str, folder: str) -> bool:
    """Returns True if a location is the folder itself or is below it. No links are resolved."""
    return is_same(location, folder) or is_below(location, folder)


def in_store(location: str) -> str:
    """Returns a canonical location with its scheme's usual name, for comparison."""
    scheme, separator, rest = location.partition("://")
    if scheme in _AZURE:
        return f"az://{_in_account(rest)}"
    return f"{SAME_STORE.get(scheme, scheme)}://{rest}" if separator else location


def _is_inside(place: str, folder: str) -> bool:
    return place.startswith(folder.rstrip("/") + "/")


def _in_account(place: str) -> str:
    """Returns `container@account.cloud/folder` for an Azure location, regardless of the account's service that it
    names.
    """
    authority, slash, folder = place.partition("/")
    container, at, host = authority.partition("@")
    account, *services = host.lower().split(".")
    if services and services[0] in _AZURE_SERVICES:
        services.pop(0)
    return f"{container}{at}{'.'.join((account, *services))}{slash}{folder}"


def _comparable_locations(one: str, other: str) -> tuple[str, str]:
    """Returns two canonical locations with their schemes' usual names; without accounts if one of them has none."""
    places = in_store(one), in_store(other)
    named = ["@" in place.partition("://")[2].partition("/")[0] for place in places]
    if named[0] == named[1] or not all(place.startswith("az://") for place in places):
        return places
    return _without_account(places[0]), _without_account(places[1])


def _without_account(place: str) -> str:
    authority, slash, folder = place.removeprefix("az://").partition("/")
    return f"az://{authority.partition('@')[0]}{slash}{folder}"


def is_local(location: str) -> bool:
    """Returns True if a canonical location is a local path."""
    return location.startswith("/")


def configured_location(path: str) -> str:
    """Returns the canonical location for a configured path, which may be relative to the working directory."""
    try:
        return canonical_location(path if _URI.fullmatch(path) else os.path.abspath(path))
    except PathNotAllowed as error:
        raise StorageNotAvailable(path, "it is neither a path nor a URL such as s3://bucket/folder") from error


def canonical_location(path: str) -> str:
    """Returns an absolute local path without links and `..`, or `scheme://authority/segments`; raises
    PathNotAllowed.
    """
    if "\0" in path:
        raise PathNotAllowed(path)
    uri = _URI.fullmatch(path)
    if uri is None:
        return _local(path, path)
    scheme, rest = uri["scheme"].lower(), uri["rest"]
    if scheme == "file":
        return _local(_without_authority(rest), path)
    if not rest.startswith("//") or "::" in path:
        raise PathNotAllowed(path)
    authority, *segments = rest[2:].rstrip("/").split("/")
    if any(segment in ("", ".", "..") for segment in segments) or not (authority or segments):
        raise PathNotAllowed(path)
    return f"{scheme}://{'/'.join((authority, *segments))}"


def _local(local: str, path: str) -> str:
    if not local.startswith("/"):
        raise PathNotAllowed(path)
    # POSIX permits `//x` to differ from `/x`; no supported system uses that.
    return os.path.realpath("/" + local.lstrip("/"))


def _without_authority(rest: str) -> str:
    """Returns `/x` for `/x`, `///x` and `//localhost/x`; an empty text for another host's path."""
    if not rest.startswith("//"):
        return rest
    authority, slash, tail = rest[2:].partition("/")
    return slash + tail if authority in _LOCAL_AUTHORITIES else ""
