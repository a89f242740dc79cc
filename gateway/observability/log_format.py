"""Log formats: text lines, or JSON objects, one per line.

Both contain the call that a line is about (`gateway/sessions/call_context.py`), and no secrets
(`gateway/observability/redaction.py`). The JSON fields are `time` (UTC, milliseconds), `level`, `logger`, `message`,
`thread`, and if known `request_id`, `session_id`, `statement_id`, `user`, `trace_id` and `exception`, a traceback.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import threading
from typing import TextIO

from gateway.configuration.config import LogFormat
from gateway.observability.redaction import redact
from gateway.sessions.call_context import current_call

logger = logging.getLogger(__name__)

_SHOWN = {"statement_id": "statement", "session_id": "session", "request_id": "request"}


class TextFormatter(logging.Formatter):
    """A text line, followed by its traceback."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Returns the line with the ids of the statement, session and request that the thread works for."""
        fields = current_call().fields
        suffix = " ".join(f"{name}={fields[key]}" for key, name in _SHOWN.items() if key in fields)
        line = super().formatMessage(record)
        return f"{line} [{suffix}]" if suffix else line

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line and its traceback, with secrets redacted."""
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """An object on one line; each text in it is redacted separately, so that the JSON stays valid."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as a JSON object with secrets redacted; the time is in UTC."""
        time = dt.datetime.fromtimestamp(record.created, dt.UTC)
        fields = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "thread": record.threadName,
            **current_call().fields,
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: redact(value or "") for name, value in fields.items()}, ensure_ascii=False)


def set_up_log(level: str, format: LogFormat, stream: TextIO) -> None:
    """Writes log records from `level` on to `stream`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if format is LogFormat.JSON else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("py4j", "azure"):  # they log each call
        logging.getLogger(name).setLevel(logging.WARNING)
    # py4j logs each call to the root logger with a traceback; the supervisor reports a lost Spark once
    root.addFilter(lambda record: "sending command" not in record.getMessage())
    logging.captureWarnings(True)
    threading.excepthook = _log_end_of_thread


def format_step(text: str, level: int) -> str:
    """Returns an unconditional operator message, in the same form as the log's objects."""
    return JsonFormatter().format(logging.LogRecord("delta-gateway", level, "", 0, "%s", (text,), None))


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        name = ended.thread.name if ended.thread else "?"
        exception = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        logger.error("the thread %s ended by an error of ours", name, exc_info=exception)
