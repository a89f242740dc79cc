"""The clauses of generated and identity columns, and expressions in PostgreSQL's spelling of names. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_IDENTITY = re.compile(r"GENERATED (ALWAYS|BY DEFAULT) AS IDENTITY \(START WITH (-?\d+) INCREMENT BY (-?\d+)\)")
_EXPRESSION = re.compile(r"GENERATED ALWAYS AS \((.*)\)", re.DOTALL)
_PIECES = re.compile(r"""(?sx) (?P<text> \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | `(?P<quoted> (?:[^`]|``)* )` | (?P<word> [A-Za-z_]\w* )""")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity column; `kind` is `a` (ALWAYS) or `d` (BY DEFAULT)."""

    kind: str
    start: int
    step: int

    def cells(self) -> dict[str, int]:
        """Returns the parameters of the sequence that PostgreSQL would have for it."""
        is_up = self.step > 0
        lowest, highest = (min(1, self.start), _HIGHEST) if is_up else (_LOWEST, max(-1, self.start))
        return {"start": self.start, "step": self.step, "minimum": lowest, "maximum": highest}


@dataclass(frozen=True, slots=True)
class Generation:
    """The generation of a column's values: as an identity, or by an expression; neither for other columns."""

    identity: Identity | None = None
    expression: str | None = None


def parse_generation(clause: str | None) -> Generation:
    """Returns the meaning of a clause that the engine lists with a column."""
    if clause is None:
        return Generation()
    if (identity := _IDENTITY.fullmatch(clause)) is not None:
        return Generation(Identity("a" if identity[1] == "ALWAYS" else "d", int(identity[2]), int(identity[3])))
    expression = _EXPRESSION.fullmatch(clause)
    return Generation() if expression is None else Generation(expression=postgres_spelling(expression[1]))


def postgres_spelling(expression: str) -> str:
    """Returns an expression of Spark's with its quoted names as PostgreSQL quotes them, if they need it."""

    def spelled(piece: re.Match[str]) -> str:
        if piece["quoted"] is None:
            return piece[0]
        name = piece["quoted"].replace("``", "`")
        quoted = name.replace('"', '""')
        return name if _PLAIN.fullmatch(name) else f'"{quoted}"'

    return _PIECES.sub(spelled, expression)


def words_of(expression: str) -> set[str]:
    """Returns the names in an expression of Spark's: of columns, functions and keywords."""
    pieces = list(_PIECES.finditer(expression))
    quoted = {piece["quoted"].replace("``", "`") for piece in pieces if piece["quoted"] is not None}
    return quoted | {piece["word"] for piece in pieces if piece["word"] is not None}
