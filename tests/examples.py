"""How many examples a property test draws."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """For the decorator: so many, but under the profile `quick`, which is for the inner loop, its few."""
    is_quick = settings.get_current_profile_name() == "quick"
    return settings(max_examples=min(count, settings().max_examples) if is_quick else count)
