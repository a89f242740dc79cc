"""Errors of REST catalogs. None of them shows what was sent, which may hold secrets."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class RestCatalogNotAvailable(SqlError, condition="REST_CATALOG_NOT_AVAILABLE", sqlstate="08001"):
    """It does not answer, or as no REST catalog does; nothing was changed."""

    catalog: str
    reason: str
    template = (
        "The REST catalog {catalog} is not available: {reason}. Other catalogs are not affected. Try again later, or "
        "have the operator check catalogs.rest in the configuration."
    )


@dataclass(eq=False)
class RestCatalogRefused(SqlError, condition="REST_CATALOG_REFUSED", sqlstate="08004"):
    """It answered that it does not do this, for this server."""

    catalog: str
    reason: str
    template = (
        "The REST catalog {catalog} refused the request: {reason}. It decides by the credentials of this server, which "
        "the operator sets in catalogs.rest."
    )


@dataclass(eq=False)
class RestCatalogNotChanged(SqlError, condition="REST_CATALOG_NOT_CHANGED_HERE", sqlstate="0A000"):
    """`what` begins a sentence."""

    catalog: str
    what: str
    template = "{what} cannot be changed here: {catalog} is a REST catalog."


@dataclass(eq=False)
class RestOptionInvalid(SqlError, condition="REST_CATALOG_OPTION_INVALID", sqlstate="22023"):
    """It does not show the value, which may be a secret."""

    catalog: str
    option: str
    reason: str
    template = "The catalog {catalog} cannot have this option {option}: {reason}."


@dataclass(eq=False)
class RestTableInLake(SqlError, condition="REST_TABLE_IN_LAKE", sqlstate="42501"):
    """`folder` is the served one, or that of the catalog's own files."""

    table: str
    location: str
    folder: str
    template = (
        "The table {table} of a REST catalog lies at {location}, and {folder} is this server's own: a table there has "
        "another name, without the grants and policies of this one. Move it to another folder of lake.allowed_roots."
    )


@dataclass(eq=False)
class RestPlaceShared(SqlError, condition="REST_TABLE_LOCATION_SHARED", sqlstate="55000"):
    """Nothing was changed and no file was removed."""

    table: str
    location: str
    other: str
    template = (
        "The location of the table {table}, {location}, overlaps {other}: files of one table could be taken for files "
        "of the other. Move one of them first."
    )


@dataclass(eq=False)
class RestSigningNotSupported(SqlError, condition="REST_REMOTE_SIGNING_NOT_SUPPORTED", sqlstate="0A000"):
    table: str
    template = (
        "The catalog of the table {table} signs each request for its files, which this server cannot ask for. Have "
        "the catalog give out credentials instead, or set storage.credentials for where the table lies."
    )


@dataclass(eq=False)
class RestViewNotReadable(SqlError, condition="REST_VIEW_NOT_READABLE", sqlstate="0A000"):
    view: str
    dialects: str
    template = "The view {view} of a REST catalog has no text in Spark's dialect. It has these dialects: {dialects}."


@dataclass(eq=False)
class RestViewsNotSupported(SqlError, condition="REST_CATALOG_HAS_NO_VIEWS", sqlstate="0A000"):
    catalog: str
    template = "The REST catalog {catalog} keeps no views. Make the view in a catalog of this server."


@dataclass(eq=False)
class RestViewNotKept(SqlError, condition="REST_VIEW_NOT_KEPT", sqlstate="0A000"):
    """`reason` is a clause."""

    view: str
    reason: str
    template = "A REST catalog cannot keep the view {view} like this: {reason}. Nothing was changed."


@dataclass(eq=False)
class RestConflict(SqlError, condition="REST_CATALOG_CONFLICT", sqlstate="40001"):
    """A requirement did not hold; nothing was changed."""

    catalog: str
    reason: str
    template = "The REST catalog {catalog} did not commit, as another writer came first: {reason}. Try again."


@dataclass(eq=False)
class RestOutcomeUnknown(SqlError, condition="REST_CATALOG_OUTCOME_UNKNOWN", sqlstate="08007"):
    """It may have committed: nothing that the commit names may be deleted."""

    catalog: str
    reason: str
    template = (
        "It is not known whether the REST catalog {catalog} committed: {reason}. Look whether the change is there "
        "before trying again."
    )
