/*
 * The HiveServer2 service as this gateway speaks it.
 *
 * Names, field ids and enum numbers are those of Apache Hive's service-rpc up to HIVE_CLI_SERVICE_PROTOCOL_V11, with
 * GetLog as older clients call it. Field ids from 1281 on, TStatus.displayMessage, and SPARK_CLI_SERVICE_PROTOCOL_V1 to
 * V9, are the extensions that Databricks' clients send and understand; Hive's own clients skip them. Fields that Hive
 * marks `required` are so marked here only where we send them; the server checks what it reads by itself.
 *
 * How the Python modules are made from this file: gen/README.md.
 */
namespace py gateway.hs2.gen

typedef string Identifier
typedef string Pattern           // JDBC's: % and _, escaped by a backslash
typedef i32 TypeEntryIndex       // into TTypeDesc.types

// ---------------------------------------------------------------------------------------------- versions and statuses

enum TProtocolVersion {
  HIVE_CLI_SERVICE_PROTOCOL_V1 = 0,
  HIVE_CLI_SERVICE_PROTOCOL_V2 = 1,     // asynchronous execution
  HIVE_CLI_SERVICE_PROTOCOL_V3 = 2,     // varchar
  HIVE_CLI_SERVICE_PROTOCOL_V4 = 3,     // decimal's precision and scale, char
  HIVE_CLI_SERVICE_PROTOCOL_V5 = 4,     // errors of asynchronous statements
  HIVE_CLI_SERVICE_PROTOCOL_V6 = 5,     // columns instead of rows, binary as binary
  HIVE_CLI_SERVICE_PROTOCOL_V7 = 6,     // delegation tokens
  HIVE_CLI_SERVICE_PROTOCOL_V8 = 7,     // intervals
  HIVE_CLI_SERVICE_PROTOCOL_V9 = 8,     // columns encoded by the engine (binaryColumns)
  HIVE_CLI_SERVICE_PROTOCOL_V10 = 9,    // progress, query timeout
  HIVE_CLI_SERVICE_PROTOCOL_V11 = 10,   // timestamp with local time zone
  SPARK_CLI_SERVICE_PROTOCOL_V1 = 42241,  // 0xA501
  SPARK_CLI_SERVICE_PROTOCOL_V2 = 42242,
  SPARK_CLI_SERVICE_PROTOCOL_V3 = 42243,
  SPARK_CLI_SERVICE_PROTOCOL_V4 = 42244,
  SPARK_CLI_SERVICE_PROTOCOL_V5 = 42245,
  SPARK_CLI_SERVICE_PROTOCOL_V6 = 42246,
  SPARK_CLI_SERVICE_PROTOCOL_V7 = 42247,
  SPARK_CLI_SERVICE_PROTOCOL_V8 = 42248,
  SPARK_CLI_SERVICE_PROTOCOL_V9 = 42249
}

enum TStatusCode {
  SUCCESS_STATUS = 0,
  SUCCESS_WITH_INFO_STATUS = 1,
  STILL_EXECUTING_STATUS = 2,
  ERROR_STATUS = 3,
  INVALID_HANDLE_STATUS = 4
}

struct TStatus {
  1: required TStatusCode statusCode,
  2: optional list<string> infoMessages,
  3: optional string sqlState,
  4: optional i32 errorCode,
  5: optional string errorMessage,
  6: optional string displayMessage
}

// ------------------------------------------------------------------------------------------------------------ handles

struct THandleIdentifier {
  1: required binary guid,
  2: required binary secret
}

struct TSessionHandle {
  1: required THandleIdentifier sessionId,
  3329: optional TProtocolVersion serverProtocolVersion
}

enum TOperationType {
  EXECUTE_STATEMENT = 0,
  GET_TYPE_INFO = 1,
  GET_CATALOGS = 2,
  GET_SCHEMAS = 3,
  GET_TABLES = 4,
  GET_TABLE_TYPES = 5,
  GET_COLUMNS = 6,
  GET_FUNCTIONS = 7,
  UNKNOWN = 8,
  PROCEDURAL_SQL = 9
}

struct TOperationHandle {
  1: required THandleIdentifier operationId,
  2: required TOperationType operationType,
  3: required bool hasResultSet,
  4: optional double modifiedRowCount
}

// ------------------------------------------------------------------------------------------------------ column types

