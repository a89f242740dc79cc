"""Who may run how much at once: groups of users with shares of the server."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.identity import Identity
from engine.runtime.statement_class import StatementClass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """The statements of a group's `members` (users, `@group`, or `*` for everybody) of some `classes` (none: of all).

    While several groups have statements waiting, each runs as many as its `weight` says, compared with the others', but
    no more than `running_max`. Of one user at most `running_per_user_max` run (0: no limit). A statement is refused
    where `queued_max` wait already, and fails when it has waited for `queue_timeout_s` (0: never). No statements are
    accepted while `abandoned_max` ended ones of the group run on (0: no limit of its own).
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
    scan_bytes_max: int = 0
    """Bytes of data files that one statement may read; 0: no limit."""

    @property
    def queued_per_user_max(self) -> int:
        """Where users have a share of what runs, nobody fills more than half of the queue."""
        return (self.queued_max + 1) // 2 if self.running_per_user_max else self.queued_max

    def takes(self, identity: Identity, kind: StatementClass) -> bool:
        if self.classes and kind not in self.classes:
            return False
        names = {f"@{name}".casefold() for name in identity.groups} | {identity.principal.casefold(), "*"}
        return any(member.casefold() in names for member in self.members)


DEFAULT_GROUP = "default"
METADATA_GROUP = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """The first group that takes a statement has it; else the default group. Commands that are answered from the
    catalog have places of their own, `metadata_running_max`.
    """

    groups: tuple[GroupRules, ...] = ()
    default: GroupRules = GroupRules(name=DEFAULT_GROUP)
    metadata_running_max: int = 8

    def group_of(self, identity: Identity, kind: StatementClass) -> GroupRules:
        return next((group for group in self.groups if group.takes(identity, kind)), self.default)

    def least_scan_bytes_max(self, identity: Identity) -> int:
        """The smallest limit of the groups that take statements of this user, whatever their class; 0: no limit."""
        kinds = [kind for kind in StatementClass if kind is not StatementClass.METADATA]
        return min(filter(None, (self.group_of(identity, kind).scan_bytes_max for kind in kinds)), default=0)
