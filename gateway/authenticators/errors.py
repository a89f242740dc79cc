"""Conditions of log-ins, and of files that say who may log in."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class CredentialsRefused(SqlError, condition="AUTHENTICATION_FAILED.CREDENTIALS", sqlstate="28P01"):
    """The same for an unknown user and a wrong password, and for whatever is wrong with a token."""

    template = "The client could not be authenticated: the user, the password or the token is not valid."


@dataclass(eq=False)
class PlaintextRefused(SqlError, condition="AUTHENTICATION_FAILED.UNENCRYPTED", sqlstate="28000"):
    template = (
        "Credentials are not taken over a connection that is not encrypted, which others can read. Connect with TLS, "
        "and change the password or revoke the token that was sent."
    )


@dataclass(eq=False)
class TooManyFailures(SqlError, condition="TOO_MANY_FAILED_LOG_INS", sqlstate="53400"):
    retry_after_s: int
    template = "Too many log-ins have failed. Try again in {retry_after_s} seconds."


@dataclass(eq=False)
class TooManyLogIns(SqlError, condition="TOO_MANY_LOG_INS", sqlstate="53400"):
    template = "Too many clients log in at once. Try again in a moment."


@dataclass(eq=False)
class UserNameInvalid(SqlError, condition="USER_NAME_INVALID", sqlstate="42602"):
    name: str
    reason: str
    template = "The name {name!r} cannot be a user's or a group's: {reason}."


@dataclass(eq=False)
class PasswordInvalid(SqlError, condition="PASSWORD_INVALID", sqlstate="28P01"):
    reason: str
    template = "The password cannot be used: {reason}."