enum TTypeId {
  BOOLEAN_TYPE = 0,
  TINYINT_TYPE = 1,
  SMALLINT_TYPE = 2,
  INT_TYPE = 3,
  BIGINT_TYPE = 4,
  FLOAT_TYPE = 5,
  DOUBLE_TYPE = 6,
  STRING_TYPE = 7,
  TIMESTAMP_TYPE = 8,
  BINARY_TYPE = 9,
  ARRAY_TYPE = 10,
  MAP_TYPE = 11,
  STRUCT_TYPE = 12,
  UNION_TYPE = 13,
  USER_DEFINED_TYPE = 14,
  DECIMAL_TYPE = 15,
  NULL_TYPE = 16,
  DATE_TYPE = 17,
  VARCHAR_TYPE = 18,
  CHAR_TYPE = 19,
  INTERVAL_YEAR_MONTH_TYPE = 20,
  INTERVAL_DAY_TIME_TYPE = 21,
  TIMESTAMPLOCALTZ_TYPE = 22
}

// Keys of TTypeQualifiers.qualifiers
const string CHARACTER_MAXIMUM_LENGTH = "characterMaximumLength"
const string PRECISION = "precision"
const string SCALE = "scale"

union TTypeQualifierValue {
  1: optional i32 i32Value,
  2: optional string stringValue
}

struct TTypeQualifiers {
  1: required map<string, TTypeQualifierValue> qualifiers
}

struct TPrimitiveTypeEntry {
  1: required TTypeId type,
  2: optional TTypeQualifiers typeQualifiers
}

struct TArrayTypeEntry {
  1: required TypeEntryIndex objectTypePtr
}

struct TMapTypeEntry {
  1: required TypeEntryIndex keyTypePtr,
  2: required TypeEntryIndex valueTypePtr
}

struct TStructTypeEntry {
  1: required map<string, TypeEntryIndex> nameToTypePtr
}

struct TUnionTypeEntry {
  1: required map<string, TypeEntryIndex> nameToTypePtr
}

struct TUserDefinedTypeEntry {
  1: required string typeClassName
}

union TTypeEntry {
  1: optional TPrimitiveTypeEntry primitiveEntry,
  2: optional TArrayTypeEntry arrayEntry,
  3: optional TMapTypeEntry mapEntry,
  4: optional TStructTypeEntry structEntry,
  5: optional TUnionTypeEntry unionEntry,
  6: optional TUserDefinedTypeEntry userDefinedTypeEntry
}

struct TTypeDesc {
  1: required list<TTypeEntry> types
}

struct TColumnDesc {
  1: required string columnName,
  2: required TTypeDesc typeDesc,
  3: required i32 position,             // from 1
  4: optional string comment
}

struct TTableSchema {
  1: required list<TColumnDesc> columns
}

// ------------------------------------------------------------------------------------------- values: rows, up to V5

struct TBoolValue   { 1: optional bool value }
struct TByteValue   { 1: optional i8 value }
struct TI16Value    { 1: optional i16 value }
struct TI32Value    { 1: optional i32 value }
struct TI64Value    { 1: optional i64 value }
struct TDoubleValue { 1: optional double value }
struct TStringValue { 1: optional string value }

union TColumnValue {
  1: optional TBoolValue boolVal,
  2: optional TByteValue byteVal,
  3: optional TI16Value i16Val,
  4: optional TI32Value i32Val,
  5: optional TI64Value i64Val,
  6: optional TDoubleValue doubleVal,
  7: optional TStringValue stringVal
}

struct TRow {
  1: required list<TColumnValue> colVals
}

// ------------------------------------------------------------------------------------------ values: columns, from V6
// `nulls` is a bitmap, least significant bit first, trailing zero bytes left out; a null's slot holds a zero value.

struct TBoolColumn   { 1: required list<bool> values,   2: required binary nulls }
struct TByteColumn   { 1: required list<i8> values,   2: required binary nulls }
struct TI16Column    { 1: required list<i16> values,    2: required binary nulls }
struct TI32Column    { 1: required list<i32> values,    2: required binary nulls }
struct TI64Column    { 1: required list<i64> values,    2: required binary nulls }
struct TDoubleColumn { 1: required list<double> values, 2: required binary nulls }
struct TStringColumn { 1: required list<string> values, 2: required binary nulls }
struct TBinaryColumn { 1: required list<binary> values, 2: required binary nulls }

