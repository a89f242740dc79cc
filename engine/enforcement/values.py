"""How messages tell the values of a row."""

from __future__ import annotations

from engine.planning.plans.write_plan import Values


def described(values: Values) -> str:
    """A line for each column, by name, each after a line break."""
    return "".join(f"\n - {name} : {'null' if value is None else value}" for name, value in sorted(values.items()))
