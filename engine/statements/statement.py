"""The closed union of all statements."""

from __future__ import annotations

from engine.statements.alters import AlterTable
from engine.statements.calls.procedures import Call, RegisterTable, SnapshotTable
from engine.statements.catalog import (
    AlterCatalog,
    AlterView,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
)
from engine.statements.copies import ConvertTable, CopyInto
from engine.statements.explains import ExplainWrite
from engine.statements.foreign import Refresh, ShowAbsent
from engine.statements.functions import CreateFunction, DescribeFunction, DropFunction
from engine.statements.maintenance import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.merges import Merge
from engine.statements.policies import PolicyStatement
from engine.statements.queries import DescribeQuery, Explain, Query
from engine.statements.rights import CreateToken, RevokeToken, RightQuestion, RightStatement, ShowTokens
from engine.statements.session import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.shows import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
    FindColumns,
    FindFunctions,
    FindKeys,
    FindSchemas,
    FindTables,
    ListColumns,
    ListFiles,
    ListForeignKeys,
    ListFunctions,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from engine.statements.tables import CloneTable, CreateTable, CreateTableLike, DropTable
from engine.statements.volumes import (
    ChangeFile,
    DescribeVolume,
    GetFile,
    ListVolume,
    ShowVolumes,
    VolumeDefinition,
)
from engine.statements.writes import Delete, Insert, MultiInsert, TruncateTable, Update

AnsweredStatement = (
    ShowCatalogs
    | ShowSchemas
    | ShowTables
    | ShowTableExtended
    | ShowViews
    | ShowColumns
    | ShowFunctions
    | ShowCurrentNamespace
    | ShowTblProperties
    | ShowPartitions
    | ShowCreateTable
    | FindSchemas
    | FindTables
    | FindColumns
    | FindFunctions
    | FindKeys
    | Refresh
    | ShowAbsent
    | DescribeTable
    | DescribeSchema
    | DescribeCatalog
    | DescribeHistory
    | DescribeDetail
    | UseSchema
    | UseCatalog
    | SetSetting
    | ShowSettings
    | ResetSetting
    | ListSchemas
    | ListTables
    | ListColumns
    | ListFiles
    | ListFunctions
    | ListPrimaryKeys
    | ListForeignKeys
    | RightQuestion
    | DescribeFunction
    | ShowVolumes
    | DescribeVolume
)
"""Statements that Spark has no part in: what the catalog, the logs and the session's state answer."""

Statement = Query | Explain | ExplainWrite | DescribeQuery | AnsweredStatement | ShowTokens | GetFile | ListVolume
"""Statements that change no table and no name."""

MaintenanceStatement = Optimize | Reorg | Vacuum | RestoreTable | RepairTable | GenerateManifest | AnalyzeTable
"""Statements that change files or the log of a table, and no row."""

TableStatement = TruncateTable | Optimize | Reorg | Vacuum | RepairTable | GenerateManifest | AnalyzeTable
"""Statements about one table, `table_parts`, that read no other relation and have no query."""

QuerylessStatement = (
    TableStatement
    | RestoreTable
    | CreateTableLike
    | CloneTable
    | ConvertTable
    | AlterTable
    | Delete
    | Update
    | DropTable
    | CreateSchema
    | DropSchema
    | CreateCatalog
    | AlterCatalog
    | DropCatalog
    | AlterView
    | DropView
    | DropFunction
    | CommentOn
    | Call
    | RegisterTable
    | SnapshotTable
    | GetFile
    | ListVolume
    | ChangeFile
    | VolumeDefinition
)
"""Statements without a query whose columns would have to be known before they are planned."""

FormatStatement = (
    AlterTable
    | CreateTableLike
    | CloneTable
    | ConvertTable
    | MaintenanceStatement
    | Call
    | RegisterTable
    | SnapshotTable
)
"""Statements that the format of the table may plan by itself (`engine.formats.planning`)."""

WriteStatement = (
    Insert
    | Delete
    | Update
    | Merge
    | CreateTable
    | CreateTableLike
    | CloneTable
    | ConvertTable
    | CopyInto
    | AlterTable
    | DropTable
    | TruncateTable
    | CreateSchema
    | DropSchema
    | CreateCatalog
    | AlterCatalog
    | DropCatalog
    | CreateView
    | AlterView
    | DropView
    | CommentOn
    | RightStatement
    | PolicyStatement
    | CreateToken
    | RevokeToken
    | CreateFunction
    | DropFunction
    | MaintenanceStatement
    | Call
    | RegisterTable
    | SnapshotTable
    | VolumeDefinition
    | ChangeFile
)

OneStatement = Statement | WriteStatement

AnyStatement = OneStatement | MultiInsert