union TColumn {
  1: optional TBoolColumn boolVal,
  2: optional TByteColumn byteVal,
  3: optional TI16Column i16Val,
  4: optional TI32Column i32Val,
  5: optional TI64Column i64Val,
  6: optional TDoubleColumn doubleVal,
  7: optional TStringColumn stringVal,
  8: optional TBinaryColumn binaryVal
}

struct TSparkArrowBatch {
  1: required binary batch,             // an IPC record batch message, without its schema
  2: required i64 rowCount
}

struct TSparkArrowResultLink {
  1: required string fileLink,
  2: required i64 expiryTime,           // s since 1970
  3: required i64 startRowOffset,
  4: required i64 rowCount,
  5: required i64 bytesNum,             // of the document, before it is compressed
  6: optional map<string, string> httpHeaders
}

struct TRowSet {
  1: required i64 startRowOffset,
  2: required list<TRow> rows,
  3: optional list<TColumn> columns,
  4: optional binary binaryColumns,
  5: optional i32 columnCount,
  1281: optional list<TSparkArrowBatch> arrowBatches,
  1282: optional list<TSparkArrowResultLink> resultLinks
}

enum TSparkRowSetType {
  ARROW_BASED_SET = 0,
  COLUMN_BASED_SET = 1,
  ROW_BASED_SET = 2,
  URL_BASED_SET = 3
}

// ----------------------------------------------------------------------------------------------------------- sessions

struct TNamespace {
  1: optional Identifier catalogName,
  2: optional Identifier schemaName
}

union TGetInfoValue {
  1: optional string stringValue,
  2: optional i16 smallIntValue,
  3: optional i32 integerBitmask,
  4: optional i32 integerFlag,
  5: optional i32 binaryValue,
  6: optional i64 lenValue
}

struct TOpenSessionReq {
  1: optional TProtocolVersion client_protocol,
  2: optional string username,
  3: optional string password,
  4: optional map<string, string> configuration,
  1281: optional list<i32> getInfos,        // types of GetInfo that are asked for with the session
  1282: optional i64 client_protocol_i64,   // goes before client_protocol, which is -7 or unset beside it
  1283: optional map<string, string> connectionProperties,
  1284: optional TNamespace initialNamespace,
  1285: optional bool canUseMultipleCatalogs
}

struct TOpenSessionResp {
  1: required TStatus status,
  2: required TProtocolVersion serverProtocolVersion,
  3: optional TSessionHandle sessionHandle,
  4: optional map<string, string> configuration,
  1281: optional list<TGetInfoValue> getInfos,
  1284: optional TNamespace initialNamespace,
  1285: optional bool canUseMultipleCatalogs
}

struct TCloseSessionReq {
  1: required TSessionHandle sessionHandle
}

struct TCloseSessionResp {
  1: required TStatus status
}

struct TSetClientInfoReq {
  1: required TSessionHandle sessionHandle,
  2: optional map<string, string> configuration
}

struct TSetClientInfoResp {
  1: required TStatus status
}

// The numbers are those of ODBC's SQLGetInfo.
enum TGetInfoType {
  CLI_MAX_DRIVER_CONNECTIONS = 0,
  CLI_MAX_CONCURRENT_ACTIVITIES = 1,
  CLI_DATA_SOURCE_NAME = 2,
  CLI_FETCH_DIRECTION = 8,
  CLI_SERVER_NAME = 13,
  CLI_SEARCH_PATTERN_ESCAPE = 14,
  CLI_DBMS_NAME = 17,
  CLI_DBMS_VER = 18,
  CLI_ACCESSIBLE_TABLES = 19,
  CLI_ACCESSIBLE_PROCEDURES = 20,
  CLI_CURSOR_COMMIT_BEHAVIOR = 23,
  CLI_DATA_SOURCE_READ_ONLY = 25,
  CLI_DEFAULT_TXN_ISOLATION = 26,
  CLI_IDENTIFIER_CASE = 28,
  CLI_IDENTIFIER_QUOTE_CHAR = 29,
  CLI_MAX_COLUMN_NAME_LEN = 30,
  CLI_MAX_CURSOR_NAME_LEN = 31,
  CLI_MAX_SCHEMA_NAME_LEN = 32,
  CLI_MAX_CATALOG_NAME_LEN = 34,
  CLI_MAX_TABLE_NAME_LEN = 35,
  CLI_SCROLL_CONCURRENCY = 43,
  CLI_TXN_CAPABLE = 46,
  CLI_USER_NAME = 47,
  CLI_TXN_ISOLATION_OPTION = 72,
  CLI_INTEGRITY = 73,
  CLI_GETDATA_EXTENSIONS = 81,
  CLI_NULL_COLLATION = 85,
  CLI_ALTER_TABLE = 86,
  CLI_ORDER_BY_COLUMNS_IN_SELECT = 90,
  CLI_SPECIAL_CHARACTERS = 94,
  CLI_MAX_COLUMNS_IN_GROUP_BY = 97,
  CLI_MAX_COLUMNS_IN_INDEX = 98,
  CLI_MAX_COLUMNS_IN_ORDER_BY = 99,
  CLI_MAX_COLUMNS_IN_SELECT = 100,
  CLI_MAX_COLUMNS_IN_TABLE = 101,
  CLI_MAX_INDEX_SIZE = 102,
  CLI_MAX_ROW_SIZE = 104,
  CLI_MAX_STATEMENT_LEN = 105,
  CLI_MAX_TABLES_IN_SELECT = 106,
  CLI_MAX_USER_NAME_LEN = 107,
  CLI_OJ_CAPABILITIES = 115,
  CLI_XOPEN_CLI_YEAR = 10000,
  CLI_CURSOR_SENSITIVITY = 10001,
  CLI_DESCRIBE_PARAMETER = 10002,
  CLI_CATALOG_NAME = 10003,
  CLI_COLLATION_SEQ = 10004,
  CLI_MAX_IDENTIFIER_LEN = 10005,
  CLI_ODBC_KEYWORDS = 10006
}

