"""Conditions of files with secrets, and of the tokens in one; all derive from :class:`catalog.errors.SqlError`."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class SecretReadable(SqlError, condition="SECRET_READABLE_BY_OTHERS", sqlstate="F0000"):
    path: str
    mode: str
    template = (
        "{path} has the mode {mode}, which lets others read or change it. Make it the server's own: chmod go= {path}, "
        "and chown it to the user that the server runs as."
    )


@dataclass(eq=False)
class SecretUnusable(SqlError, condition="SECRET_UNUSABLE", sqlstate="F0000"):
    path: str
    reason: str
    template = "The file {path} cannot be used: {reason}."


@dataclass(eq=False)
class TokenNotFound(SqlError, condition="TOKEN_NOT_FOUND", sqlstate="42704"):
    token_id: str
    template = "There is no token {token_id!r} of yours. SHOW TOKENS lists them."


@dataclass(eq=False)
class TooManyTokens(SqlError, condition="TOO_MANY_TOKENS", sqlstate="54000"):
    limit: int
    template = "There are {limit} tokens of yours already. Revoke those that are not used any more."


@dataclass(eq=False)
class TokenLifetimeInvalid(SqlError, condition="TOKEN_LIFETIME_INVALID", sqlstate="22023"):
    days_max: int
    template = (
        "A token is good for a second at least and {days_max} days at most, and no longer than the log-in it is of."
    )


@dataclass(eq=False)
class TokenNotAllowed(SqlError, condition="TOKEN_NOT_ALLOWED", sqlstate="42501"):
    reason: str
    template = "The request for a token is rejected: {reason}."
