// One table or view: its columns, a sample, definition, statistics, grants, lineage, versions, files and properties.
import { useEffect, useState } from "preact/hooks";
import { api, type DescribedColumn, type TableDescription, type TableName } from "./api";
import { copyText } from "./clipboard";
import { describeType } from "./diff";
import { formatBytes } from "./format";
import { Grid } from "./grid";
import { quoted } from "./names";
import { counted } from "./operation_metrics";
import { pageResult, pageRows } from "./page_sql";
import { failureOf, runStatements } from "./runner";
import { SqlText } from "./sql_text";
import { openSqlTab, type Result, type TableTab } from "./state";
import { strings } from "./strings";
import { Files } from "./table_files";
import { History } from "./table_history";
import { Lineage } from "./table_lineage";
import { Button, IconButton } from "./ui/button";
import { Icon, type IconName } from "./ui/icon";
import { useShown } from "./ui/more";
import { EmptyState, Problem, notify } from "./ui/notice";
import { Tabs } from "./ui/tabs";
import { useLoad } from "./use_load";

type Part = keyof typeof strings.table.part;
const PARTS: Part[] = ["columns", "sample", "ddl", "statistics", "grants", "lineage", "history", "files", "properties"];
const PARTS_OF_VIEWS: Part[] = ["columns", "sample", "ddl", "grants", "lineage", "properties"];
const ICONS: Record<Part, IconName> = {
  columns: "columns", sample: "table", ddl: "query", statistics: "statistics", grants: "grants", lineage: "lineage",
  history: "history", files: "file", properties: "info",
};
const SAMPLE_ROWS = 100;
const FILTERED_COLUMNS = 20;

export function TableView({ tab }: { tab: TableTab }) {
  const [part, setPart] = useState<Part>("columns");
  const [reload, setReload] = useState(0);
  const { value: table, problem } = useLoad(() => api.table(tab.name), [tab.id, reload]);
  const path = [tab.name.catalog, tab.name.schema, tab.name.table];
  const fullName = path.map(quoted).join(".");
  const isView = table?.type === "VIEW";
  const query = `SELECT *\nFROM ${fullName}\nLIMIT 1000`;
  const copyName = async () => {
    if (await copyText(fullName)) notify(strings.table.nameCopied);
  };
  const details = table && [
    table.type.toLowerCase(),
    table.provider,
    table.version !== undefined && `version ${table.version}`,
    table.owner && `owner ${table.owner}`,
    counted(table.columns.length, "column"),
  ];
  return (
    <section class="table-view">
      <header>
        <Icon name={isView ? "view" : "table"} size={20} />
        <h2 title={path.join(".")}><span class="catalog">{tab.name.catalog}.{tab.name.schema}.</span><span class="table-name">{tab.name.table}</span></h2>
        <IconButton icon="copy" label={strings.table.copyName} onClick={() => void copyName()} />
        <span class="spacer" />
        <IconButton icon="refresh" label={strings.common.refresh} onClick={() => setReload(reload + 1)} />
        <Button variant="primary" icon="play" onClick={() => void runStatements(openSqlTab(query, tab.name.table), [{ text: query, from: 0 }])}>{strings.table.query}</Button>
      </header>
      {details && <p class="note details-line">{details.filter(Boolean).join(" · ")}</p>}
      {table?.comment && <p class="comment">{table.comment}</p>}
      <Tabs
        label={strings.table.parts}
        value={part}
        views={(isView ? PARTS_OF_VIEWS : PARTS).map((value) => ({ value, label: strings.table.part[value], icon: ICONS[value] }))}
        onChange={setPart}
      />
      {problem && (
        <EmptyState icon="error" title={strings.table.noTable}>
          <Problem>{problem}</Problem>
          <Button icon="refresh" onClick={() => setReload(reload + 1)}>{strings.common.tryAgain}</Button>
        </EmptyState>
      )}
      {!table && !problem && <Loading />}
      <div class={part === "sample" ? "part filling" : "part"} key={`${part}${reload}`}>
        {table && <PartView part={part} table={table} name={tab.name} fullName={fullName} />}
      </div>
    </section>
  );
}

