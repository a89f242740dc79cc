"""Prints the tables of `docs/internals/saturation.md`: `python -m tests.simulation`."""

from __future__ import annotations

from tests.simulation.tables import TABLES, rows_of

if __name__ == "__main__":
    for name in TABLES:
        print(name)
        print("\n".join(rows_of(name)))
