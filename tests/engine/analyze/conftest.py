"""The lake of the tests of plans."""

from tests.engine.plan.conftest import planning

__all__ = ["planning"]
