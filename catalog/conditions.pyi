"""Written by `make conditions` from conditions.toml: do not edit."""

from catalog.errors import SqlError as SqlError

class DeltaError(SqlError): ...

class ColumnChangeRefused(DeltaError): ...

class ConcurrentModification(DeltaError): ...

class StatementEnded(SqlError):
    committed: str

class InternalError(SqlError):
    """INTERNAL_ERROR, SQLSTATE XX000"""
    error_id: str
    def __init__(self, error_id: str) -> None: ...

class InvalidName(SqlError):
    """INVALID_SCHEMA_OR_RELATION_NAME, SQLSTATE 42602"""
    name: str
    def __init__(self, name: str) -> None: ...

class TooManyNameParts(SqlError):
    """IDENTIFIER_TOO_MANY_NAME_PARTS, SQLSTATE 42601"""
    name: str
    parts_max: int
    def __init__(self, name: str, parts_max: int) -> None: ...

class CatalogNotFound(SqlError):
    """CATALOG_NOT_FOUND, SQLSTATE 42P08"""
    name: str
    suggestion: str
    def __init__(self, name: str, suggestion: str = '') -> None: ...

class SchemaNotFound(SqlError):
    """SCHEMA_NOT_FOUND, SQLSTATE 42704"""
    name: str
    suggestion: str
    def __init__(self, name: str, suggestion: str = '') -> None: ...

class TableNotFound(SqlError):
    """TABLE_OR_VIEW_NOT_FOUND, SQLSTATE 42P01"""
    name: str
    suggestion: str
    def __init__(self, name: str, suggestion: str = '') -> None: ...

class TableAmbiguous(SqlError):
    """AMBIGUOUS_TABLE_OR_VIEW, SQLSTATE 42704"""
    name: str
    candidates: str
    def __init__(self, name: str, candidates: str) -> None: ...

class CatalogAlreadyExists(SqlError):
    """CATALOG_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    def __init__(self, name: str) -> None: ...

class SchemaAlreadyExists(SqlError):
    """SCHEMA_ALREADY_EXISTS, SQLSTATE 42P06"""
    name: str
    def __init__(self, name: str) -> None: ...

class TableAlreadyExists(SqlError):
    """TABLE_OR_VIEW_ALREADY_EXISTS, SQLSTATE 42P07"""
    name: str
    def __init__(self, name: str) -> None: ...

class CatalogNotEmpty(SqlError):
    """CATALOG_NOT_EMPTY, SQLSTATE 2BP01"""
    name: str
    def __init__(self, name: str) -> None: ...

class SchemaNotEmpty(SqlError):
    """SCHEMA_NOT_EMPTY, SQLSTATE 2BP01"""
    name: str
    def __init__(self, name: str) -> None: ...

class DropNotAllowed(SqlError):
    """UNSUPPORTED_FEATURE.DROP_DATABASE, SQLSTATE 0A000"""
    name: str
    def __init__(self, name: str) -> None: ...

class ViewExpected(SqlError):
    """EXPECT_VIEW_NOT_TABLE, SQLSTATE 42809"""
    name: str
    def __init__(self, name: str) -> None: ...

class TableExpected(SqlError):
    """EXPECT_TABLE_NOT_VIEW, SQLSTATE 42809"""
    name: str
    def __init__(self, name: str) -> None: ...

class ReservedName(SqlError):
    """FORBIDDEN_OPERATION, SQLSTATE 42809"""
    kind: str
    name: str
    def __init__(self, kind: str, name: str) -> None: ...

class DiscoveredObject(SqlError):
    """DISCOVERED_OBJECT_NOT_CHANGEABLE, SQLSTATE 55000"""
    name: str
    location: str
    def __init__(self, name: str, location: str) -> None: ...

class PathNotAllowed(SqlError):
    """PATH_NOT_ALLOWED, SQLSTATE 42501"""
    path: str
    def __init__(self, path: str) -> None: ...

class FilesNotReadable(SqlError):
    """SOURCE_FILES_NOT_READABLE, SQLSTATE 42809"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class LocationOverlap(SqlError):
    """LOCATION_OVERLAP, SQLSTATE 22KD1"""
    location: str
    reason: str
    def __init__(self, location: str, reason: str) -> None: ...

class LakeNotAvailable(SqlError):
    """LAKE_NOT_AVAILABLE, SQLSTATE 57012"""
    folder: str
    reason: str
    def __init__(self, folder: str, reason: str) -> None: ...

class StoreSchemeNotSupported(SqlError):
    """CATALOG_STORE_SCHEME_NOT_SUPPORTED, SQLSTATE 0A000"""
    scheme: str
    supported: str
    def __init__(self, scheme: str, supported: str) -> None: ...

class StorageNotAvailable(SqlError):
    """STORAGE_NOT_AVAILABLE, SQLSTATE 58030"""
    url: str
    reason: str
    def __init__(self, url: str, reason: str) -> None: ...

class CatalogUnreadable(SqlError):
    """CATALOG_UNREADABLE, SQLSTATE 58030"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class CatalogNotWritable(SqlError):
    """CATALOG_NOT_WRITABLE, SQLSTATE 58030"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class CatalogBusy(SqlError):
    """CATALOG_CONCURRENT_CHANGE, SQLSTATE 40001"""
    attempts: int
    def __init__(self, attempts: int) -> None: ...

class CatalogOutcomeUnknown(SqlError):
    """CATALOG_OUTCOME_UNKNOWN, SQLSTATE 08007"""
    generation: int
    reason: str
    def __init__(self, generation: int, reason: str) -> None: ...

class BackupUnreadable(SqlError):
    """BACKUP_UNREADABLE, SQLSTATE 58030"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class BackupNotWritten(SqlError):
    """BACKUP_NOT_WRITTEN, SQLSTATE 58030"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class RestoreNotEmpty(SqlError):
    """RESTORE_NOT_EMPTY, SQLSTATE 55000"""
    count: int
    def __init__(self, count: int) -> None: ...

class RestoreAuditLogExists(SqlError):
    """RESTORE_AUDIT_LOG_EXISTS, SQLSTATE 55000"""
    folder: str
    def __init__(self, folder: str) -> None: ...

class RestoreAuditFolderMissing(SqlError):
    """RESTORE_AUDIT_FOLDER_MISSING, SQLSTATE F0000"""
    path: str
    def __init__(self, path: str) -> None: ...

class InsufficientPermissions(SqlError):
    """INSUFFICIENT_PERMISSIONS, SQLSTATE 42501"""
    privilege: str
    on: str
    def __init__(self, privilege: str, on: str) -> None: ...

class ViewOwnerLacksPrivileges(SqlError):
    """INSUFFICIENT_PERMISSIONS_UNDERLYING_SECURABLES, SQLSTATE 42501"""
    on: str
    def __init__(self, on: str) -> None: ...

class PrivilegeUnknown(SqlError):
    """DELTA_UNKNOWN_PRIVILEGE, SQLSTATE 42601"""
    privilege: str
    known: str
    def __init__(self, privilege: str, known: str) -> None: ...

class PrivilegeNotOfKind(SqlError):
    """PRIVILEGE_NOT_APPLICABLE, SQLSTATE 0LP01"""
    privilege: str
    kind: str
    applicable: str
    def __init__(self, privilege: str, kind: str, applicable: str) -> None: ...

class PrincipalNotFound(SqlError):
    """PRINCIPAL_DOES_NOT_EXIST, SQLSTATE 0P000"""
    kind: str
    name: str
    def __init__(self, kind: str, name: str) -> None: ...

class PrincipalAmbiguous(SqlError):
    """PRINCIPAL_AMBIGUOUS, SQLSTATE 0P000"""
    name: str
    def __init__(self, name: str) -> None: ...

class GroupAlreadyExists(SqlError):
    """GROUP_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    def __init__(self, name: str) -> None: ...

class GroupReserved(SqlError):
    """GROUP_NAME_RESERVED, SQLSTATE 42939"""
    name: str
    def __init__(self, name: str) -> None: ...

class LocationAlreadyExists(SqlError):
    """EXTERNAL_LOCATION_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    def __init__(self, name: str) -> None: ...

class LocationNotFound(SqlError):
    """EXTERNAL_LOCATION_DOES_NOT_EXIST, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class LocationsOverlap(SqlError):
    """EXTERNAL_LOCATIONS_OVERLAP, SQLSTATE 22KD1"""
    location: str
    other: str
    def __init__(self, location: str, other: str) -> None: ...

class FunctionAlreadyExists(SqlError):
    """ROUTINE_ALREADY_EXISTS, SQLSTATE 42723"""
    name: str
    def __init__(self, name: str) -> None: ...

class FunctionUsedByPolicy(SqlError):
    """CANNOT_DROP_FUNCTION_IN_USE, SQLSTATE 2BP01"""
    function: str
    table: str
    def __init__(self, function: str, table: str) -> None: ...

class FunctionNotFound(SqlError):
    """ROUTINE_NOT_FOUND, SQLSTATE 42883"""
    name: str
    def __init__(self, name: str) -> None: ...

class AdministratorNeeded(SqlError):
    """INSUFFICIENT_PERMISSIONS.ADMINISTRATOR, SQLSTATE 42501"""
    def __init__(self) -> None: ...

class OwnerNotYours(SqlError):
    """INSUFFICIENT_PERMISSIONS.OWNER, SQLSTATE 42501"""
    owner: str
    def __init__(self, owner: str) -> None: ...

class PoliciesConflict(SqlError):
    """ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.MULTIPLE_FILTERS, SQLSTATE 0A000"""
    table: str
    what: str
    def __init__(self, table: str, what: str) -> None: ...

class PolicyNotClear(SqlError):
    """ROW_COLUMN_ACCESS.POLICY_NOT_CLEAR, SQLSTATE 0A000"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class PolicyAlreadyExists(SqlError):
    """POLICY_ALREADY_EXISTS, SQLSTATE 42710"""
    policy: str
    on: str
    def __init__(self, policy: str, on: str) -> None: ...

class PolicyNotFound(SqlError):
    """POLICY_NOT_FOUND, SQLSTATE 42704"""
    policy: str
    on: str
    def __init__(self, policy: str, on: str) -> None: ...

class PolicyOnKind(SqlError):
    """POLICY_ON_SECURABLE_TYPE_NOT_SUPPORTED, SQLSTATE 0A000"""
    kind: str
    def __init__(self, kind: str) -> None: ...

class GroupUsedByPolicy(SqlError):
    """CANNOT_DROP_GROUP_IN_USE, SQLSTATE 2BP01"""
    group: str
    policy: str
    def __init__(self, group: str, policy: str) -> None: ...

class PoliciesOfSchema(SqlError):
    """ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.RENAME, SQLSTATE 0A000"""
    table: str
    container: str
    def __init__(self, table: str, container: str) -> None: ...

class PrincipalUnclear(SqlError):
    """PRINCIPAL_DOES_NOT_EXIST.UNKNOWN_KIND, SQLSTATE 0P000"""
    name: str
    def __init__(self, name: str) -> None: ...

class PrincipalNameInvalid(SqlError):
    """PRINCIPAL_NAME_INVALID, SQLSTATE 42602"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class RestCatalogNotAvailable(SqlError):
    """REST_CATALOG_NOT_AVAILABLE, SQLSTATE 08001"""
    catalog: str
    reason: str
    def __init__(self, catalog: str, reason: str) -> None: ...

class RestCatalogRefused(SqlError):
    """REST_CATALOG_REFUSED, SQLSTATE 08004"""
    catalog: str
    reason: str
    def __init__(self, catalog: str, reason: str) -> None: ...

class RestCatalogNotChanged(SqlError):
    """REST_CATALOG_NOT_CHANGED_HERE, SQLSTATE 0A000"""
    catalog: str
    what: str
    def __init__(self, catalog: str, what: str) -> None: ...

class RestOptionInvalid(SqlError):
    """REST_CATALOG_OPTION_INVALID, SQLSTATE 22023"""
    catalog: str
    option: str
    reason: str
    def __init__(self, catalog: str, option: str, reason: str) -> None: ...

class RestTableInLake(SqlError):
    """REST_TABLE_IN_LAKE, SQLSTATE 42501"""
    table: str
    location: str
    folder: str
    def __init__(self, table: str, location: str, folder: str) -> None: ...

class RestPlaceShared(SqlError):
    """REST_TABLE_LOCATION_SHARED, SQLSTATE 55000"""
    table: str
    location: str
    other: str
    def __init__(self, table: str, location: str, other: str) -> None: ...

class RestSigningNotSupported(SqlError):
    """REST_REMOTE_SIGNING_NOT_SUPPORTED, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class RestViewNotReadable(SqlError):
    """REST_VIEW_NOT_READABLE, SQLSTATE 0A000"""
    view: str
    dialects: str
    def __init__(self, view: str, dialects: str) -> None: ...

class RestViewsNotSupported(SqlError):
    """REST_CATALOG_HAS_NO_VIEWS, SQLSTATE 0A000"""
    catalog: str
    def __init__(self, catalog: str) -> None: ...

class RestViewNotStorable(SqlError):
    """REST_VIEW_NOT_KEPT, SQLSTATE 0A000"""
    view: str
    reason: str
    def __init__(self, view: str, reason: str) -> None: ...

class RestConflict(SqlError):
    """REST_CATALOG_CONFLICT, SQLSTATE 40001"""
    catalog: str
    reason: str
    def __init__(self, catalog: str, reason: str) -> None: ...

class RestOutcomeUnknown(SqlError):
    """REST_CATALOG_OUTCOME_UNKNOWN, SQLSTATE 08007"""
    catalog: str
    reason: str
    def __init__(self, catalog: str, reason: str) -> None: ...

class SecretReadable(SqlError):
    """SECRET_READABLE_BY_OTHERS, SQLSTATE F0000"""
    path: str
    mode: str
    def __init__(self, path: str, mode: str) -> None: ...

class SecretUnusable(SqlError):
    """SECRET_UNUSABLE, SQLSTATE F0000"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class TokenNotFound(SqlError):
    """TOKEN_NOT_FOUND, SQLSTATE 42704"""
    token_id: str
    def __init__(self, token_id: str) -> None: ...

class TooManyTokens(SqlError):
    """TOO_MANY_TOKENS, SQLSTATE 54000"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class TokenLifetimeInvalid(SqlError):
    """TOKEN_LIFETIME_INVALID, SQLSTATE 22023"""
    days_max: int
    def __init__(self, days_max: int) -> None: ...

class TokenNotAllowed(SqlError):
    """TOKEN_NOT_ALLOWED, SQLSTATE 42501"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SavedQueryUnreadable(SqlError):
    """SAVED_QUERY_UNREADABLE, SQLSTATE 58030"""
    query_id: str
    reason: str
    def __init__(self, query_id: str, reason: str) -> None: ...

class SavedQueryNotFound(SqlError):
    """SAVED_QUERY_NOT_FOUND, SQLSTATE 42704"""
    query_id: str
    def __init__(self, query_id: str) -> None: ...

class SavedQueryChanged(SqlError):
    """SAVED_QUERY_CHANGED, SQLSTATE 40001"""
    name: str
    user: str
    def __init__(self, name: str, user: str) -> None: ...

class SavedQueryNotAllowed(SqlError):
    """SAVED_QUERY_NOT_ALLOWED, SQLSTATE 42501"""
    name: str
    action: str
    def __init__(self, name: str, action: str) -> None: ...

class TooManySavedQueries(SqlError):
    """SAVED_QUERY_LIMIT_EXCEEDED.NUMBER, SQLSTATE 53400"""
    user: str
    limit: int
    def __init__(self, user: str, limit: int) -> None: ...

class TooMuchInSavedQueries(SqlError):
    """SAVED_QUERY_LIMIT_EXCEEDED.SIZE, SQLSTATE 53400"""
    user: str
    limit_mb: int
    def __init__(self, user: str, limit_mb: int) -> None: ...

class VolumeNotFound(SqlError):
    """UC_VOLUME_NOT_FOUND, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class VolumeAlreadyExists(SqlError):
    """VOLUME_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    def __init__(self, name: str) -> None: ...

class VolumeStaysInSchema(SqlError):
    """CANNOT_RENAME_ACROSS_SCHEMA, SQLSTATE 0AKD0"""
    name: str
    new_name: str
    def __init__(self, name: str, new_name: str) -> None: ...

class PathInVolume(SqlError):
    """LOCATION_OVERLAP.VOLUME, SQLSTATE 22KD1"""
    path: str
    def __init__(self, path: str) -> None: ...

class InvalidVolumePath(SqlError):
    """INVALID_VOLUME_PATH, SQLSTATE 22023"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class VolumeFileNotFound(SqlError):
    """VOLUME_FILE_NOT_FOUND, SQLSTATE 42K03"""
    path: str
    def __init__(self, path: str) -> None: ...

