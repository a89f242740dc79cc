// One table: its columns, properties, versions with what changed between two of them, and its files as a picture.
import { useState } from "preact/hooks";
import { api, type DescribedColumn, type FileRow, type TableDescription, type TableName, type Version, type VersionRow } from "./api";
import { describeType, fileChanges, tableChanges } from "./diff";
import { formatBytes, formatCount, formatTime } from "./format";
import { quoted } from "./names";
import { openSqlTab, type TableTab } from "./state";
import { strings } from "./strings";
import { squarify } from "./treemap";
import { Tabs } from "./ui/tabs";
import { useLoad } from "./use_load";

type Part = "columns" | "properties" | "history" | "files";
const PARTS: Part[] = ["columns", "properties", "history", "files"];
const PARTS_OF_VIEWS: Part[] = ["columns", "properties"];
const MAP = { width: 1000, height: 360 };
const FILES_MAX = 10_000;

export function TableView({ tab }: { tab: TableTab }) {
  const [part, setPart] = useState<Part>("columns");
  const { value: table, problem } = useLoad(() => api.table(tab.name), [tab.id]);
  const fullName = [tab.name.catalog, tab.name.schema, tab.name.table].map(quoted).join(".");
  return (
    <section class="table-view">
      <header>
        <h2><span class="catalog">{tab.name.catalog}.</span>{tab.name.schema}.{tab.name.table}</h2>
        {table && <span class="note">{[table.type.toLowerCase(), table.provider, table.version !== undefined && `version ${table.version}`, table.owner && `owner ${table.owner}`].filter(Boolean).join(" · ")}</span>}
        <button onClick={() => openSqlTab(`SELECT *\nFROM ${fullName}\nLIMIT 1000`, tab.name.table)}>Query</button>
      </header>
      {table?.comment && <p>{table.comment}</p>}
      <Tabs label={strings.table.parts} value={part} views={(table?.type === "VIEW" ? PARTS_OF_VIEWS : PARTS).map((value) => ({ value, label: strings.table.part[value] }))} onChange={setPart} />
      {problem && <p class="problem">{problem}</p>}
      {table && part === "columns" && <Columns table={table} />}
      {table && part === "properties" && <Properties table={table} name={tab.name} />}
      {table && part === "history" && <History name={tab.name} />}
      {table && part === "files" && <Files name={tab.name} />}
    </section>
  );
}

