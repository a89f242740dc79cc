"""What a client gives with OpenSession, and Hive's variables in statements. Pure.

The configuration of OpenSession is one flat map that every client spells its own way:

    use:database, use:catalog             where names begin
    set:hiveconf:K, set:metaconf:K, K     a setting (JDBC's `?K=V` and `--hiveconf`; PyHive and dbt send the plain key)
    set:hivevar:K                         a variable, `${K}` or `${hivevar:K}` in statements (JDBC's `#K=V`)
    hive.server2.proxy.user               whom to act as

All settings go to the engine, which keeps those of other programs (every JDBC URL in the wild has some) and refuses
what it does not know by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.runtime.foreign_settings import is_foreign
from engine.runtime.settings import TRACE_PARENT
from engine.runtime.trace_parent import trace_parent_of
from gateway.hs2.errors import ExpansionTooLong, StatementSettingNotSupported

PROXY_USER = "hive.server2.proxy.user"
_SETTING_PREFIXES = ("set:hiveconf:", "set:metaconf:", "set:system:")
_VARIABLE_PREFIX = "set:hivevar:"
_REFERENCE = re.compile(r"\$\{(?:hivevar:)?([A-Za-z_][\w.]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """OpenSession's configuration, sorted."""

    settings: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    catalog: str | None = None
    schema: str | None = None
    proxy_user: str | None = None


def parse_configuration(configuration: Mapping[str, str]) -> SessionRequest:
    settings, variables = {}, {}
    for key, value in configuration.items():
        name = _without_prefix(key)
        if key.startswith(_VARIABLE_PREFIX):
            variables[key.removeprefix(_VARIABLE_PREFIX)] = value
        elif not key.startswith("use:") and name != PROXY_USER:
            settings[name] = value
    return SessionRequest(
        settings=settings,
        variables=variables,
        catalog=configuration.get("use:catalog") or None,
        schema=configuration.get("use:database") or None,
        proxy_user=configuration.get(PROXY_USER) or configuration.get(_SETTING_PREFIXES[0] + PROXY_USER) or None,
    )


def substitute(text: str, variables: Mapping[str, str], length_max: int) -> str:
    """`text` with the variables' values for `${name}`; a name that is no variable stays as it is.

    Raises :class:`ExpansionTooLong` before more than `length_max` characters are made, since a few references to a
    long value make gigabytes.
    """
    if not variables or len(text) > length_max:  # the engine refuses the latter as it is
        return text
    added = sum(len(variables.get(match[1], match[0])) - len(match[0]) for match in _REFERENCE.finditer(text))
    if len(text) + added > length_max:
        raise ExpansionTooLong(len(text) + added, length_max)
    return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), text)


def statement_trace_parent(overlay: Mapping[str, str]) -> str | None:
    """The client's span among the settings of a single statement, which may have no others but those of other programs.

    Raises `StatementSettingNotSupported`.
    """
    found = None
    for key, value in overlay.items():
        if key.lower() == TRACE_PARENT:
            found = trace_parent_of(value)
        elif not is_foreign(key):
            raise StatementSettingNotSupported(key)
    return found


def _without_prefix(key: str) -> str:
    for prefix in _SETTING_PREFIXES:
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return key