struct TGetInfoReq {
  1: required TSessionHandle sessionHandle,
  2: required TGetInfoType infoType
}

struct TGetInfoResp {
  1: required TStatus status,
  2: required TGetInfoValue infoValue
}

// ------------------------------------------------------------------------------------------- operations: state, result

enum TOperationState {
  INITIALIZED_STATE = 0,
  RUNNING_STATE = 1,
  FINISHED_STATE = 2,
  CANCELED_STATE = 3,
  CLOSED_STATE = 4,
  ERROR_STATE = 5,
  UKNOWN_STATE = 6,                     // so spelled in Hive
  PENDING_STATE = 7,
  TIMEDOUT_STATE = 8
}

enum TJobExecutionStatus {
  IN_PROGRESS = 0,
  COMPLETE = 1,
  NOT_AVAILABLE = 2
}

struct TProgressUpdateResp {
  1: required list<string> headerNames,
  2: required list<list<string>> rows,
  3: required double progressedPercentage,
  4: required TJobExecutionStatus status,
  5: required string footerSummary,
  6: required i64 startTime
}

struct TGetOperationStatusReq {
  1: required TOperationHandle operationHandle,
  2: optional bool getProgressUpdate
}

struct TGetOperationStatusResp {
  1: required TStatus status,
  2: optional TOperationState operationState,
  3: optional string sqlState,
  4: optional i32 errorCode,
  5: optional string errorMessage,
  6: optional string taskStatus,
  7: optional i64 operationStarted,     // ms since 1970
  8: optional i64 operationCompleted,
  9: optional bool hasResultSet,
  10: optional TProgressUpdateResp progressUpdateResponse,
  11: optional i64 numModifiedRows,
  1281: optional string displayMessage,
  1282: optional string diagnosticInfo,
  1283: optional string errorDetailsJson
}

struct TCancelOperationReq {
  1: required TOperationHandle operationHandle
}

struct TCancelOperationResp {
  1: required TStatus status
}

struct TCloseOperationReq {
  1: required TOperationHandle operationHandle
}

struct TCloseOperationResp {
  1: required TStatus status
}

struct TGetResultSetMetadataReq {
  1: required TOperationHandle operationHandle
}

struct TGetResultSetMetadataResp {
  1: required TStatus status,
  2: optional TTableSchema schema,
  1281: optional TSparkRowSetType resultFormat,
  1282: optional bool lz4Compressed,
  1283: optional binary arrowSchema,    // an IPC schema message
  1285: optional i64 uncompressedBytes,
  1286: optional i64 compressedBytes,
  1287: optional bool isStagingOperation
}

enum TFetchOrientation {
  FETCH_NEXT = 0,
  FETCH_PRIOR = 1,
  FETCH_RELATIVE = 2,
  FETCH_ABSOLUTE = 3,
  FETCH_FIRST = 4,
  FETCH_LAST = 5
}

