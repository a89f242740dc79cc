"""Which paths a statement may name: the ones below the allowed roots, as they really are on disk.

``delta.`/path` `` and `LOCATION '/path'` let a client choose a path, so the choice is checked here and nowhere else.
:meth:`AllowedRoots.ensure_allowed` answers the canonical location, and the table is opened there: links are
followed and `..` is taken away *before* the check, so what was checked is what is opened.

- Local paths are absolute, bare or as a `file:` URI. A path in SQL is literal: a percent sign is a percent sign, as it
  is to Hadoop, so nothing is decoded that a later layer could decode differently.
- Other schemes are compared by scheme, authority and whole segments. Whether a path is allowed goes by its scheme as it
  is spelled; whether two folders are one, by the store that the scheme means (`s3a` is `s3`; `wasbs` and `abfss` are
  services of one account). Empty, `.` and `..`
  segments are refused rather than folded, because object stores take them literally and their clients do not agree; so
  is `::`, by which fsspec chains file systems.
- A refusal does not tell whether anything lies at the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.conditions import PathNotAllowed, StorageNotAvailable

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_LOCAL_AUTHORITIES = ("", "localhost")
SAME_STORE: Mapping[str, str] = MappingProxyType(
    {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "wasbs": "wasb"}
)
"""Schemes that are spellings of another one."""
_AZURE = frozenset(["abfs", "abfss", "az", "wasb", "wasbs"])
_AZURE_SERVICES = frozenset(["blob", "dfs"])
"""Two ways to the same containers."""


class AllowedRoots:
    """Folders below which tables may be named by path. Immutable."""

    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(configured_location(root) for root in roots)

    def ensure_allowed(self, path: str) -> str:
        """The canonical location of `path`; raises PathNotAllowed."""
        location = canonical_location(path)
        if not self.contains(location):
            raise PathNotAllowed(path)
        return location

    def contains(self, location: str) -> bool:
        """Whether a canonical location is one of the roots or below one."""
        return bool(self.around(location))

    def around(self, location: str) -> list[str]:
        """The roots that a canonical location begins with, its scheme as it is spelled there."""
        return [root for root in self.roots if location == root or location.startswith(root.rstrip("/") + "/")]


def overlap(one: str, other: str) -> bool:
    """Whether two canonical locations are one, or one lies in the other, or may: a container of Azure that is named
    without its account may be that of any.
    """
    here, there = _compared(one, other)
    return here == there or _is_inside(here, there) or _is_inside(there, here)


def may_be_below(location: str, folder: str) -> bool:
    """As `is_below`, with what `overlap` says of containers."""
    return _is_inside(*_compared(location, folder))


def is_same(one: str, other: str) -> bool:
    """Whether two canonical locations are one folder."""
    return in_store(one) == in_store(other)


def is_below(location: str, folder: str) -> bool:
    """Whether a canonical location lies in a folder."""
    return _is_inside(in_store(location), in_store(folder))


def is_at_or_below(location: str, folder: str) -> bool:
    return is_same(location, folder) or is_below(location, folder)


def in_store(location: str) -> str:
    """A canonical location with the usual name of its scheme, to compare it."""
    scheme, separator, rest = location.partition("://")
    if scheme in _AZURE:
        return f"az://{_in_account(rest)}"
    return f"{SAME_STORE.get(scheme, scheme)}://{rest}" if separator else location


def _is_inside(place: str, folder: str) -> bool:
    return place.startswith(folder.rstrip("/") + "/")


def _in_account(place: str) -> str:
    """`container@account.cloud/folder` of a place in Azure, whichever service of the account it names."""
    authority, slash, folder = place.partition("/")
    container, at, host = authority.partition("@")
    account, *services = host.lower().split(".")
    if services and services[0] in _AZURE_SERVICES:
        services.pop(0)
    return f"{container}{at}{'.'.join((account, *services))}{slash}{folder}"


def _compared(one: str, other: str) -> tuple[str, str]:
    """Two canonical locations with the usual names of their schemes; without accounts where one names none."""
    places = in_store(one), in_store(other)
    named = ["@" in place.partition("://")[2].partition("/")[0] for place in places]
    if named[0] == named[1] or not all(place.startswith("az://") for place in places):
        return places
    return _without_account(places[0]), _without_account(places[1])


def _without_account(place: str) -> str:
    authority, slash, folder = place.removeprefix("az://").partition("/")
    return f"az://{authority.partition('@')[0]}{slash}{folder}"


def is_local(location: str) -> bool:
    """Whether a canonical location is a path of this machine."""
    return location.startswith("/")


def configured_location(path: str) -> str:
    """As :func:`canonical_location`, for what an operator wrote: it may be relative to the working directory."""
    try:
        return canonical_location(path if _URI.fullmatch(path) else os.path.abspath(path))
    except PathNotAllowed as error:
        raise StorageNotAvailable(path, "it is neither a path nor a URL such as s3://bucket/folder") from error


def canonical_location(path: str) -> str:
    """An absolute local path without links and `..`, or `scheme://authority/segments`; raises PathNotAllowed."""
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
    # POSIX lets `//x` mean something else than `/x`; no system we run on uses that.
    return os.path.realpath("/" + local.lstrip("/"))


def _without_authority(rest: str) -> str:
    """`/x` of `/x`, `///x` and `//localhost/x`; an empty text for another machine's."""
    if not rest.startswith("//"):
        return rest
    authority, slash, tail = rest[2:].partition("/")
    return slash + tail if authority in _LOCAL_AUTHORITIES else ""
