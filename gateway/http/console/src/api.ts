// The server's HTTP interface: requests, their answers as types, and its errors as one class.

import { noteEnd, watchStatement } from "./catalog_changes";
import { parseExact } from "./exact_json";

/** Of a table; text where a number would not be exact. */
export type Version = number | string;

export interface Failure {
  error_code: string;
  message: string;
  condition?: string;
  sql_state?: string;
  hint?: string;
  /** Where the error is: line and column from 1, in the text of the view, or the text that the statement `inside` runs. */
  line?: number;
  column?: number;
  excerpt?: string;
  view?: string;
  inside?: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly failure: Failure,
  ) {
    super(failure.message);
  }
}

export type StatementState = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED" | "CLOSED";

export interface ResultColumn {
  name: string;
  type_name: string;
  type_text: string;
}

export interface StatementAnswer {
  statement_id: string;
  status: { state: StatementState; error?: Failure; sql_state?: string };
  manifest?: {
    schema: { columns: ResultColumn[] };
    total_row_count: number;
    total_byte_count: number;
    truncated: boolean;
    from_result_cache?: boolean;
  };
  /** The session after the statement, which may have been USE. */
  session?: SessionContext;
}

export interface SessionContext {
  session_id: string;
  catalog: string;
  schema: string;
}

/** A value for `:name`; null is NULL. */
export interface Parameter {
  name: string;
  type: string;
  value: string | null;
}

/** A statement of a text, with the places of its parameters; offsets are those of a string here. */
export interface ParsedStatement {
  start: number;
  end: number;
  parameters: { name: string; start: number; end: number }[];
}

/** A function as its documentation describes it. */
export interface FunctionRow {
  name: string;
  kind: "builtin" | "user";
  type: "scalar" | "aggregate" | "window" | "generator" | "table" | "operator";
  catalog?: string;
  schema?: string;
  usage: string[];
  description: string;
  arguments?: string;
  examples: string[];
}

export type Permission = "OWNER" | "CAN_EDIT" | "CAN_VIEW";

/** A saved query; lists leave out the text and the chart. */
export interface SavedQuery {
  id: string;
  display_name: string;
  description: string;
  query_text: string;
  /** A folder's path; `/` is the root. */
  parent_path: string;
  catalog: string | null;
  schema: string | null;
  parameters: Parameter[];
  chart: unknown;
  owner_user_name: string;
  last_modifier_user_name: string;
  update_time: string;
  etag: string;
  permission: Permission;
  is_shared: boolean;
}

/** A saved query whose file the server cannot read. */
export interface UnreadableQuery {
  id: string;
  owner_user_name: string | null;
  reason: string;
}

export type QueryContent = Pick<
  SavedQuery,
  "display_name" | "description" | "query_text" | "parent_path" | "catalog" | "schema" | "parameters" | "chart"
>;

export interface AccessEntry {
  user_name?: string;
  group_name?: string;
  permission_level: Exclude<Permission, "OWNER">;
  /** False for a name that the server has never seen. */
  is_known?: boolean;
}

/** An answer with the first rows of the result, as text. */
export interface InlineAnswer extends Omit<StatementAnswer, "manifest"> {
  manifest?: { schema: { columns: ResultColumn[] }; total_chunk_count: number };
  result?: InlineRows;
}

export interface InlineRows {
  data_array?: (string | null)[][];
}

export interface TokenRow {
  token_id: string;
  creation_time: number;
  expiry_time: number;
  comment: string;
  created_by_username: string;
  scope: "sql" | "read-only";
}

export interface TableRead {
  table: string;
  version: Version;
  files: number;
  files_after_partitions: number;
  files_total: number;
  bytes: number;
  bytes_total: number;
}

export interface Profile {
  state: StatementState;
  stage: string | null;
  /** Of a script. */
  statements_begun: number;
  created_ms: number;
  ended_ms: number | null;
  stages: { name: string; duration_ms: number }[];
  tasks: { total: number; running: number; done: number; failed: number };
  reads: TableRead[];
  rows: number;
  result_bytes: number;
  log: string[];
}

export interface TableRow {
  name: string;
  catalog: string;
  schema: string;
  type: string;
  comment: string | null;
}

export interface ColumnRow {
  name: string;
  table: string;
  sql_type: string;
}

export interface DescribedColumn {
  name: string;
  type: DescribedType;
  comment?: string;
  nullable?: boolean;
  default?: string;
  generation_expression?: string;
  is_identity?: boolean;
}