class VolumeFolderNotEmpty(SqlError):
    """DIRECTORY_NOT_EMPTY, SQLSTATE 2BP01"""
    path: str
    def __init__(self, path: str) -> None: ...

class VolumeFileNotAllowed(SqlError):
    """VOLUME_FILE_NOT_ALLOWED, SQLSTATE 42501"""
    path: str
    def __init__(self, path: str) -> None: ...

class ConstraintDependsOnColumn(SqlError):
    """DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE, SQLSTATE 42K09"""
    column: str
    constraints: str
    def __init__(self, column: str, constraints: str) -> None: ...

class GeneratedDependsOnColumn(SqlError):
    """DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE, SQLSTATE 42K09"""
    column: str
    columns: str
    def __init__(self, column: str, columns: str) -> None: ...

class RowsViolateConstraint(SqlError):
    """DELTA_NEW_CHECK_CONSTRAINT_VIOLATION, SQLSTATE 23512"""
    table: str
    constraint: str
    expression: str
    rows: int
    def __init__(self, table: str, constraint: str, expression: str, rows: int = 0) -> None: ...

class RowsViolateNotNull(SqlError):
    """DELTA_NEW_NOT_NULL_VIOLATION, SQLSTATE 23512"""
    table: str
    column: str
    rows: int
    def __init__(self, table: str, column: str, rows: int = 0) -> None: ...

class AddedColumnDefault(SqlError):
    """WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class DefaultsNotEnabled(SqlError):
    """WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED, SQLSTATE 0AKDE"""
    table: str
    column: str
    def __init__(self, table: str, column: str) -> None: ...

class NestedDefault(SqlError):
    """UNSUPPORTED_DEFAULT_VALUE.WITHOUT_SUGGESTION, SQLSTATE 0A000"""
    column: str
    def __init__(self, column: str) -> None: ...

class ReplacedColumnsDiffer(SqlError):
    """DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP, SQLSTATE 0AKDC"""
    detail: str
    def __init__(self, detail: str) -> None: ...

class RenameOfPath(SqlError):
    """DELTA_CANNOT_RENAME_PATH, SQLSTATE 22KD1"""
    table: str
    def __init__(self, table: str) -> None: ...

class AddedIdentity(SqlError):
    """DELTA_IDENTITY_COLUMNS_ADD_COLUMN_NOT_SUPPORTED, SQLSTATE 429BQ"""
    column: str
    def __init__(self, column: str) -> None: ...

class AlteredIdentity(SqlError):
    """DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED, SQLSTATE 429BQ"""
    column: str
    def __init__(self, column: str) -> None: ...

class ReplacedIdentity(SqlError):
    """DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED, SQLSTATE 429BQ"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class NoIdentityColumn(SqlError):
    """DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN, SQLSTATE 429BQ"""
    column: str
    def __init__(self, column: str) -> None: ...

class LocationOfPath(SqlError):
    """DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER, SQLSTATE 42613"""
    table: str
    def __init__(self, table: str) -> None: ...

class LocationSchemaDiffers(SqlError):
    """DELTA_SET_LOCATION_SCHEMA_MISMATCH, SQLSTATE 42KD7"""
    table: str
    current: str
    new: str
    def __init__(self, table: str, current: str, new: str) -> None: ...

class HistoryTruncationNotAllowed(SqlError):
    """DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED, SQLSTATE 42000"""
    feature: str
    def __init__(self, feature: str) -> None: ...

class ProtectionRequiresTruncation(SqlError):
    """DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION, SQLSTATE 55000"""
    def __init__(self) -> None: ...

class ConflictingAssignments(SqlError):
    """DELTA_CONFLICT_SET_COLUMN, SQLSTATE 42701"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class FieldOfNonStruct(SqlError):
    """DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT, SQLSTATE 0AKDC"""
    column: str
    data_type: str
    def __init__(self, column: str, data_type: str) -> None: ...

class IdentityUpdated(SqlError):
    """DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED, SQLSTATE 42808"""
    column: str
    def __init__(self, column: str) -> None: ...

class UnsupportedInAssignment(SqlError):
    """UNSUPPORTED_EXPR_FOR_OPERATOR, SQLSTATE 42K0E"""
    clause: str
    found: str
    def __init__(self, clause: str, found: str) -> None: ...

class NonLastMatchedUnconditional(SqlError):
    """DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION, SQLSTATE 42601"""
    def __init__(self) -> None: ...

class NonLastNotMatchedUnconditional(SqlError):
    """DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION, SQLSTATE 42601"""
    def __init__(self) -> None: ...

class NonLastBySourceUnconditional(SqlError):
    """DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION, SQLSTATE 42601"""
    def __init__(self) -> None: ...

class ColumnNotInSource(SqlError):
    """DELTA_MERGE_UNRESOLVED_EXPRESSION, SQLSTATE 42601"""
    column: str
    clause: str
    columns: str
    def __init__(self, column: str, clause: str, columns: str) -> None: ...

class SeveralSourceRows(SqlError):
    """DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE, SQLSTATE 21506"""
    table: str
    key: str
    def __init__(self, table: str, key: str) -> None: ...

class ChangedRowsDiffer(SqlError):
    """CHANGED_ROWS_DIFFER, SQLSTATE XX000"""
    table: str
    found: int
    written: int
    def __init__(self, table: str, found: int, written: int) -> None: ...

class CannotModifyAppendOnly(DeltaError):
    """DELTA_CANNOT_MODIFY_APPEND_ONLY, SQLSTATE 42809"""
    table: str
    def __init__(self, table: str) -> None: ...

class ColumnNotFound(DeltaError):
    """DELTA_COLUMN_NOT_FOUND_IN_SCHEMA, SQLSTATE 42703"""
    column: str
    columns: str
    suggestion: str
    table: str
    def __init__(self, column: str, columns: str, suggestion: str = '', table: str = 'The table') -> None: ...

class DuplicateColumns(DeltaError):
    """DELTA_DUPLICATE_COLUMNS_FOUND, SQLSTATE 42711"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ParentNotStruct(DeltaError):
    """DELTA_ADD_COLUMN_PARENT_NOT_STRUCT, SQLSTATE 42KD3"""
    column: str
    def __init__(self, column: str) -> None: ...

class NestedVoid(DeltaError):
    """DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE, SQLSTATE 22005"""
    column: str
    def __init__(self, column: str) -> None: ...

class VoidColumnAdded(DeltaError):
    """UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, SQLSTATE 0A000"""
    column: str
    property: str
    def __init__(self, column: str, property: str) -> None: ...

class ColumnChangeNotSupported(ColumnChangeRefused):
    """DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP, SQLSTATE 0AKDC"""
    column: str
    old: str
    new: str
    def __init__(self, column: str, old: str, new: str) -> None: ...

class AddedColumnNotNull(ColumnChangeRefused):
    """DELTA_OPERATION_NOT_ALLOWED_DETAIL, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class ConcurrentDrop(ConcurrentModification):
    """CONCURRENT_DROP, SQLSTATE 2D521"""
    table: str
    def __init__(self, table: str) -> None: ...

class MetadataChanged(ConcurrentModification):
    """DELTA_METADATA_CHANGED, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    def __init__(self, table: str, version: int, operation: str) -> None: ...

class ConvertedTableChanged(ConcurrentModification):
    """CONVERTED_TABLE_CHANGED, SQLSTATE 2D521"""
    table: str
    def __init__(self, table: str) -> None: ...

class CommitOutcomeUnknown(DeltaError):
    """COMMIT_OUTCOME_UNKNOWN, SQLSTATE 08007"""
    table: str
    version: int
    txn_id: str
    detail: str
    def __init__(self, table: str, version: int, txn_id: str, detail: str) -> None: ...

class CommittedWhileConverted(CommitOutcomeUnknown):
    """COMMITTED_WHILE_CONVERTED, SQLSTATE 08007"""
    table: str
    version: int
    txn_id: str
    detail: str
    def __init__(self, table: str, version: int, txn_id: str, detail: str) -> None: ...

class BlockChangesMore(SqlError):
    """TRANSACTION_BLOCK_NOT_SUPPORTED.SECOND_CHANGE, SQLSTATE 0A000"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class BlockReadsChanges(SqlError):
    """TRANSACTION_BLOCK_NOT_SUPPORTED.READ_OF_CHANGED_TABLE, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class BlockForbidsStatement(SqlError):
    """TRANSACTION_BLOCK_NOT_SUPPORTED.STATEMENT, SQLSTATE 0A000"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class BlockEnded(SqlError):
    """TRANSACTION_BLOCK_ENDED, SQLSTATE 25P01"""
    def __init__(self) -> None: ...

class CloneSourceNotSupported(SqlError):
    """DELTA_CLONE_UNSUPPORTED_SOURCE, SQLSTATE 0AKDC"""
    source: str
    kind: str
    def __init__(self, source: str, kind: str) -> None: ...

class CloneOfItself(SqlError):
    """DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE, SQLSTATE 0AKDC"""
    table: str
    def __init__(self, table: str) -> None: ...

class CloneWithoutRowCounts(SqlError):
    """DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS, SQLSTATE 22000"""
    table: str
    def __init__(self, table: str) -> None: ...

class CloneFileMissing(SqlError):
    """CLONE_FILE_NOT_FOUND, SQLSTATE 42K03"""
    table: str
    version: int
    path: str
    def __init__(self, table: str, version: int, path: str) -> None: ...

class SourceNotFound(SqlError):
    """PATH_NOT_FOUND, SQLSTATE 42K03"""
    path: str
    def __init__(self, path: str) -> None: ...

class PartitionFoldersInSource(SqlError):
    """COPY_INTO_PARTITION_FOLDERS, SQLSTATE 0A000"""
    path: str
    folder: str
    def __init__(self, path: str, folder: str) -> None: ...

class PatternNotValid(SqlError):
    """COPY_INTO_PATTERN_NOT_VALID, SQLSTATE 42601"""
    pattern: str
    def __init__(self, pattern: str) -> None: ...

class SourceWithoutColumns(SqlError):
    """UNABLE_TO_INFER_SCHEMA, SQLSTATE 42KD9"""
    path: str
    def __init__(self, path: str) -> None: ...

class FilesNotShareable(SqlError):
    """FILES_NOT_CONVERTIBLE, SQLSTATE 0AKDC"""
    table: str
    format: str
    reason: str
    advice: str
    def __init__(self, table: str, format: str, reason: str, advice: str) -> None: ...

class PartitionsOfTableSaid(SqlError):
    """DELTA_PARTITION_SCHEMA_IN_ICEBERG_TABLES, SQLSTATE 42613"""
    table: str
    def __init__(self, table: str) -> None: ...

class FolderOfTwoTables(SqlError):
    """FOLDER_OF_TWO_TABLES, SQLSTATE 55006"""
    table: str
    statement: str
    other: str
    metadata: str
    def __init__(self, table: str, statement: str, other: str, metadata: str) -> None: ...

class CursorAlreadyExists(SqlError):
    """CURSOR_ALREADY_EXISTS, SQLSTATE 42723"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorAlreadyOpen(SqlError):
    """CURSOR_ALREADY_OPEN, SQLSTATE 24502"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorNotFound(SqlError):
    """CURSOR_NOT_FOUND, SQLSTATE 42883"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorNotOpen(SqlError):
    """CURSOR_NOT_OPEN, SQLSTATE 24501"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorNoMoreRows(SqlError):
    """CURSOR_NO_MORE_ROWS, SQLSTATE 02000"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorQualifier(SqlError):
    """CURSOR_REFERENCE_INVALID_QUALIFIER, SQLSTATE 42601"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class CursorAtWrongPlace(SqlError):
    """INVALID_CURSOR_DECLARATION, SQLSTATE 42601"""
    cursor: str
    def __init__(self, cursor: str) -> None: ...

class SchemaNotProvided(SqlError):
    """DELTA_SCHEMA_NOT_PROVIDED, SQLSTATE 42908"""
    table: str
    def __init__(self, table: str) -> None: ...

class NoPlaceForTable(SqlError):
    """NO_LOCATION_FOR_TABLE, SQLSTATE 42000"""
    table: str
    def __init__(self, table: str) -> None: ...

class PathAndLocation(SqlError):
    """DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH, SQLSTATE 0AKDC"""
    path: str
    written: str
    def __init__(self, path: str, written: str) -> None: ...

class TableNotRemovable(SqlError):
    """DROP_TABLE_FILES_NOT_REMOVABLE, SQLSTATE 58030"""
    table: str
    location: str
    reason: str
    def __init__(self, table: str, location: str, reason: str) -> None: ...

class SchemaNotRemovable(SqlError):
    """DROP_SCHEMA_FILES_NOT_REMOVABLE, SQLSTATE 58030"""
    schema: str
    tables: str
    reason: str
    def __init__(self, schema: str, tables: str, reason: str) -> None: ...

class DropByPath(SqlError):
    """DROP_TABLE_BY_PATH_NOT_SUPPORTED, SQLSTATE 0A000"""
    path: str
    advice: str
    def __init__(self, path: str, advice: str) -> None: ...

class ReplacedTableMissing(SqlError):
    """DELTA_CANNOT_REPLACE_MISSING_TABLE, SQLSTATE 42P01"""
    table: str
    def __init__(self, table: str) -> None: ...

class ReplacedElsewhere(SqlError):
    """DELTA_TABLE_LOCATION_MISMATCH, SQLSTATE 42613"""
    table: str
    current: str
    written: str
    def __init__(self, table: str, current: str, written: str) -> None: ...

class LocationNotEmpty(SqlError):
    """DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION, SQLSTATE 42601"""
    table: str
    location: str
    def __init__(self, table: str, location: str) -> None: ...

class ExternalTableWithoutSchema(SqlError):
    """DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_SCHEMA, SQLSTATE 42601"""
    table: str
    location: str
    def __init__(self, table: str, location: str) -> None: ...

class SchemaDiffers(SqlError):
    """DELTA_CREATE_TABLE_SCHEME_MISMATCH, SQLSTATE 42KD7"""
    location: str
    specified: str
    existing: str
    def __init__(self, location: str, specified: str, existing: str) -> None: ...

class PartitioningDiffers(SqlError):
    """DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING, SQLSTATE 42KD7"""
    location: str
    specified: str
    existing: str
    def __init__(self, location: str, specified: str, existing: str) -> None: ...

class ClusteringDiffers(SqlError):
    """DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING, SQLSTATE 42KD7"""
    location: str
    specified: str
    existing: str
    def __init__(self, location: str, specified: str, existing: str) -> None: ...

class PropertyDiffers(SqlError):
    """DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY, SQLSTATE 42KD7"""
    location: str
    keys: str
    def __init__(self, location: str, keys: str) -> None: ...

class IdentityTypeNotSupported(SqlError):
    """DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE, SQLSTATE 428H2"""
    column: str
    data_type: str
    def __init__(self, column: str, data_type: str) -> None: ...

class IdentityStepZero(SqlError):
    """DELTA_IDENTITY_COLUMNS_ILLEGAL_STEP, SQLSTATE 42611"""
    column: str
    def __init__(self, column: str) -> None: ...

class IdentityPartition(SqlError):
    """DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED, SQLSTATE 42601"""
    column: str
    def __init__(self, column: str) -> None: ...

class IdentityWithExpression(SqlError):
    """DELTA_IDENTITY_COLUMNS_WITH_GENERATED_EXPRESSION, SQLSTATE 42613"""
    column: str
    def __init__(self, column: str) -> None: ...

class ColumnsWithQuery(SqlError):
    """_LEGACY_ERROR_TEMP_0035, SQLSTATE 0A000"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class ClusteredAndPartitioned(DeltaError):
    """DELTA_CLUSTER_BY_WITH_PARTITIONED_BY, SQLSTATE 42613"""
    def __init__(self) -> None: ...

class LayoutNotSupported(DeltaError):
    """UNSUPPORTED_LAYOUT, SQLSTATE 0A000"""
    what: str
    advice: str
    def __init__(self, what: str, advice: str) -> None: ...