interface PartOptions {
  table: TableDescription;
  name: TableName;
  fullName: string;
}

function PartView({ part, ...options }: PartOptions & { part: Part }) {
  switch (part) {
    case "columns":
      return <Columns table={options.table} />;
    case "sample":
      return <Sample fullName={options.fullName} />;
    case "ddl":
      return <Definition fullName={options.fullName} />;
    case "statistics":
      return <Statistics name={options.name} />;
    case "grants":
      return <Grants fullName={options.fullName} />;
    case "lineage":
      return <Lineage name={options.name} table={options.table} />;
    case "history":
      return <History name={options.name} />;
    case "files":
      return <Files name={options.name} />;
    case "properties":
      return <Properties table={options.table} name={options.name} />;
  }
}

function Loading() {
  return <p class="note" role="status">{strings.common.loading}</p>;
}

/** Opens a statement in the editor, where it can be changed before it runs. */
function OpenInEditor({ text }: { text: string }) {
  return <Button icon="open" onClick={() => void openSqlTab(text)}>{strings.table.openInEditor}</Button>;
}

function Columns({ table }: { table: TableDescription }) {
  const [filter, setFilter] = useState("");
  const matching = table.columns.filter((column) => column.name.toLowerCase().includes(filter.toLowerCase()));
  const { items, more } = useShown(matching);
  const marks = (name: string) =>
    [
      table.partition_columns?.includes(name) && "partition",
      table.clustering_columns?.includes(name) && "clustering",
      table.primary_key?.columns.includes(name) && "primary key",
      table.foreign_keys?.some((key) => key.columns.includes(name)) && "foreign key",
    ].filter(Boolean);
  if (!table.columns.length) return <EmptyState icon="columns" title={strings.table.noColumns} />;
  return (
    <>
      {table.columns.length > FILTERED_COLUMNS && (
        <input type="search" class="part-filter" placeholder={strings.table.filterColumns} aria-label={strings.table.filterColumns} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      )}
      <table class="list columns-list">
        <thead><tr><th>Column</th><th>Type</th><th>Null</th><th>Default</th><th>Role</th><th>Comment</th></tr></thead>
        <tbody>
          {items.map((column) => (
            <tr key={column.name}>
              <td class="long-name"><b>{column.name}</b></td>
              <td class="code">{describeType(column.type)}</td>
              <td>{column.nullable === false ? "not null" : ""}</td>
              <td class="code">{filling(column)}</td>
              <td>{marks(column.name).map((mark) => <span class="mark" key={String(mark)}>{mark}</span>)}</td>
              <td class="column-comment">{column.comment ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!items.length && <p class="note">{strings.table.noMatchingColumns}</p>}
      {more}
    </>
  );
}

/** What a row without the column's value gets. */
function filling(column: DescribedColumn): string {
  if (column.generation_expression) return `generated as ${column.generation_expression}`;
  return column.is_identity ? "identity" : (column.default ?? "");
}

function Sample({ fullName }: { fullName: string }) {
  const text = `SELECT *\nFROM ${fullName}\nLIMIT ${SAMPLE_ROWS}`;
  const [result, setResult] = useState<Result>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    let loaded: Result | undefined;
    pageResult(text, abort.signal).then(
      (found) => {
        loaded = found;
        if (abort.signal.aborted) void api.close(found.statementId).catch(() => undefined);
        else setResult(found);
      },
      (error: unknown) => abort.signal.aborted || setProblem(failureOf(error).message),
    );
    return () => {
      abort.abort();
      if (loaded) void api.close(loaded.statementId).catch(() => undefined);
    };
  }, [text]);
  return (
    <>
      <div class="part-bar"><span class="note">{strings.table.sampleOf(SAMPLE_ROWS)}</span><OpenInEditor text={text} /></div>
      {problem && <Problem>{problem}</Problem>}
      {!result && !problem && <Loading />}
      {result && <div class="sample"><Grid result={result} /></div>}
    </>
  );
}

function Definition({ fullName }: { fullName: string }) {
  const statement = `SHOW CREATE TABLE ${fullName}`;
  const { value, problem } = useLoad(async () => (await pageRows(statement)).rows.map((row) => row[0] ?? "").join("\n"), [statement]);
  const copy = async () => {
    if (await copyText(value ?? "")) notify(strings.table.definitionCopied);
  };
  if (problem) return <Problem>{problem}</Problem>;
  if (value === undefined) return <Loading />;
  return (
    <>
      <div class="part-bar"><span class="spacer" /><Button icon="copy" onClick={() => void copy()}>{strings.table.copyDefinition}</Button><OpenInEditor text={value} /></div>
      <SqlText text={value} />
    </>
  );
}

function Statistics({ name }: { name: TableName }) {
  const { value, problem } = useLoad(() => api.columnStatistics(name), [name]);
  const { items, more } = useShown(value?.columns ?? []);
  if (problem) return <Problem>{problem}</Problem>;
  if (!value) return <Loading />;
  return (
    <>
      <p class="note">
        {[value.rows !== null && counted(value.rows, "row"), counted(value.files, "file")].filter(Boolean).join(", ")}. {strings.table.statisticsSource}
      </p>
      <table class="list narrow">
        <thead><tr><th>Column</th><th>Type</th><th>Minimum</th><th>Maximum</th><td /><th class="numeric">NULLs</th></tr></thead>
        <tbody>
          {items.map((column) => (
            <tr key={column.name}>
              <td class="long-name"><b>{column.name}</b></td>
              <td class="code" data-head="Type">{column.type}</td>
              <td class="code" data-head="Minimum">{column.min ?? ""}</td>
              <td class="code" data-head="Maximum">{column.max ?? ""}</td>
              <td>{column.is_exact || column.min === null ? "" : <span class="mark" title={strings.table.boundsHint}>{strings.table.bounds}</span>}</td>
              <td class="numeric" data-head="NULLs">{column.null_count === null ? "" : column.null_count.toLocaleString("en-US")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

function Grants({ fullName }: { fullName: string }) {
  const statement = `SHOW GRANTS ON TABLE ${fullName}`;
  const { value, problem } = useLoad(() => pageRows(statement), [statement]);
  const { items, more } = useShown(value?.rows ?? []);
  if (problem) return <Problem>{problem}</Problem>;
  if (!value) return <Loading />;
  return (
    <>
      <div class="part-bar"><span class="spacer" /><OpenInEditor text={`${statement};\n-- GRANT SELECT ON TABLE ${fullName} TO \`user or group\`;\n`} /></div>
      {items.length
        ? (
          <table class="list narrow">
            <thead><tr>{value.columns.map((column) => <th key={column}>{strings.table.grantColumn(column)}</th>)}</tr></thead>
            <tbody>{items.map((row, at) => <tr key={at}>{row.map((cell, place) => <td key={place} data-head={strings.table.grantColumn(value.columns[place] ?? "")}>{cell ?? ""}</td>)}</tr>)}</tbody>
          </table>
        )
        : <EmptyState icon="grants" title={strings.table.noGrants}><p>{strings.table.noGrantsText}</p></EmptyState>}
      {more}
    </>
  );
}

function Properties({ table, name }: { table: TableDescription; name: TableName }) {
  const { value: detail, problem } = useLoad<Record<string, unknown>>(() => (table.provider ? api.detail(name) : Promise.resolve({})), [table]);
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
  const known = told.filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (!known.length && !properties.length && !problem) return <EmptyState icon="info" title={strings.table.noProperties} />;
  return (
    <>
      {problem && <Problem>{problem}</Problem>}
      <table class="list">
        <tbody>
          {known.map(([key, value]) => <tr key={`${key}${value}`}><th>{key}</th><td class="code">{String(value)}</td></tr>)}
          {properties.filter(isCheck).map(([key, value]) => <tr key={key}><th>check {key.slice("delta.constraints.".length)}</th><td class="code">{value}</td></tr>)}
        </tbody>
      </table>
      {!properties.every(isCheck) && <h3>{strings.table.tableProperties}</h3>}
      <table class="list">
        <tbody>
          {properties.filter((each) => !isCheck(each)).map(([key, value]) => <tr key={key}><th>{key}</th><td class="code">{value}</td></tr>)}
        </tbody>
      </table>
    </>
  );
}
