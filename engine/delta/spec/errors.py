"""Conditions of the transaction log, under Delta's own names and SQLSTATEs where Delta has one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError

# --- Reading: what is wrong with the bytes -------------------------------------------------------------------------


@dataclass(eq=False)
class LogIntegrityFailed(DeltaError, condition="DELTA_TXN_LOG_FAILED_INTEGRITY", sqlstate="XXKDS"):
    """A version checksum file disagrees with the state replayed from the log."""

    table: str
    version: int
    detail: str
    template = "The log of {table} failed its integrity check at version {version}: {detail}."


# --- Reading: what is missing --------------------------------------------------------------------------------------


@dataclass(eq=False)
class DeltaTableNotFound(DeltaError, condition="DELTA_TABLE_NOT_FOUND", sqlstate="42P01"):
    table: str
    template = "{table} is no Delta table: its _delta_log has neither a commit nor a complete checkpoint."


@dataclass(eq=False)
class VersionNotFound(DeltaError, condition="DELTA_VERSION_NOT_FOUND", sqlstate="22003"):
    table: str
    version: int
    earliest: int
    latest: int
    template = "Version {version} of {table} cannot be read. Versions {earliest} to {latest} can be reconstructed."


@dataclass(eq=False)
class VersionsNotContiguous(DeltaError, condition="DELTA_VERSIONS_NOT_CONTIGUOUS", sqlstate="KD00C"):
    table: str
    before: int
    after: int
    template = (
        "The log of {table} has a gap: version {after} follows version {before}. Commits were deleted by hand; restore "
        "them from a backup, or read a version before the gap."
    )


@dataclass(eq=False)
class LogTruncated(DeltaError, condition="DELTA_TRUNCATED_TRANSACTION_LOG", sqlstate="42K03"):
    table: str
    version: int
    earliest: int
    template = (
        "Version {version} of {table} cannot be reconstructed: the log begins at version {earliest} and no complete "
        "checkpoint precedes it."
    )


@dataclass(eq=False)
class MissingPartFiles(DeltaError, condition="DELTA_MISSING_PART_FILES", sqlstate="42KD6"):
    table: str
    version: int
    template = (
        "The log of {table} cannot be read from the checkpoint of version {version}: parts of it are missing or "
        "corrupt, and no earlier checkpoint or complete run of commits can replace it."
    )


@dataclass(eq=False)
class StateNotRecoverable(DeltaError, condition="DELTA_STATE_RECOVER_ERROR", sqlstate="XXKDS"):
    table: str
    version: int
    action: str
    template = "The log of {table} has no {action} action at or before version {version}: the table cannot be read."


# --- Deletion vectors ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class UnsupportedTypeChange(DeltaError, condition="DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA", sqlstate="0AKDC"):
    table: str
    column: str
    old: str
    new: str
    template = (
        "{table} cannot be read: its column {column} was changed from {old} to {new}, which is no widening that is "
        "known here. Read it with the engine that changed it, and rewrite its older files there."
    )


# --- Time travel ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class TimestampBeforeLog(DeltaError, condition="DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", sqlstate="42816"):
    table: str
    requested: str
    earliest: str
    template = (
        "The timestamp {requested} is before the earliest version of {table} that can be reconstructed ({earliest}). "
        "Use a timestamp at or after it."
    )


@dataclass(eq=False)
class TimestampAfterLog(DeltaError, condition="DELTA_TIMESTAMP_GREATER_THAN_COMMIT", sqlstate="42816"):
    table: str
    requested: str
    latest: str
    template = "The timestamp {requested} is after the latest version of {table} ({latest}). Use one at or before it."


@dataclass(eq=False)
class MissingCommitInfo(DeltaError, condition="DELTA_MISSING_COMMIT_INFO", sqlstate="KD004"):
    table: str
    version: int
    template = (
        "In-commit timestamps are enabled on {table}, but commit {version} has no commitInfo: another writer broke the "
        "protocol."
    )


@dataclass(eq=False)
class MissingCommitTimestamp(DeltaError, condition="DELTA_MISSING_COMMIT_TIMESTAMP", sqlstate="KD004"):
    table: str
    version: int
    template = (
        "In-commit timestamps are enabled on {table}, but the commitInfo of commit {version} has no inCommitTimestamp: "
        "another writer broke the protocol."
    )


# --- Maintenance ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class VacuumLiteImpossible(DeltaError, condition="DELTA_CANNOT_VACUUM_LITE", sqlstate="55000"):
    table: str
    template = (
        "VACUUM LITE of {table} is not possible: commits that no earlier VACUUM has dealt with have been cleaned up "
        "from the log. Run VACUUM FULL once."
    )


@dataclass(eq=False)
class ManifestWithDeletionVectors(
    DeltaError, condition="DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS", sqlstate="0A000"
):
    table: str
    template = (
        "A symlink manifest cannot say which rows of a file are deleted, and {table} has files with deletion vectors. "
        "Write them again with REORG TABLE ... APPLY (PURGE) first."
    )


@dataclass(eq=False)
class ManifestWithColumnMapping(
    DeltaError, condition="DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING", sqlstate="0AKDC"
):
    table: str
    template = (
        "A symlink manifest cannot say how columns are called in the files, and {table} has column mapping. Readers of "
        "manifests would find other columns."
    )


@dataclass(eq=False)
class ManifestPropertyWithDeletionVectors(
    DeltaError,
    condition="DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED"
    ".PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION",
    sqlstate="0A000",
):
    template = (
        "A table with delta.enableDeletionVectors = true cannot write symlink manifests after each commit "
        "(delta.compatibility.symlinkFormatManifest.enabled). Set one of the two properties to false."
    )


# --- Features and properties ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class UnsupportedReaderFeatures(DeltaError, condition="DELTA_UNSUPPORTED_FEATURES_FOR_READ", sqlstate="56038"):
    table: str
    features: str
    """Names, comma-separated."""
    operation: str
    template = (
        "Unsupported Delta read: {operation} {table} needs table features that this release does not support: "
        "{features}. Read it with an engine that supports them, or drop the features there."
    )


@dataclass(eq=False)
class UnsupportedWriterFeatures(DeltaError, condition="DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", sqlstate="56038"):
    table: str
    features: str
    operation: str
    template = (
        "Unsupported Delta write: {operation} {table} needs table features that this release does not support: "
        "{features}. Write it with an engine that supports them, or drop the features."
    )


@dataclass(eq=False)
class InvalidProtocolVersion(DeltaError, condition="DELTA_INVALID_PROTOCOL_VERSION", sqlstate="KD004"):
    table: str
    reader_version: int
    writer_version: int
    supported: str
    template = (
        "Unsupported Delta protocol: {table} requires reader version {reader_version} and writer version "
        "{writer_version}, this release supports {supported}. Upgrade to a newer release."
    )


@dataclass(eq=False)
class FeaturesProtocolMismatch(DeltaError, condition="DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", sqlstate="KD004"):
    table: str
    features: str
    template = (
        "The metadata of {table} uses table features that its protocol does not have: {features}. Enable them by "
        "setting delta.feature.<name> = 'supported'."
    )


@dataclass(eq=False)
class FeaturesRequireManualEnablement(
    DeltaError, condition="DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", sqlstate="42000"
):
    table: str
    features: str
    template = (
        "The change needs table features that are never enabled by themselves on an existing table: {features}. "
        "Enable them on {table} by ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.<name>' = 'supported'); this "
        "locks out engines that do not support them."
    )


@dataclass(eq=False)
class UnsupportedFeaturesInConfig(DeltaError, condition="DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", sqlstate="56038"):
    features: str
    template = "Unsupported table features in table properties: {features}. Correct or remove the names."


@dataclass(eq=False)
class UnsupportedFeatureStatus(DeltaError, condition="DELTA_UNSUPPORTED_FEATURE_STATUS", sqlstate="0AKDE"):
    feature: str
    status: str
    template = "The table feature {feature} cannot be set to {status!r}; the only status is 'supported'."


@dataclass(eq=False)
class InvalidProtocolDowngrade(DeltaError, condition="DELTA_INVALID_PROTOCOL_DOWNGRADE", sqlstate="KD004"):
    table: str
    current: str
    requested: str
    template = (
        "The protocol of {table} cannot be downgraded from {current} to {requested}. Protocol upgrades are "
        "irreversible; drop features with ALTER TABLE ... DROP FEATURE."
    )


@dataclass(eq=False)
class ProtocolPropertyNotInteger(DeltaError, condition="DELTA_PROTOCOL_PROPERTY_NOT_INT", sqlstate="42K06"):
    key: str
    value: str
    template = "The protocol property {key} must be an integer, not {value!r}."


@dataclass(eq=False)
class FeatureNotPresent(DeltaError, condition="DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT", sqlstate="55000"):
    table: str
    feature: str
    template = "The feature {feature} cannot be dropped: the protocol of {table} does not have it."


@dataclass(eq=False)
class FeatureNotRemovable(DeltaError, condition="DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", sqlstate="0AKDC"):
    feature: str
    template = "The table feature {feature} cannot be dropped once a table has it."


@dataclass(eq=False)
class FeatureHasDependents(DeltaError, condition="DELTA_FEATURE_DROP_DEPENDENT_FEATURE", sqlstate="55000"):
    feature: str
    dependents: str
    template = (
        "The feature {feature} cannot be dropped because other features depend on it: {dependents}. Drop those first."
    )


@dataclass(eq=False)
class WaitForRetention(DeltaError, condition="DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD", sqlstate="22KD0"):
    table: str
    feature: str
    hours: str
    template = (
        "The newest version of {table} does not need the feature {feature} any more, but versions of the last {hours} "
        "hours do, which may still be read. Run the statement again when these hours are over: it then removes the "
        "older versions, and drops the feature. (delta.dropFeatureTruncateHistory.retentionDuration sets the time.)"
    )


@dataclass(eq=False)
class HistoricalVersionsExist(DeltaError, condition="DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST", sqlstate="22KD0"):
    table: str
    feature: str
    hours: str
    template = (
        "The feature {feature} cannot be dropped: the log of {table} has older versions that need it, and no usable "
        "checkpoint that is {hours} hours old, before which they could be removed. Run the statement again later."
    )


@dataclass(eq=False)
class UnknownTableProperty(DeltaError, condition="DELTA_UNKNOWN_CONFIGURATION", sqlstate="F0000"):
    key: str
    nearest: str
    template = "Unknown table property {key}; the nearest known one is {nearest}."


@dataclass(eq=False)
class PropertyNotSettable(DeltaError, condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY", sqlstate="42939"):
    key: str
    template = "The table property {key} is kept by the product and cannot be set or unset by users."


@dataclass(eq=False)
class InvalidTableProperty(DeltaError, condition="DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED", sqlstate="0A000"):
    key: str
    value: str
    expected: str
    template = "The value {value!r} of the table property {key} is not valid: {expected}."


# --- Writing -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class LogWriteFailed(DeltaError, condition="LOG_WRITE_FAILED", sqlstate="58030"):
    table: str
    version: int
    detail: str
    template = "Version {version} of {table} could not be written, and was not: {detail}."


@dataclass(eq=False)
class StatisticsNotWritten(DeltaError, condition="STATISTICS_NOT_WRITTEN", sqlstate="58030"):
    table: str
    detail: str
    template = "The distinct values of {table} were counted, and could not be written beside its log: {detail}."


@dataclass(eq=False)
class RowIdsWithoutStatistics(DeltaError, condition="DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS", sqlstate="22000"):
    table: str
    template = (
        "Row ids cannot be assigned to files of {table}: their statistics do not say how many rows they have. Run "
        "ANALYZE TABLE ... COMPUTE DELTA STATISTICS for files that are there already."
    )


@dataclass(eq=False)
class DuplicateActions(DeltaError, condition="DELTA_DUPLICATE_ACTIONS_FOUND", sqlstate="2D521"):
    table: str
    subject: str
    template = "The commit to {table} would hold two actions for {subject}; a commit may hold one."


@dataclass(eq=False)
class DuplicateDomainMetadata(DeltaError, condition="DELTA_DUPLICATE_DOMAIN_METADATA_INTERNAL_ERROR", sqlstate="42601"):
    table: str
    domain: str
    template = "The commit to {table} would hold two actions for the metadata domain {domain}; a commit may hold one."


@dataclass(eq=False)
class DomainMetadataNotSupported(DeltaError, condition="DELTA_DOMAIN_METADATA_NOT_SUPPORTED", sqlstate="0A000"):
    table: str
    domains: str
    template = (
        "The metadata domains {domains} cannot be written: the protocol of {table} lacks the table feature "
        "domainMetadata. Enable it by setting delta.feature.domainMetadata = 'supported'."
    )


@dataclass(eq=False)
class MissingPartitionColumn(DeltaError, condition="DELTA_MISSING_PARTITION_COLUMN", sqlstate="42KD6"):
    table: str
    path: str
    expected: str
    template = (
        "The file {path} cannot be added to {table}: it must have a value for exactly the partition columns {expected}."
    )


@dataclass(eq=False)
class DeletionVectorsDisallowed(DeltaError, condition="DELTA_ADDING_DELETION_VECTORS_DISALLOWED", sqlstate="0A000"):
    table: str
    path: str
    template = (
        "The file {path} of {table} cannot get a deletion vector: the table's protocol does not have them. Enable them "
        "by setting delta.enableDeletionVectors = 'true'."
    )


@dataclass(eq=False)
class DeletionVectorWithoutRowCount(
    DeltaError, condition="DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS", sqlstate="2D521"
):
    table: str
    path: str
    template = (
        "The file {path} of {table} cannot get a deletion vector: its statistics do not say how many rows it has."
    )


@dataclass(eq=False)
class NoMetadata(DeltaError, condition="DELTA_METADATA_ABSENT", sqlstate="XXKDS"):
    table: str
    template = "The first commit of {table} must set protocol and metadata; create the table first."


@dataclass(eq=False)
class StructFieldsDiffer(DeltaError, condition="DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION", sqlstate="42846"):
    """`reason` is Spark's, and names the field."""

    reason: str
    template = (
        "An assigned struct does not have the fields of its column: {reason} Nothing was written. Fields match by "
        "name, and all nested columns must match: give each field of the column a value, or, in a MERGE, use WITH "
        "SCHEMA EVOLUTION to add fields and to leave some out."
    )
