"""Limits for sessions, statements and results."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.sessions.admission_rules import AdmissionRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes; `statement_timeout_s` 0 is no limit.

    One user has at most `sessions_per_user_max` sessions (0: `sessions_max`). When a limit is reached, an HTTP session
    without calls for `detached_idle_s` is evicted. `kept_max` and `kept_bytes_max` bound the ended statements without a
    session whose rows wait to be fetched, `kept_bytes_per_user_max` one user's. `abandoned_max` bounds the ended
    statements that are still executing, `abandoned_per_user_max` one user's (0: no separate limit); within
    `abandoned_grace_s` after their end they count as ending. Spark is restarted for the others: if the server's limit
    is reached, at most every `abandoned_warning_interval_s`; if only a user's or group's limit is reached, which
    rejects nobody else's statements, at most every `abandoned_own_warning_interval_s`. `end_grace_s` is the time for
    cancelled statements to end at shutdown, `linger_s` the time that a client may be inactive before the shutdown stops
    waiting for it to fetch an ended result. `statement_unpolled_s` ends the statements in HTTP sessions whose client
    sends no more requests (0: never). `logs_statements`: each statement's end is logged.
    """

    sessions_max: int = 1000
    sessions_per_user_max: int = 0
    session_idle_s: float = 3600.0
    detached_idle_s: float = 600.0
    statements_running_max: int = 32
    admission: AdmissionRules = AdmissionRules()
    statements_per_session_max: int = 100
    statements_per_user_max: int = 1000
    statement_idle_s: float = 3600.0
    statement_unpolled_s: float = 3600.0
    statement_timeout_s: float = 0.0
    result_bytes_max: int = 4 << 30
    kept_max: int = 1000
    kept_bytes_max: int = 8 << 30
    kept_bytes_per_user_max: int = 8 << 30
    reap_every_s: float = 5.0
    abandoned_max: int = 8
    abandoned_per_user_max: int = 0
    abandoned_grace_s: float = 10.0
    abandoned_warning_interval_s: float = 60.0
    abandoned_own_warning_interval_s: float = 600.0
    end_grace_s: float = 2.0
    linger_s: float = 1.0
    logs_statements: bool = False
