"""Admission rules: user groups with shares of the server."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.identity import Identity
from engine.runtime.statement import StatementClass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Rules for statements from a group's `members` (users, `@group`, or `*` for everybody) in some `classes` (none:
    all).

    While several groups have waiting statements, each runs a number proportional to its `weight`, but at most
    `running_max`. At most `running_per_user_max` statements run per user (0: no limit). A statement is rejected if
    `queued_max` already wait, and fails after waiting for `queue_timeout_s` (0: never). No statements are accepted
    while `abandoned_max` ended ones in the group are still executing (0: no separate limit).
    """

    name: str
    members: tuple[str, ...] = ("*",)
    classes: tuple[str, ...] = ()
    weight: float = 1.0
    running_max: int = 1024
    running_per_user_max: int = 0
    queued_max: int = 2000
    queue_timeout_s: float = 0.0
    abandoned_max: int = 0
    # Maximum data file bytes that one statement may read; 0: no limit.
    scan_bytes_max: int = 0

    @property
    def queued_per_user_max(self) -> int:
        """Returns the limit per user: if users have a share of the slots, one user may fill at most half of the
        queue.
        """
        return (self.queued_max + 1) // 2 if self.running_per_user_max else self.queued_max

    def takes(self, identity: Identity, kind: StatementClass) -> bool:
        """Returns True if the rules apply to a statement of this class from this user.

        Names are compared in folded case.
        """
        if self.classes and kind not in self.classes:
            return False
        names = {f"@{name}".casefold() for name in identity.groups} | {identity.principal.casefold(), "*"}
        return any(member.casefold() in names for member in self.members)


DEFAULT_GROUP = "default"
METADATA_GROUP = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """The first group that matches a statement applies; else the default group. Metadata commands that are answered
    from the catalog have separate slots, `metadata_running_max`.
    """

    groups: tuple[GroupRules, ...] = ()
    default: GroupRules = GroupRules(name=DEFAULT_GROUP)
    metadata_running_max: int = 8

    def group_of(self, identity: Identity, kind: StatementClass) -> GroupRules:
        """Returns the rules for the statement, in the configured order; the default ones if no group matches."""
        return next((group for group in self.groups if group.takes(identity, kind)), self.default)

    def lowest_scan_bytes_max(self, identity: Identity) -> int:
        """Returns the smallest limit among the groups that match this user's statements, for any class; 0: no limit."""
        kinds = [kind for kind in StatementClass if kind is not StatementClass.METADATA]
        return min(filter(None, (self.group_of(identity, kind).scan_bytes_max for kind in kinds)), default=0)
