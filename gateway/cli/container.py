"""`delta-gateway container`: the entry point of the image (`deploy/Dockerfile`): `serve` that other machines can reach.

If no authentication is configured, the first start creates the user `admin` with a random password, which only the log
of that start has. Two variables, one for each risk, open the server without authentication; the log reports each risk
at each start. Other commands run as they are.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gateway.__main__ import main as run_command
from gateway.authenticators.password_file import load_users, make_user, store_user
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.config import LogFormat, Risk
from gateway.observability.log_format import format_step
from gateway.process import parent
from gateway.process.lifeline import has_parent

ADMIN = "admin"
LAKE = Path("/lake")
# Variables that accept a risk; any other value than these is an error.
ANYBODY, CLEARTEXT = "DELTA_GATEWAY_ANYBODY", "DELTA_GATEWAY_CLEARTEXT"
_YES, _NO = frozenset({"1", "true", "yes"}), frozenset({"", "0", "false", "no"})
_RISKS = {ANYBODY: Risk.ANYBODY, CLEARTEXT: Risk.CLEARTEXT}
_RISKS_SETTING = "GATEWAY_SERVER_ACCEPTED_RISKS"
_EXIT_USAGE = 2
_PASSWORD_BYTES = 15


@dataclass
class Preparation:
    """Variables to add to the environment, and messages for the log."""

    variables: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class WrongVariable(Exception):
    """A variable has a value without a meaning."""


def main(arguments: Sequence[str]) -> int:
    """Prepares the environment for `serve` and runs it, or runs the other command; returns the exit code."""
    command = [*arguments] or ["serve"]
    if command[0] in ("-h", "--help"):
        _parser().parse_args(command)
    if command[0].startswith("-"):
        command = ["serve", *command]
    if command[0] != "serve":
        return run_command(command)
    if not has_parent():  # the child inherits the environment
        try:
            prepared = prepare(os.environ, command[1:], Path.cwd(), LAKE)
        except WrongVariable as error:
            sys.stderr.write(f"delta-gateway: {error}\n")
            return _EXIT_USAGE
        os.environ |= prepared.variables
        _log(prepared)
    return parent.main(command[1:])


def prepare(environment: Mapping[str, str], arguments: Sequence[str], state: Path, lake: Path) -> Preparation:
    """Returns what the environment lacks, and creates the first user. `state` is the folder for the catalog and the
    users, `lake` the folder for tables. A configuration file has everything: it wins.
    """
    made = Preparation()
    accepted = {variable for variable in _RISKS if _is_accepted(variable, environment.get(variable, ""))}
    if _has(arguments, "--config"):
        if accepted:
            raise WrongVariable(f"{min(accepted)} has no effect with --config; set server.accepted_risks in the file")
        return made
    variables = {"GATEWAY_SERVER_HOST": "0.0.0.0", "GATEWAY_LAKE_CATALOG_FOLDER": str(state / "catalog")}
    has_folder = "GATEWAY_LAKE_FOLDER" in environment or (arguments and not arguments[0].startswith("-"))
    if not has_folder and lake.is_dir() and any(lake.iterdir()):
        variables["GATEWAY_LAKE_FOLDER"] = str(lake)
    elif not has_folder:
        made.messages.append(f"{lake} is empty, so a sample lake is served; mount a folder with tables there")
    risks = environment.get(_RISKS_SETTING, "")
    has_logins = any(name.startswith("GATEWAY_AUTHENTICATION_") for name in environment)
    if not has_logins and ANYBODY not in accepted and Risk.ANYBODY not in risks:
        variables |= _prepare_logins(made, state)
        if "GATEWAY_SERVER_TLS_CERTIFICATE" not in environment:
            accepted.add(CLEARTEXT)
    if accepted and not risks:
        variables[_RISKS_SETTING] = json.dumps([_RISKS[variable] for variable in sorted(accepted)])
        made.warnings += [f"accepted risk: {_RISKS[variable]}" for variable in sorted(accepted)]
    if _has(arguments, "--host"):
        del variables["GATEWAY_SERVER_HOST"]
    made.variables = {name: value for name, value in variables.items() if name not in environment}
    return made


def _has(arguments: Sequence[str], option: str) -> bool:
    return any(argument.partition("=")[0] == option for argument in arguments)


def _is_accepted(variable: str, value: str) -> bool:
    if value.lower() not in _YES | _NO:
        raise WrongVariable(f"{variable} is {value}; it must be yes or no")
    return value.lower() in _YES


def _prepare_logins(made: Preparation, state: Path) -> dict[str, str]:
    """Returns variables that require passwords, and creates the first user if there is none."""
    users = state / "users"
    variables = {
        "GATEWAY_AUTHENTICATION_METHODS": json.dumps(["password", "token"]),
        "GATEWAY_AUTHENTICATION_PASSWORD_FILE": str(users),
        "GATEWAY_AUTHENTICATION_ADMINS": json.dumps([ADMIN]),
    }
    if users.exists() and load_users(users):
        return variables
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    store_user(users, make_user(ADMIN, password))
    made.messages.append(
        f"created the user {ADMIN} with the password {password} (shown only now). {ADMIN} manages everything; to read "
        f"tables, it grants itself SELECT: GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG spark_catalog TO {ADMIN}"
    )
    return variables


def _log(prepared: Preparation) -> None:
    is_json = os.environ.get("GATEWAY_LOG_FORMAT") == LogFormat.JSON
    for level, texts in ((logging.WARNING, prepared.warnings), (logging.INFO, prepared.messages)):
        for text in texts:
            line = format_step(text, level) if is_json else f"delta-gateway: {text}"
            sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="delta-gateway container",
        description="Serve in a container; arguments are those of serve. Other commands run as they are.",
        **help_text(
            f"Without a configuration, the first start creates the user {ADMIN}; its log has the password.\n",
            ("delta-gateway container serve", "delta-gateway container serve --config /etc/gateway.toml"),
            {
                **SETTINGS,
                ANYBODY: f"yes accepts a risk: {Risk.ANYBODY}",
                CLEARTEXT: f"yes accepts a risk: {Risk.CLEARTEXT}",
            },
        ),
    )