class DiskFull(SqlError):
    """DISK_FULL, SQLSTATE 53100"""
    def __init__(self) -> None: ...

class TableFilesNotWritable(SqlError):
    """TABLE_FILES_NOT_WRITABLE, SQLSTATE 58030"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class StorageAccessFailed(SqlError):
    """STORAGE_ACCESS_FAILED, SQLSTATE 58030"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SpoolFull(SqlError):
    """RESULT_SPOOL_FULL, SQLSTATE 53100"""
    bytes_max: int
    setting: str
    def __init__(self, bytes_max: int, setting: str) -> None: ...

class SpoolFullOfOwner(SqlError):
    """RESULT_SPOOL_FULL.OF_USER, SQLSTATE 53100"""
    owner: str
    bytes_max: int
    setting: str
    def __init__(self, owner: str, bytes_max: int, setting: str) -> None: ...

class SpooledRowsLost(SqlError):
    """RESULT_SPOOL_LOST, SQLSTATE XX001"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class GenerationTypeDiffers(SqlError):
    """DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH, SQLSTATE 42K09"""
    column: str
    declared: str
    expression: str
    found: str
    def __init__(self, column: str, declared: str, expression: str, found: str) -> None: ...

class InvalidGenerationReference(SqlError):
    """DELTA_INVALID_GENERATED_COLUMN_REFERENCES, SQLSTATE 42621"""
    column: str
    reference: str
    def __init__(self, column: str, reference: str) -> None: ...

class CheckNotBoolean(SqlError):
    """DELTA_NON_BOOLEAN_CHECK_CONSTRAINT, SQLSTATE 42621"""
    constraint: str
    expression: str
    found: str
    def __init__(self, constraint: str, expression: str, found: str) -> None: ...

class DefaultNotConstant(SqlError):
    """INVALID_DEFAULT_VALUE.NOT_CONSTANT, SQLSTATE 42623"""
    column: str
    expression: str
    def __init__(self, column: str, expression: str) -> None: ...

class InvalidCheckReference(SqlError):
    """DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES, SQLSTATE 42621"""
    constraint: str
    expression: str
    detail: str
    def __init__(self, constraint: str, expression: str, detail: str) -> None: ...

class AggregateInCheck(SqlError):
    """DELTA_AGGREGATE_IN_CHECK_CONSTRAINT, SQLSTATE 42621"""
    constraint: str
    found: str
    def __init__(self, constraint: str, found: str) -> None: ...

class NonDeterministicCheck(SqlError):
    """DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT, SQLSTATE 42621"""
    constraint: str
    found: str
    def __init__(self, constraint: str, found: str) -> None: ...

class UnsupportedInCheck(SqlError):
    """DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT, SQLSTATE 42621"""
    constraint: str
    found: str
    def __init__(self, constraint: str, found: str) -> None: ...

class AggregateInGeneration(SqlError):
    """DELTA_AGGREGATE_IN_GENERATED_COLUMN, SQLSTATE 42621"""
    column: str
    found: str
    def __init__(self, column: str, found: str) -> None: ...

class NonDeterministicGeneration(SqlError):
    """DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN, SQLSTATE 42621"""
    column: str
    found: str
    def __init__(self, column: str, found: str) -> None: ...

class UnsupportedInGeneration(SqlError):
    """DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN, SQLSTATE 42621"""
    column: str
    found: str
    def __init__(self, column: str, found: str) -> None: ...

class DefaultMistyped(SqlError):
    """INVALID_DEFAULT_VALUE.DATA_TYPE, SQLSTATE 42623"""
    column: str
    expression: str
    declared: str
    detail: str
    def __init__(self, column: str, expression: str, declared: str, detail: str) -> None: ...

class DefaultNotDeterministic(SqlError):
    """INVALID_DEFAULT_VALUE.NON_DETERMINISTIC, SQLSTATE 42623"""
    column: str
    found: str
    def __init__(self, column: str, found: str) -> None: ...

class DefaultWithSubquery(SqlError):
    """INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION, SQLSTATE 42623"""
    column: str
    kind: str
    def __init__(self, column: str, kind: str = 'column') -> None: ...

class ConditionNotBoolean(SqlError):
    """DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN, SQLSTATE 42K09"""
    clause: str
    expression: str
    found: str
    def __init__(self, clause: str, expression: str, found: str) -> None: ...

class NonDeterministicCondition(SqlError):
    """DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED, SQLSTATE 0AKDC"""
    clause: str
    found: str
    def __init__(self, clause: str, found: str) -> None: ...

class AggregateOfRow(SqlError):
    """DELTA_AGGREGATION_NOT_SUPPORTED, SQLSTATE 42903"""
    place: str
    found: str
    def __init__(self, place: str, found: str) -> None: ...

class UnsupportedInCondition(SqlError):
    """INVALID_WHERE_CONDITION, SQLSTATE 42903"""
    clause: str
    found: str
    def __init__(self, clause: str, found: str) -> None: ...

class SubqueryInCondition(SqlError):
    """DELTA_UNSUPPORTED_SUBQUERY, SQLSTATE 0AKDC"""
    clause: str
    expression: str
    def __init__(self, clause: str, expression: str) -> None: ...

class MetadataInExpression(SqlError):
    """UNRESOLVED_COLUMN.WITHOUT_SUGGESTION, SQLSTATE 42703"""
    what: str
    def __init__(self, what: str) -> None: ...

class AmbiguousInCondition(SqlError):
    """DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION, SQLSTATE 42702"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class UnresolvedInCondition(SqlError):
    """DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION, SQLSTATE 42703"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class AliasWithReplaceWhere(SqlError):
    """INSERT_REPLACE_WHERE_TABLE_ALIAS_NOT_ALLOWED, SQLSTATE 42000"""
    alias: str
    def __init__(self, alias: str) -> None: ...

class ColumnsWithReplaceOn(SqlError):
    """INSERT_REPLACE_ON_COLUMN_LIST_NOT_ALLOWED, SQLSTATE 42000"""
    def __init__(self) -> None: ...

class ConstraintHoldsType(SqlError):
    """DELTA_CONSTRAINT_DATA_TYPE_MISMATCH, SQLSTATE 42K09"""
    column: str
    becomes: str
    constraints: str
    def __init__(self, column: str, becomes: str, constraints: str) -> None: ...

class GeneratedHoldsType(SqlError):
    """DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH, SQLSTATE 42K09"""
    column: str
    becomes: str
    columns: str
    def __init__(self, column: str, becomes: str, columns: str) -> None: ...

class WrongNumberOfArguments(SqlError):
    """WRONG_NUM_ARGS, SQLSTATE 42605"""
    function: str
    least: int
    most: int
    given: int
    def __init__(self, function: str, least: int, most: int, given: int) -> None: ...

class NotTableFunction(SqlError):
    """NOT_A_TABLE_FUNCTION, SQLSTATE 42887"""
    function: str
    def __init__(self, function: str) -> None: ...

class NotScalarFunction(SqlError):
    """NOT_A_SCALAR_FUNCTION, SQLSTATE 42887"""
    function: str
    def __init__(self, function: str) -> None: ...

class RepeatedColumn(SqlError):
    """DUPLICATE_ROUTINE_RETURNS_COLUMNS, SQLSTATE 42711"""
    function: str
    name: str
    def __init__(self, function: str, name: str) -> None: ...

class PersistentFunctionExpected(SqlError):
    """EXPECT_PERSISTENT_FUNCTION_NOT_TEMP, SQLSTATE 42809"""
    name: str
    def __init__(self, name: str) -> None: ...

class FunctionTooDeep(SqlError):
    """FUNCTION_TOO_DEEP, SQLSTATE 54000"""
    function: str
    depth_max: int
    def __init__(self, function: str, depth_max: int) -> None: ...

class GroupNotLiteral(SqlError):
    """NON_FOLDABLE_ARGUMENT, SQLSTATE 42K08"""
    function: str
    def __init__(self, function: str) -> None: ...

class RepeatedArgument(SqlError):
    """NON_DETERMINISTIC_ARGUMENT, SQLSTATE 0A000"""
    function: str
    parameter: str
    def __init__(self, function: str, parameter: str) -> None: ...

class ArgumentNotOfRow(SqlError):
    """UNSUPPORTED_FEATURE.FUNCTION_ARGUMENT, SQLSTATE 0A000"""
    function: str
    parameter: str
    def __init__(self, function: str, parameter: str) -> None: ...

class SeveralPrimaryKeys(SqlError):
    """MULTIPLE_PRIMARY_KEYS, SQLSTATE 42P16"""
    table: str
    name: str
    def __init__(self, table: str, name: str) -> None: ...

class KeyNameTaken(SqlError):
    """CONSTRAINT_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    def __init__(self, name: str) -> None: ...

class NoSuchKey(SqlError):
    """CONSTRAINT_DOES_NOT_EXIST, SQLSTATE 42704"""
    table: str
    key: str
    def __init__(self, table: str, key: str) -> None: ...

class NullablePrimaryKey(SqlError):
    """PRIMARY_KEY_COLUMN_NULLABLE, SQLSTATE 42831"""
    column: str
    def __init__(self, column: str) -> None: ...

class KeyColumnRepeated(SqlError):
    """DUPLICATE_KEY_COLUMN, SQLSTATE 42701"""
    column: str
    def __init__(self, column: str) -> None: ...

class ForeignKeyMismatch(SqlError):
    """FOREIGN_KEY_MISMATCH, SQLSTATE 42830"""
    columns: str
    parent: str
    reason: str
    def __init__(self, columns: str, parent: str, reason: str) -> None: ...

class KeyHoldsColumn(SqlError):
    """KEY_DEPENDENT_COLUMN_CHANGE, SQLSTATE 42K09"""
    column: str
    keys: str
    def __init__(self, column: str, keys: str) -> None: ...

class KeyIsReferenced(SqlError):
    """PRIMARY_KEY_REFERENCED, SQLSTATE 42893"""
    name: str
    children: str
    def __init__(self, name: str, children: str) -> None: ...

class RetentionTooShort(SqlError):
    """DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT, SQLSTATE 22003"""
    hours: float
    least_hours: float
    setting: str
    def __init__(self, hours: float, least_hours: float, setting: str) -> None: ...

class RetentionNegative(SqlError):
    """DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE, SQLSTATE 22003"""
    hours: float
    def __init__(self, hours: float) -> None: ...

class FilesNotRemoved(SqlError):
    """VACUUM_FILES_NOT_REMOVED, SQLSTATE 58030"""
    table: str
    count: int
    first: str
    reason: str
    def __init__(self, table: str, count: int, first: str, reason: str) -> None: ...

class CannotRestoreVersion(SqlError):
    """DELTA_CANNOT_RESTORE_TABLE_VERSION, SQLSTATE 22003"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class RestoreTimestampTooEarly(SqlError):
    """DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER, SQLSTATE 22003"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class RestoreTimestampTooLate(SqlError):
    """DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER, SQLSTATE 22003"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class RestoredFilesMissing(SqlError):
    """RESTORE_FILES_MISSING, SQLSTATE 42K03"""
    table: str
    version: int
    count: int
    names: str
    def __init__(self, table: str, version: int, count: int, names: str) -> None: ...

class NotPartitionColumns(SqlError):
    """DELTA_NON_PARTITION_COLUMN_REFERENCE, SQLSTATE 42P10"""
    clause: str
    column: str
    partitions: str
    def __init__(self, clause: str, column: str, partitions: str) -> None: ...

class ZorderColumnNotFound(SqlError):
    """DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST, SQLSTATE 42703"""
    column: str
    def __init__(self, column: str) -> None: ...

class ZorderByPartition(SqlError):
    """DELTA_ZORDERING_ON_PARTITION_COLUMN, SQLSTATE 42P10"""
    column: str
    def __init__(self, column: str) -> None: ...

class ZorderWithoutStatistics(SqlError):
    """DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS, SQLSTATE KD00D"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ClusteredWithZorder(SqlError):
    """DELTA_CLUSTERING_WITH_ZORDER_BY, SQLSTATE 42613"""
    table: str
    def __init__(self, table: str) -> None: ...

class ClusteredWithCondition(SqlError):
    """DELTA_CLUSTERING_WITH_PARTITION_PREDICATE, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class FullNotClustered(SqlError):
    """DELTA_OPTIMIZE_FULL_NOT_SUPPORTED, SQLSTATE 42601"""
    table: str
    def __init__(self, table: str) -> None: ...

class PolicyNotUsable(SqlError):
    """ROW_COLUMN_ACCESS.POLICY_NOT_USABLE, SQLSTATE 0A000"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class PolicyNotPossible(SqlError):
    """ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE, SQLSTATE 0A000"""
    function: str
    table: str
    reason: str
    def __init__(self, function: str, table: str, reason: str) -> None: ...

class PolicyForbidsStatement(SqlError):
    """ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED, SQLSTATE 0A000"""
    statement: str
    table: str
    def __init__(self, statement: str, table: str) -> None: ...

class PolicyForbidsSetting(SqlError):
    """ROW_COLUMN_ACCESS.SETTING_NOT_SUPPORTED, SQLSTATE 0A000"""
    setting: str
    table: str
    def __init__(self, setting: str, table: str) -> None: ...

class FunctionForbidsSetting(SqlError):
    """ROUTINE_SETTING_NOT_SUPPORTED, SQLSTATE 0A000"""
    setting: str
    function: str
    reason: str
    def __init__(self, setting: str, function: str, reason: str) -> None: ...

class FunctionSettingsDiffer(SqlError):
    """ROUTINE_SETTING_NOT_SUPPORTED.REPLACE_WHERE, SQLSTATE 0A000"""
    function: str
    def __init__(self, function: str) -> None: ...

class PolicyForbidsTimeTravel(SqlError):
    """FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class ColumnUsedByPolicy(SqlError):
    """COLUMN_USED_BY_POLICY, SQLSTATE 2BP01"""
    column: str
    table: str
    def __init__(self, column: str, table: str) -> None: ...

class PlacesUnderPolicy(SqlError):
    """ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA, SQLSTATE 0A000"""
    function: str
    def __init__(self, function: str) -> None: ...

class ProcedureNotFound(SqlError):
    """FAILED_TO_LOAD_ROUTINE, SQLSTATE 38000"""
    procedure: str
    known: str
    def __init__(self, procedure: str, known: str) -> None: ...

class UnknownArgument(SqlError):
    """UNRECOGNIZED_PARAMETER_NAME, SQLSTATE 4274K"""
    routine: str
    argument: str
    known: str
    def __init__(self, routine: str, argument: str, known: str) -> None: ...

class MissingArgument(SqlError):
    """REQUIRED_PARAMETER_NOT_FOUND, SQLSTATE 4274K"""
    routine: str
    argument: str
    def __init__(self, routine: str, argument: str) -> None: ...

class TooManyArguments(SqlError):
    """WRONG_NUM_ARGS.WITHOUT_SUGGESTION, SQLSTATE 42605"""
    procedure: str
    known: str
    def __init__(self, procedure: str, known: str) -> None: ...

class ArgumentGivenTwice(SqlError):
    """DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE, SQLSTATE 4274K"""
    routine: str
    argument: str
    def __init__(self, routine: str, argument: str) -> None: ...

class PositionalAfterNamed(SqlError):
    """UNEXPECTED_POSITIONAL_ARGUMENT, SQLSTATE 4274K"""
    routine: str
    argument: str
    def __init__(self, routine: str, argument: str) -> None: ...

class WrongArgument(SqlError):
    """INVALID_PARAMETER_VALUE.PROCEDURE, SQLSTATE 22023"""
    procedure: str
    argument: str
    expected: str
    def __init__(self, procedure: str, argument: str, expected: str) -> None: ...

class StatementCancelled(StatementEnded):
    """OPERATION_CANCELED, SQLSTATE HY008"""
    cause: str
    committed: str
    def __init__(self, *, cause: str = '', committed: str = '') -> None: ...

class StatementTimedOut(StatementEnded):
    """STATEMENT_TIMEOUT, SQLSTATE 57014"""
    timeout_s: float
    committed: str
    def __init__(self, timeout_s: float, *, committed: str = '') -> None: ...

class StatementTooLong(SqlError):
    """STATEMENT_TOO_LONG, SQLSTATE 54001"""
    length: int
    length_max: int
    def __init__(self, length: int, length_max: int) -> None: ...

class LocalRelationTooLarge(SqlError):
    """LOCAL_RELATION_SIZE_LIMIT_EXCEEDED, SQLSTATE 54000"""
    size_bytes: int
    size_bytes_max: int
    def __init__(self, size_bytes: int, size_bytes_max: int) -> None: ...

class ResultTooLarge(SqlError):
    """RESULT_TOO_LARGE, SQLSTATE 54000"""
    bytes_max: int
    def __init__(self, bytes_max: int) -> None: ...

class SparkFailure(SqlError):
    """SPARK_ERROR, SQLSTATE XX000"""
    condition: str
    sqlstate: str
    text: str
    advice: str
    def __init__(self, condition: str, sqlstate: str, text: str, advice: str = '') -> None: ...

class DuplicateKey(SqlError):
    """DUPLICATE_KEY, SQLSTATE 23505"""
    clause: str
    key: str
    def __init__(self, clause: str, key: str) -> None: ...

class StatementNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.STATEMENT, SQLSTATE 0A000"""
    what: str
    def __init__(self, what: str) -> None: ...

