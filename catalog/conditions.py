"""The classes of all conditions, made from `conditions.toml`; `conditions.pyi` has their parameters and types."""

from __future__ import annotations

from catalog.errors import load_conditions

globals().update(load_conditions())
