"""The closed union of all statements."""

from __future__ import annotations

from engine.statements.alter_table.statement import AlterTable
from engine.statements.comments.statement import CommentOn
from engine.statements.compatibility.statement import Refresh, ShowAbsent
from engine.statements.containers.statement import AlterCatalog, CreateCatalog, CreateSchema, DropCatalog, DropSchema
from engine.statements.copy_into.statement import CopyInto
from engine.statements.create_table.statement import CloneTable, ConvertTable, CreateTable, CreateTableLike, DropTable
from engine.statements.describe.statement import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.explain.statement import Explain, ExplainWrite
from engine.statements.functions.statement import CreateFunction, DescribeFunction, DropFunction
from engine.statements.grants.statement import RightQuestion, RightStatement
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.listings.statement import (
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
)
from engine.statements.maintenance.statement import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.merge.statement import Merge
from engine.statements.policies.statement import PolicyStatement
from engine.statements.procedures.statement import Call, RegisterTable, SnapshotTable
from engine.statements.row_changes.statement import Delete, TruncateTable, Update
from engine.statements.select.statement import DescribeQuery, Query
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.show.statement import (
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
from engine.statements.tokens.statement import CreateToken, RevokeToken, ShowTokens
from engine.statements.views.statement import AlterView, CreateView, DropView
from engine.statements.volumes.statement import (
    ChangeFile,
    DescribeVolume,
    GetFile,
    ListVolume,
    ShowVolumes,
    VolumeDefinition,
)

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
