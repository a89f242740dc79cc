"""Errors of privileges, groups and external locations."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class InsufficientPermissions(SqlError, condition="INSUFFICIENT_PERMISSIONS", sqlstate="42501"):
    """`privilege` is missing on `on`, which has its kind in front: Table 'c.s.t'."""

    privilege: str
    on: str
    template = "Insufficient privileges: User does not have {privilege} on {on}."


@dataclass(eq=False)
class ViewOwnerLacksPrivileges(SqlError, condition="INSUFFICIENT_PERMISSIONS_UNDERLYING_SECURABLES", sqlstate="42501"):
    """Names nothing of what the text of the view or function reads, which its users need not know."""

    on: str
    template = (
        "Insufficient privileges: the owner of {on} does not have the privileges that its text needs, or what it reads "
        "is gone or broken. Its owner can say more."
    )


@dataclass(eq=False)
class PrivilegeUnknown(SqlError, condition="DELTA_UNKNOWN_PRIVILEGE", sqlstate="42601"):
    privilege: str
    known: str
    template = "Unknown privilege: {privilege}. There are {known}."


@dataclass(eq=False)
class PrivilegeNotOfKind(SqlError, condition="PRIVILEGE_NOT_APPLICABLE", sqlstate="0LP01"):
    privilege: str
    kind: str
    applicable: str
    template = "{privilege} cannot be granted on a {kind}. On it there are {applicable}."


@dataclass(eq=False)
class PrincipalNotFound(SqlError, condition="PRINCIPAL_DOES_NOT_EXIST", sqlstate="0P000"):
    kind: str
    name: str
    template = "The {kind} {name} does not exist. SHOW GROUPS lists the groups of the catalog."


@dataclass(eq=False)
class PrincipalAmbiguous(SqlError, condition="PRINCIPAL_AMBIGUOUS", sqlstate="0P000"):
    name: str
    template = "{name} is both a user and a group. Write USER or GROUP before the name, or give the group another name."


@dataclass(eq=False)
class GroupAlreadyExists(SqlError, condition="GROUP_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    template = "The group {name} exists already. ALTER GROUP changes its members."


@dataclass(eq=False)
class GroupReserved(SqlError, condition="GROUP_NAME_RESERVED", sqlstate="42939"):
    name: str
    template = "The group {name} has all users, and cannot be made, changed or dropped."


@dataclass(eq=False)
class LocationAlreadyExists(SqlError, condition="EXTERNAL_LOCATION_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    template = "The external location {name} exists already. Choose another name, or use IF NOT EXISTS."


@dataclass(eq=False)
class LocationNotFound(SqlError, condition="EXTERNAL_LOCATION_DOES_NOT_EXIST", sqlstate="42704"):
    name: str
    template = "The external location {name} cannot be found. SHOW EXTERNAL LOCATIONS lists those there are."


@dataclass(eq=False)
class LocationsOverlap(SqlError, condition="EXTERNAL_LOCATIONS_OVERLAP", sqlstate="22KD1"):
    location: str
    other: str
    template = "{location} overlaps with the external location {other}. A place belongs to one external location."


@dataclass(eq=False)
class FunctionAlreadyExists(SqlError, condition="ROUTINE_ALREADY_EXISTS", sqlstate="42723"):
    name: str
    template = "The function {name} exists already. Choose another name, or use CREATE OR REPLACE or IF NOT EXISTS."


@dataclass(eq=False)
class FunctionUsedByPolicy(SqlError, condition="CANNOT_DROP_FUNCTION_IN_USE", sqlstate="2BP01"):
    function: str
    table: str
    template = "{function} decides about rows or values of {table}. Take that policy away first."


@dataclass(eq=False)
class FunctionNotFound(SqlError, condition="ROUTINE_NOT_FOUND", sqlstate="42883"):
    name: str
    template = "The function {name} cannot be found. SHOW USER FUNCTIONS lists those of a schema."


@dataclass(eq=False)
@dataclass(eq=False)
class AdministratorNeeded(SqlError, condition="INSUFFICIENT_PERMISSIONS.ADMINISTRATOR", sqlstate="42501"):
    template = "Insufficient privileges: User is not an administrator of the server."


@dataclass(eq=False)
class OwnerNotYours(SqlError, condition="INSUFFICIENT_PERMISSIONS.OWNER", sqlstate="42501"):
    """Of a view or a function, whose text is read as its owner."""

    owner: str
    template = (
        "Insufficient privileges: User cannot give a view or function to {owner}, as whom it would be read. Give it to "
        "yourself or to a group of yours, or ask an administrator."
    )


@dataclass(eq=False)
class PoliciesConflict(
    SqlError, condition="ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.MULTIPLE_FILTERS", sqlstate="0A000"
):
    table: str
    what: str
    template = "{table} cannot be read, since it has more than one {what}. Ask its owner which policy is to hold."


@dataclass(eq=False)
class PolicyNotClear(SqlError, condition="ROW_COLUMN_ACCESS.POLICY_NOT_CLEAR", sqlstate="0A000"):
    table: str
    reason: str
    template = "{table} cannot be read, since it is not clear what a policy hides: {reason}. Ask its owner."


@dataclass(eq=False)
class PolicyAlreadyExists(SqlError, condition="POLICY_ALREADY_EXISTS", sqlstate="42710"):
    policy: str
    on: str
    template = "There is a policy {policy} on {on} already. CREATE OR REPLACE POLICY puts another one in its place."


@dataclass(eq=False)
class PolicyNotFound(SqlError, condition="POLICY_NOT_FOUND", sqlstate="42704"):
    policy: str
    on: str
    template = "There is no policy {policy} on {on}. SHOW POLICIES shows those that there are."


@dataclass(eq=False)
class PolicyOnKind(SqlError, condition="POLICY_ON_SECURABLE_TYPE_NOT_SUPPORTED", sqlstate="0A000"):
    kind: str
    template = "Policies are on catalogs, schemas and tables, tags on these and on views; this is on a {kind}."


@dataclass(eq=False)
class GroupUsedByPolicy(SqlError, condition="CANNOT_DROP_GROUP_IN_USE", sqlstate="2BP01"):
    group: str
    policy: str
    template = "The policy {policy} is for members of the group {group}, or exempts them. Change that policy first."


@dataclass(eq=False)
class PoliciesOfSchema(SqlError, condition="ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.RENAME", sqlstate="0A000"):
    table: str
    container: str
    template = "{table} stays in {container}, whose policies would not hold for it elsewhere."


@dataclass(eq=False)
class PrincipalUnclear(SqlError, condition="PRINCIPAL_DOES_NOT_EXIST.UNKNOWN_KIND", sqlstate="0P000"):
    name: str
    template = "Neither a user nor a group {name} is known here. Check the name, or write USER or GROUP before it."


@dataclass(eq=False)
class PrincipalNameInvalid(SqlError, condition="PRINCIPAL_NAME_INVALID", sqlstate="42602"):
    name: str
    reason: str
    template = "The name {name!r} cannot be a user's or a group's: {reason}."
