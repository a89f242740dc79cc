"""Operations for a statement that contains others: parse a text, and run a statement through the pipeline.

The session provides both, so that this package calls no stage, and each statement is bound, authorized and guarded in
the state that the previous one left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from engine.concurrency.cancel import CancelToken
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream
from engine.runtime.variables import RowValues, Scope
from engine.statements.scripting.statement import Executable, RunnableStatement

# A script's scopes, the innermost last.
Scopes = tuple[Scope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement's result, and the scopes after it."""

    result: ResultStream
    scopes: Scopes
    values: RowValues | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPipeline:
    """The session's operations. `take` runs one statement that sees these scopes, and applies its session changes.

    `with_position` adds the position in a text to errors of a block that runs it.
    """

    parse: Callable[[str], Executable]
    take: Callable[[RunnableStatement, Scopes, Sequence[Parameter]], Step]
    with_position: Callable[[str], AbstractContextManager[None]]
    cancel: CancelToken
