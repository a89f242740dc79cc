"""Applies changes to properties, constraints and features to a table draft.

Some keys are not properties: `delta.minReaderVersion`, `delta.minWriterVersion` and `delta.feature.*` change the
protocol and are not stored. `delta.constraints.*` and the properties for keys have their own statements. Setting
`delta.columnMapping.mode` on an existing table assigns column ids and uses the current names as physical names.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import (
    ClusteringFeatureOfNewTable,
    ClusteringFeatureOfTable,
    ConstraintAlreadyExists,
    ConstraintDoesNotExist,
    ConstraintFeatureInUse,
    ConstraintsAreNoProperties,
    FeatureHasDependents,
    FeatureNotPresent,
    FeatureNotRemovable,
    InvalidProtocolDowngrade,
    InvalidTableProperty,
    KeyNameTaken,
    MappingModeNotChangeable,
    MappingNeededByNames,
    PropertyNotSettable,
    ProtocolPropertyNotInteger,
    SeveralPrimaryKeys,
    UnsupportedFeaturesInConfig,
    UnsupportedFeatureStatus,
)
from engine.delta.definition.clustering import CLUSTERING, format_clustering
from engine.delta.definition.constraints import CONSTRAINT_SETTINGS_PREFIX, check_constraints, find_constraint
from engine.delta.definition.schema_validation import odd_names
from engine.delta.definition.table_draft import TableDraft
from engine.delta.schema.column_ids import keep_logical_name, without_ids
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.spec import properties
from engine.delta.spec.features import FEATURES, Feature, Removal, find_feature
from engine.delta.spec.properties import (
    CONSTRAINT_PREFIX,
    FEATURE_PREFIX,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    canonical_key,
    parse_setting,
)
from engine.delta.spec.protocols import READER_VERSION_MAX, WRITER_VERSION_MAX, protocol_features, remove_feature
from engine.tables.definition_changes import (
    AddConstraint,
    AddKey,
    DropConstraint,
    PropertyChange,
    RenameConstraint,
    SetDescription,
    SetProperty,
    UnsetProperty,
)
from engine.tables.keys import KEY_PREFIX, PrimaryKey, TableKey, is_key_property, keys_of, primary_key, property_of

_VERSIONS = {MIN_READER_VERSION.lower(): READER_VERSION_MAX, MIN_WRITER_VERSION.lower(): WRITER_VERSION_MAX}

# The properties that are removed when a feature is dropped.
_SWITCHES = {
    "checkpointProtection": (properties.CHECKPOINT_PROTECTION_VERSION.key,),
    "deletionVectors": (properties.DELETION_VECTORS.key,),
    "inCommitTimestamp": (
        properties.IN_COMMIT_TIMESTAMPS.key,
        properties.ICT_ENABLEMENT_VERSION.key,
        properties.ICT_ENABLEMENT_TIMESTAMP.key,
    ),
    "materializePartitionColumns": (properties.MATERIALIZE_PARTITION_COLUMNS.key,),
    "rowTracking": (
        properties.ROW_TRACKING.key,
        properties.ROW_TRACKING_SUSPENDED.key,
        properties.ROW_ID_COLUMN.key,
        properties.ROW_COMMIT_VERSION_COLUMN.key,
    ),
    "typeWidening": (properties.TYPE_WIDENING.key,),
    "v2Checkpoint": (properties.CHECKPOINT_POLICY.key,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMapping:
    """Removes column mapping: columns are stored under their logical names from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFeature:
    name: str
    # The commit's version, if older versions must stay readable; None: no version needs the feature any more.
    protect_before: int | None = None


def apply_property_change(draft: TableDraft, change: PropertyChange | RemoveMapping | DropFeature) -> TableDraft:
    """Returns the draft after the change.

    Raises delta-spark's error for a change that the definition rules out, for example `ConstraintAlreadyExists`.
    """
    match change:
        case SetProperty():
            return _set_property(draft, change.key, change.value)
        case UnsetProperty():
            return _unset_property(draft, change.key)
        case SetDescription():
            return replace(draft, metadata=replace(draft.metadata, description=change.text))
        case AddConstraint():
            return _add_constraint(draft, change.name, change.expression, change.settings)
        case AddKey():
            return _add_key(draft, change.key)
        case DropConstraint():
            return _drop_constraint(draft, change.name, if_exists=change.if_exists)
        case RenameConstraint():
            return _rename_constraint(draft, change.name, change.new_name)
        case RemoveMapping():
            return _remove_mapping(draft)
        case DropFeature():
            return _drop_feature(draft, change.name, change.protect_before)
        case _:
            assert_never(change)


