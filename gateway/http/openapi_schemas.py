"""The HTTP interface's bodies as JSON Schema (OpenAPI 3.1), by name; `openapi.py` refers to them."""

from __future__ import annotations

from enum import StrEnum

from gateway.http.requests import Compression, Disposition, Format, OnWaitTimeout, TokenScope

Schema = dict[str, object]

STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number", "minimum": 0}
UUID: Schema = {"type": "string", "format": "uuid"}
TIME: Schema = {"type": "string", "format": "date-time"}
TIME_MS: Schema = {"type": "integer", "description": "Milliseconds since 1970-01-01 UTC."}
NOT_NEGATIVE: Schema = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
POSITIVE: Schema = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
WAIT: Schema = {"type": "string", "pattern": "^([0-9]|[1-4][0-9]|50)s$", "description": "Whole seconds, as in 10s."}
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
IGNORED: Schema = {"description": "Accepted and not used."}
ROW: Schema = {"type": "object", "additionalProperties": True}


def ref(name: str) -> Schema:
    """Returns a reference to the schema with this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(items: Schema) -> Schema:
    """Returns the schema of an array of these items."""
    return {"type": "array", "items": items}


def enum_of(choices: type[StrEnum]) -> Schema:
    """Returns the schema of a string that is one of the enum's values."""
    return {"type": "string", "enum": [option.value for option in choices]}


def optional(schema: Schema) -> Schema:
    """Permits null."""
    choices = {"enum": [*enum, None]} if isinstance(enum := schema.get("enum"), list) else {}
    kind = schema.get("type")
    if kind is None:
        return schema
    kinds = kind if isinstance(kind, list) else [kind]
    return schema | {"type": [*kinds, *(() if "null" in kinds else ("null",))]} | choices


def answer(required: str = "", **properties: Schema) -> Schema:
    """Describes an object with possible further members; `required` are names with spaces between them."""
    described: Schema = {"type": "object", "properties": properties}
    return described | ({"required": required.split()} if required else {})


def request(required: str = "", **properties: Schema) -> Schema:
    """Describes an object without further members; optional ones may be null."""
    given = {name: schema if name in required.split() else optional(schema) for name, schema in properties.items()}
    return answer(required, **given) | {"additionalProperties": False}


_CHUNK = {"chunk_index": COUNT, "row_offset": COUNT, "row_count": COUNT, "byte_count": COUNT}

_PLACE: Schema = COUNT | {"description": "UTF-16 code units before it."}
CHART: Schema = {"type": ["object", "null"], "description": "Interpreted by the page alone."}
_MESSAGE_ID: Schema = {"type": ["string", "integer", "null"]}
_UNITY_OBJECT = answer(
    "name full_name",
    name=STRING,
    full_name=STRING,
    catalog_name=STRING,
    schema_name=STRING,
    owner=STRING,
    comment=STRING,
    created_at=TIME_MS,
    created_by=STRING,
    updated_at=TIME_MS,
    updated_by=STRING,
    table_type=STRING,
    data_source_format=STRING,
    storage_location=STRING,
    properties={},
    columns=list_of(ROW),
)
_LEVEL: Schema = {"type": "string", "enum": ["CAN_VIEW", "CAN_EDIT"]}
_QUERY_FIELDS: dict[str, Schema] = {
    "display_name": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": STRING,
    "query_text": STRING,
    "parent_path": STRING | {"description": "The folder, as in /reports/daily."},
    "catalog": STRING,
    "schema": STRING,
    "parameters": list_of(ref("QueryParameter")),
    "chart": CHART,
    **dict.fromkeys(("warehouse_id", "run_as_mode", "tags", "apply_auto_limit"), IGNORED),
}
_NEW_QUERY: Schema = request("display_name", **_QUERY_FIELDS)
_QUERY_ANSWER: dict[str, Schema] = {
    "id": STRING,
    "display_name": STRING,
    "description": STRING,
    "parent_path": STRING,
    "catalog": optional(STRING),
    "schema": optional(STRING),
    "parameters": list_of(ref("QueryParameter")),
    "owner_user_name": STRING,
    "last_modifier_user_name": STRING,
    "create_time": TIME,
    "update_time": TIME,
    "lifecycle_state": STRING,
    "etag": STRING,
    "permission": {"type": "string", "enum": ["CAN_VIEW", "CAN_EDIT", "OWNER"]},
    "is_shared": BOOLEAN,
}