class InsertsStopped(SqlError):
    """MULTI_INSERT_STOPPED, SQLSTATE 25000"""
    done: str
    table: str
    reason: str
    def __init__(self, done: str, table: str, reason: str) -> None: ...

class NotPartitioned(SqlError):
    """DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE, SQLSTATE 42809"""
    table: str
    def __init__(self, table: str) -> None: ...

class InvalidTimeTravelTimestamp(SqlError):
    """DELTA_TIMESTAMP_INVALID, SQLSTATE 42816"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class NullChangeBound(SqlError):
    """DELTA_CDC_READ_NULL_RANGE_BOUNDARY, SQLSTATE 22004"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class ChangeBoundType(SqlError):
    """DELTA_UNSUPPORTED_EXPRESSION, SQLSTATE 0A000"""
    expression: str
    data_type: str
    def __init__(self, expression: str, data_type: str) -> None: ...

class RecursiveView(SqlError):
    """RECURSIVE_VIEW, SQLSTATE 42K0H"""
    view: str
    path: str
    def __init__(self, view: str, path: str) -> None: ...

class PermanentViewExpected(SqlError):
    """EXPECT_PERMANENT_VIEW_NOT_TEMP, SQLSTATE 42809"""
    view: str
    def __init__(self, view: str) -> None: ...

class UnsetUnknownProperties(SqlError):
    """UNSET_NONEXISTENT_PROPERTIES, SQLSTATE 42K0J"""
    view: str
    keys: str
    def __init__(self, view: str, keys: str) -> None: ...

class ViewTooDeep(SqlError):
    """VIEW_EXCEED_MAX_NESTED_DEPTH, SQLSTATE 54K00"""
    view: str
    depth_max: int
    def __init__(self, view: str, depth_max: int) -> None: ...

class TimeTravelOnView(SqlError):
    """UNSUPPORTED_FEATURE.TIME_TRAVEL, SQLSTATE 0A000"""
    view: str
    def __init__(self, view: str) -> None: ...

class ViewNotAQuery(SqlError):
    """INVALID_VIEW_TEXT, SQLSTATE XX001"""
    view: str
    def __init__(self, view: str) -> None: ...

class TemporaryReference(SqlError):
    """INVALID_TEMP_OBJ_REFERENCE, SQLSTATE 42K0F"""
    view: str
    temporary: str
    kind: str
    def __init__(self, view: str, temporary: str, kind: str = 'view') -> None: ...

class ViewColumnCount(SqlError):
    """CREATE_VIEW_COLUMN_ARITY_MISMATCH, SQLSTATE 21S01"""
    view: str
    named: int
    found: int
    def __init__(self, view: str, named: int, found: int) -> None: ...

class DuplicateViewColumn(SqlError):
    """COLUMN_ALREADY_EXISTS, SQLSTATE 42711"""
    view: str
    column: str
    def __init__(self, view: str, column: str) -> None: ...

class IdentityExhausted(SqlError):
    """ARITHMETIC_OVERFLOW, SQLSTATE 22003"""
    column: str
    def __init__(self, column: str) -> None: ...

class TableWithoutColumns(SqlError):
    """DELTA_READ_TABLE_WITHOUT_COLUMNS, SQLSTATE 428GU"""
    table: str
    def __init__(self, table: str) -> None: ...

class NoAuditLog(SqlError):
    """AUDIT_TRAIL_NOT_KEPT, SQLSTATE 55000"""
    def __init__(self) -> None: ...

class StatementOutcomeUnknown(SqlError):
    """STATEMENT_OUTCOME_UNKNOWN, SQLSTATE 08007"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class MalformedLogEntry(DeltaError):
    """DELTA_MALFORMED_LOG_ENTRY, SQLSTATE XXKDS"""
    source: str
    detail: str
    def __init__(self, source: str, detail: str) -> None: ...

class UnsupportedDataType(DeltaError):
    """DELTA_UNSUPPORTED_DATA_TYPES, SQLSTATE 0AKDC"""
    data_type: str
    def __init__(self, data_type: str) -> None: ...

class PartitionValueNotCastable(DeltaError):
    """DELTA_FAILED_CAST_PARTITION_VALUE, SQLSTATE 22018"""
    text: str
    data_type: str
    def __init__(self, text: str, data_type: str) -> None: ...

class UnknownTableFormat(SqlError):
    """DATA_SOURCE_NOT_FOUND, SQLSTATE 42K02"""
    format: str
    formats: str
    def __init__(self, format: str, formats: str) -> None: ...

class VariableAlreadyExists(SqlError):
    """VARIABLE_ALREADY_EXISTS, SQLSTATE 42723"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class DuplicateDeclared(SqlError):
    """DUPLICATE_VARIABLE_NAME_INSIDE_DECLARE, SQLSTATE 42734"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class VariableNotFound(SqlError):
    """VARIABLE_NOT_FOUND, SQLSTATE 42883"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class UnresolvedVariable(SqlError):
    """UNRESOLVED_VARIABLE, SQLSTATE 42883"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class VariableSetAsSetting(SqlError):
    """UNSUPPORTED_FEATURE.SET_VARIABLE_USING_SET, SQLSTATE 0A000"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class TooManyRowsAssigned(SqlError):
    """ROW_SUBQUERY_TOO_MANY_ROWS, SQLSTATE 21000"""
    def __init__(self) -> None: ...

class FunctionInDefault(SqlError):
    """UNSUPPORTED_SQL_UDF_USAGE, SQLSTATE 0A000"""
    function: str
    def __init__(self, function: str) -> None: ...

class SubqueryAsArgument(SqlError):
    """UNSUPPORTED_EXPR_FOR_PARAMETER, SQLSTATE 42K0E"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class NotAStatementText(SqlError):
    """INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE, SQLSTATE 42K09"""
    data_type: str
    def __init__(self, data_type: str) -> None: ...

class NullStatementText(SqlError):
    """NULL_QUERY_STRING_EXECUTE_IMMEDIATE, SQLSTATE 22004"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class ScriptInExecuteImmediate(SqlError):
    """SQL_SCRIPT_IN_EXECUTE_IMMEDIATE, SQLSTATE 07501"""
    def __init__(self) -> None: ...

class NotAQueryForInto(SqlError):
    """INVALID_STATEMENT_FOR_EXECUTE_INTO, SQLSTATE 07501"""
    def __init__(self) -> None: ...

class UnnamedArguments(SqlError):
    """ALL_PARAMETERS_MUST_BE_NAMED, SQLSTATE 07001"""
    arguments: str
    def __init__(self, arguments: str) -> None: ...

class MixedParameters(SqlError):
    """INVALID_QUERY_MIXED_QUERY_PARAMETERS, SQLSTATE 42613"""
    def __init__(self) -> None: ...

class DuplicateArgument(SqlError):
    """EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES, SQLSTATE 42701"""
    name: str
    def __init__(self, name: str) -> None: ...

class ExecuteTooDeep(SqlError):
    """EXECUTE_IMMEDIATE_TOO_DEEP, SQLSTATE 54001"""
    depth_max: int
    def __init__(self, depth_max: int) -> None: ...

class EmptyLocalFile(SqlError):
    """EMPTY_LOCAL_FILE_IN_STAGING_ACCESS_QUERY, SQLSTATE 22023"""
    def __init__(self) -> None: ...

class StagingNotSupported(SqlError):
    """STAGING_NOT_SUPPORTED, SQLSTATE 0A000"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class VolumeWithoutFolder(SqlError):
    """VOLUME_LOCATION_MISSING, SQLSTATE 42000"""
    name: str
    def __init__(self, name: str) -> None: ...

class VolumePathNotFound(SqlError):
    """VOLUME_PATH_NOT_FOUND, SQLSTATE 42704"""
    kind: str
    name: str
    path: str
    def __init__(self, kind: str, name: str, path: str) -> None: ...

class FileInStagingPathExists(SqlError):
    """FILE_IN_STAGING_PATH_ALREADY_EXISTS, SQLSTATE 42710"""
    path: str
    def __init__(self, path: str) -> None: ...

class EmptyStatement(SqlError):
    """PARSE_EMPTY_STATEMENT, SQLSTATE 42617"""
    def __init__(self) -> None: ...

class StatementSyntaxError(SqlError):
    """PARSE_SYNTAX_ERROR, SQLSTATE 42601"""
    reason: str
    advice: str
    def __init__(self, reason: str, advice: str = '') -> None: ...

class InvalidSetSyntax(SqlError):
    """INVALID_SET_SYNTAX, SQLSTATE 42000"""
    def __init__(self) -> None: ...

class SeveralStatements(SqlError):
    """MULTIPLE_STATEMENTS, SQLSTATE 42601"""
    def __init__(self) -> None: ...

class StatementHasTooManyTokens(SqlError):
    """STATEMENT_TOO_LONG.TOKENS, SQLSTATE 54001"""
    count: int
    count_max: int
    def __init__(self, count: int, count_max: int) -> None: ...

class StatementTooComplex(SqlError):
    """FAILED_TO_PARSE_TOO_COMPLEX, SQLSTATE 54001"""
    def __init__(self) -> None: ...

class DuplicateIdentityOption(SqlError):
    """IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION, SQLSTATE 42601"""
    option: str
    def __init__(self, option: str) -> None: ...

class DuplicateColumnClause(SqlError):
    """CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE, SQLSTATE 42710"""
    column: str
    clause: str
    def __init__(self, column: str, clause: str) -> None: ...

class ColumnChangedTwice(SqlError):
    """NOT_SUPPORTED_CHANGE_SAME_COLUMN, SQLSTATE 0A000"""
    column: str
    def __init__(self, column: str) -> None: ...

class UnsupportedStatement(SqlError):
    """UNSUPPORTED_STATEMENT, SQLSTATE 0A000"""
    kind: str
    advice: str
    def __init__(self, kind: str, advice: str) -> None: ...

class TemporaryQualifier(SqlError):
    """INVALID_TEMP_OBJ_QUALIFIER, SQLSTATE 42602"""
    kind: str
    name: str
    qualifier: str
    def __init__(self, kind: str, name: str, qualifier: str) -> None: ...

class UnsupportedClause(SqlError):
    """UNSUPPORTED_CLAUSE, SQLSTATE 0A000"""
    clause: str
    advice: str
    def __init__(self, clause: str, advice: str) -> None: ...

class UnsupportedFunction(SqlError):
    """UNSUPPORTED_FUNCTION, SQLSTATE 0A000"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class UnsupportedPathRelation(SqlError):
    """UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY, SQLSTATE 0A000"""
    relation_format: str
    def __init__(self, relation_format: str) -> None: ...

class InvalidTimeTravel(SqlError):
    """INVALID_TIME_TRAVEL_SPEC, SQLSTATE 42K0E"""
    clause: str
    def __init__(self, clause: str) -> None: ...

class SeveralTimeTravels(SqlError):
    """MULTIPLE_TIME_TRAVEL_SPEC, SQLSTATE 42K0E"""
    name: str
    def __init__(self, name: str) -> None: ...

class TimeTravelNotPossible(SqlError):
    """UNSUPPORTED_FEATURE.TIME_TRAVEL_ON_CTE, SQLSTATE 0A000"""
    relation: str
    def __init__(self, relation: str) -> None: ...

class AmbiguousReference(SqlError):
    """AMBIGUOUS_REFERENCE, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class ShowColumnsConflict(SqlError):
    """SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE, SQLSTATE 42K05"""
    table: str
    namespace: str
    def __init__(self, table: str, namespace: str) -> None: ...

class WrongArgumentCount(SqlError):
    """INCORRECT_NUMBER_OF_ARGUMENTS, SQLSTATE 42605"""
    function: str
    given: int
    count_min: int
    count_max: int
    def __init__(self, function: str, given: int, count_min: int, count_max: int) -> None: ...

class NonConstantArgument(SqlError):
    """DELTA_CDC_NON_CONSTANT_ARGUMENT, SQLSTATE 42K0H"""
    function: str
    column: str
    def __init__(self, function: str, column: str) -> None: ...

class GenerateModeNotSupported(SqlError):
    """DELTA_MODE_NOT_SUPPORTED, SQLSTATE 0AKDC"""
    mode: str
    supported: str
    def __init__(self, mode: str, supported: str) -> None: ...

class CopyOptionNotSupported(SqlError):
    """COPY_INTO_OPTION_NOT_SUPPORTED, SQLSTATE 0A000"""
    option: str
    place: str
    def __init__(self, option: str, place: str) -> None: ...

class BodyNotPossible(SqlError):
    """INVALID_SQL_FUNCTION_BODY, SQLSTATE 0A000"""
    function: str
    reason: str
    def __init__(self, function: str, reason: str) -> None: ...

class UnknownHiveVariable(SqlError):
    """UNRESOLVED_VARIABLE.HIVE, SQLSTATE 42883"""
    reference: str
    name: str
    def __init__(self, reference: str, name: str) -> None: ...

class ExpansionTooLong(SqlError):
    """STATEMENT_TOO_LONG.VARIABLES, SQLSTATE 54001"""
    length: int
    limit: int
    def __init__(self, length: int, limit: int) -> None: ...

class UnresolvedColumn(SqlError):
    """UNRESOLVED_COLUMN.WITH_SUGGESTION, SQLSTATE 42703"""
    name: str
    columns: str
    def __init__(self, name: str, columns: str) -> None: ...

class VariableNotAtBeginning(SqlError):
    """INVALID_VARIABLE_DECLARATION.ONLY_AT_BEGINNING, SQLSTATE 42K0M"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class VariableOutsideBlock(SqlError):
    """INVALID_VARIABLE_DECLARATION.NOT_ALLOWED_IN_SCOPE, SQLSTATE 42K0M"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class LocalVariableReplaced(SqlError):
    """INVALID_VARIABLE_DECLARATION.REPLACE_LOCAL_VARIABLE, SQLSTATE 42K0M"""
    variable: str
    def __init__(self, variable: str) -> None: ...

class HandlerAtWrongPlace(SqlError):
    """INVALID_HANDLER_DECLARATION.WRONG_PLACE_OF_DECLARATION, SQLSTATE 42K0Q"""
    def __init__(self) -> None: ...

class HandlerMixesConditions(SqlError):
    """INVALID_HANDLER_DECLARATION.INVALID_CONDITION_COMBINATION, SQLSTATE 42K0Q"""
    def __init__(self) -> None: ...

class HandlerConditionTwice(SqlError):
    """INVALID_HANDLER_DECLARATION.DUPLICATE_CONDITION_IN_HANDLER_DECLARATION, SQLSTATE 42K0Q"""
    name: str
    def __init__(self, name: str) -> None: ...

class HandlerSqlstateTwice(SqlError):
    """INVALID_HANDLER_DECLARATION.DUPLICATE_SQLSTATE_IN_HANDLER_DECLARATION, SQLSTATE 42K0Q"""
    value: str
    def __init__(self, value: str) -> None: ...

class HandlerConditionNotFound(SqlError):
    """INVALID_HANDLER_DECLARATION.CONDITION_NOT_FOUND, SQLSTATE 42K0Q"""
    name: str
    def __init__(self, name: str) -> None: ...

class DuplicateHandler(SqlError):
    """DUPLICATE_EXCEPTION_HANDLER.CONDITION, SQLSTATE 42734"""
    name: str
    def __init__(self, name: str) -> None: ...

class DuplicateSqlstateHandler(SqlError):
    """DUPLICATE_EXCEPTION_HANDLER.SQLSTATE, SQLSTATE 42734"""
    value: str
    def __init__(self, value: str) -> None: ...

class DuplicateCondition(SqlError):
    """DUPLICATE_CONDITION_IN_SCOPE, SQLSTATE 42734"""
    name: str
    def __init__(self, name: str) -> None: ...

class ConditionAtWrongPlace(SqlError):
    """INVALID_ERROR_CONDITION_DECLARATION.NOT_AT_START_OF_COMPOUND_STATEMENT, SQLSTATE 42K0R"""
    name: str
    def __init__(self, name: str) -> None: ...

class InvalidSqlstate(SqlError):
    """INVALID_SQLSTATE, SQLSTATE 428B3"""
    value: str
    def __init__(self, value: str) -> None: ...

class UnknownLabel(SqlError):
    """INVALID_LABEL_USAGE.DOES_NOT_EXIST, SQLSTATE 42K0L"""
    label: str
    statement: str
    def __init__(self, label: str, statement: str) -> None: ...

class IterateInBlock(SqlError):
    """INVALID_LABEL_USAGE.ITERATE_IN_COMPOUND, SQLSTATE 42K0L"""
    label: str
    def __init__(self, label: str) -> None: ...

class LabelTaken(SqlError):
    """LABEL_OR_FOR_VARIABLE_ALREADY_EXISTS, SQLSTATE 42K0L"""
    label: str
    def __init__(self, label: str) -> None: ...

class LabelForbidden(SqlError):
    """LABEL_OR_FOR_VARIABLE_NAME_FORBIDDEN, SQLSTATE 42K0L"""
    label: str
    def __init__(self, label: str) -> None: ...

class LabelsDiffer(SqlError):
    """LABELS_MISMATCH, SQLSTATE 42K0L"""
    begin: str
    end: str
    def __init__(self, begin: str, end: str) -> None: ...

class EndLabelAlone(SqlError):
    """END_LABEL_WITHOUT_BEGIN_LABEL, SQLSTATE 42K0L"""
    label: str
    def __init__(self, label: str) -> None: ...

class DropVariableInScript(SqlError):
    """UNSUPPORTED_FEATURE.SQL_SCRIPTING_DROP_TEMPORARY_VARIABLE, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class ScriptTooDeep(SqlError):
    """SQL_SCRIPT_TOO_DEEP, SQLSTATE 54001"""
    depth_max: int
    def __init__(self, depth_max: int) -> None: ...

