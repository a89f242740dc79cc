// Names for completion: the catalogs, schemas and tables that the user may see, and the columns of tables that a
// statement names. Those take a look into the table's log, so nobody asks for all of them.
import { signal } from "@preact/signals";
import type { SQLNamespace } from "@codemirror/lang-sql";
import { api, type TableName } from "./api";

const SCHEMAS_MAX = 200;
const ASKED_AT_ONCE_MAX = 20;

type Columns = Record<string, string[]>;
type Catalogs = Record<string, Record<string, Columns>>;

/** As the editor completes them: schemas of the catalog that statements begin in also without it, and
 * tables of its `default` by name alone. */
export const names = signal<SQLNamespace>({});

let known: Catalogs = {};
let current = "";
const asked = new Set<string>();

export async function loadNames(): Promise<void> {
  const found: Catalogs = {};
  const answer = await api.catalogs();
  for (const { name: catalog } of answer.catalogs) {
    const schemas: Record<string, Columns> = (found[catalog] = {});
    for (const { name: schema } of (await api.schemas(catalog)).slice(0, SCHEMAS_MAX)) {
      const tables = await api.tables(catalog, schema);
      schemas[schema] = Object.fromEntries(tables.map((table) => [table.name, []]));
    }
  }
  known = found;
  current = answer.current;
  asked.clear();
  names.value = namespace(known, current);
}

/** Have the columns of the tables that `text` names. */
export async function loadColumns(text: string): Promise<void> {
  const wanted = namedTables(known, text).filter((table) => !asked.has(JSON.stringify(table))).slice(0, ASKED_AT_ONCE_MAX);
  for (const table of wanted) asked.add(JSON.stringify(table));
  for (const { catalog, schema, table } of wanted) {
    const columns = await api.columns(catalog, schema, table);
    const tables = known[catalog]?.[schema];
    if (tables) tables[table] = columns.map((column) => column.name);
  }
  if (wanted.length) names.value = namespace(known, current);
}

/** The tables whose names are words of `text`. */
export function namedTables(catalogs: Catalogs, text: string): TableName[] {
  const words = new Set((text.match(/`(?:[^`]|``)+`|[\p{L}_][\p{L}\p{N}_]*/gu) ?? []).map(unquoted));
  return Object.entries(catalogs).flatMap(([catalog, schemas]) =>
    Object.entries(schemas).flatMap(([schema, tables]) =>
      Object.keys(tables).flatMap((table) => (words.has(table.toLowerCase()) ? [{ catalog, schema, table }] : [])),
    ),
  );
}

export function namespace(catalogs: Catalogs, current: string): SQLNamespace {
  const own = catalogs[current] ?? {};
  return { ...escaped(catalogs), ...escaped(own), ...escaped(own.default ?? {}) } as SQLNamespace;
}

/** Dots in the keys of a namespace would be levels of it. */
function escaped(level: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(level).map(([name, inner]) => [
      name.replaceAll(".", "\\."),
      Array.isArray(inner) ? inner : escaped(inner as Record<string, unknown>),
    ]),
  );
}

/** A table's name as SQL writes it: without its catalog where that is the one that statements begin in. */
export function written({ catalog, schema, table }: TableName, current: string | undefined): string {
  return [...(catalog === current ? [] : [catalog]), schema, table].map(quoted).join(".");
}

/** A name as SQL writes it. */
export function quoted(name: string): string {
  return /^[A-Za-z_][A-Za-z_0-9]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

function unquoted(word: string): string {
  return (word.startsWith("`") ? word.slice(1, -1).replaceAll("``", "`") : word).toLowerCase();
}