export interface DescribedType {
  name: string;
  length?: number;
  precision?: number;
  scale?: number;
  element_type?: DescribedType;
  key_type?: DescribedType;
  value_type?: DescribedType;
  fields?: { name: string; type: DescribedType }[];
}

export interface TableDescription {
  table_name: string;
  catalog_name: string;
  schema_name: string;
  columns: DescribedColumn[];
  type: string;
  provider?: string;
  version?: Version;
  owner?: string;
  location?: string;
  comment?: string;
  created_time?: string;
  partition_columns?: string[];
  clustering_columns?: string[];
  primary_key?: { name: string; columns: string[] };
  foreign_keys?: { name: string; columns: string[]; parent: string[]; parent_columns: string[] }[];
  table_properties?: Record<string, string>;
  view_text?: string;
}

export interface VersionRow {
  version: Version;
  timestamp: number;
  operation: string;
  operationParameters: Record<string, string> | null;
  operationMetrics: Record<string, string> | null;
  userName: string | null;
  engineInfo: string | null;
}

export interface FileRow {
  path: string;
  size: number;
  rows: number | null;
  deleted_rows: number;
  partition: Record<string, string | null>;
}

export interface QueryRow {
  query_id: string;
  session_id: string;
  status: "QUEUED" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELED";
  query_text: string;
  user_name: string;
  client_application: string;
  query_start_time_ms: number;
  duration?: number;
  rows_produced: number;
  is_final: boolean;
  metrics: { read_bytes: number; pruned_bytes: number };
  stages: { name: string; duration_ms: number }[];
  error_message?: string;
  condition?: string;
  hint?: string;
  line?: number;
  column?: number;
  excerpt?: string;
}

export interface SessionRow {
  session_id: string;
  user_name: string;
  interface: string;
  address: string;
  client: string | null;
  created_ms: number;
  last_used_ms: number;
  running: number;
}

export interface TableStatistics {
  rows: number | null;
  files: number;
  /** `is_exact`: the minimum and the maximum are values of rows, and not only bounds. */
  columns: { name: string; type: string; min: string | null; max: string | null; is_exact: boolean; null_count: number | null }[];
}

/**
 * An edge of lineage to a table, a view or files that the user may see: by the text of a view, without times, or by all
 * statements of a type.
 */
export interface LineageEdge {
  catalog: string | null;
  schema: string | null;
  name: string | null;
  type: string;
  /** The files, if it has no name. */
  path: string | null;
  statement_type: string;
  user: string | null;
  first_ms: number | null;
  last_ms: number | null;
  count: number | null;
  /** Pairs of a source and a target column. */
  columns: [string, string][];
}

/** An operator of an executed plan; `cluster` is the node for the generated code that it is a part of. */
export interface PlanNode {
  id: number;
  name: string;
  description: string;
  cluster: number | null;
  rows: number | null;
  bytes: number | null;
  time_ms: number | null;
  metrics: { name: string; value: string }[];
  read: TableRead | null;
}

export interface ExecutedPlan {
  id: number;
  began_ms: number;
  duration_ms: number | null;
  nodes: PlanNode[];
  /** From an operator to the one that reads its rows. */
  edges: [number, number][];
}

export interface Plans {
  /** Why there are no plans, or whose they are. */
  reason: "RUNNING" | "FROM_CACHE" | "FROM_LOG" | "REPEATED" | "PROTECTED" | "SCRIPT" | "NOT_RECORDED" | null;
  plans: ExecutedPlan[];
  /** The statistics in a table's log that the answer follows from. */
  log_answer: { table: string; version: Version; files: number; statistics: string[] } | null;
}

/** Of a column of a result. */
export interface ResultStatistics {
  row_count: number;
  null_count: number;
  distinct_count: number | null;
  min: string | null;
  max: string | null;
}

export interface Me {
  userName: string;
  groups: { display: string }[];
}

export interface TableName {
  catalog: string;
  schema: string;
  table: string;
}

const QUERIES_MAX = 200;
const SQL = "api/2.0/sql";
const LATE_S = 10;
const CATALOG = "api/2.0/catalog";

/** Requests JSON; a login that has ended leads to the login page, which returns to this page. */
async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return parseExact(await (await send(method, path, body, signal)).text()) as T;
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const answer = await fetch(path, {
    method,
    signal,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.ok) return answer;
  if (answer.status === 401) {
    location.assign(`login?next=${encodeURIComponent(location.search + location.hash)}`);
    return new Promise<never>(() => undefined); // nothing is shown as failed while the browser leaves the page
  }
  throw new ApiError(answer.status, await failureOf(answer));
}