struct TFetchResultsReq {
  1: required TOperationHandle operationHandle,
  2: required TFetchOrientation orientation,
  3: required i64 maxRows,
  4: optional i16 fetchType,            // 0 rows, 1 log lines
  1281: optional i64 maxBytes,
  1282: optional i64 startRowOffset,
  1283: optional bool includeResultSetMetadata
}

struct TFetchResultsResp {
  1: required TStatus status,
  2: optional bool hasMoreRows,
  3: optional TRowSet results,
  1281: optional TGetResultSetMetadataResp resultSetMetadata
}

struct TGetQueryIdReq {
  1: required TOperationHandle operationHandle
}

struct TGetQueryIdResp {
  1: required string queryId
}

struct TGetLogReq {
  1: required TOperationHandle operationHandle
}

struct TGetLogResp {
  1: required TStatus status,
  2: required string log
}

// ---------------------------------------------------------------------------------------------- operations: statements

// The client asks for the first rows within the answer that starts the operation.
struct TSparkGetDirectResults {
  1: required i64 maxRows,
  2: optional i64 maxBytes
}

struct TSparkDirectResults {
  1: optional TGetOperationStatusResp operationStatus,
  2: optional TGetResultSetMetadataResp resultSetMetadata,
  3: optional TFetchResultsResp resultSet,
  4: optional TCloseOperationResp closeOperation
}

struct TSparkArrowTypes {
  1: optional bool timestampAsArrow,
  2: optional bool decimalAsArrow,
  3: optional bool complexTypesAsArrow,
  4: optional bool intervalTypesAsArrow,
  5: optional bool nullTypeAsArrow
}

union TSparkParameterValue {
  1: optional string stringValue,
  2: optional double doubleValue,
  3: optional bool booleanValue
}

struct TSparkParameterValueArg {
  1: optional string type,
  2: optional string value,
  3: optional list<TSparkParameterValueArg> arguments
}

struct TSparkParameter {
  1: optional i32 ordinal,              // of a marker `?`, from 1 (0 in some clients)
  2: optional string name,
  3: optional string type,
  4: optional TSparkParameterValue value,
  5: optional list<TSparkParameterValueArg> arguments // of an array, or keys and values of a map by turns
}

struct TExecuteStatementReq {
  1: required TSessionHandle sessionHandle,
  2: required string statement,
  3: optional map<string, string> confOverlay,
  4: optional bool runAsync,
  5: optional i64 queryTimeout,         // seconds, 0 for none
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool canReadArrowResult,
  1283: optional bool canDownloadResult,
  1284: optional bool canDecompressLZ4Result,
  1285: optional i64 maxBytesPerFile,
  1286: optional TSparkArrowTypes useArrowNativeTypes,
  1287: optional i64 resultRowLimit,
  1288: optional list<TSparkParameter> parameters,
  1289: optional i64 maxBytesPerBatch,
  3353: optional bool enforceEmbeddedSchemaCorrectness
}

struct TExecuteStatementResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

// ------------------------------------------------------------------------------------------------ operations: metadata

