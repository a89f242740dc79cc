"""A front end's request to run a statement, and its requirements for the result."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.transaction_block import TransactionBlock
from engine.spool.spooled_rows import SpooledRows
from engine.storage.volume_files import FileTransfer
from gateway.results.sent_rows import SentRows


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedResult:
    """A front end's requirements for a statement's result: only its first rows (`row_limit`), none after so many bytes
    (`bytes_wanted`), rows while it computes the others (`streams`), a row with a DML statement's counts (`has_counts`),
    Databricks' column in SHOW VIEWS (`shows_materialized`), values of session settings for this statement (`settings`;
    see `StatementRequest`), URLs for volume files that its client transfers (`stage`);
    the transaction block that it belongs to, a change of the request (`within`), and rows of the client that its text
    reads (`rows`).
    """

    row_limit: int | None = None
    bytes_wanted: int | None = None
    streams: bool = False
    has_counts: bool = False
    shows_materialized: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    stage: Callable[[FileTransfer], str] | None = None
    block: TransactionBlock | None = None
    within: Callable[[StatementRequest], StatementRequest] | None = None
    rows: Sequence[SpooledRows] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A statement that a former process has begun: its id, its start, the versions of the tables that it read, and the
    rows that its client has received.
    """

    statement_id: uuid.UUID
    instant_us: int
    created_ms: int
    versions: Mapping[str, str]
    sent: SentRows | None = None


ALL_ROWS = WantedResult()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedStatement:
    """A statement's parameters, time limit and wanted result, as its front end has requested them."""

    parameters: tuple[Parameter, ...] = ()
    timeout_s: float | None = None
    wanted: WantedResult = ALL_ROWS
