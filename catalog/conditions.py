"""The classes for all conditions, created from `conditions.toml`; `conditions.pyi` declares their parameters and
types.
"""

from __future__ import annotations

from catalog.errors import load_conditions

globals().update(load_conditions())
