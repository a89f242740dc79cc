"""Conditions of sessions and operations; all derive from :class:`catalog.errors.SqlError`."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class SessionNotFound(SqlError, condition="INVALID_HANDLE.SESSION_NOT_FOUND", sqlstate="08003"):
    template = "The session does not exist or was closed. Open a new one."


@dataclass(eq=False)
class OperationNotFound(SqlError, condition="INVALID_HANDLE.OPERATION_NOT_FOUND", sqlstate="HY000"):
    template = "The statement's handle is unknown: it was closed, or it expired. Run the statement again."


@dataclass(eq=False)
class OperationClosed(SqlError, condition="INVALID_HANDLE.OPERATION_CLOSED", sqlstate="24000"):
    template = "The statement was closed and its result is gone. Run it again."


@dataclass(eq=False)
class LogInEnded(SqlError, condition="AUTHENTICATION_FAILED.ENDED", sqlstate="28000"):
    template = "The log-in has expired, was withdrawn, or its user, password or groups have changed. Log in again."


@dataclass(eq=False)
class ResultNotReady(SqlError, condition="RESULT_NOT_READY", sqlstate="55000"):
    template = "The statement has not finished, so there are no rows yet. Ask for its status first."


@dataclass(eq=False)
class TooManySessions(SqlError, condition="TOO_MANY_SESSIONS", sqlstate="53300"):
    limit: int
    template = "The server has its {limit} sessions. Close one, or raise sessions.max in the server's configuration."


@dataclass(eq=False)
class TooManySessionsOfUser(SqlError, condition="TOO_MANY_SESSIONS.OF_USER", sqlstate="53300"):
    user: str
    limit: int
    template = "{user} has {limit} open sessions. Close some, or raise sessions.per_user_max."


@dataclass(eq=False)
class TooManyStatements(SqlError, condition="TOO_MANY_STATEMENTS", sqlstate="53300"):
    limit: int
    template = "The session has its {limit} open statements. Close some, or raise sessions.statements_max."


@dataclass(eq=False)
class TooManyStatementsOfUser(SqlError, condition="TOO_MANY_STATEMENTS.OF_USER", sqlstate="53300"):
    user: str
    limit: int
    template = (
        "The sessions of {user} have {limit} open statements, and none of them was read to its end. Close some, or "
        "raise sessions.statements_per_user_max."
    )


@dataclass(eq=False)
class TooManyAbandoned(SqlError, condition="TOO_MANY_ABANDONED_STATEMENTS", sqlstate="53000"):
    count: int
    template = (
        "{count} statements that were cancelled or timed out do not end, so no further ones are taken until Spark was "
        "restarted. Run the statement again in a few seconds."
    )


@dataclass(eq=False)
class TooManyAbandonedOfOwner(SqlError, condition="TOO_MANY_ABANDONED_STATEMENTS.OF_OWNER", sqlstate="53000"):
    """`owner` is a user, or a group with the word *group*."""

    owner: str
    count: int
    template = (
        "{count} statements of {owner} that were cancelled or timed out do not end, so no further ones of {owner} are "
        "accepted until they have ended or Spark was restarted. Wait some minutes, or ask an administrator to raise "
        "statements.abandoned_per_user_max, or the group's abandoned_max."
    )


@dataclass(eq=False)
class EngineNotAnswering(SqlError, condition="ENGINE_NOT_ANSWERING", sqlstate="57P03"):
    seconds: float
    template = "The engine did not answer within {seconds:g} seconds, and nothing was started. Try again in a moment."


@dataclass(eq=False)
class ServerDraining(SqlError, condition="SERVER_SHUTTING_DOWN", sqlstate="57P01"):
    template = "The server is shutting down and takes no new work. Connect again in a moment."


@dataclass(eq=False)
class NestedParameter(SqlError, condition="UNSUPPORTED_FEATURE.PARAMETER_TYPE", sqlstate="0A000"):
    parameter: str
    sql_type: str
    template = (
        "The parameter {parameter} cannot have the type {sql_type}: a value is given as one text, which nested types "
        "have no form for. Build it in the statement from parameters of simple types, as in named_struct('a', :a) or "
        "array(:a, :b), or with from_json(:text, …)."
    )


@dataclass(eq=False)
class TooManyQueued(SqlError, condition="TOO_MANY_QUEUED_STATEMENTS", sqlstate="53400"):
    """`whose` is a user, or a group."""

    whose: str
    limit: int
    retry_after_s: int
    template = (
        "{limit} statements of {whose} wait for their turn, and no more are taken. Run the statement again in "
        "{retry_after_s} s."
    )


@dataclass(eq=False)
class QueuedTooLong(SqlError, condition="STATEMENT_QUEUED_TOO_LONG", sqlstate="53400"):
    group: str
    seconds: float
    retry_after_s: int
    template = (
        "The statement waited for its turn in the group {group} for {seconds:g} s, which is the limit, and was not "
        "started. Run it again in {retry_after_s} s."
    )