def _set_property(draft: TableDraft, key: str, value: str) -> TableDraft:
    folded = key.lower()
    if folded in _VERSIONS:
        return _ask_for_version(draft, folded, key, value)
    if folded.startswith(FEATURE_PREFIX):
        return _ask_for_feature(draft, key[len(FEATURE_PREFIX) :], value)
    if folded.startswith(CONSTRAINT_PREFIX) or is_key_property(key):
        raise ConstraintsAreNoProperties(key)
    stored, text = parse_setting(key, value)
    if stored == properties.COLUMN_MAPPING_MODE.key:
        return _set_mapping_mode(draft, text)
    if stored == properties.ROW_TRACKING.key and properties.parse_boolean(text):
        draft = _begin_row_tracking(draft)
    return draft.with_settings({stored: text})


def _unset_property(draft: TableDraft, key: str) -> TableDraft:
    """Removes a property. Does nothing if the table lacks the key, as in Spark."""
    stored = canonical_key(key)
    if stored.lower().startswith(CONSTRAINT_PREFIX) or is_key_property(stored):
        raise ConstraintsAreNoProperties(key)
    known = properties.PROPERTIES.get(stored)
    if known is not None and not known.settable:
        raise PropertyNotSettable(stored)
    if stored == properties.COLUMN_MAPPING_MODE.key and draft.mapping_mode != NO_MAPPING:
        raise MappingModeNotChangeable(draft.mapping_mode, NO_MAPPING)
    # A setting under an early name, without the prefix, would take effect once this one is
    # gone.
    early = known.early if known is not None else None
    return draft.with_settings({stored: None, **({early: None} if early is not None else {})})


def _add_constraint(
    draft: TableDraft, name: str, expression: str, settings: tuple[tuple[str, str], ...] = ()
) -> TableDraft:
    """Adds a CHECK constraint. The caller must validate the text `expression` and the existing rows."""
    key = f"{CONSTRAINT_PREFIX}{name.lower()}"
    present = draft.configuration.get(key)
    if present is not None:
        raise ConstraintAlreadyExists(name, present)
    # Keys and constraints share one namespace in SQL: DROP CONSTRAINT names either.
    if f"{KEY_PREFIX}{name.lower()}" in draft.configuration:
        raise KeyNameTaken(name)
    # The expression's meaning depends on settings (ANSI mode, time zone); later writers
    # must check what was declared.
    captured = {f"{CONSTRAINT_SETTINGS_PREFIX}{name.lower()}": json.dumps(dict(settings))} if settings else {}
    return draft.with_settings({key: expression, **captured})


def _add_key(draft: TableDraft, key: TableKey) -> TableDraft:
    """Adds a key. Raises if the table already has a constraint with that name, or a primary key."""
    stored, text = property_of(key)
    if stored in draft.configuration or find_constraint(draft.configuration, key.name) is not None:
        raise KeyNameTaken(key.name)
    present = primary_key(keys_of(draft.configuration, draft.schema.names))
    if present is not None and isinstance(key, PrimaryKey):
        raise SeveralPrimaryKeys(draft.table, key.name)
    return draft.with_settings({stored: text})


def _drop_constraint(draft: TableDraft, name: str, *, if_exists: bool) -> TableDraft:
    key = find_constraint(draft.configuration, name)
    if key is None and f"{KEY_PREFIX}{name.lower()}" in draft.configuration:
        key = f"{KEY_PREFIX}{name.lower()}"
    if key is None:
        if if_exists:
            return draft
        raise ConstraintDoesNotExist(name)
    captured = f"{CONSTRAINT_SETTINGS_PREFIX}{name.lower()}"
    return draft.with_settings({key: None, **({captured: None} if captured in draft.configuration else {})})


def _rename_constraint(draft: TableDraft, name: str, new_name: str) -> TableDraft:
    dropped = _drop_constraint(draft, name, if_exists=False)
    for check in check_constraints(draft.configuration):
        if check.name.lower() == name.lower():
            return _add_constraint(dropped, new_name, check.expression, check.settings)
    for key in keys_of(draft.configuration, draft.schema.names):
        if key.name.lower() == name.lower():
            return _add_key(dropped, replace(key, name=new_name))
    raise ConstraintDoesNotExist(name)  # the property of a key that cannot be read


def _drop_feature(draft: TableDraft, name: str, protect_before: int | None) -> TableDraft:
    """Removes the feature from the protocol, and the properties that require it from the metadata.

    `protect_before` is the commit's version, if older versions that need the feature must stay readable: checkpoints
    before it are then protected. None: no version needs the feature any more.
    """
    assert draft.protocol is not None, "a new table has nothing to drop"
    feature = _droppable(draft, name)
    protocol = remove_feature(draft.protocol, feature.name)
    dropped = draft.with_settings(dict.fromkeys(_SWITCHES.get(feature.canonical_name, ())))
    dropped = replace(dropped, dropped_to=protocol, drops=draft.drops | {feature.name})
    if protect_before is None or feature.removal is not Removal.WITH_HISTORY:
        return dropped
    protected = {properties.CHECKPOINT_PROTECTION_VERSION.key: str(protect_before)}
    return replace(dropped.with_settings(protected), features=dropped.features | {"checkpointProtection"})


