"""A session's id with its current catalog and schema, as answers have it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from engine.engine import EngineSession
from gateway.sessions.session import Session


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Refers to the engine's session, which, unlike the session, does not keep its statements alive."""

    session_id: uuid.UUID
    engine_session: EngineSession

    def body(self) -> dict[str, object]:
        """Returns the state after the statements that have ended."""
        engine_session = self.engine_session
        return {
            "session_id": str(self.session_id),
            "catalog": engine_session.current_catalog,
            "schema": engine_session.current_schema,
        }


def context_of(session: Session) -> SessionContext:
    return SessionContext(session.id, session.engine_session)
