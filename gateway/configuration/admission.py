"""Settings for admission control; `gateway/sessions/admission.py` describes how they interact."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.runtime.statement import StatementClass
from gateway.configuration.fields import Constraint, setting
from gateway.sessions.admission_rules import DEFAULT_GROUP, METADATA_GROUP, AdmissionRules, GroupRules

_CLASSES = (StatementClass.READ, StatementClass.WRITE, StatementClass.MAINTENANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """A group in admission.groups. 0 means no limit unless stated otherwise."""

    name: str = setting(
        "",
        "What messages, the log and Spark's scheduler call it.",
        constraint=Constraint(
            f"letters, digits, - and _, and not {DEFAULT_GROUP} or {METADATA_GROUP}",
            lambda name: re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) and name not in (DEFAULT_GROUP, METADATA_GROUP),
        ),
    )
    members: tuple[str, ...] = setting(("*",), "Users, @group, or * for everybody.")
    classes: tuple[str, ...] = setting(
        (),
        f"Statements of which kinds: {', '.join(_CLASSES)}; empty: all.",
        constraint=Constraint(f"a list of: {', '.join(_CLASSES)}", set(_CLASSES).issuperset),
    )
    weight: int = setting(1, "Its share of the server, compared with the other groups'.", low=1, high=1000)
    running_max: int = setting(0, "Statements that run at once; 0: as many as statements.running_max.", low=0)
    running_per_user_max: int = setting(0, "Of one user; 0: as admission.running_per_user_max says.", low=0)
    queued_max: int = setting(0, "Statements that wait; 0: admission.queued_max.", low=0)
    queue_timeout_s: float = setting(0.0, "Seconds that one waits; 0: admission.queue_timeout_s.", low=0)
    abandoned_max: int = setting(
        0, "Ended statements of the group that run on; 0: three quarters of statements.abandoned_max.", low=0
    )
    scan_bytes_max: int = setting(0, "Bytes of data files that a statement reads; 0: statements.scan_bytes_max.", low=0)


def _have_own_names(groups: tuple[GroupTable, ...]) -> bool:
    names = [group.name for group in groups]
    return all(names) and len(set(names)) == len(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSection:
    """Admission control: shares, limits and queues for groups of users."""

    groups: tuple[GroupTable, ...] = setting(
        (),
        "Groups of users or kinds of statements, each as [[admission.groups]] with: name, members (users, "
        "@group, *), classes (read, write, maintenance), weight, running_max, running_per_user_max, "
        "queued_max, queue_timeout_s, abandoned_max, scan_bytes_max. The first matching group applies; the "
        "settings in this section apply to all other statements. A script or an EXECUTE IMMEDIATE counts as a "
        "write, with the smallest scan_bytes_max of the user's groups.",
        constraint=Constraint("a list of groups with a name each", _have_own_names),
    )
    running_per_user_max: int = setting(
        0,
        "Maximum number of concurrent statements per user; 0: half of the group's limit, or all without "
        "authentication.",
        low=0,
    )
    queued_max: int = setting(2000, "Maximum number of queued statements; further ones are rejected.", low=0)
    queue_timeout_s: float = setting(
        0.0, "Time in seconds after which a queued statement fails, accurate to a few seconds; 0: no limit.", low=0
    )
    metadata_running_max: int = setting(
        8,
        "Maximum number of concurrent metadata commands (SHOW, DESCRIBE, USE, SET). They are answered from "
        "the catalog and do not count toward the other limits.",
        low=1,
    )


def admission_rules(
    section: AdmissionSection, *, running_max: int, abandoned_max: int, scan_bytes_max: int, users_log_in: bool
) -> AdmissionRules:
    """Builds the admission rules; `running_max` and `abandoned_max` are the whole server's limits."""
    abandoned_share = max(1, abandoned_max * 3 // 4)

    def per_user(group_max: int, said: int) -> int:
        return said or section.running_per_user_max or (max(1, group_max // 2) if users_log_in else 0)

    def rules(group: GroupTable) -> GroupRules:
        most = min(group.running_max or running_max, running_max)
        return GroupRules(
            name=group.name,
            members=group.members,
            classes=group.classes,
            weight=group.weight,
            running_max=most,
            running_per_user_max=per_user(most, group.running_per_user_max),
            queued_max=group.queued_max or section.queued_max,
            queue_timeout_s=group.queue_timeout_s or section.queue_timeout_s,
            abandoned_max=group.abandoned_max or abandoned_share,
            scan_bytes_max=group.scan_bytes_max or scan_bytes_max,
        )

    return AdmissionRules(
        groups=tuple(map(rules, section.groups)),
        default=GroupRules(
            name=DEFAULT_GROUP,
            running_per_user_max=per_user(running_max, 0),
            queued_max=section.queued_max,
            queue_timeout_s=section.queue_timeout_s,
            abandoned_max=abandoned_share if section.groups else 0,
            scan_bytes_max=scan_bytes_max,
        ),
        metadata_running_max=section.metadata_running_max,
    )
