"""Number of examples in property tests."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """Returns settings for `count` examples; the profile `quick`, for the inner loop, keeps its few."""
    is_quick = settings.get_current_profile_name() == "quick"
    return settings(max_examples=min(count, settings().max_examples) if is_quick else count)