class NotABoolean(SqlError):
    """INVALID_BOOLEAN_STATEMENT, SQLSTATE 22546"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class PositionalScriptParameters(SqlError):
    """UNSUPPORTED_FEATURE.SQL_SCRIPTING_WITH_POSITIONAL_PARAMETERS, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class IdentifierNotAString(SqlError):
    """NOT_A_CONSTANT_STRING.WRONG_TYPE, SQLSTATE 42601"""
    expression: str
    data_type: str
    def __init__(self, expression: str, data_type: str) -> None: ...

class IdentifierIsNull(SqlError):
    """NOT_A_CONSTANT_STRING.NULL, SQLSTATE 42601"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class IdentifierWithSubquery(SqlError):
    """NOT_A_CONSTANT_STRING.NOT_CONSTANT, SQLSTATE 42601"""
    expression: str
    def __init__(self, expression: str) -> None: ...

class IdentifierNotAName(SqlError):
    """INVALID_IDENTIFIER, SQLSTATE 42602"""
    name: str
    def __init__(self, name: str) -> None: ...

class JavaNotFound(SqlError):
    """JAVA_NOT_FOUND, SQLSTATE 58000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class JavaClassesOutdated(SqlError):
    """JAVA_CLASSES_OUTDATED, SQLSTATE 58000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class ConnectorNotInstallable(SqlError):
    """CONNECTOR_NOT_INSTALLABLE, SQLSTATE 58000"""
    store: str
    reason: str
    def __init__(self, store: str, reason: str) -> None: ...

class ConnectorNotFound(SqlError):
    """CONNECTOR_NOT_FOUND, SQLSTATE 58000"""
    url: str
    reason: str
    store: str
    def __init__(self, url: str, reason: str, store: str) -> None: ...

class SparkSettingFixed(SqlError):
    """CANNOT_MODIFY_CONFIG.GATEWAY, SQLSTATE 46110"""
    key: str
    value: str
    def __init__(self, key: str, value: str) -> None: ...

class SparkSettingInvalid(SqlError):
    """INVALID_CONF_VALUE.SPARK_CONF, SQLSTATE 22022"""
    key: str
    value: str
    reason: str
    def __init__(self, key: str, value: str, reason: str) -> None: ...

class SparkUnavailable(SqlError):
    """SPARK_UNAVAILABLE, SQLSTATE 08S01"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SparkRestarting(SqlError):
    """SPARK_RESTARTING, SQLSTATE 57P03"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class RelationNotBound(SqlError):
    """UNSUPPORTED_RELATION, SQLSTATE 0A000"""
    relation: str
    def __init__(self, relation: str) -> None: ...

class DataFileNotFound(SqlError):
    """FAILED_READ_FILE.FILE_NOT_EXIST, SQLSTATE KD001"""
    path: str
    def __init__(self, path: str) -> None: ...

class DataFileNotReadable(SqlError):
    """FAILED_READ_FILE.NO_HINT, SQLSTATE KD001"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class DataFileWithoutFieldIds(SqlError):
    """FAILED_READ_FILE.NO_FIELD_IDS, SQLSTATE KD001"""
    path: str
    def __init__(self, path: str) -> None: ...

class ColumnNotRead(SqlError):
    """FAILED_READ_FILE.UNSUPPORTED_COLUMN, SQLSTATE 0A000"""
    table: str
    part: str
    def __init__(self, table: str, part: str) -> None: ...

class RowsNotTracked(SqlError):
    """FIELD_NOT_FOUND, SQLSTATE 42704"""
    field: str
    def __init__(self, field: str) -> None: ...

class OutOfMemory(SqlError):
    """OUT_OF_MEMORY, SQLSTATE 53200"""
    def __init__(self) -> None: ...

class FormatNotPossible(SqlError):
    """FORMAT_NOT_POSSIBLE, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class ParameterNotBound(SqlError):
    """UNBOUND_SQL_PARAMETER, SQLSTATE 42P02"""
    def __init__(self) -> None: ...

class ResultTypeNotSupported(SqlError):
    """UNSUPPORTED_DATATYPE, SQLSTATE 0A000"""
    data_type: str
    def __init__(self, data_type: str) -> None: ...

class ResultRowsDiffer(SqlError):
    """RESULT_ROWS_DIFFER, SQLSTATE XX000"""
    read: int
    made: int
    def __init__(self, read: int, made: int) -> None: ...

class FunctionNotAvailable(SqlError):
    """UNRESOLVED_ROUTINE, SQLSTATE 42883"""
    function: str
    suggestion: str
    def __init__(self, function: str, suggestion: str = '') -> None: ...

class PlanRefused(SqlError):
    """UNSUPPORTED_PLAN, SQLSTATE 0A000"""
    part: str
    def __init__(self, part: str) -> None: ...

class ViewChanged(SqlError):
    """INCOMPATIBLE_VIEW_SCHEMA_CHANGE, SQLSTATE 51024"""
    column: str
    def __init__(self, column: str) -> None: ...

class ViewTypeNotUpCast(SqlError):
    """CANNOT_UP_CAST_DATATYPE, SQLSTATE 42846"""
    column: str
    found: str
    expected: str
    def __init__(self, column: str, found: str, expected: str) -> None: ...

class ViewTypeNotCast(SqlError):
    """DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION, SQLSTATE 42K09"""
    column: str
    found: str
    expected: str
    def __init__(self, column: str, found: str, expected: str) -> None: ...

class ScanLimitExceeded(SqlError):
    """SCAN_LIMIT_EXCEEDED, SQLSTATE 54000"""
    size: int
    limit: int
    def __init__(self, size: int, limit: int) -> None: ...

class ValueTooLarge(SqlError):
    """VALUE_TOO_LARGE, SQLSTATE 54000"""
    function: str
    def __init__(self, function: str) -> None: ...

class StatisticsExceeded(SqlError):
    """STATISTICS_EXCEEDED, SQLSTATE XX001"""
    def __init__(self) -> None: ...

class NotNullViolated(SqlError):
    """DELTA_NOT_NULL_CONSTRAINT_VIOLATED, SQLSTATE 23502"""
    column: str
    def __init__(self, column: str) -> None: ...

class ConstraintViolated(SqlError):
    """DELTA_VIOLATE_CONSTRAINT_WITH_VALUES, SQLSTATE 23001"""
    name: str
    expression: str
    values: str
    def __init__(self, name: str, expression: str, values: str) -> None: ...

class ReplaceWhereViolated(SqlError):
    """DELTA_REPLACE_WHERE_MISMATCH, SQLSTATE 44000"""
    condition_text: str
    values: str
    def __init__(self, condition_text: str, values: str) -> None: ...

class PartitionValueNotText(SqlError):
    """MALFORMED_CHARACTER_CODING, SQLSTATE 22000"""
    column: str
    def __init__(self, column: str) -> None: ...

class ValueNotOfType(SqlError):
    """CAST_INVALID_INPUT.STORED_TYPE, SQLSTATE 22018"""
    value: str
    column: str
    type_name: str
    def __init__(self, value: str, column: str, type_name: str) -> None: ...

class LengthExceeded(SqlError):
    """DELTA_EXCEED_CHAR_VARCHAR_LIMIT, SQLSTATE 22001"""
    detail: str
    def __init__(self, detail: str) -> None: ...

class NotNullColumnMissing(SqlError):
    """DELTA_MISSING_NOT_NULL_COLUMN_VALUE, SQLSTATE 23502"""
    column: str
    def __init__(self, column: str) -> None: ...

class PartitionColumnListed(SqlError):
    """STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST, SQLSTATE 42713"""
    column: str
    def __init__(self, column: str) -> None: ...

class NoPartitionColumn(SqlError):
    """NON_PARTITION_COLUMN, SQLSTATE 42000"""
    column: str
    columns: str
    def __init__(self, column: str, columns: str) -> None: ...

class IdentityValueGiven(SqlError):
    """DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED, SQLSTATE 42808"""
    column: str
    def __init__(self, column: str) -> None: ...

class IncompleteIdempotence(SqlError):
    """DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS.MISSING_SESSION_CONFS, SQLSTATE 42616"""
    missing: str
    def __init__(self, missing: str) -> None: ...

class NothingToStore(SqlError):
    """DELTA_CANNOT_WRITE_EMPTY_SCHEMA, SQLSTATE 428GU"""
    table: str
    def __init__(self, table: str) -> None: ...

class TooManyGlobalViews(SqlError):
    """GLOBAL_TEMP_VIEWS_EXCEEDED, SQLSTATE 54000"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class SettingNotAvailable(SqlError):
    """CONFIG_NOT_AVAILABLE, SQLSTATE 42K0I"""
    key: str
    suggestion: str
    def __init__(self, key: str, suggestion: str) -> None: ...

class InvalidSettingValue(SqlError):
    """INVALID_CONF_VALUE, SQLSTATE 22022"""
    key: str
    value: str
    expected: str
    def __init__(self, key: str, value: str, expected: str) -> None: ...

class TooManyForeignSettings(SqlError):
    """CONFIG_NOT_AVAILABLE.TOO_MANY, SQLSTATE 42K0I"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class TransactionsNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.MULTI_STATEMENT_TRANSACTION, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class ScopeExceeded(SqlError):
    """INSUFFICIENT_PERMISSIONS.SCOPE, SQLSTATE 42501"""
    def __init__(self) -> None: ...

class InconsistentIdentity(DeltaError):
    """DELTA_IDENTITY_COLUMN_INCONSISTENT_METADATA, SQLSTATE 42000"""
    column: str
    metadata: str
    def __init__(self, column: str, metadata: str) -> None: ...

class LogPathNotAllowed(DeltaError):
    """LOG_PATH_NOT_ALLOWED, SQLSTATE 42501"""
    table: str
    path: str
    def __init__(self, table: str, path: str) -> None: ...

class VendedCredentialsNotInSpark(DeltaError):
    """REST_CREDENTIALS_NOT_IN_SPARK, SQLSTATE 0A000"""
    location: str
    reason: str
    def __init__(self, location: str, reason: str) -> None: ...

class LogFileNotFound(DeltaError):
    """DELTA_LOG_FILE_NOT_FOUND, SQLSTATE 42K03"""
    path: str
    def __init__(self, path: str) -> None: ...

class DeletionVectorChecksumMismatch(DeltaError):
    """DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH, SQLSTATE XXKDS"""
    source: str
    def __init__(self, source: str) -> None: ...

class DeletionVectorSizeMismatch(DeltaError):
    """DELTA_DELETION_VECTOR_SIZE_MISMATCH, SQLSTATE XXKDS"""
    source: str
    expected: int
    actual: int
    def __init__(self, source: str, expected: int, actual: int) -> None: ...

class DeletionVectorCardinalityMismatch(DeltaError):
    """DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH, SQLSTATE XXKDS"""
    source: str
    expected: int
    actual: int
    def __init__(self, source: str, expected: int, actual: int) -> None: ...

class StorageNotWritable(DeltaError):
    """STORAGE_NOT_WRITABLE, SQLSTATE 0A000"""
    location: str
    reason: str
    def __init__(self, location: str, reason: str) -> None: ...

class ConcurrentAppend(ConcurrentModification):
    """DELTA_CONCURRENT_APPEND, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    place: str
    def __init__(self, table: str, version: int, operation: str, place: str) -> None: ...

class ConcurrentDeleteRead(ConcurrentModification):
    """DELTA_CONCURRENT_DELETE_READ, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    path: str
    def __init__(self, table: str, version: int, operation: str, path: str) -> None: ...

class ConcurrentDeleteDelete(ConcurrentModification):
    """DELTA_CONCURRENT_DELETE_DELETE, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    path: str
    def __init__(self, table: str, version: int, operation: str, path: str) -> None: ...

class ProtocolChanged(ConcurrentModification):
    """DELTA_PROTOCOL_CHANGED, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    def __init__(self, table: str, version: int, operation: str) -> None: ...

class ConcurrentTransaction(ConcurrentModification):
    """DELTA_CONCURRENT_TRANSACTION, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    subject: str
    def __init__(self, table: str, version: int, operation: str, subject: str) -> None: ...

class ConcurrentWrite(ConcurrentModification):
    """DELTA_CONCURRENT_WRITE, SQLSTATE 2D521"""
    table: str
    version: int
    operation: str
    def __init__(self, table: str, version: int, operation: str) -> None: ...

class FeatureDropConflict(ConcurrentModification):
    """DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL, SQLSTATE 40000"""
    table: str
    version: int
    operation: str
    def __init__(self, table: str, version: int, operation: str) -> None: ...

class CommitAttemptsExceeded(DeltaError):
    """DELTA_MAX_COMMIT_RETRIES_EXCEEDED, SQLSTATE 40000"""
    table: str
    attempts: int
    seconds: float
    version: int
    def __init__(self, table: str, attempts: int, seconds: float, version: int) -> None: ...

