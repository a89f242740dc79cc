"""Loads a :class:`~gateway.configuration.config.Config` from a TOML file, the environment and the command line.

Later sources win: defaults, the file, `GATEWAY_<SECTION>_<KEY>` variables, command-line flags. An unknown setting is
rejected with an error that names it, whatever its source, since a misspelled limit would have no effect.

A variable's value is a plain string, and TOML for every other type (`8080`, `true`, `["/a", "/b"]`,
`{"spark.ui.enabled" = "false"}`).

msgspec converts each value. It does not convert whole sections, since its error for an unknown or wrong key contains
neither the value's source nor a suggestion: keys would have to be walked a second time to find them.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert

from catalog.conditions import ConfigInvalidValue, ConfigUnknownKey, ConfigUnreadable
from gateway.configuration.config import ENVIRONMENT_PREFIX, SECTIONS, Config, Setting, settings, settings_of

# Kubernetes sets these for a service called `gateway`; the last one belongs to this repository's tests.
_FOREIGN_VARIABLES = re.compile(r"GATEWAY_(SERVICE_(HOST|PORT)|PORT(_|$)|TESTDATA$)")


@dataclass(frozen=True, slots=True)
class SettingSource:
    """A setting's value and its source, for errors."""

    name: str
    value: object
    source: str


def load_config(file: Path | None, environment: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """Returns the configuration; `flags` are command-line values by full name, None for a flag that was not given.

    Raises a named error for an unreadable file, an unknown key, or a value with the wrong type or range.
    """
    given = [*(_read_file(file) if file else ()), *_read_environment(environment)]
    given += [SettingSource(name, value, "the command line") for name, value in flags.items() if value is not None]
    known = {setting.name: setting for setting in settings()}
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    for entry in given:
        setting = known.get(entry.name)
        if setting is None:
            raise ConfigUnknownKey(entry.name, entry.source, _nearest(entry.name, known))
        values[setting.section][setting.key] = _convert(setting, entry)
    return Config(**{section: kind(**values[section]) for section, kind in SECTIONS.items()})


def format_example() -> str:
    """Returns the reference for all settings as a TOML file in which every line is the default, commented out."""
    lines = [
        "# Configuration of delta-gateway; every setting with its default. `delta-gateway config` prints this file.",
        "# Environment variables GATEWAY_<SECTION>_<KEY> take precedence over it, and command-line flags over both.",
    ]
    section = ""
    for setting in settings():
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]", f"# {SECTIONS[section].__doc__}"]
        lines += ["", *textwrap.wrap(setting.doc, 110, initial_indent="# ", subsequent_indent="# ")]
        lines += [f"# {setting.key} = {_to_toml(setting.default)}"]
    return "\n".join(lines) + "\n"


def _read_file(file: Path) -> Iterator[SettingSource]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigUnreadable(str(file), (error.strerror or str(error)).lower()) from error
    except ValueError as error:
        raise ConfigUnreadable(str(file), str(error)) from error
    for section, entries in content.items():
        if section in SECTIONS and not isinstance(entries, dict):
            raise ConfigInvalidValue(section, str(file), _show(entries), f"a section, as in [{section}],")
        if section not in SECTIONS:
            known = SECTIONS if isinstance(entries, dict) else {setting.name: setting for setting in settings()}
            raise ConfigUnknownKey(section, str(file), _nearest(section, known))
        for key, value in entries.items():
            yield SettingSource(f"{section}.{key}", value, str(file))


def _read_environment(environment: Mapping[str, str]) -> Iterator[SettingSource]:
    known = {setting.variable: setting for setting in settings()}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT_PREFIX) or _FOREIGN_VARIABLES.match(variable):
            continue
        setting = known.get(variable)
        if setting is None:
            raise ConfigUnknownKey(variable, "The environment", _nearest(variable, known))
        is_text = isinstance(setting.kind, type) and issubclass(setting.kind, str)
        yield SettingSource(setting.name, text if is_text else _parse_toml(text), f"The variable {variable}")


def _parse_toml(text: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _convert(setting: Setting, entry: SettingSource) -> object:
    shown = _show(entry.value)
    try:
        value = _tables(setting, setting.table, entry) if setting.table else convert(entry.value, setting.kind)
    except ValidationError as error:
        raise ConfigInvalidValue(setting.name, entry.source, shown, _expected_text(setting)) from error
    if isinstance(value, int | float) and not _is_within(value, setting):
        raise ConfigInvalidValue(setting.name, entry.source, shown, _expected_text(setting))
    if setting.constraint and not setting.constraint.holds(value):
        shown = "what is there" if setting.table else shown  # tables may contain a secret
        raise ConfigInvalidValue(setting.name, entry.source, shown, setting.constraint.expected)
    return value


def _tables(setting: Setting, kind: type, entry: SettingSource) -> object:
    """Converts a list with tables to `kind` values. Raises an error for an unknown key or an invalid value."""
    found = []
    for position, item in enumerate(convert(entry.value, list[dict[str, Any]])):
        place = f"{setting.name}[{position}]"
        known = {each.key: each for each in settings_of(place, kind)}
        values = {}
        for key, value in item.items():
            if key not in known:
                raise ConfigUnknownKey(f"{place}.{key}", entry.source, _nearest(key, known))
            values[key] = _convert(known[key], SettingSource(f"{place}.{key}", value, entry.source))
        found.append(kind(**values))
    return tuple(found)


def _is_within(value: float, setting: Setting) -> bool:
    low, high = setting.low, setting.high
    return math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high)


_EXPECTED: Mapping[Any, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "a list of strings",
    Mapping[str, str]: "a table of strings",
}


def _expected_text(setting: Setting) -> str:
    if setting.table:
        return "a list of tables"
    text = _EXPECTED.get(setting.kind) or f"one of {', '.join(setting.kind)}"
    match setting.low, setting.high:
        case None, None:
            return text
        case low, None:
            return f"{text}, at least {low},"
        case low, high:
            return f"{text} from {low} to {high}"


def _nearest(name: str, known: Mapping[str, object]) -> str:
    """Returns the known name closest to `name`; a key in the wrong section is first matched by its own name."""
    key = name.rpartition(".")[2]
    same_key = [candidate for candidate in known if candidate.rpartition(".")[2] == key]
    return (same_key or get_close_matches(name, known, n=1, cutoff=0.0))[0]


def _show(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _to_toml(value: object) -> str:
    match value:
        case tuple():
            return f"[{', '.join(map(_to_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{_to_toml(key)} = {_to_toml(item)}' for key, item in value.items())}}}"
        case _:  # a number, a text or a Boolean value
            return json.dumps(value)