SCHEMAS: dict[str, Schema] = {
    "Error": answer(
        "error_code message",
        error_code=STRING | {"description": "As in Databricks' REST interfaces."},
        message=STRING | {"description": "For people, with the condition in front and the SQLSTATE at its end."},
        condition=STRING | {"description": "The stable name of the error, as TABLE_OR_VIEW_NOT_FOUND."},
        sql_state={"type": "string", "pattern": "^[0-9A-Z]{5}$"},
        line=COUNT | {"description": "In the statement's text, from 1; where that is known."},
        column=COUNT,
    ),
    "Empty": answer(),
    "PartsUpload": answer("multipart_upload", multipart_upload=answer("session_token", session_token=STRING)),
    "Folder": answer(
        "contents",
        contents=list_of(
            answer(
                "path name is_directory",
                path=STRING,
                name=STRING,
                is_directory=BOOLEAN,
                file_size=COUNT,
                last_modified=TIME_MS,
            )
        ),
        next_page_token=STRING,
    ),
    "Status": answer("status", status=STRING),
    "StatementRequest": request(
        "statement",
        statement={"type": "string", "minLength": 1},
        warehouse_id=IGNORED,
        session_id=UUID,
        catalog=STRING,
        schema=STRING,
        parameters=list_of(ref("Parameter")),
        row_limit=NOT_NEGATIVE,
        byte_limit=POSITIVE,
        disposition=enum_of(Disposition),
        format=enum_of(Format),
        result_compression=enum_of(Compression),
        wait_timeout=WAIT,
        on_wait_timeout=enum_of(OnWaitTimeout),
        query_tags=IGNORED,
    ),
    "Parameter": request(
        "", name=STRING, value=STRING, type=STRING | {"description": "A SQL type, as INT."}, ordinal=POSITIVE
    ),
    "Statement": answer(
        "statement_id status",
        statement_id=UUID,
        status=ref("StatementStatus"),
        session=ref("OpenedSession"),
        manifest=ref("Manifest"),
        result=ref("ResultChunk"),
    ),
    "StatementStatus": answer(
        "state",
        state={"type": "string", "enum": ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "CLOSED"]},
        error=ref("Error"),
        sql_state=STRING,
    ),
    "Manifest": answer(
        "format schema total_chunk_count total_row_count total_byte_count truncated chunks",
        format=enum_of(Format),
        schema=answer("column_count columns", column_count=COUNT, columns=list_of(ref("Column"))),
        total_chunk_count=COUNT,
        total_row_count=COUNT,
        total_byte_count=COUNT,
        truncated=BOOLEAN | {"description": "Whether a row or byte limit cut the result."},
        from_result_cache=BOOLEAN | {"description": "Whether the rows are those of an earlier identical query."},
        result_compression=enum_of(Compression),
        chunks=list_of(answer("chunk_index", **_CHUNK)),
    ),
    "Column": answer(
        "name position type_name type_text", name=STRING, position=COUNT, type_name=STRING, type_text=STRING
    ),
    "ResultChunk": answer(
        "",
        **_CHUNK,
        data_array=list_of(list_of({"type": ["string", "null"]})),
        attachment=STRING | {"description": "An Arrow stream in base64."},
        external_links=list_of(answer("external_link expiration", **_CHUNK, external_link=STRING, expiration=STRING)),
        next_chunk_index=COUNT,
        next_chunk_internal_link=STRING,
    ),
    "ResultCount": answer("row_count", row_count=COUNT),
    "ResultStatistics": answer(
        "row_count null_count distinct_count min max",
        row_count=COUNT,
        null_count=COUNT,
        distinct_count={"type": ["integer", "null"], "description": "Null if the values need too much memory."},
        min=optional(STRING),
        max=optional(STRING),
    ),
    "Plans": answer(
        "reason plans",
        statement_id=UUID,
        reason={
            "enum": [None, *"RUNNING FROM_CACHE FROM_LOG REPEATED PROTECTED SCRIPT NOT_RECORDED".split()],
            "description": "Why there are no plans, or whose they are; null if they are those of the statement.",
        },
        log_answer={"type": ["object", "null"]}
        | {"description": "The statistics in a table's log that the answer follows from."},
        plans=list_of(
            answer(
                "id began_ms nodes edges",
                id=COUNT,
                began_ms=TIME_MS,
                duration_ms=optional(COUNT),
                nodes=list_of(
                    answer(
                        "id name description metrics",
                        id=COUNT,
                        name=STRING,
                        description=STRING,
                        cluster={"type": ["integer", "null"], "description": "The node that this one is a part of."},
                        rows=optional(COUNT),
                        bytes=optional(COUNT),
                        time_ms={"type": ["number", "null"], "description": "Summed over tasks."},
                        metrics=list_of(answer("name value", name=STRING, value=STRING)),
                        read={"type": ["object", "null"], "description": "Files and bytes, as in the profile."},
                    )
                ),
                edges=list_of(
                    {"type": "array", "items": COUNT, "description": "From a node to the one that reads it."}
                ),
            )
        ),
    ),
    "Profile": answer(
        "statement_id state stages tasks reads rows log",
        statement_id=UUID,
        state=STRING,
        stage={"type": ["string", "null"], "description": "Where the statement is now, or that of a script that runs."},
        statements_begun=COUNT | {"description": "Of a script, those that it has run or runs."},
        from_cache={"type": "boolean", "description": "Whether the rows came from the result cache."},
        from_result_cache={"type": "boolean", "description": "The same."},
        created_ms=TIME_MS,
        ended_ms={"type": ["integer", "null"]},
        stages=list_of(answer("name duration_ms", name=STRING, duration_ms=NUMBER)),
        tasks=answer("", total=COUNT, running=COUNT, done=COUNT, failed=COUNT),
        reads=list_of(
            answer(
                "table version files files_total bytes bytes_total",
                table=STRING,
                version=COUNT,
                files=COUNT,
                files_after_partitions=COUNT,
                files_total=COUNT,
                bytes=COUNT,
                bytes_total=COUNT,
            )
        ),
        rows=COUNT,
        result_bytes=COUNT,
        log=list_of(STRING),
    ),
    "SessionRequest": request(
        "",
        warehouse_id=IGNORED,
        catalog=STRING,
        schema=STRING,
        session_confs={"type": "object", "additionalProperties": STRING},
        execution_mode=IGNORED,
    ),
    "SessionPlace": request("", catalog=STRING, schema=STRING),
    "OpenedSession": answer("session_id catalog schema", session_id=UUID, catalog=STRING, schema=STRING),
    "Sessions": answer("sessions", sessions=list_of(ref("Session"))),
    "Session": answer(
        "session_id user_name running",
        session_id=UUID,
        user_name=STRING,
        interface=STRING,
        address=STRING,
        client=optional(STRING),
        created_ms=TIME_MS,
        last_used_ms=TIME_MS,
        running=COUNT,
        catalog=STRING | {"description": "The current catalog; only in the answer about one session, as `schema`."},
        schema=STRING,
    ),
    "Queries": answer("res has_next_page", res=list_of(ref("Query")), has_next_page=BOOLEAN, next_page_token=UUID),
    "Query": answer(
        "query_id status query_text user_name query_start_time_ms is_final",
        query_id=UUID,
        session_id=UUID,
        status={"type": "string", "enum": ["QUEUED", "RUNNING", "FINISHED", "FAILED", "CANCELED"]},
        query_text=STRING,
        statement_type=STRING,
        user_name=STRING,
        client_application=STRING,
        query_start_time_ms=TIME_MS,
        query_end_time_ms=TIME_MS,
        duration=COUNT,
        rows_produced=COUNT,
        is_final=BOOLEAN,
        metrics=answer("", read_bytes=COUNT, pruned_bytes=COUNT, rows_produced_count=COUNT, result_from_cache=BOOLEAN),
        stages=list_of(answer("name duration_ms", name=STRING, duration_ms={"type": "number"})),
        error_message=STRING,
        condition=STRING,
    ),
    "Warehouses": answer("warehouses", warehouses=list_of(ref("Warehouse"))),
    "Warehouse": answer(
        "id name state",
        id=STRING,
        name=STRING,
        state={"type": "string", "enum": ["RUNNING"]},
        health=answer("status", status=STRING),
        warehouse_type=STRING,
        auto_stop_mins=COUNT,
        num_clusters=COUNT,
        min_num_clusters=COUNT,
        max_num_clusters=COUNT,
        num_active_sessions=COUNT,
        enable_photon=BOOLEAN,
        enable_serverless_compute=BOOLEAN,
        odbc_params=answer("hostname", hostname=STRING, path=STRING, port=COUNT, protocol=STRING),
        jdbc_url=STRING,
    ),
    "UnityObject": _UNITY_OBJECT,
    "UnityCatalogs": answer("catalogs", catalogs=list_of(ref("UnityObject")), next_page_token=STRING),
    "UnitySchemas": answer("schemas", schemas=list_of(ref("UnityObject")), next_page_token=STRING),
    "UnityTables": answer("tables", tables=list_of(ref("UnityObject")), next_page_token=STRING),
    "UnityTableExists": answer("table_exists", table_exists=BOOLEAN),
    "UnityFunctions": answer("functions", functions=list_of(ref("UnityObject")), next_page_token=STRING),
    "UnityVolumes": answer("volumes", volumes=list_of(ref("UnityObject")), next_page_token=STRING),
    "McpMessage": answer("jsonrpc method", jsonrpc=STRING, id=_MESSAGE_ID, method=STRING, params=ROW),
    "McpAnswer": answer("jsonrpc", jsonrpc=STRING, id=_MESSAGE_ID, result=ROW, error=ROW),
    "Me": answer("userName", id=STRING, userName=STRING, displayName=STRING, active=BOOLEAN, groups=list_of(ROW)),
    "Catalogs": answer("catalogs current", catalogs=list_of(answer("name", name=STRING)), current=STRING),
    "Schemas": answer("schemas", schemas=list_of(answer("name catalog", name=STRING, catalog=STRING))),
    "Tables": answer(
        "tables",
        tables=list_of(
            answer("name", name=STRING, catalog=STRING, schema=STRING, type=STRING, comment=optional(STRING))
        ),
    ),
    "Columns": answer(
        "columns",
        columns=list_of(
            answer(
                "name table sql_type",
                name=STRING,
                catalog=STRING,
                schema=STRING,
                table=STRING,
                sql_type=STRING,
                nullable=BOOLEAN,
                position=COUNT,
                comment=optional(STRING),
                default=optional(STRING),
            )
        ),
    ),
    "Table": ROW | {"description": "As DESCRIBE TABLE EXTENDED … AS JSON."},
    "TableDetail": ROW | {"description": "The row of DESCRIBE DETAIL."},
    "Versions": answer("versions", versions=list_of(ROW | {"description": "A row of DESCRIBE HISTORY."})),
    "Files": answer(
        "files",
        files=list_of(
            answer(
                "path size",
                path=STRING,
                size=COUNT,
                rows=optional(COUNT),
                deleted_rows=COUNT,
                partition=TEXTS,
            )
        ),
    ),
    "ColumnStatistics": answer(
        "rows files columns",
        rows=optional(COUNT),
        files=COUNT,
        columns=list_of(
            answer(
                "name type min max is_exact null_count",
                name=STRING,
                type=STRING,
                min=optional(STRING),
                max=optional(STRING),
                is_exact=BOOLEAN | {"description": "Whether minimum and maximum are values of rows, not only bounds."},
                null_count=optional(COUNT),
            )
        ),
    ),
    "Lineage": answer(
        "upstream downstream", upstream=list_of(ref("LineageEdge")), downstream=list_of(ref("LineageEdge"))
    ),
    "LineageEdge": answer(
        "catalog schema name type path statement_type user statement_id first_ms last_ms count columns",
        catalog=optional(STRING),
        schema=optional(STRING),
        name=optional(STRING),
        type={"type": "string", "enum": ["TABLE", "VIEW", "PATH"]},
        path=optional(STRING) | {"description": "The files, for the type PATH."},
        statement_type=STRING | {"description": "VIEW for the text of a view, else as INSERT or MERGE."},
        user=optional(STRING) | {"description": "The user of the last statement."},
        statement_id=optional(STRING),
        first_ms=optional(TIME_MS),
        last_ms=optional(TIME_MS),
        count=optional(COUNT),
        columns=list_of(list_of(STRING)) | {"description": "Pairs of a source and a target column, if recorded."},
    ),
    "Functions": answer(
        "functions keywords",
        functions=list_of(
            answer(
                "name kind type usage description examples",
                name=STRING,
                kind={"type": "string", "enum": ["builtin", "user"]},
                type=STRING | {"description": "scalar, aggregate, window, generator, table or operator"},
                catalog=STRING,
                schema=STRING,
                usage=list_of(STRING | {"description": "A signature."}),
                examples=list_of(STRING),
                **dict.fromkeys(("description", "arguments", "note", "group", "since", "deprecated"), STRING),
            )
        ),
        keywords=list_of(STRING),
    ),
    "NewToken": request("", comment=STRING, lifetime_seconds=POSITIVE, scope=enum_of(TokenScope)),
    "CreatedToken": answer("token_value token_info", token_value=STRING, token_info=ROW),
    "TokenId": request("", token_id=STRING),
    "Tokens": answer("token_infos", token_infos=list_of(ROW)),
    "EditorText": request("statement", statement=STRING),
    "ParsedText": answer(
        "statements",
        statements=list_of(
            answer(
                "start end is_terminated parameters",
                start=_PLACE,
                end=_PLACE,
                is_terminated=BOOLEAN | {"description": "Whether a semicolon follows."},
                parameters=list_of(answer("name start end", name=STRING, start=_PLACE, end=_PLACE)),
            )
        ),
    ),
    "FormattedText": answer("statement changed", statement=STRING, changed=BOOLEAN),
    "SavedQueryFields": request("", **_QUERY_FIELDS),
    "NewSavedQuery": request("query", query=_NEW_QUERY, auto_resolve_display_name=IGNORED),
    "SavedQueryChange": request(
        "query",
        query=ref("SavedQueryFields"),
        etag=STRING | {"description": "Of the query as it was read; the change is rejected if it is another one now."},
        update_mask=STRING | {"description": "Fields to change, with commas; by default those that `query` has."},
        auto_resolve_display_name=IGNORED,
    ),
    "QueryParameter": request(
        "name", name={"type": "string", "pattern": r"^\w{1,255}$"}, type=STRING, value=STRING, title=STRING
    ),
    "SavedQuery": answer("id display_name query_text etag permission", query_text=STRING, chart=CHART, **_QUERY_ANSWER),
    "SavedQueries": answer(
        "results unreadable",
        results=list_of(answer("id display_name etag permission", **_QUERY_ANSWER)),
        unreadable=list_of(answer("id reason", id=STRING, owner_user_name=optional(STRING), reason=STRING))
        | {"description": "Queries of the user whose files cannot be read."},
        next_page_token=STRING,
    ),
    "NewQueryShares": request("access_control_list", access_control_list=list_of(ref("NewQueryShare"))),
    "NewQueryShare": request("permission_level", user_name=STRING, group_name=STRING, permission_level=_LEVEL),
    "QueryShares": answer(
        "access_control_list",
        access_control_list=list_of(
            answer(
                "permission_level is_known",
                user_name=STRING,
                group_name=STRING,
                permission_level=_LEVEL,
                is_known=BOOLEAN | {"description": "Whether the server has seen the user or group."},
            )
        ),
    ),
    "QueryFolders": answer(
        "folders",
        folders=list_of(
            answer("path owner_user_name query_count", path=STRING, owner_user_name=STRING, query_count=COUNT)
        ),
    ),
    "FolderMove": request("path new_path", path=STRING, new_path=STRING),
    "FolderName": request("path", path=STRING),
    "MovedQueries": answer("moved", moved=COUNT),
    "DeletedQueries": answer("deleted", deleted=COUNT),
}
