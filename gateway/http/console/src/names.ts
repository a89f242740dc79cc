// Names for completion: the catalogs, schemas and tables that the user may see, and the columns of tables that a
// statement names. Those take a look into the table's log, so nobody asks for all of them.
import { signal } from "@preact/signals";
import type { Completion } from "@codemirror/autocomplete";
import type { SQLNamespace } from "@codemirror/lang-sql";
import { api, type TableName } from "./api";

const SCHEMAS_MAX = 200;
const ASKED_AT_ONCE_MAX = 20;

export interface NamedColumn {
  name: string;
  type: string;
}

/** Columns by catalog, schema and table; those of a table are empty until a text names it. */
export type Catalogs = Record<string, Record<string, Record<string, NamedColumn[]>>>;

/** What is known. */
export const names = signal<Catalogs>({});

/** All schemas, each with its catalog. */
export const schemas = signal<[catalog: string, schema: string][]>([]);
/** The catalog that sessions begin in. */
export const currentCatalog = signal("");

/** Tables whose columns are known, and requests for columns that are running. */
const loaded = new Set<string>();
const asked = new Map<string, Promise<void>>();

/** Loads schemas, then their tables. */
export async function loadNames(): Promise<void> {
  const { catalogs, current } = await api.catalogs();
  currentCatalog.value = current;
  const levels = await Promise.all(
    catalogs.map(async ({ name: catalog }) => (await api.schemas(catalog)).slice(0, SCHEMAS_MAX).map(({ name }): [string, string] => [catalog, name])),
  );
  schemas.value = levels.flat();
  const found: Catalogs = Object.fromEntries(catalogs.map(({ name }) => [name, {}]));
  for (const [catalog, schema] of schemas.value) {
    const tables = await api.tables(catalog, schema);
    (found[catalog] ??= {})[schema] = Object.fromEntries(tables.map((table) => [table.name, []]));
  }
  loaded.clear();
  names.value = found;
}

/** Loads the columns of the tables that `text` names; returns when they are there. */
export async function loadColumns(text: string): Promise<void> {
  const known = names.value;
  const wanted = namedTables(known, text).filter((table) => !loaded.has(JSON.stringify(table))).slice(0, ASKED_AT_ONCE_MAX);
  await Promise.all(wanted.map((table) => loadOnce(known, table)));
  if (wanted.length && names.value === known) names.value = { ...known };
}

function loadOnce(known: Catalogs, table: TableName): Promise<void> {
  const key = JSON.stringify(table);
  const load = async () => {
    const columns = await api.columns(table.catalog, table.schema, table.table);
    const tables = known[table.catalog]?.[table.schema];
    if (tables) tables[table.table] = columns.map((column) => ({ name: column.name, type: column.sql_type }));
    loaded.add(key);
  };
  const loading = asked.get(key) ?? load().finally(() => asked.delete(key));
  asked.set(key, loading);
  return loading;
}

/** The tables whose names are words of `text`. */
export function namedTables(catalogs: Catalogs, text: string): TableName[] {
  const words = wordsOf(text);
  return Object.entries(catalogs).flatMap(([catalog, schemas]) =>
    Object.entries(schemas).flatMap(([schema, tables]) =>
      Object.keys(tables).flatMap((table) => (words.has(table.toLowerCase()) ? [{ catalog, schema, table }] : [])),
    ),
  );
}

/** As the editor completes names: schemas of the current catalog also without it, and tables of the current schema
 * by their name alone. */
export function namespace(catalogs: Catalogs, catalog: string, schema: string): SQLNamespace {
  const own = catalogs[catalog] ?? {};
  const schemas = (inner: Catalogs[string]) => level(inner, "namespace", tables);
  const tables = (inner: Catalogs[string][string]) => level(inner, "class", (columns) => columns.map(columnCompletion));
  return { ...level(catalogs, "namespace", schemas), ...schemas(own), ...tables(own[schema] ?? {}) };
}

function level<T>(inner: Record<string, T>, type: string, childrenOf: (child: T) => SQLNamespace): Record<string, SQLNamespace> {
  return Object.fromEntries(
    Object.entries(inner).map(([name, child]) => [
      name.replaceAll(".", "\\."), // a dot in a key would be a level
      { self: { label: name, type, apply: quoted(name) }, children: childrenOf(child) },
    ]),
  );
}

export function columnCompletion({ name, type }: NamedColumn): Completion {
  return { label: name, type: "property", detail: type.toLowerCase(), apply: quoted(name) };
}

/** The columns of the tables that a statement names: of those in a schema that it names, or in the current one. */
export function columnsInScope(catalogs: Catalogs, statement: string, schema: string): (NamedColumn & { table: string })[] {
  const words = wordsOf(statement);
  return namedTables(catalogs, statement)
    .filter((table) => table.schema === schema || words.has(table.schema.toLowerCase()))
    .flatMap(({ catalog, schema: own, table }) => (catalogs[catalog]?.[own]?.[table] ?? []).map((column) => ({ ...column, table })));
}

/** A table's name as SQL writes it: without its catalog where that is the one that statements begin in. */
export function written({ catalog, schema, table }: TableName, current: string | undefined): string {
  return [...(catalog === current ? [] : [catalog]), schema, table].map(quoted).join(".");
}

/** A name as SQL writes it. */
export function quoted(name: string): string {
  return /^[A-Za-z_][A-Za-z_0-9]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

function wordsOf(text: string): Set<string> {
  return new Set((text.match(/`(?:[^`]|``)+`|[\p{L}_][\p{L}\p{N}_]*/gu) ?? []).map(unquoted));
}

function unquoted(word: string): string {
  return (word.startsWith("`") ? word.slice(1, -1).replaceAll("``", "`") : word).toLowerCase();
}