class FooterNotReadable(DeltaError):
    """DELTA_FAILED_READ_FILE_FOOTER, SQLSTATE KD001"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class NoFilesToConvert(DeltaError):
    """DELTA_EMPTY_DIRECTORY, SQLSTATE 42K03"""
    directory: str
    def __init__(self, directory: str) -> None: ...

class ConvertedTypeNotSupported(DeltaError):
    """DELTA_CONVERT_UNSUPPORTED_TYPE, SQLSTATE 0AKDC"""
    path: str
    column: str
    data_type: str
    def __init__(self, path: str, column: str, data_type: str) -> None: ...

class ConvertedColumnsRepeated(DeltaError):
    """DELTA_DUPLICATE_COLUMNS_FOUND.CONVERT_TO_DELTA, SQLSTATE 42711"""
    path: str
    columns: str
    def __init__(self, path: str, columns: str) -> None: ...

class ConvertedSchemasDiffer(DeltaError):
    """DELTA_FAILED_MERGE_SCHEMA_FILE, SQLSTATE 42KDA"""
    path: str
    column: str
    known: str
    found: str
    def __init__(self, path: str, column: str, known: str, found: str) -> None: ...

class PartitionCountDiffers(DeltaError):
    """DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME, SQLSTATE KD009"""
    path: str
    expected: str
    found: str
    def __init__(self, path: str, expected: str, found: str) -> None: ...

class PartitionNameDiffers(DeltaError):
    """DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME, SQLSTATE KD009"""
    path: str
    expected: str
    found: str
    def __init__(self, path: str, expected: str, found: str) -> None: ...

class FolderValueNotCastable(DeltaError):
    """DELTA_CONVERT_PARTITION_VALUE, SQLSTATE 22018"""
    path: str
    column: str
    value: str
    data_type: str
    def __init__(self, path: str, column: str, value: str, data_type: str) -> None: ...

class TableInside(DeltaError):
    """DELTA_TABLE_INSIDE_FOLDER, SQLSTATE 42809"""
    directory: str
    folder: str
    def __init__(self, directory: str, folder: str) -> None: ...

class PartitionedTableNotClusterable(DeltaError):
    """DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED, SQLSTATE 42000"""
    table: str
    partitions: str
    def __init__(self, table: str, partitions: str) -> None: ...

class ClusteredTableNotPartitionable(DeltaError):
    """DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE, SQLSTATE 42000"""
    table: str
    def __init__(self, table: str) -> None: ...

class TooManyClusteringColumns(DeltaError):
    """DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS, SQLSTATE 54000"""
    count: int
    highest: int
    def __init__(self, count: int, highest: int) -> None: ...

class DuplicateClusteringColumns(DeltaError):
    """DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY, SQLSTATE 42711"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ClusteringTypeNotSupported(DeltaError):
    """DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED, SQLSTATE 0A000"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ClusteringColumnMissingStats(DeltaError):
    """DELTA_CLUSTERING_COLUMN_MISSING_STATS, SQLSTATE 22000"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ClusteringColumnNotDroppable(DeltaError):
    """DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class ClusteringFeatureOfNewTable(DeltaError):
    """DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED, SQLSTATE 42000"""
    feature: str
    def __init__(self, feature: str) -> None: ...

class ClusteringFeatureOfTable(DeltaError):
    """DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED, SQLSTATE 42000"""
    feature: str
    def __init__(self, feature: str) -> None: ...

class ChangeDataMissing(DeltaError):
    """DELTA_MISSING_CHANGE_DATA, SQLSTATE KD002"""
    table: str
    first: int
    last: int
    version: int
    def __init__(self, table: str, first: int, last: int, version: int) -> None: ...

class StartAfterLatest(DeltaError):
    """DELTA_CDC_START_VERSION_AFTER_LATEST, SQLSTATE 22003"""
    table: str
    start: int
    latest: int
    def __init__(self, table: str, start: int, latest: int) -> None: ...

class RangeBackwards(DeltaError):
    """DELTA_INVALID_CDC_RANGE, SQLSTATE 22003"""
    table: str
    start: int
    end: int
    def __init__(self, table: str, start: int, end: int) -> None: ...

class IncompatibleSchemaChange(DeltaError):
    """DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE, SQLSTATE 0AKDC"""
    table: str
    first: int
    last: int
    version: int
    read_version: int
    def __init__(self, table: str, first: int, last: int, version: int, read_version: int) -> None: ...

class IncompatibleDataSchema(DeltaError):
    """DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA, SQLSTATE 0AKDC"""
    table: str
    first: int
    last: int
    read_version: int
    def __init__(self, table: str, first: int, last: int, read_version: int) -> None: ...

class RemoveWithoutMetadata(DeltaError):
    """DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA, SQLSTATE XXKDS"""
    table: str
    version: int
    path: str
    def __init__(self, table: str, version: int, path: str) -> None: ...

class ChangeFileNotFound(DeltaError):
    """DELTA_FILE_NOT_FOUND, SQLSTATE 42K03"""
    table: str
    version: int
    path: str
    def __init__(self, table: str, version: int, path: str) -> None: ...

class InvalidColumnNames(DeltaError):
    """DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES, SQLSTATE 42K05"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class ReservedColumnNames(DeltaError):
    """DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS, SQLSTATE 42711"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class PartitionColumnNotFound(DeltaError):
    """DELTA_PARTITION_COLUMN_NOT_FOUND, SQLSTATE 42703"""
    column: str
    columns: str
    def __init__(self, column: str, columns: str) -> None: ...

class InvalidPartitionColumnType(DeltaError):
    """DELTA_INVALID_PARTITION_COLUMN_TYPE, SQLSTATE 42996"""
    column: str
    data_type: str
    def __init__(self, column: str, data_type: str) -> None: ...

class AllColumnsArePartitions(DeltaError):
    """DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION, SQLSTATE 428FT"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class MaxColumnIdNotSet(DeltaError):
    """DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET, SQLSTATE 42703"""
    table: str
    def __init__(self, table: str) -> None: ...

class MaxColumnIdTooLow(DeltaError):
    """DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY, SQLSTATE 42703"""
    table: str
    recorded: int
    highest: int
    def __init__(self, table: str, recorded: int, highest: int) -> None: ...

class MappingInconsistent(DeltaError):
    """DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE, SQLSTATE 0AKDC"""
    table: str
    detail: str
    def __init__(self, table: str, detail: str) -> None: ...

class MappingModeNotChangeable(DeltaError):
    """DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE, SQLSTATE 0AKDC"""
    current: str
    requested: str
    def __init__(self, current: str, requested: str) -> None: ...

class MappingNeededByNames(DeltaError):
    """DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING, SQLSTATE 42K05"""
    columns: str
    def __init__(self, columns: str) -> None: ...

class RenameRequiresMapping(DeltaError):
    """DELTA_UNSUPPORTED_RENAME_COLUMN, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class DropRequiresMapping(ColumnChangeRefused):
    """DELTA_UNSUPPORTED_DROP_COLUMN, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class PartitionColumnNotDroppable(DeltaError):
    """DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class LastColumnNotDroppable(DeltaError):
    """DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA, SQLSTATE 0AKDC"""
    column: str
    def __init__(self, column: str) -> None: ...

class ConstraintAlreadyExists(DeltaError):
    """DELTA_CONSTRAINT_ALREADY_EXISTS, SQLSTATE 42710"""
    name: str
    expression: str
    def __init__(self, name: str, expression: str) -> None: ...

class ConstraintDoesNotExist(DeltaError):
    """DELTA_CONSTRAINT_DOES_NOT_EXIST, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class ConstraintsAreNoProperties(DeltaError):
    """DELTA_ADD_CONSTRAINTS, SQLSTATE 0A000"""
    key: str
    def __init__(self, key: str) -> None: ...

class ConstraintFeatureInUse(DeltaError):
    """DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE, SQLSTATE 0AKDE"""
    constraints: str
    def __init__(self, constraints: str) -> None: ...

class LogIntegrityFailed(DeltaError):
    """DELTA_TXN_LOG_FAILED_INTEGRITY, SQLSTATE XXKDS"""
    table: str
    version: int
    detail: str
    def __init__(self, table: str, version: int, detail: str) -> None: ...

class DeltaTableNotFound(DeltaError):
    """DELTA_TABLE_NOT_FOUND, SQLSTATE 42P01"""
    table: str
    def __init__(self, table: str) -> None: ...

class VersionNotFound(DeltaError):
    """DELTA_VERSION_NOT_FOUND, SQLSTATE 22003"""
    table: str
    version: int
    earliest: int
    latest: int
    def __init__(self, table: str, version: int, earliest: int, latest: int) -> None: ...

class VersionsNotContiguous(DeltaError):
    """DELTA_VERSIONS_NOT_CONTIGUOUS, SQLSTATE KD00C"""
    table: str
    before: int
    after: int
    def __init__(self, table: str, before: int, after: int) -> None: ...

class LogTruncated(DeltaError):
    """DELTA_TRUNCATED_TRANSACTION_LOG, SQLSTATE 42K03"""
    table: str
    version: int
    earliest: int
    def __init__(self, table: str, version: int, earliest: int) -> None: ...

class MissingPartFiles(DeltaError):
    """DELTA_MISSING_PART_FILES, SQLSTATE 42KD6"""
    table: str
    version: int
    def __init__(self, table: str, version: int) -> None: ...

class StateNotRecoverable(DeltaError):
    """DELTA_STATE_RECOVER_ERROR, SQLSTATE XXKDS"""
    table: str
    version: int
    action: str
    def __init__(self, table: str, version: int, action: str) -> None: ...

class UnsupportedTypeChange(DeltaError):
    """DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA, SQLSTATE 0AKDC"""
    table: str
    column: str
    old: str
    new: str
    def __init__(self, table: str, column: str, old: str, new: str) -> None: ...

class TimestampBeforeLog(DeltaError):
    """DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION, SQLSTATE 42816"""
    table: str
    requested: str
    earliest: str
    def __init__(self, table: str, requested: str, earliest: str) -> None: ...

class TimestampAfterLog(DeltaError):
    """DELTA_TIMESTAMP_GREATER_THAN_COMMIT, SQLSTATE 42816"""
    table: str
    requested: str
    latest: str
    def __init__(self, table: str, requested: str, latest: str) -> None: ...

class MissingCommitInfo(DeltaError):
    """DELTA_MISSING_COMMIT_INFO, SQLSTATE KD004"""
    table: str
    version: int
    def __init__(self, table: str, version: int) -> None: ...

class MissingCommitTimestamp(DeltaError):
    """DELTA_MISSING_COMMIT_TIMESTAMP, SQLSTATE KD004"""
    table: str
    version: int
    def __init__(self, table: str, version: int) -> None: ...

class VacuumLiteImpossible(DeltaError):
    """DELTA_CANNOT_VACUUM_LITE, SQLSTATE 55000"""
    table: str
    def __init__(self, table: str) -> None: ...

class ManifestWithDeletionVectors(DeltaError):
    """DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class ManifestWithColumnMapping(DeltaError):
    """DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING, SQLSTATE 0AKDC"""
    table: str
    def __init__(self, table: str) -> None: ...

class ManifestPropertyWithDeletionVectors(DeltaError):
    """DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class UnsupportedReaderFeatures(DeltaError):
    """DELTA_UNSUPPORTED_FEATURES_FOR_READ, SQLSTATE 56038"""
    table: str
    features: str
    operation: str
    def __init__(self, table: str, features: str, operation: str) -> None: ...

class UnsupportedWriterFeatures(DeltaError):
    """DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, SQLSTATE 56038"""
    table: str
    features: str
    operation: str
    def __init__(self, table: str, features: str, operation: str) -> None: ...

class InvalidProtocolVersion(DeltaError):
    """DELTA_INVALID_PROTOCOL_VERSION, SQLSTATE KD004"""
    table: str
    reader_version: int
    writer_version: int
    supported: str
    def __init__(self, table: str, reader_version: int, writer_version: int, supported: str) -> None: ...

class FeaturesProtocolMismatch(DeltaError):
    """DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH, SQLSTATE KD004"""
    table: str
    features: str
    def __init__(self, table: str, features: str) -> None: ...

class FeaturesRequireManualEnablement(DeltaError):
    """DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT, SQLSTATE 42000"""
    table: str
    features: str
    def __init__(self, table: str, features: str) -> None: ...

class UnsupportedFeaturesInConfig(DeltaError):
    """DELTA_UNSUPPORTED_FEATURES_IN_CONFIG, SQLSTATE 56038"""
    features: str
    def __init__(self, features: str) -> None: ...

class UnsupportedFeatureStatus(DeltaError):
    """DELTA_UNSUPPORTED_FEATURE_STATUS, SQLSTATE 0AKDE"""
    feature: str
    status: str
    def __init__(self, feature: str, status: str) -> None: ...

class InvalidProtocolDowngrade(DeltaError):
    """DELTA_INVALID_PROTOCOL_DOWNGRADE, SQLSTATE KD004"""
    table: str
    current: str
    requested: str
    def __init__(self, table: str, current: str, requested: str) -> None: ...

class ProtocolPropertyNotInteger(DeltaError):
    """DELTA_PROTOCOL_PROPERTY_NOT_INT, SQLSTATE 42K06"""
    key: str
    value: str
    def __init__(self, key: str, value: str) -> None: ...

class FeatureNotPresent(DeltaError):
    """DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT, SQLSTATE 55000"""
    table: str
    feature: str
    def __init__(self, table: str, feature: str) -> None: ...

class FeatureNotRemovable(DeltaError):
    """DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE, SQLSTATE 0AKDC"""
    feature: str
    def __init__(self, feature: str) -> None: ...

class FeatureHasDependents(DeltaError):
    """DELTA_FEATURE_DROP_DEPENDENT_FEATURE, SQLSTATE 55000"""
    feature: str
    dependents: str
    def __init__(self, feature: str, dependents: str) -> None: ...

class WaitForRetention(DeltaError):
    """DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD, SQLSTATE 22KD0"""
    table: str
    feature: str
    hours: str
    def __init__(self, table: str, feature: str, hours: str) -> None: ...

class HistoricalVersionsExist(DeltaError):
    """DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST, SQLSTATE 22KD0"""
    table: str
    feature: str
    hours: str
    def __init__(self, table: str, feature: str, hours: str) -> None: ...

class UnknownTableProperty(DeltaError):
    """DELTA_UNKNOWN_CONFIGURATION, SQLSTATE F0000"""
    key: str
    nearest: str
    def __init__(self, key: str, nearest: str) -> None: ...

class PropertyNotSettable(DeltaError):
    """DELTA_CANNOT_MODIFY_TABLE_PROPERTY, SQLSTATE 42939"""
    key: str
    def __init__(self, key: str) -> None: ...

class InvalidTableProperty(DeltaError):
    """DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED, SQLSTATE 0A000"""
    key: str
    value: str
    expected: str
    def __init__(self, key: str, value: str, expected: str) -> None: ...

class LogWriteFailed(DeltaError):
    """LOG_WRITE_FAILED, SQLSTATE 58030"""
    table: str
    version: int
    detail: str
    def __init__(self, table: str, version: int, detail: str) -> None: ...

class StatisticsNotWritten(DeltaError):
    """STATISTICS_NOT_WRITTEN, SQLSTATE 58030"""
    table: str
    detail: str
    def __init__(self, table: str, detail: str) -> None: ...

class RowIdsWithoutStatistics(DeltaError):
    """DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS, SQLSTATE 22000"""
    table: str
    def __init__(self, table: str) -> None: ...

class DuplicateActions(DeltaError):
    """DELTA_DUPLICATE_ACTIONS_FOUND, SQLSTATE 2D521"""
    table: str
    subject: str
    def __init__(self, table: str, subject: str) -> None: ...

class DuplicateDomainMetadata(DeltaError):
    """DELTA_DUPLICATE_DOMAIN_METADATA_INTERNAL_ERROR, SQLSTATE 42601"""
    table: str
    domain: str
    def __init__(self, table: str, domain: str) -> None: ...

class DomainMetadataNotSupported(DeltaError):
    """DELTA_DOMAIN_METADATA_NOT_SUPPORTED, SQLSTATE 0A000"""
    table: str
    domains: str
    def __init__(self, table: str, domains: str) -> None: ...

class MissingPartitionColumn(DeltaError):
    """DELTA_MISSING_PARTITION_COLUMN, SQLSTATE 42KD6"""
    table: str
    path: str
    expected: str
    def __init__(self, table: str, path: str, expected: str) -> None: ...

class DeletionVectorsDisallowed(DeltaError):
    """DELTA_ADDING_DELETION_VECTORS_DISALLOWED, SQLSTATE 0A000"""
    table: str
    path: str
    def __init__(self, table: str, path: str) -> None: ...

class DeletionVectorWithoutRowCount(DeltaError):
    """DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS, SQLSTATE 2D521"""
    table: str
    path: str
    def __init__(self, table: str, path: str) -> None: ...

class NoMetadata(DeltaError):
    """DELTA_METADATA_ABSENT, SQLSTATE XXKDS"""
    table: str
    def __init__(self, table: str) -> None: ...

