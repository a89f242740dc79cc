"""What a statement that holds others may do: have a text parsed, and send a statement down the road.

The session lends both, so that nothing here calls a stage, and each statement is bound, authorised and guarded in the
state that the one before it left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.concurrency.cancel import CancelToken
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream
from engine.runtime.variables import RowValues, Scope
from engine.statements.scripting.statement import Executable, RunnableStatement

Scopes = tuple[Scope, ...]
"""Of a script, the innermost last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one statement answered, and the scopes as it left them."""

    result: ResultStream
    scopes: Scopes
    values: RowValues | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """`take` runs one statement that sees these scopes, and applies what it changes of the session."""

    parse: Callable[[str], Executable]
    take: Callable[[RunnableStatement, Scopes, Sequence[Parameter]], Step]
    cancel: CancelToken