function Columns({ table }: { table: TableDescription }) {
  const marks = (name: string) =>
    [
      table.partition_columns?.includes(name) && "partition",
      table.clustering_columns?.includes(name) && "clustering",
      table.primary_key?.columns.includes(name) && "primary key",
      table.foreign_keys?.some((key) => key.columns.includes(name)) && "foreign key",
    ].filter(Boolean);
  return (
    <table class="list">
      <thead><tr><th>Column</th><th>Type</th><th>Null</th><th>Default</th><th /><th>Comment</th></tr></thead>
      <tbody>
        {table.columns.map((column) => (
          <tr key={column.name}>
            <td><b>{column.name}</b></td>
            <td class="code">{describeType(column.type)}</td>
            <td>{column.nullable === false ? "not null" : ""}</td>
            <td class="code">{filling(column)}</td>
            <td>{marks(column.name).map((mark) => <span class="mark" key={String(mark)}>{mark}</span>)}</td>
            <td>{column.comment ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a row without the column's value gets. */
function filling(column: DescribedColumn): string {
  if (column.generation_expression) return `generated as ${column.generation_expression}`;
  return column.is_identity ? "identity" : (column.default ?? "");
}

function Properties({ table, name }: { table: TableDescription; name: TableName }) {
  const { value: detail } = useLoad<Record<string, unknown>>(() => (table.provider ? api.detail(name) : Promise.resolve({})), [table]);
  const told: [string, unknown][] = [
    ["location", table.location],
    ["created", table.created_time],
    ["files", detail?.numFiles],
    ["size", typeof detail?.sizeInBytes === "number" ? formatBytes(detail.sizeInBytes) : undefined],
    ["features", Array.isArray(detail?.tableFeatures) ? detail.tableFeatures.join(", ") : undefined],
    ["primary key", table.primary_key && `${table.primary_key.name} (${table.primary_key.columns.join(", ")})`],
    ...(table.foreign_keys ?? []).map((key): [string, unknown] => [
      "foreign key",
      `${key.name} (${key.columns.join(", ")}) → ${key.parent.join(".")} (${key.parent_columns.join(", ")})`,
    ]),
    ["text", table.view_text],
  ];
  const properties = Object.entries(table.table_properties ?? {});
  const isCheck = ([key]: [string, string]) => key.startsWith("delta.constraints.");
  return (
    <>
      <table class="list">
        <tbody>
          {told.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([key, value]) => <tr key={`${key}${value}`}><th>{key}</th><td class="code">{String(value)}</td></tr>)}
          {properties.filter(isCheck).map(([key, value]) => <tr key={key}><th>check {key.slice("delta.constraints.".length)}</th><td class="code">{value}</td></tr>)}
        </tbody>
      </table>
      {!properties.every(isCheck) && <h3>Table properties</h3>}
      <table class="list">
        <tbody>
          {properties.filter((each) => !isCheck(each)).map(([key, value]) => <tr key={key}><th>{key}</th><td class="code">{value}</td></tr>)}
        </tbody>
      </table>
    </>
  );
}

function History({ name }: { name: TableName }) {
  const { value: versions, problem } = useLoad(() => api.versions(name), [name]);
  const [pair, setPair] = useState<Pair>();
  if (problem) return <p class="problem">{problem}</p>;
  return (
    <div class="history">
      <table class="list">
        <thead><tr><th>Version</th><th>Time</th><th>Operation</th><th>What</th><th>User</th><th /></tr></thead>
        <tbody>
          {(versions ?? []).map((row, at) => {
            const before = versions?.[at + 1];
            return (
              <tr key={row.version} class={pair?.[1] === row.version ? "chosen" : ""}>
                <td class="numeric">{row.version}</td>
                <td>{formatTime(row.timestamp)}</td>
                <td>{row.operation}</td>
                <td class="code">{operationText(row)}</td>
                <td>{row.userName ?? ""}</td>
                <td>{before && <button onClick={() => setPair([before.version, row.version])}>Changes</button>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {pair && versions && <Changes name={name} pair={pair} versions={versions.map((row) => row.version)} onPair={setPair} />}
    </div>
  );
}

function operationText(row: VersionRow): string {
  const metrics = Object.entries(row.operationMetrics ?? {}).filter(([key, value]) => /^num/.test(key) && value !== "0");
  return metrics.map(([key, value]) => `${key.slice(3)} ${formatCount(Number(value))}`).join(", ");
}

interface ChangesOf {
  name: TableName;
  pair: Pair;
  versions: Version[];
  onPair: (pair: Pair) => void;
}

type Pair = [Version, Version];

function Changes({ name, pair, versions, onPair }: ChangesOf) {
  const [from, to] = pair;
  const { value, problem } = useLoad(async () => {
    const [before, after, filesBefore, filesAfter] = await Promise.all([
      api.table(name, from),
      api.table(name, to),
      api.files(name, from, FILES_MAX),
      api.files(name, to, FILES_MAX),
    ]);
    const isCut = Math.max(filesBefore.length, filesAfter.length) >= FILES_MAX;
    return { table: tableChanges(before, after), files: fileChanges(filesBefore, filesAfter), isCut };
  }, [name, from, to]);
  const choose = (at: 0 | 1) => (
    <select
      value={String(pair[at])}
      onChange={(event) => {
        const chosen = versions.find((version) => String(version) === event.currentTarget.value) ?? pair[at];
        onPair(at ? [from, chosen] : [chosen, to]);
      }}
    >
      {versions.map((version) => <option key={version} value={String(version)}>{version}</option>)}
    </select>
  );
  const size = (files: FileRow[]) => formatBytes(files.reduce((sum, file) => sum + file.size, 0));
  return (
    <aside class="changes">
      <h3>From version {choose(0)} to {choose(1)}</h3>
      {problem && <p class="problem">{problem}</p>}
      {value && (
        <>
          <p>
            <span class="added">+{value.files.added.length} files, {size(value.files.added)}</span>{" · "}
            <span class="removed">−{value.files.removed.length} files, {size(value.files.removed)}</span>
            {value.files.changed.length > 0 && ` · deleted rows in ${value.files.changed.length} files`}
          </p>
          {value.isCut && <p class="note">Of the {formatCount(FILES_MAX)} largest files of each version.</p>}
          {!value.table.length && <p class="note">Columns and properties are the same.</p>}
          <table class="list">
            <tbody>
              {value.table.map((change) => (
                <tr key={change.what}><th>{change.what}</th><td class="code removed">{change.before ?? ""}</td><td class="code added">{change.after ?? ""}</td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </aside>
  );
}

function Files({ name }: { name: TableName }) {
  const { value: files, problem } = useLoad(() => api.files(name), [name]);
  const [chosen, setChosen] = useState<FileRow>();
  if (problem) return <p class="problem">{problem}</p>;
  if (!files) return null;
  const seen = files.filter((file) => file.size > 0);
  const boxes = squarify(seen.map((file) => file.size), MAP.width, MAP.height);
  const largest = seen[0]?.size ?? 1;
  return (
    <div class="files">
      <p class="note">
        {formatCount(files.length)} {files.length === 1 ? "file" : "files"}{files.length >= 1000 ? " (the largest)" : ""}, {formatBytes(files.reduce((sum, file) => sum + file.size, 0))}. An area is a file's size.
      </p>
      <svg viewBox={`0 0 ${MAP.width} ${MAP.height}`} preserveAspectRatio="none" role="img" aria-label={`${files.length} files by size`}>
        {boxes.map((box, at) => {
          const file = seen[at] as FileRow;
          return (
            <rect
              key={file.path}
              {...box}
              class={chosen === file ? "file chosen" : "file"}
              fill-opacity={0.35 + 0.65 * (file.size / largest)}
              onMouseEnter={() => setChosen(file)}
            >
              <title>{`${file.path}\n${formatBytes(file.size)}`}</title>
            </rect>
          );
        })}
      </svg>
      <table class="list">
        <thead><tr><th>File</th><th class="numeric">Size</th><th class="numeric">Rows</th><th class="numeric">Deleted rows</th><th>Partition</th></tr></thead>
        <tbody>
          {(chosen ? [chosen] : files.slice(0, 100)).map((file) => (
            <tr key={file.path}>
              <td class="code">{file.path}</td>
              <td class="numeric">{formatBytes(file.size)}</td>
              <td class="numeric">{file.rows === null ? "" : formatCount(file.rows)}</td>
              <td class="numeric">{file.deleted_rows || ""}</td>
              <td class="code">{Object.entries(file.partition).map(([key, value]) => `${key}=${value ?? "NULL"}`).join(" ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {chosen && <button onClick={() => setChosen(undefined)}>All files</button>}
    </div>
  );
}