class StructFieldsDiffer(DeltaError):
    """DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION, SQLSTATE 42846"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class UnsupportedFileFormat(DeltaError):
    """UNSUPPORTED_TABLE_FILE_FORMAT, SQLSTATE 0A000"""
    table: str
    provider: str
    def __init__(self, table: str, provider: str) -> None: ...

class NoCommitsFound(DeltaError):
    """DELTA_NO_COMMITS_FOUND, SQLSTATE KD006"""
    table: str
    def __init__(self, table: str) -> None: ...

class DeltaOnlyOperation(DeltaError):
    """DELTA_TABLE_ONLY_OPERATION, SQLSTATE 0AKDD"""
    table: str
    operation: str
    def __init__(self, table: str, operation: str) -> None: ...

class MalformedIcebergFile(DeltaError):
    """ICEBERG_METADATA_MALFORMED, SQLSTATE XXKDS"""
    source: str
    detail: str
    def __init__(self, source: str, detail: str) -> None: ...

class IcebergFileNotFound(DeltaError):
    """ICEBERG_FILE_NOT_FOUND, SQLSTATE 42K03"""
    table: str
    path: str
    def __init__(self, table: str, path: str) -> None: ...

class IcebergTableNotFound(DeltaError):
    """ICEBERG_TABLE_NOT_FOUND, SQLSTATE 42P01"""
    table: str
    def __init__(self, table: str) -> None: ...

class AmbiguousIcebergMetadata(DeltaError):
    """ICEBERG_METADATA_AMBIGUOUS, SQLSTATE 42704"""
    table: str
    files: str
    def __init__(self, table: str, files: str) -> None: ...

class IcebergFeatureNotSupported(DeltaError):
    """ICEBERG_FEATURE_NOT_SUPPORTED, SQLSTATE 0A000"""
    table: str
    feature: str
    def __init__(self, table: str, feature: str) -> None: ...

class IcebergOperationNotSupported(DeltaError):
    """ICEBERG_OPERATION_NOT_SUPPORTED, SQLSTATE 0A000"""
    table: str
    operation: str
    def __init__(self, table: str, operation: str) -> None: ...

class IcebergSnapshotNotFound(DeltaError):
    """ICEBERG_SNAPSHOT_NOT_FOUND, SQLSTATE 42K03"""
    table: str
    asked: str
    def __init__(self, table: str, asked: str) -> None: ...

class IcebergMetadataTableNotFound(DeltaError):
    """ICEBERG_METADATA_TABLE_NOT_FOUND, SQLSTATE 42P01"""
    table: str
    name: str
    names: str
    def __init__(self, table: str, name: str, names: str) -> None: ...

class IcebergChangesNotReadable(DeltaError):
    """ICEBERG_CHANGES_NOT_AVAILABLE, SQLSTATE 22003"""
    table: str
    reason: str
    def __init__(self, table: str, reason: str) -> None: ...

class IcebergUpdateRefused(DeltaError):
    """ICEBERG_UPDATE_REFUSED, SQLSTATE 42000"""
    table: str
    detail: str
    def __init__(self, table: str, detail: str) -> None: ...

class IcebergCommitFailed(DeltaError):
    """ICEBERG_COMMIT_FAILED, SQLSTATE 58030"""
    table: str
    detail: str
    def __init__(self, table: str, detail: str) -> None: ...

class IcebergTableIsStatic(DeltaError):
    """ICEBERG_TABLE_READ_ONLY, SQLSTATE 25006"""
    table: str
    file: str
    def __init__(self, table: str, file: str) -> None: ...

class IcebergPropertyRefused(DeltaError):
    """ICEBERG_PROPERTY_REFUSED, SQLSTATE 22023"""
    table: str
    key: str
    reason: str
    def __init__(self, table: str, key: str, reason: str) -> None: ...

class IcebergDefaultRefused(ColumnChangeRefused):
    """ICEBERG_DEFAULT_REFUSED, SQLSTATE 42623"""
    column: str
    text: str
    reason: str
    def __init__(self, column: str, text: str, reason: str) -> None: ...

class IcebergColumnInUse(ColumnChangeRefused):
    """ICEBERG_COLUMN_IN_USE, SQLSTATE 42K09"""
    column: str
    used_by: str
    def __init__(self, column: str, used_by: str) -> None: ...

class IcebergColumnChangeRefused(ColumnChangeRefused):
    """ICEBERG_COLUMN_CHANGE_REFUSED, SQLSTATE 0AKDC"""
    column: str
    change: str
    def __init__(self, column: str, change: str) -> None: ...

class IcebergChangeNotSupported(DeltaError):
    """ICEBERG_CHANGE_NOT_SUPPORTED, SQLSTATE 0A000"""
    table: str
    change: str
    def __init__(self, table: str, change: str) -> None: ...

class IcebergPartitioningRefused(DeltaError):
    """ICEBERG_PARTITIONING_REFUSED, SQLSTATE 42611"""
    table: str
    term: str
    reason: str
    def __init__(self, table: str, term: str, reason: str) -> None: ...

class IcebergRowsNotChangeable(DeltaError):
    """ICEBERG_ROWS_NOT_CHANGEABLE, SQLSTATE 0A000"""
    table: str
    def __init__(self, table: str) -> None: ...

class IcebergRefNotWritable(DeltaError):
    """ICEBERG_REFERENCE_NOT_WRITABLE, SQLSTATE 42809"""
    table: str
    reference: str
    def __init__(self, table: str, reference: str) -> None: ...

class IcebergProcedureRefused(DeltaError):
    """ICEBERG_PROCEDURE_REFUSED, SQLSTATE 55000"""
    table: str
    procedure: str
    reason: str
    def __init__(self, table: str, procedure: str, reason: str) -> None: ...

class IcebergStatementRefused(DeltaError):
    """ICEBERG_STATEMENT_NOT_SUPPORTED, SQLSTATE 0A000"""
    statement: str
    table: str
    advice: str
    def __init__(self, statement: str, table: str, advice: str) -> None: ...

class IcebergReferenceNotFound(DeltaError):
    """ICEBERG_REFERENCE_NOT_FOUND, SQLSTATE 42704"""
    table: str
    name: str
    def __init__(self, table: str, name: str) -> None: ...

class IcebergFilesNotRemoved(DeltaError):
    """ICEBERG_FILES_NOT_REMOVED, SQLSTATE 58030"""
    table: str
    count: int
    first: str
    reason: str
    def __init__(self, table: str, count: int, first: str, reason: str) -> None: ...

class IcebergPathPrefixesDiffer(DeltaError):
    """ICEBERG_PATH_PREFIXES_DIFFER, SQLSTATE 55000"""
    table: str
    listed: str
    named: str
    def __init__(self, table: str, listed: str, named: str) -> None: ...

class IcebergConflict(ConcurrentModification):
    """ICEBERG_COMMIT_CONFLICT, SQLSTATE 2D521"""
    table: str
    detail: str
    def __init__(self, table: str, detail: str) -> None: ...

class IcebergCommitAttemptsExceeded(DeltaError):
    """ICEBERG_COMMIT_ATTEMPTS_EXCEEDED, SQLSTATE 2D521"""
    table: str
    attempts: int
    def __init__(self, table: str, attempts: int) -> None: ...

class IcebergReferenceRefused(DeltaError):
    """ICEBERG_REFERENCE_REFUSED, SQLSTATE 42710"""
    table: str
    reference: str
    reason: str
    def __init__(self, table: str, reference: str, reason: str) -> None: ...

class AuditNotWritten(SqlError):
    """AUDIT_NOT_WRITTEN, SQLSTATE 58030"""
    folder: str
    reason: str
    def __init__(self, folder: str, reason: str) -> None: ...

class AuditLogInUse(SqlError):
    """AUDIT_TRAIL_IN_USE, SQLSTATE 55006"""
    folder: str
    def __init__(self, folder: str) -> None: ...

class AuditLogBroken(SqlError):
    """AUDIT_TRAIL_BROKEN, SQLSTATE XX001"""
    file: str
    reason: str
    def __init__(self, file: str, reason: str) -> None: ...

class AuditKeyUnusable(SqlError):
    """AUDIT_KEY_UNUSABLE, SQLSTATE F0000"""
    file: str
    reason: str
    def __init__(self, file: str, reason: str) -> None: ...

class LineageWithoutAudit(SqlError):
    """LINEAGE_WITHOUT_AUDIT, SQLSTATE F0000"""
    def __init__(self) -> None: ...

class CredentialsRefused(SqlError):
    """AUTHENTICATION_FAILED.CREDENTIALS, SQLSTATE 28P01"""
    def __init__(self) -> None: ...

class PlaintextRefused(SqlError):
    """AUTHENTICATION_FAILED.UNENCRYPTED, SQLSTATE 28000"""
    def __init__(self) -> None: ...

class TooManyFailures(SqlError):
    """TOO_MANY_FAILED_LOG_INS, SQLSTATE 53400"""
    retry_after_s: int
    def __init__(self, retry_after_s: int) -> None: ...

class TooManyLogIns(SqlError):
    """TOO_MANY_LOG_INS, SQLSTATE 53400"""
    def __init__(self) -> None: ...

class DirectoryUnavailable(SqlError):
    """DIRECTORY_UNAVAILABLE, SQLSTATE 57P03"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class ProviderUnavailable(SqlError):
    """IDENTITY_PROVIDER_UNAVAILABLE, SQLSTATE 57P03"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class ProviderRefused(SqlError):
    """AUTHENTICATION_FAILED.IDENTITY_PROVIDER, SQLSTATE 28000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class LogInNotStarted(SqlError):
    """AUTHENTICATION_FAILED.LOGIN_NOT_STARTED, SQLSTATE 28000"""
    def __init__(self) -> None: ...

class LogInNotAllowed(SqlError):
    """AUTHENTICATION_FAILED.GROUP, SQLSTATE 28000"""
    user: str
    def __init__(self, user: str) -> None: ...

class ProxyUserNotAllowed(SqlError):
    """PROXY_USER_NOT_ALLOWED, SQLSTATE 42501"""
    principal: str
    proxy_user: str
    def __init__(self, principal: str, proxy_user: str) -> None: ...

class IssuerUnusable(SqlError):
    """ISSUER_UNUSABLE, SQLSTATE F0000"""
    issuer: str
    reason: str
    def __init__(self, issuer: str, reason: str) -> None: ...

class UserNameInvalid(SqlError):
    """USER_NAME_INVALID, SQLSTATE 42602"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class PasswordInvalid(SqlError):
    """PASSWORD_INVALID, SQLSTATE 28P01"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class AuthenticationFailed(SqlError):
    """AUTHENTICATION_FAILED, SQLSTATE 28000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class MalformedHandle(SqlError):
    """INVALID_HANDLE.FORMAT, SQLSTATE HY000"""
    def __init__(self) -> None: ...

class MalformedThriftMessage(SqlError):
    """MALFORMED_REQUEST.THRIFT, SQLSTATE 08P01"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class StatementSettingNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.STATEMENT_SETTING, SQLSTATE 0A000"""
    key: str
    def __init__(self, key: str) -> None: ...

class FetchOrientationNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.FETCH_ORIENTATION, SQLSTATE HYC00"""
    orientation: str
    def __init__(self, orientation: str) -> None: ...

class PageTooLarge(SqlError):
    """FETCH_TOO_LARGE, SQLSTATE 54000"""
    rows: int
    limit: int
    def __init__(self, rows: int, limit: int) -> None: ...

class InfoTypeUnknown(SqlError):
    """UNKNOWN_INFO_TYPE, SQLSTATE HY096"""
    info_type: int
    def __init__(self, info_type: int) -> None: ...

class DelegationTokenNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.DELEGATION_TOKEN, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class TransferNotSupported(SqlError):
    """UNSUPPORTED_FEATURE.TRANSFER_CALL, SQLSTATE 0A000"""
    def __init__(self) -> None: ...

class InvalidField(SqlError):
    """INVALID_PARAMETER_VALUE.HTTP_FIELD, SQLSTATE 22023"""
    name: str
    problem: str
    def __init__(self, name: str, problem: str) -> None: ...

class MalformedBody(SqlError):
    """MALFORMED_REQUEST, SQLSTATE 22030"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class UnsupportedMediaType(SqlError):
    """UNSUPPORTED_MEDIA_TYPE, SQLSTATE 0A000"""
    found: str
    def __init__(self, found: str) -> None: ...

class NotThrift(SqlError):
    """UNSUPPORTED_MEDIA_TYPE.THRIFT, SQLSTATE 0A000"""
    found: str
    def __init__(self, found: str) -> None: ...

class MethodNotAllowed(SqlError):
    """METHOD_NOT_ALLOWED, SQLSTATE 0A000"""
    method: str
    def __init__(self, method: str) -> None: ...

class LengthMissing(SqlError):
    """LENGTH_REQUIRED, SQLSTATE 08P01"""
    def __init__(self) -> None: ...

class CookieRefused(SqlError):
    """AUTHENTICATION_FAILED.COOKIE, SQLSTATE 28000"""
    def __init__(self) -> None: ...

class ForeignPage(SqlError):
    """HTTP_FOREIGN_PAGE, SQLSTATE 42501"""
    def __init__(self) -> None: ...

class ChunkNotFound(SqlError):
    """INVALID_HANDLE.CHUNK_NOT_FOUND, SQLSTATE HY000"""
    chunk: int
    total: int
    def __init__(self, chunk: int, total: int) -> None: ...

class ResultTooLargeToSort(SqlError):
    """RESULT_TOO_LARGE.SORTED, SQLSTATE 54000"""
    column: str
    bytes_max: int
    def __init__(self, column: str, bytes_max: int) -> None: ...

class NotInParquet(SqlError):
    """UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE.DOWNLOAD, SQLSTATE 0A000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class LinkRefused(SqlError):
    """RESULT_LINK_REFUSED, SQLSTATE 42501"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class HostRefused(SqlError):
    """HTTP_HOST_REFUSED, SQLSTATE 42501"""
    host: str
    def __init__(self, host: str) -> None: ...

class TooManyWaiting(SqlError):
    """TOO_MANY_REQUESTS_WAITING, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class TooManyCalls(SqlError):
    """TOO_MANY_CALLS, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class ServerStarting(SqlError):
    """SERVER_STARTING, SQLSTATE 57P03"""
    def __init__(self) -> None: ...

class ConfigUnreadable(SqlError):
    """CONFIG_UNREADABLE, SQLSTATE F0000"""
    source: str
    reason: str
    def __init__(self, source: str, reason: str) -> None: ...

class ConfigUnknownKey(SqlError):
    """CONFIG_UNKNOWN_KEY, SQLSTATE F0000"""
    key: str
    source: str
    nearest: str
    def __init__(self, key: str, source: str, nearest: str) -> None: ...

class ConfigInvalidValue(SqlError):
    """CONFIG_INVALID_VALUE, SQLSTATE F0000"""
    key: str
    source: str
    value: str
    expected: str
    def __init__(self, key: str, source: str, value: str, expected: str) -> None: ...

class HostNotLoopback(SqlError):
    """HOST_NOT_LOOPBACK, SQLSTATE 28000"""
    host: str
    lack: str
    setting: str
    risk: str
    def __init__(self, host: str, lack: str, setting: str, risk: str) -> None: ...

class AuthenticationIncomplete(SqlError):
    """AUTHENTICATION_INCOMPLETE, SQLSTATE F0000"""
    method: str
    setting: str
    def __init__(self, method: str, setting: str) -> None: ...

class AuthenticationNotUsed(SqlError):
    """AUTHENTICATION_NOT_USED, SQLSTATE F0000"""
    setting: str
    method: str
    def __init__(self, setting: str, method: str) -> None: ...

class DirectoryInTheClear(SqlError):
    """DIRECTORY_IN_THE_CLEAR, SQLSTATE F0000"""
    url: str
    def __init__(self, url: str) -> None: ...

class SecretInLake(SqlError):
    """SECRET_IN_LAKE, SQLSTATE F0000"""
    setting: str
    path: str
    root: str
    def __init__(self, setting: str, path: str, root: str) -> None: ...

class HostUnknown(SqlError):
    """HOST_UNKNOWN, SQLSTATE 08001"""
    host: str
    reason: str
    def __init__(self, host: str, reason: str) -> None: ...

class PortFileUnwritable(SqlError):
    """PORT_FILE_UNWRITABLE, SQLSTATE 58030"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class PortInUse(SqlError):
    """PORT_UNAVAILABLE, SQLSTATE 08001"""
    interface: str
    host: str
    port: int
    reason: str
    def __init__(self, interface: str, host: str, port: int, reason: str) -> None: ...

class TlsUnusable(SqlError):
    """TLS_UNUSABLE, SQLSTATE F0000"""
    certificate: str
    key: str
    reason: str
    def __init__(self, certificate: str, key: str, reason: str) -> None: ...

class StartFailed(SqlError):
    """START_FAILED, SQLSTATE 58000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class LakeNotFound(SqlError):
    """LAKE_NOT_FOUND, SQLSTATE 58030"""
    folder: str
    def __init__(self, folder: str) -> None: ...

