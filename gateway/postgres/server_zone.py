"""The time zone of sessions that have not set one: Spark's, which is the same in all sessions."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.registry import Registry
from gateway.sessions.session import Origin

logger = logging.getLogger(__name__)

_UTC = "UTC"
_WAIT_S = 30.0


@dataclass(slots=True)
class ServerZone:
    """Asks the engine once. Thread-safe."""

    _name: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def name(self, registry: Registry, identity: Identity, origin: Origin) -> str:
        """Returns the zone's name, from a query in a session of its own; UTC if it fails."""
        with self._lock:
            if self._name is None:
                self._name = _read(registry, identity, origin)
            return self._name


def _read(registry: Registry, identity: Identity, origin: Origin) -> str:
    session = registry.open_session(identity, origin=origin, may_lack_schema=True)
    try:
        operation = session.execute("SELECT current_timezone()")
        operation.wait(_WAIT_S)
        return str(operation.page(0, 1).rows.column(0)[0].as_py())
    except SqlError as error:
        logger.warning("the time zone of new sessions is not known: %s", error)
        return _UTC
    finally:
        registry.close_session(session.id, identity)