def _droppable(draft: TableDraft, name: str) -> Feature:
    assert draft.protocol is not None
    present = protocol_features(draft.protocol)
    feature = find_feature(name)
    if feature is None or feature.name not in present:
        raise FeatureNotPresent(draft.table, name)
    if feature.removal is Removal.NO:
        raise FeatureNotRemovable(feature.name)
    # "Table Features": a feature's requirements must stay listed as long as it is.
    dependents = sorted(other for other in present if other in FEATURES and feature.name in FEATURES[other].requires)
    if dependents:
        raise FeatureHasDependents(feature.name, ", ".join(dependents))
    constraints = sorted(key for key in draft.configuration if key.startswith(CONSTRAINT_PREFIX))
    if feature.name == "checkConstraints" and constraints:
        raise ConstraintFeatureInUse(", ".join(key.removeprefix(CONSTRAINT_PREFIX) for key in constraints))
    return feature


def _ask_for_version(draft: TableDraft, folded: str, key: str, value: str) -> TableDraft:
    """Requests the features that legacy versions imply, for the reader and writer versions together.

    The highest versions, which list features, imply none.
    """
    highest = _VERSIONS[folded]
    if not value.strip().isdecimal():
        raise ProtocolPropertyNotInteger(key, value)
    wanted = int(value)
    if not 1 <= wanted <= highest:
        raise InvalidTableProperty(key, value, f"it must be between 1 and {highest}")
    is_reader = folded == MIN_READER_VERSION.lower()
    current = draft.protocol
    if current is not None:
        present = current.min_reader_version if is_reader else current.min_writer_version
        if wanted < present:
            raise InvalidProtocolDowngrade(draft.table, f"{key} {present}", str(wanted))
    # Version 7 or 3 says only that features are listed; it names none, and the weakest form
    # decides.
    if wanted == highest:
        return draft
    versions = replace(draft.versions, **{"reader" if is_reader else "writer": wanted})
    return replace(draft, versions=versions)


def _ask_for_feature(draft: TableDraft, name: str, status: str) -> TableDraft:
    feature = find_feature(name)
    if feature is None:
        raise UnsupportedFeaturesInConfig(name)
    if status.lower() not in ("supported", "enabled"):
        raise UnsupportedFeatureStatus(feature.name, status)
    if feature.canonical_name == CLUSTERING:
        raise (ClusteringFeatureOfNewTable if draft.is_new else ClusteringFeatureOfTable)(feature.name)
    return replace(draft, features=draft.features | {feature.name})


def _set_mapping_mode(draft: TableDraft, mode: str) -> TableDraft:
    current = draft.mapping_mode
    if mode == current:
        return draft.with_settings({properties.COLUMN_MAPPING_MODE.key: mode})
    if draft.is_new and current == NO_MAPPING:
        return draft.with_settings({properties.COLUMN_MAPPING_MODE.key: mode})
    # Files of an existing table have no field ids, so that mode id could not find their
    # columns.
    if current != NO_MAPPING or mode != "name":
        raise MappingModeNotChangeable(current, mode)
    changed = draft.with_settings({properties.COLUMN_MAPPING_MODE.key: mode})
    # Existing files use the current names, even if an earlier mapping left other metadata.
    bare = changed.with_schema(without_ids(draft.schema))
    mapped = replace(bare, new_name=keep_logical_name).with_ids()
    return replace(mapped, new_name=draft.new_name)


def _remove_mapping(draft: TableDraft) -> TableDraft:
    """Removes column mapping. Existing files must have the logical names by then. Raises `MappingNeededByNames`."""
    if draft.mapping_mode == NO_MAPPING:
        return draft
    odd = odd_names(draft.schema)
    if odd:
        raise MappingNeededByNames(odd)
    settings = dict.fromkeys((properties.COLUMN_MAPPING_MODE.key, properties.COLUMN_MAPPING_MAX_ID.key))
    clustering = format_clustering(draft.clustered_by) if draft.clustering else None
    return replace(draft.with_settings(settings), schema=without_ids(draft.schema), clustering=clustering)


def _begin_row_tracking(draft: TableDraft) -> TableDraft:
    """Sets names for the columns that store rewritten rows' ids; earlier names are reused.

    The caller must ensure that every file has row ids by then (`engine.formats.delta.planning.row_tracking`).
    """
    names = {
        properties.ROW_ID_COLUMN.key: f"_row-id-col-{uuid.uuid4()}",
        properties.ROW_COMMIT_VERSION_COLUMN.key: f"_row-commit-version-col-{uuid.uuid4()}",
    }
    return draft.with_settings({key: draft.configuration.get(key) or name for key, name in names.items()})
