"""Conditions that keep the server from starting; the operator sees them as one line on the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class ConfigUnreadable(SqlError, condition="CONFIG_UNREADABLE", sqlstate="F0000"):
    source: str
    reason: str
    template = "The configuration {source} cannot be read: {reason}."


@dataclass(eq=False)
class ConfigUnknownKey(SqlError, condition="CONFIG_UNKNOWN_KEY", sqlstate="F0000"):
    key: str
    source: str
    nearest: str
    template = "{source} sets {key}, which does not exist. The nearest known setting is {nearest}."


@dataclass(eq=False)
class ConfigInvalidValue(SqlError, condition="CONFIG_INVALID_VALUE", sqlstate="F0000"):
    key: str
    source: str
    value: str
    expected: str
    template = "{source} sets {key} to {value}; {expected} is expected."


@dataclass(eq=False)
class HostNotLoopback(SqlError, condition="HOST_NOT_LOOPBACK", sqlstate="28000"):
    host: str
    lack: str
    setting: str
    risk: str
    template = (
        "Other machines reach {host}, and the server has no {lack}. Configure {setting}, listen on 127.0.0.1, ::1 or "
        'localhost, or accept the risk with server.accepted_risks = ["{risk}"].'
    )


@dataclass(eq=False)
class AuthenticationIncomplete(SqlError, condition="AUTHENTICATION_INCOMPLETE", sqlstate="F0000"):
    method: str
    setting: str
    template = "The authentication method {method} needs the setting {setting}, which is empty."


@dataclass(eq=False)
class AuthenticationNotUsed(SqlError, condition="AUTHENTICATION_NOT_USED", sqlstate="F0000"):
    setting: str
    method: str
    template = (
        "The setting {setting} has a value, but authentication.methods does not contain {method}: clients would log in "
        "without it. Add {method} to authentication.methods, or remove {setting}."
    )


@dataclass(eq=False)
class DirectoryInTheClear(SqlError, condition="DIRECTORY_IN_THE_CLEAR", sqlstate="F0000"):
    url: str
    template = (
        "Passwords would go to {url} unencrypted. Use ldaps://, or ldap:// with ldap.start_tls; ldap:// alone is for a "
        "directory on this machine."
    )


@dataclass(eq=False)
class SecretInLake(SqlError, condition="SECRET_IN_LAKE", sqlstate="F0000"):
    setting: str
    path: str
    root: str
    template = (
        "{setting} is {path}, which lies in {root}, where clients read and write tables. With authentication it must "
        "lie elsewhere."
    )


@dataclass(eq=False)
class HostUnknown(SqlError, condition="HOST_UNKNOWN", sqlstate="08001"):
    host: str
    reason: str
    template = "The host name {host} to listen on cannot be resolved: {reason}."


@dataclass(eq=False)
class PortFileUnwritable(SqlError, condition="PORT_FILE_UNWRITABLE", sqlstate="58030"):
    path: str
    reason: str
    template = "The port file {path} cannot be written: {reason}."


@dataclass(eq=False)
class PortInUse(SqlError, condition="PORT_UNAVAILABLE", sqlstate="08001"):
    interface: str
    host: str
    port: int
    reason: str
    template = (
        "The {interface} port {port} on {host} cannot be opened: {reason}. "
        "Stop the program that holds it, or choose another with --{interface}-port (0 for any)."
    )


@dataclass(eq=False)
class TlsUnusable(SqlError, condition="TLS_UNUSABLE", sqlstate="F0000"):
    certificate: str
    key: str
    reason: str
    template = (
        "The certificate {certificate} with the key {key} cannot be used: {reason}. server.tls_certificate must name a "
        "PEM file with the certificate and its chain, server.tls_key one with its key, without a password."
    )


@dataclass(eq=False)
class StartFailed(SqlError, condition="START_FAILED", sqlstate="58000"):
    reason: str
    template = "The server cannot start: {reason}. Run with --log-level debug for the details."


@dataclass(eq=False)
class LakeNotFound(SqlError, condition="LAKE_NOT_FOUND", sqlstate="58030"):
    folder: str
    template = (
        "There is no folder {folder} to serve. Make it, or name another one; without a folder a sample lake is served."
    )


@dataclass(eq=False)
class RestCatalogInvalid(SqlError, condition="REST_CATALOG_INVALID", sqlstate="F0000"):
    name: str
    reason: str
    template = "The REST catalog {name} of the configuration cannot be used: {reason}."


@dataclass(eq=False)
class CredentialInvalid(SqlError, condition="STORAGE_CREDENTIAL_INVALID", sqlstate="F0000"):
    name: str
    reason: str
    template = "The storage credential {name} cannot be used: {reason}."


@dataclass(eq=False)
class TracingNotInstalled(SqlError, condition="TRACING_NOT_INSTALLED", sqlstate="F0000"):
    package: str
    template = (
        "tracing.url is set, and the package {package} is not installed: pip install 'delta-gateway[otel]', or leave "
        "the setting empty."
    )