async function failureOf(answer: Response): Promise<Failure> {
  try {
    return (await answer.json()) as Failure;
  } catch {
    return { error_code: "UNKNOWN", message: `The server answered ${answer.status} without a reason.` };
  }
}

function query(path: string, parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Loads lists of the catalog again when the statement has ended, if it may change the catalog. */
async function watched<T extends Omit<StatementAnswer, "manifest">>(text: string, answer: Promise<T>): Promise<T> {
  watchStatement((await answer).statement_id, text);
  return ended(answer);
}

async function ended<T extends Omit<StatementAnswer, "manifest">>(answer: Promise<T>): Promise<T> {
  const { statement_id: id, status } = await answer;
  noteEnd(id, status.state);
  return answer;
}

export interface RowsQuery {
  offset: number;
  limit: number;
  order?: string;
  /** Conditions as JSON (`selection.ts`). */
  filter?: string;
  columns?: string;
  form?: "text" | "number";
  cut?: number;
}

export const api = {
  me: () => ask<Me>("GET", "api/2.0/preview/scim/v2/Me"),
  openSession: (catalog?: string, schema?: string) =>
    ask<SessionContext>("POST", `${SQL}/sessions`, { catalog, schema }),
  changeSession: (id: string, catalog: string, schema: string) =>
    ask<SessionContext>("PATCH", `${SQL}/sessions/${id}`, { catalog, schema }),
  endSession: (id: string) => ask<object>("DELETE", `${SQL}/sessions/${id}`),
  endAnySession: (id: string) => ask<object>("POST", `${SQL}/sessions/${id}/end`),
  submit: (statement: string, session_id: string, row_limit: number, parameters: Parameter[] = []) =>
    watched(statement, ask<StatementAnswer>("POST", `${SQL}/statements`, {
      statement,
      parameters,
      session_id,
      row_limit,
      wait_timeout: "0s",
      disposition: "EXTERNAL_LINKS",
      format: "ARROW_STREAM",
    })),
  /** Waits for the end of a statement; fails if the answer is late, since a lost connection does not always say so. */
  statement: (id: string, wait_s: number) =>
    ended(ask<StatementAnswer>("GET", query(`${SQL}/statements/${id}`, { wait_timeout: `${wait_s}s` }), undefined, AbortSignal.timeout((wait_s + LATE_S) * 1000))),
  submitInline: (statement: string, wait_s: number) =>
    watched(statement, ask<InlineAnswer>("POST", `${SQL}/statements`, { statement, wait_timeout: `${wait_s}s` })),
  statementInline: (id: string, wait_s: number) =>
    ended(ask<InlineAnswer>("GET", query(`${SQL}/statements/${id}`, { wait_timeout: `${wait_s}s` }))),
  chunk: (id: string, index: number) => ask<InlineRows>("GET", `${SQL}/statements/${id}/result/chunks/${index}`),
  profile: (id: string) => ask<Profile>("GET", `${SQL}/statements/${id}/profile`),
  plan: (id: string) => ask<Plans>("GET", `${SQL}/statements/${id}/plan`),
  cancel: (id: string) => ask<object>("POST", `${SQL}/statements/${id}/cancel`),
  close: (id: string) => ask<object>("DELETE", `${SQL}/statements/${id}`),
  rows: async (id: string, rows: RowsQuery, signal?: AbortSignal) => {
    const answer = await send("GET", query(`${SQL}/statements/${id}/result/rows`, { ...rows }), undefined, signal);
    return new Uint8Array(await answer.arrayBuffer());
  },
  resultCount: async (id: string, filter?: string) =>
    (await ask<{ row_count: number }>("GET", query(`${SQL}/statements/${id}/result/count`, { filter }))).row_count,
  resultStatistics: (id: string, column: number, filter?: string) =>
    ask<ResultStatistics>("GET", query(`${SQL}/statements/${id}/result/statistics`, { column, filter })),
  fileUrl: (id: string, format: "csv" | "parquet") => query(`${SQL}/statements/${id}/result/file`, { format }),
  /** `current` is the one that statements begin in. */
  catalogs: () => ask<{ catalogs: { name: string }[]; current: string }>("GET", `${CATALOG}/catalogs`),
  schemas: async (catalog: string) =>
    (await ask<{ schemas: { name: string }[] }>("GET", query(`${CATALOG}/schemas`, { catalog }))).schemas,
  tables: async (catalog: string, schema: string) =>
    (await ask<{ tables: TableRow[] }>("GET", query(`${CATALOG}/tables`, { catalog, schema }))).tables,
  columns: async (catalog: string, schema: string, table: string) =>
    (await ask<{ columns: ColumnRow[] }>("GET", query(`${CATALOG}/columns`, { catalog, schema, table }))).columns,
  /** Of all tables of a schema; reads their logs. */
  schemaColumns: async (catalog: string, schema: string) =>
    (await ask<{ columns: ColumnRow[] }>("GET", query(`${CATALOG}/columns`, { catalog, schema }))).columns,
  table: (name: TableName, version?: Version) =>
    ask<TableDescription>("GET", query(`${CATALOG}/table`, { ...name, version })),
  detail: (name: TableName) => ask<Record<string, unknown>>("GET", query(`${CATALOG}/detail`, { ...name })),
  columnStatistics: (name: TableName) => ask<TableStatistics>("GET", query(`${CATALOG}/column_statistics`, { ...name })),
  lineage: (name: TableName) => ask<{ upstream: LineageEdge[]; downstream: LineageEdge[] }>("GET", query(`${CATALOG}/lineage`, { ...name })),
  versions: async (name: TableName) =>
    (await ask<{ versions: VersionRow[] }>("GET", query(`${CATALOG}/versions`, { ...name }))).versions,
  files: async (name: TableName, version?: Version, limit = 1000) =>
    (await ask<{ files: FileRow[] }>("GET", query(`${CATALOG}/files`, { ...name, version, limit }))).files,
  queries: (filters: { text: string; user: string; status: string }) =>
    ask<{ res: QueryRow[]; has_next_page: boolean }>("GET", query(`${SQL}/history/queries`, { ...filters, max_results: QUERIES_MAX })),
  findQuery: async (id: string) =>
    (await ask<{ res: QueryRow[] }>("GET", query(`${SQL}/history/queries`, { text: id, max_results: QUERIES_MAX }))).res.find((row) => row.query_id === id),
  cancelQuery: (id: string) => ask<object>("POST", `${SQL}/history/queries/${id}/cancel`),
  tokens: async () => (await ask<{ token_infos: TokenRow[] }>("GET", "api/2.0/token/list")).token_infos,
  createToken: (comment: string, lifetime_seconds: number, scope: TokenRow["scope"]) =>
    ask<{ token_value: string; token_info: TokenRow }>("POST", "api/2.0/token/create", { comment, lifetime_seconds, scope }),
  revokeToken: (token_id: string) => ask<object>("POST", "api/2.0/token/delete", { token_id }),
  sessions: async () => (await ask<{ sessions: SessionRow[] }>("GET", `${SQL}/sessions`)).sessions,
  parse: async (statement: string) =>
    (await ask<{ statements: ParsedStatement[] }>("POST", `${SQL}/parse`, { statement })).statements,
  functions: async (catalog?: string, schema?: string) =>
    (await ask<{ functions: FunctionRow[] }>("GET", query(`${CATALOG}/functions`, { catalog, schema }))).functions,
  format: (statement: string) => ask<{ statement: string }>("POST", `${SQL}/format`, { statement }),
  savedQueries: (text: string) =>
    ask<{ results: SavedQuery[]; unreadable: UnreadableQuery[] }>("GET", query(`${SQL}/queries`, { text })),
  savedQuery: (id: string) => ask<SavedQuery>("GET", `${SQL}/queries/${encodeURIComponent(id)}`),
  createQuery: (content: QueryContent) => ask<SavedQuery>("POST", `${SQL}/queries`, { query: content }),
  changeQuery: (id: string, content: Partial<QueryContent>, etag?: string) =>
    ask<SavedQuery>("PATCH", `${SQL}/queries/${id}`, { query: content, etag }),
  deleteQuery: (id: string) => ask<object>("DELETE", `${SQL}/queries/${id}`),
  queryAccess: async (id: string) =>
    (await ask<{ access_control_list: AccessEntry[] }>("GET", `${SQL}/queries/${id}/permissions`)).access_control_list,
  shareQuery: (id: string, entries: AccessEntry[]) =>
    ask<{ access_control_list: AccessEntry[] }>("PUT", `${SQL}/queries/${id}/permissions`, {
      access_control_list: entries.map(({ is_known: _, ...entry }) => entry),
    }),
  moveFolder: (path: string, new_path: string) =>
    ask<{ moved: number }>("POST", `${SQL}/queries/folders/move`, { path, new_path }),
  deleteFolder: (path: string) => ask<{ deleted: number }>("POST", `${SQL}/queries/folders/delete`, { path }),
};
