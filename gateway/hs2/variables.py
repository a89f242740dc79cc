"""A client's settings in OpenSession and with a statement, and its parameter values. Pure.

OpenSession's configuration is one flat map that every client spells its own way:

    use:database, use:catalog             the initial schema and catalog
    set:hiveconf:K, set:metaconf:K, K     a setting (JDBC's `?K=V` and `--hiveconf`; PyHive and dbt send the plain key)
                                          Other programs' keep `hiveconf:`, so that the log warns of them.
    set:hivevar:K                         the variable `hivevar:K`, `${K}` in statements (JDBC's `#K=V`)
    hive.server2.proxy.user               the user to impersonate

All settings are passed to the engine, which stores other programs' settings (most JDBC URLs have some) and rejects
unknown Spark settings. Databricks' clients send parameter values as TSparkParameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from catalog.conditions import StatementSettingNotSupported
from engine.runtime.foreign_settings import HIVECONF, is_without_effect
from engine.runtime.parameters import Parameter
from engine.runtime.settings import TRACE_PARENT, is_foreign
from engine.runtime.trace_parent import trace_parent_of
from gateway.hs2.gen import ttypes as t

PROXY_USER = "hive.server2.proxy.user"
# A variable keeps its `hivevar:`, as in the statement `SET hivevar:x=1`.
_SETTING_PREFIXES = ("set:hiveconf:", "set:metaconf:", "set:system:", "set:")
_VARIABLES = (HIVECONF, "hivevar:")
# hive-jdbc sends its own settings in each session; a warning in each log would not help.
_CLIENT = "hive.server2."


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """OpenSession's configuration, classified."""

    settings: Mapping[str, str] = field(default_factory=dict)
    catalog: str | None = None
    schema: str | None = None
    proxy_user: str | None = None


# The session's first catalog, as ADBC's Spark driver names it.
_DEFAULT_CATALOG = "spark.sql.defaultCatalog"


def parse_configuration(configuration: Mapping[str, str]) -> SessionRequest:
    """Parses the configuration of OpenSession.

    It has `use:catalog`, `use:database`, the proxy user, and settings with Hive's prefixes.
    """
    settings = {_without_prefix(key): value for key, value in configuration.items() if not key.startswith("use:")}
    settings.pop(PROXY_USER, None)
    default_catalog = settings.pop(_DEFAULT_CATALOG, None)
    return SessionRequest(
        settings=settings,
        catalog=configuration.get("use:catalog") or default_catalog or None,
        schema=configuration.get("use:database") or None,
        proxy_user=configuration.get(PROXY_USER) or configuration.get(_SETTING_PREFIXES[0] + PROXY_USER) or None,
    )


def statement_trace_parent(overlay: Mapping[str, str]) -> str | None:
    """Returns the client's span from a single statement's settings, which otherwise may only be other programs'.

    Raises `StatementSettingNotSupported`.
    """
    found = None
    for key, value in overlay.items():
        if key.lower() == TRACE_PARENT:
            found = trace_parent_of(value)
        elif not is_foreign(key) and not is_without_effect(key):
            raise StatementSettingNotSupported(key)
    return found


def _without_prefix(key: str) -> str:
    for prefix in _SETTING_PREFIXES:
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            return f"{HIVECONF}{name}" if is_foreign(name) and not name.startswith((_CLIENT, *_VARIABLES)) else name
    return key


def parse_parameters(given: Sequence[Any]) -> tuple[Parameter, ...]:
    """Returns named parameters by name; unnamed ones in the order of `ordinal`, or as sent if it is missing."""
    return tuple(map(_parameter, sorted(given, key=lambda parameter: parameter.ordinal or 0)))


_MEMBERS_OF = frozenset({"ARRAY", "MAP"})
_DEPTH_MAX = 32


def _parameter(given: Any) -> Parameter:
    if given.arguments is not None and (given.type or "").upper() in _MEMBERS_OF:
        return replace(_member(given, 0), name=given.name or None)
    value = given.value or t.TSparkParameterValue()
    text: str | None = value.stringValue
    if value.doubleValue is not None:
        text = repr(value.doubleValue)
    elif value.booleanValue is not None:
        text = str(value.booleanValue).lower()
    return Parameter(value=text, sql_type=given.type or "string", name=given.name or None)


def _member(given: Any, depth: int) -> Parameter:
    """Parses an array, a map, or a member. Below a depth that no client needs they count as plain values."""
    kind = (given.type or "string").upper()
    if kind in _MEMBERS_OF and given.arguments is not None and depth < _DEPTH_MAX:
        members = tuple(_member(each, depth + 1) for each in given.arguments)
        return Parameter(value=None, sql_type=kind, members=members)
    return Parameter(value=None if kind == "VOID" else given.value, sql_type=kind)
