// Row filters and column masks: which tables have which, and statements that set and drop them.
import { useState } from "preact/hooks";
import { api } from "../api";
import { catalogVersion } from "../catalog_changes";
import { failureOf } from "../runner";
import { hasLogins, openSqlTab, openTableTab } from "../state";
import { strings } from "../strings";
import { Button } from "../ui/button";
import { DataTable, type Column } from "../ui/data_table";
import { EmptyState, Problem } from "../ui/notice";
import { Banner, Page } from "../ui/page";
import { Tabs } from "../ui/tabs";
import { useLoad } from "../use_load";
import { ObjectChoice } from "./object_choice";
import { PolicyDialog } from "./policy_dialog";
import { rowsOf, type Row } from "./run_sql";
import { StatementDialog } from "./statement_dialog";
import { dotted, PARTS as NAME_PARTS, securableText, ticked, type Kind, type Securable } from "./statements";

const texts = strings.policies;
const SYSTEM = "system";
const PARTS = ["tables", "named"] as const;
type Part = (typeof PARTS)[number];
const KINDS_WITH_POLICIES: Kind[] = ["CATALOG", "SCHEMA", "TABLE"];
const TEMPLATE = `-- A policy holds for all tables below the object whose columns have the tag.
CREATE POLICY policy_name ON SCHEMA schema_name
  COLUMN MASK schema_name.function_name
  TO \`account users\`
  FOR TABLES MATCH COLUMNS has_tag('tag_name') AS matched
  ON COLUMN matched
`;

/** A row filter or, with `column`, a column mask. */
interface Policy {
  table: string[];
  column?: string;
  /** Empty if the user may not see the function. */
  call: string;
}

export function Policies() {
  const [part, setPart] = useState<Part>("tables");
  return (
    <Page icon="policy" title={texts.title} intro={texts.intro}>
      {!hasLogins && <Banner>{texts.noLogins}</Banner>}
      <Tabs label={texts.title} value={part} views={PARTS.map((value) => ({ value, label: texts.part[value] }))} onChange={setPart} />
      {part === "tables" ? <OfTables /> : <Named />}
    </Page>
  );
}

function OfTables() {
  const { value, problem } = useLoad(loadPolicies, [catalogVersion.value]);
  const [isSetting, setSetting] = useState<"filter" | "mask">();
  const [dropped, setDropped] = useState<Policy>();
  const columns: Column<Policy>[] = [
    { head: texts.table, class: "wide", cell: ({ table: [catalog = "", schema = "", table = ""] }) => <button type="button" class="text" onClick={() => openTableTab({ catalog, schema, table })}>{schema}.{table}</button> },
    { head: texts.kind, cell: ({ column }) => (column === undefined ? texts.rowFilter : texts.columnMask) },
    { head: texts.column, cell: ({ column }) => column ?? "" },
    { head: texts.function, isCode: true, class: "wide", cell: ({ call }) => call },
    { head: "", cell: (policy) => <Button variant="danger" aria-label={texts.dropNamed(policy.table.at(-1) ?? "", policy.column)} onClick={() => setDropped(policy)}>{texts.drop}</Button> },
  ];
  return (
    <>
      <div class="choices">
        <Button variant="primary" icon="plus" onClick={() => setSetting("filter")}>{texts.setFilter}</Button>
        <Button icon="plus" onClick={() => setSetting("mask")}>{texts.setMask}</Button>
      </div>
      {problem && <Problem>{problem}</Problem>}
      {value?.problems.map((each) => <Problem key={each}>{each}</Problem>)}
      {value && !value.policies.length && <EmptyState icon="policy" title={texts.empty}><p>{texts.emptyHint}</p></EmptyState>}
      {value && value.policies.length > 0 && <DataTable label={texts.title} columns={columns} rows={value.policies} keyOf={({ table, column }) => JSON.stringify([table, column])} />}
      {isSetting && <PolicyDialog kind={isSetting} onClose={() => setSetting(undefined)} />}
      {dropped && (
        <StatementDialog
          title={dropped.column === undefined ? texts.dropFilterTitle : texts.dropMaskTitle}
          statement={dropText(dropped)}
          action={texts.drop}
          done={texts.dropped}
          isDangerous
          onClose={() => setDropped(undefined)}
          onDone={() => undefined}
        />
      )}
    </>
  );
}

