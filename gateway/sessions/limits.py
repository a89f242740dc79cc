"""What sessions, statements and results may take of the server."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.sessions.admission_rules import AdmissionRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes; 0 seconds for `statement_timeout_s` is no limit.

    Of one user there are at most `sessions_per_user_max` sessions (0: `sessions_max`). A session over HTTP that had no
    call for `detached_idle_s` makes room for a new one when there are as many as may be.
    `kept_max` and `kept_bytes_max` bound the ended statements without a session whose rows wait to be fetched,
    `kept_bytes_per_user_max` those of one user.
    `abandoned_max` bounds the statements that were ended and run on, `abandoned_per_user_max` those of one user (0: no
    limit of its own); within `abandoned_grace_s` of their end they are ending. Spark is restarted for the others: if
    the server's limit is reached, at most every `abandoned_told_every_s`; if only the limit of a user or group is
    reached, which rejects nobody else's statements, at most every `abandoned_own_told_every_s`. `end_grace_s` is what
    cancelled statements get to end in the shutdown, `linger_s` how long a client may be silent before the shutdown
    stops waiting for it to fetch an ended result. `logs_statements`: the end of each is a line of the log.
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
    statement_timeout_s: float = 0.0
    result_bytes_max: int = 4 << 30
    kept_max: int = 1000
    kept_bytes_max: int = 8 << 30
    kept_bytes_per_user_max: int = 8 << 30
    reap_every_s: float = 5.0
    abandoned_max: int = 8
    abandoned_per_user_max: int = 0
    abandoned_grace_s: float = 10.0
    abandoned_told_every_s: float = 60.0
    abandoned_own_told_every_s: float = 600.0
    end_grace_s: float = 2.0
    linger_s: float = 1.0
    logs_statements: bool = False