class RestCatalogInvalid(SqlError):
    """REST_CATALOG_INVALID, SQLSTATE F0000"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class CredentialInvalid(SqlError):
    """STORAGE_CREDENTIAL_INVALID, SQLSTATE F0000"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class CredentialSealed(SqlError):
    """STORAGE_CREDENTIAL_INVALID.SEALED, SQLSTATE F0000"""
    name: str
    reason: str
    def __init__(self, name: str, reason: str) -> None: ...

class CredentialNotFound(SqlError):
    """STORAGE_CREDENTIAL_NOT_FOUND, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class CredentialsKeyInvalid(SqlError):
    """STORAGE_CREDENTIAL_INVALID.KEY, SQLSTATE F0000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class TracingNotInstalled(SqlError):
    """TRACING_NOT_INSTALLED, SQLSTATE F0000"""
    package: str
    def __init__(self, package: str) -> None: ...

class ConnectNotInstalled(SqlError):
    """CONNECT_NOT_INSTALLED, SQLSTATE F0000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class ConnectFeatureNotSupported(SqlError):
    """UNSUPPORTED_CONNECT_FEATURE, SQLSTATE 0A000"""
    feature: str
    advice: str
    def __init__(self, feature: str, advice: str = '') -> None: ...

class PivotTooWide(SqlError):
    """PIVOT_TOO_MANY_VALUES, SQLSTATE 54011"""
    values_max: int
    def __init__(self, values_max: int) -> None: ...

class TransposeTooWide(SqlError):
    """TRANSPOSE_EXCEED_ROW_LIMIT, SQLSTATE 54006"""
    rows_max: int
    def __init__(self, rows_max: int) -> None: ...

class ConnectPlanInvalid(SqlError):
    """CONNECT_INVALID_PLAN, SQLSTATE 56K00"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class ConnectPlanUnreadable(SqlError):
    """CONNECT_INVALID_PLAN.CANNOT_PARSE, SQLSTATE 56K00"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SettingNotFound(SqlError):
    """SQL_CONF_NOT_FOUND, SQLSTATE 42K0I"""
    key: str
    def __init__(self, key: str) -> None: ...

class ConnectSessionChanged(SqlError):
    """INVALID_HANDLE.SESSION_CHANGED, SQLSTATE HY000"""
    def __init__(self) -> None: ...

class ConnectSessionClosed(SqlError):
    """INVALID_HANDLE.SESSION_CLOSED, SQLSTATE HY000"""
    def __init__(self) -> None: ...

class ConnectOperationExists(SqlError):
    """INVALID_HANDLE.OPERATION_ALREADY_EXISTS, SQLSTATE HY000"""
    operation_id: str
    def __init__(self, operation_id: str) -> None: ...

class ConnectOperationAbandoned(SqlError):
    """INVALID_HANDLE.OPERATION_ABANDONED, SQLSTATE HY000"""
    def __init__(self) -> None: ...

class ConnectStreamReplaced(SqlError):
    """INVALID_CURSOR.DISCONNECTED, SQLSTATE HY109"""
    def __init__(self) -> None: ...

class ConnectNotReattachable(SqlError):
    """INVALID_CURSOR.NOT_REATTACHABLE, SQLSTATE HY109"""
    def __init__(self) -> None: ...

class ConnectPositionNotFound(SqlError):
    """INVALID_CURSOR.POSITION_NOT_FOUND, SQLSTATE HY109"""
    response_id: str
    def __init__(self, response_id: str) -> None: ...

class PostgresNotInstalled(SqlError):
    """POSTGRES_NOT_INSTALLED, SQLSTATE F0000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class PostgresProtocolViolation(SqlError):
    """POSTGRES_PROTOCOL_VIOLATION, SQLSTATE 08P01"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class PostgresFeatureNotSupported(SqlError):
    """UNSUPPORTED_POSTGRES_FEATURE, SQLSTATE 0A000"""
    feature: str
    advice: str
    def __init__(self, feature: str, advice: str = '') -> None: ...

class TooManyPostgresConnections(SqlError):
    """POSTGRES_TOO_MANY_CONNECTIONS, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class DatabaseNotFound(SqlError):
    """DATABASE_NOT_FOUND, SQLSTATE 3D000"""
    name: str
    def __init__(self, name: str) -> None: ...

class TransactionBlockFailed(SqlError):
    """IN_FAILED_TRANSACTION_BLOCK, SQLSTATE 25P02"""
    def __init__(self) -> None: ...

class NotInTransactionBlock(SqlError):
    """NOT_IN_TRANSACTION_BLOCK, SQLSTATE 25001"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class NoTransactionBlock(SqlError):
    """NO_ACTIVE_TRANSACTION_BLOCK, SQLSTATE 25P01"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class BlockNotSupported(SqlError):
    """TRANSACTION_BLOCK_NOT_SUPPORTED, SQLSTATE 0A000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class QueryNotOneTransaction(SqlError):
    """TRANSACTION_BLOCK_NOT_SUPPORTED.SEVERAL_STATEMENTS, SQLSTATE 0A000"""
    statement: str
    reason: str
    def __init__(self, statement: str, reason: str) -> None: ...

class TransactionReadOnly(SqlError):
    """READ_ONLY_SQL_TRANSACTION, SQLSTATE 25006"""
    statement: str
    def __init__(self, statement: str) -> None: ...

class TransactionModeTooLate(SqlError):
    """ACTIVE_SQL_TRANSACTION, SQLSTATE 25001"""
    mode: str
    def __init__(self, mode: str) -> None: ...

class IdleInTransactionTimeout(SqlError):
    """IDLE_IN_TRANSACTION_SESSION_TIMEOUT, SQLSTATE 25P03"""
    limit_s: float
    def __init__(self, limit_s: float) -> None: ...

class IdleSessionTimeout(SqlError):
    """IDLE_SESSION_TIMEOUT, SQLSTATE 57P05"""
    limit_s: float
    def __init__(self, limit_s: float) -> None: ...

class SavepointNotFound(SqlError):
    """SAVEPOINT_NOT_FOUND, SQLSTATE 3B001"""
    name: str
    def __init__(self, name: str) -> None: ...

class PreparedStatementExists(SqlError):
    """PREPARED_STATEMENT_ALREADY_EXISTS, SQLSTATE 42P05"""
    name: str
    def __init__(self, name: str) -> None: ...

class PreparedStatementNotFound(SqlError):
    """PREPARED_STATEMENT_NOT_FOUND, SQLSTATE 26000"""
    name: str
    def __init__(self, name: str) -> None: ...

class SessionCursorExists(SqlError):
    """SESSION_CURSOR_ALREADY_EXISTS, SQLSTATE 42P03"""
    name: str
    def __init__(self, name: str) -> None: ...

class SessionCursorNotFound(SqlError):
    """SESSION_CURSOR_NOT_FOUND, SQLSTATE 34000"""
    name: str
    def __init__(self, name: str) -> None: ...

class TooManyPreparedObjects(SqlError):
    """TOO_MANY_PREPARED_OBJECTS, SQLSTATE 53400"""
    kind: str
    limit: int
    def __init__(self, kind: str, limit: int) -> None: ...

class CursorNotScrollable(SqlError):
    """SESSION_CURSOR_NOT_SCROLLABLE, SQLSTATE 55000"""
    name: str
    def __init__(self, name: str) -> None: ...

class ParameterNotRecognized(SqlError):
    """UNRECOGNIZED_CONFIGURATION_PARAMETER, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...

class ParameterValueInvalid(SqlError):
    """INVALID_CONFIGURATION_PARAMETER, SQLSTATE 22023"""
    name: str
    value: str
    expected: str
    def __init__(self, name: str, value: str, expected: str) -> None: ...

class ParameterReadOnly(SqlError):
    """CANNOT_CHANGE_CONFIGURATION_PARAMETER, SQLSTATE 55P02"""
    name: str
    def __init__(self, name: str) -> None: ...

class BoundValueInvalid(SqlError):
    """INVALID_BOUND_VALUE, SQLSTATE 22P02"""
    number: int
    reason: str
    def __init__(self, number: int, reason: str) -> None: ...

class BoundValuesMismatch(SqlError):
    """WRONG_NUMBER_OF_BOUND_VALUES, SQLSTATE 08P01"""
    found: int
    wanted: int
    def __init__(self, found: int, wanted: int) -> None: ...

class CopyDataInvalid(SqlError):
    """COPY_DATA_INVALID, SQLSTATE 22P04"""
    row: int
    reason: str
    def __init__(self, row: int, reason: str) -> None: ...

class CopyFailed(SqlError):
    """COPY_FAILED_BY_CLIENT, SQLSTATE 57014"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class BlockTextTooLarge(SqlError):
    """TRANSACTION_BLOCK_TEXT_TOO_LARGE, SQLSTATE 54000"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class FlightNotInstalled(SqlError):
    """FLIGHT_NOT_INSTALLED, SQLSTATE F0000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class FlightFeatureNotSupported(SqlError):
    """UNSUPPORTED_FLIGHT_FEATURE, SQLSTATE 0A000"""
    feature: str
    advice: str
    def __init__(self, feature: str, advice: str = '') -> None: ...

class FlightMessageInvalid(SqlError):
    """INVALID_FLIGHT_MESSAGE, SQLSTATE 08P01"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class FlightMessageTooLarge(SqlError):
    """FLIGHT_MESSAGE_TOO_LARGE, SQLSTATE 54000"""
    what: str
    limit: int
    def __init__(self, what: str, limit: int) -> None: ...

class TooManyFlightCalls(SqlError):
    """FLIGHT_CALLS_EXCEEDED, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class FlightStatementNotFound(SqlError):
    """INVALID_HANDLE.PREPARED_STATEMENT_NOT_FOUND, SQLSTATE 26000"""
    def __init__(self) -> None: ...

class FlightParametersMismatch(SqlError):
    """FLIGHT_PARAMETER_COUNT_MISMATCH, SQLSTATE 07001"""
    expected: int
    actual: int
    def __init__(self, expected: int, actual: int) -> None: ...

class SessionStateNotReadable(SqlError):
    """SESSION_STATE_NOT_READABLE, SQLSTATE 58030"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class StateFolderNotUsable(SqlError):
    """STATE_FOLDER_NOT_USABLE, SQLSTATE 58030"""
    path: str
    reason: str
    def __init__(self, path: str, reason: str) -> None: ...

class StateFormatNotSupported(SqlError):
    """STATE_FORMAT_NOT_SUPPORTED, SQLSTATE 0A000"""
    path: str
    version: str
    supported: int
    def __init__(self, path: str, version: str, supported: int) -> None: ...

class StateLost(SqlError):
    """STATE_LOST, SQLSTATE 57P01"""
    def __init__(self) -> None: ...

class ForwardedRequestRefused(SqlError):
    """FORWARDED_REQUEST_REFUSED, SQLSTATE 28000"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class GatewayConnectionLost(SqlError):
    """GATEWAY_CONNECTION_LOST, SQLSTATE 08006"""
    def __init__(self) -> None: ...

class SessionInTransfer(SqlError):
    """SESSION_IN_TRANSFER, SQLSTATE 57P03"""
    seconds: float
    def __init__(self, seconds: float) -> None: ...

class SessionNotHere(SqlError):
    """SESSION_NOT_HERE, SQLSTATE 57P03"""
    def __init__(self) -> None: ...

class StatementInterrupted(SqlError):
    """STATEMENT_INTERRUPTED, SQLSTATE 57P01"""
    def __init__(self) -> None: ...

class SessionNotFound(SqlError):
    """INVALID_HANDLE.SESSION_NOT_FOUND, SQLSTATE 08003"""
    def __init__(self) -> None: ...

class OperationNotFound(SqlError):
    """INVALID_HANDLE.OPERATION_NOT_FOUND, SQLSTATE HY000"""
    def __init__(self) -> None: ...

class OperationClosed(SqlError):
    """INVALID_HANDLE.OPERATION_CLOSED, SQLSTATE 24000"""
    def __init__(self) -> None: ...

class LogInEnded(SqlError):
    """AUTHENTICATION_FAILED.ENDED, SQLSTATE 28000"""
    def __init__(self) -> None: ...

class ResultNotReady(SqlError):
    """RESULT_NOT_READY, SQLSTATE 55000"""
    def __init__(self) -> None: ...

class TooManySessions(SqlError):
    """TOO_MANY_SESSIONS, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class TooManySessionsOfUser(SqlError):
    """TOO_MANY_SESSIONS.OF_USER, SQLSTATE 53300"""
    user: str
    limit: int
    def __init__(self, user: str, limit: int) -> None: ...

class TooManyStatements(SqlError):
    """TOO_MANY_STATEMENTS, SQLSTATE 53300"""
    limit: int
    def __init__(self, limit: int) -> None: ...

class TooManyStatementsOfUser(SqlError):
    """TOO_MANY_STATEMENTS.OF_USER, SQLSTATE 53300"""
    user: str
    limit: int
    def __init__(self, user: str, limit: int) -> None: ...

class TooManyAbandoned(SqlError):
    """TOO_MANY_ABANDONED_STATEMENTS, SQLSTATE 53000"""
    count: int
    def __init__(self, count: int) -> None: ...

class TooManyAbandonedOfOwner(SqlError):
    """TOO_MANY_ABANDONED_STATEMENTS.OF_OWNER, SQLSTATE 53000"""
    owner: str
    count: int
    def __init__(self, owner: str, count: int) -> None: ...

class EngineNotAnswering(SqlError):
    """ENGINE_NOT_ANSWERING, SQLSTATE 57P03"""
    seconds: float
    def __init__(self, seconds: float) -> None: ...

class ServerDraining(SqlError):
    """SERVER_SHUTTING_DOWN, SQLSTATE 57P01"""
    def __init__(self) -> None: ...

class NestedParameter(SqlError):
    """UNSUPPORTED_FEATURE.PARAMETER_TYPE, SQLSTATE 0A000"""
    parameter: str
    sql_type: str
    def __init__(self, parameter: str, sql_type: str) -> None: ...

class TooManyQueued(SqlError):
    """TOO_MANY_QUEUED_STATEMENTS, SQLSTATE 53400"""
    whose: str
    limit: int
    retry_after_s: int
    def __init__(self, whose: str, limit: int, retry_after_s: int) -> None: ...

class QueuedTooLong(SqlError):
    """STATEMENT_QUEUED_TOO_LONG, SQLSTATE 53400"""
    group: str
    seconds: float
    retry_after_s: int
    def __init__(self, group: str, seconds: float, retry_after_s: int) -> None: ...

class PostgresNotSupported(SqlError):
    """POSTGRES_FEATURE_NOT_SUPPORTED, SQLSTATE 0A000"""
    feature: str
    advice: str
    def __init__(self, feature: str, advice: str = '') -> None: ...

class SystemCatalogWithTables(SqlError):
    """SYSTEM_CATALOG_WITH_TABLES, SQLSTATE 0A000"""
    name: str
    def __init__(self, name: str) -> None: ...

class SystemColumnNotFound(SqlError):
    """SYSTEM_CATALOG_COLUMN_NOT_FOUND, SQLSTATE 42703"""
    column: str
    def __init__(self, column: str) -> None: ...

class SystemQueryInvalid(SqlError):
    """SYSTEM_CATALOG_QUERY_INVALID, SQLSTATE 42601"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SystemValueInvalid(SqlError):
    """SYSTEM_CATALOG_VALUE_INVALID, SQLSTATE 22P02"""
    reason: str
    def __init__(self, reason: str) -> None: ...

class SystemQueryTooLarge(SqlError):
    """SYSTEM_CATALOG_QUERY_TOO_LARGE, SQLSTATE 53200"""
    limit: str
    def __init__(self, limit: str) -> None: ...

class SystemQueryTimeout(SqlError):
    """SYSTEM_CATALOG_QUERY_TIMEOUT, SQLSTATE 57014"""
    seconds: float
    def __init__(self, seconds: float) -> None: ...

class SystemSettingNotFound(SqlError):
    """SYSTEM_CATALOG_SETTING_NOT_FOUND, SQLSTATE 42704"""
    name: str
    def __init__(self, name: str) -> None: ...