struct TGetTypeInfoReq {
  1: required TSessionHandle sessionHandle,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetTypeInfoResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetCatalogsReq {
  1: required TSessionHandle sessionHandle,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetCatalogsResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetSchemasReq {
  1: required TSessionHandle sessionHandle,
  2: optional Identifier catalogName,
  3: optional Pattern schemaName,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetSchemasResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetTablesReq {
  1: required TSessionHandle sessionHandle,
  2: optional Pattern catalogName,
  3: optional Pattern schemaName,
  4: optional Pattern tableName,
  5: optional list<string> tableTypes,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetTablesResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetTableTypesReq {
  1: required TSessionHandle sessionHandle,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetTableTypesResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetColumnsReq {
  1: required TSessionHandle sessionHandle,
  2: optional Identifier catalogName,
  3: optional Pattern schemaName,
  4: optional Pattern tableName,
  5: optional Pattern columnName,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetColumnsResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetFunctionsReq {
  1: required TSessionHandle sessionHandle,
  2: optional Identifier catalogName,
  3: optional Pattern schemaName,
  4: required Pattern functionName,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetFunctionsResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetPrimaryKeysReq {
  1: required TSessionHandle sessionHandle,
  2: optional Identifier catalogName,
  3: optional Identifier schemaName,
  4: optional Identifier tableName,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetPrimaryKeysResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

struct TGetCrossReferenceReq {
  1: required TSessionHandle sessionHandle,
  2: optional Identifier parentCatalogName,
  3: optional Identifier parentSchemaName,
  4: optional Identifier parentTableName,
  5: optional Identifier foreignCatalogName,
  6: optional Identifier foreignSchemaName,
  7: optional Identifier foreignTableName,
  1281: optional TSparkGetDirectResults getDirectResults,
  1282: optional bool runAsync
}

struct TGetCrossReferenceResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle,
  1281: optional TSparkDirectResults directResults
}

// --------------------------------------------------------------------------------------------------- delegation tokens

struct TGetDelegationTokenReq {
  1: required TSessionHandle sessionHandle,
  2: required string owner,
  3: required string renewer
}

struct TGetDelegationTokenResp {
  1: required TStatus status,
  2: optional string delegationToken
}

struct TCancelDelegationTokenReq {
  1: required TSessionHandle sessionHandle,
  2: required string delegationToken
}

struct TCancelDelegationTokenResp {
  1: required TStatus status
}

struct TRenewDelegationTokenReq {
  1: required TSessionHandle sessionHandle,
  2: required string delegationToken
}

struct TRenewDelegationTokenResp {
  1: required TStatus status
}


struct TUploadDataReq {
  1: required TSessionHandle sessionHandle,
  2: optional string tableName,
  3: optional string path,
  4: required binary values
}

struct TUploadDataResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle
}

struct TDownloadDataReq {
  1: required TSessionHandle sessionHandle,
  2: optional string tableName,
  3: optional string query,
  4: optional string format,
  5: optional map<string, string> downloadOptions
}

struct TDownloadDataResp {
  1: required TStatus status,
  2: optional TOperationHandle operationHandle
}

// Impala's: a closed statement's counts, by partition

struct TDmlResult {
  1: required map<string, i64> rows_modified,
  2: optional i64 num_row_errors,
  3: optional map<string, i64> rows_deleted
}

struct TCloseImpalaOperationReq {
  1: required TOperationHandle operationHandle
}

struct TCloseImpalaOperationResp {
  1: required TStatus status,
  2: optional TDmlResult dml_result
}

service TCLIService {
  TOpenSessionResp OpenSession(1: TOpenSessionReq req)
  TCloseSessionResp CloseSession(1: TCloseSessionReq req)
  TSetClientInfoResp SetClientInfo(1: TSetClientInfoReq req)
  TGetInfoResp GetInfo(1: TGetInfoReq req)

  TExecuteStatementResp ExecuteStatement(1: TExecuteStatementReq req)
  TGetTypeInfoResp GetTypeInfo(1: TGetTypeInfoReq req)
  TGetCatalogsResp GetCatalogs(1: TGetCatalogsReq req)
  TGetSchemasResp GetSchemas(1: TGetSchemasReq req)
  TGetTablesResp GetTables(1: TGetTablesReq req)
  TGetTableTypesResp GetTableTypes(1: TGetTableTypesReq req)
  TGetColumnsResp GetColumns(1: TGetColumnsReq req)
  TGetFunctionsResp GetFunctions(1: TGetFunctionsReq req)
  TGetPrimaryKeysResp GetPrimaryKeys(1: TGetPrimaryKeysReq req)
  TGetCrossReferenceResp GetCrossReference(1: TGetCrossReferenceReq req)

  TGetOperationStatusResp GetOperationStatus(1: TGetOperationStatusReq req)
  TCancelOperationResp CancelOperation(1: TCancelOperationReq req)
  TCloseOperationResp CloseOperation(1: TCloseOperationReq req)
  TCloseImpalaOperationResp CloseImpalaOperation(1: TCloseImpalaOperationReq req)
  TGetResultSetMetadataResp GetResultSetMetadata(1: TGetResultSetMetadataReq req)
  TFetchResultsResp FetchResults(1: TFetchResultsReq req)
  TGetQueryIdResp GetQueryId(1: TGetQueryIdReq req)
  TGetLogResp GetLog(1: TGetLogReq req)

  TGetDelegationTokenResp GetDelegationToken(1: TGetDelegationTokenReq req)
  TCancelDelegationTokenResp CancelDelegationToken(1: TCancelDelegationTokenReq req)
  TRenewDelegationTokenResp RenewDelegationToken(1: TRenewDelegationTokenReq req)

  TUploadDataResp UploadData(1: TUploadDataReq req)
  TDownloadDataResp DownloadData(1: TDownloadDataReq req)
}