function Named() {
  const [on, setOn] = useState<Securable>({ kind: "SCHEMA", parts: [] });
  const [dropped, setDropped] = useState<string>();
  const isChosen = on.parts.length === NAME_PARTS[on.kind];
  return (
    <>
      <div class="choices">
        <ObjectChoice kinds={KINDS_WITH_POLICIES} value={on} onChange={setOn} />
        <Button icon="query" onClick={() => openSqlTab(TEMPLATE)}>{texts.write}</Button>
      </div>
      {isChosen
        ? <NamedList key={securableText(on)} on={on} onDrop={setDropped} />
        : <EmptyState icon="policy" title={texts.nothingChosen}><p>{texts.nothingChosenHint}</p></EmptyState>}
      {dropped !== undefined && (
        <StatementDialog
          title={texts.dropPolicyTitle}
          statement={`DROP POLICY ${ticked(dropped)} ON ${securableText(on)}`}
          action={texts.drop}
          done={texts.dropped}
          isDangerous
          onClose={() => setDropped(undefined)}
          onDone={() => undefined}
        />
      )}
    </>
  );
}

function NamedList({ on, onDrop }: { on: Securable; onDrop: (name: string) => void }) {
  const { value: rows, problem } = useLoad(() => rowsOf(`SHOW POLICIES ON ${securableText(on)}`), [catalogVersion.value]);
  if (problem) return <Problem>{problem}</Problem>;
  const columns: Column<Row>[] = [
    { head: texts.policy, class: "wide", cell: (row) => <b>{row.name}</b> },
    { head: texts.kind, cell: (row) => row.type },
    { head: texts.comment, class: "wide", cell: (row) => row.comment ?? "" },
    { head: "", cell: (row) => <Button variant="danger" aria-label={texts.dropPolicy(row.name ?? "")} onClick={() => onDrop(row.name ?? "")}>{texts.drop}</Button> },
  ];
  if (rows && !rows.length) return <EmptyState icon="policy" title={texts.noPolicies}><p>{texts.noPoliciesHint}</p></EmptyState>;
  return <DataTable label={texts.part.named} columns={columns} rows={rows ?? []} keyOf={(row) => row.name ?? ""} />;
}

function dropText({ table, column }: Policy): string {
  return `ALTER TABLE ${dotted(table)} ${column === undefined ? "DROP ROW FILTER" : `ALTER COLUMN ${ticked(column)} DROP MASK`}`;
}

/** The filters and masks of each catalog, as its `information_schema` reports them to the user. */
async function loadPolicies(): Promise<{ policies: Policy[]; problems: string[] }> {
  const policies: Policy[] = [];
  const problems: string[] = [];
  for (const { name: catalog } of (await api.catalogs()).catalogs) {
    if (catalog === SYSTEM) continue;
    const relation = (name: string) => rowsOf(`SELECT * FROM ${ticked(catalog)}.information_schema.${name} ORDER BY ALL`);
    try {
      const [filters, masks] = await Promise.all([relation("row_filters"), relation("column_masks")]);
      policies.push(
        ...filters.map((row) => ({ table: tableOf(row), call: callText(row.filter_name, [row.target_columns]) })),
        ...masks.map((row) => ({ table: tableOf(row), column: row.column_name ?? "", call: callText(row.mask_name, [row.column_name, row.using_columns]) })),
      );
    } catch (error) {
      problems.push(`${catalog}: ${failureOf(error).message}`);
    }
  }
  return { policies, problems };
}

function tableOf(row: Row): string[] {
  return [row.table_catalog ?? "", row.table_schema ?? "", row.table_name ?? ""];
}

/** `name` has its catalog and schema; it is NULL if the user may not see the function. */
function callText(name: string | null | undefined, columns: (string | null | undefined)[]): string {
  return name ? `${name}(${columns.filter(Boolean).join(", ")})` : "";
}
