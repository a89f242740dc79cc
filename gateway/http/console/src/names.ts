// Names for completion: the catalogs, schemas, tables and columns that the user may see, asked for once and by reload.
import { signal } from "@preact/signals";
import type { SQLNamespace } from "@codemirror/lang-sql";
import { api } from "./api";

const SCHEMAS_MAX = 200;

type Schema = Record<string, string[]>;

/** As the editor completes them: schemas of the first catalog also without it, tables of `default` by name alone. */
export const names = signal<SQLNamespace>({});

export async function loadNames(): Promise<void> {
  const found: Record<string, Record<string, Schema>> = {};
  for (const { name: catalog } of await api.catalogs()) {
    const schemas: Record<string, Schema> = (found[catalog] = {});
    for (const { name: schema } of (await api.schemas(catalog)).slice(0, SCHEMAS_MAX)) {
      const tables: Schema = (schemas[schema] = {});
      for (const table of await api.tables(catalog, schema)) tables[table.name] = [];
      for (const column of await api.columns(catalog, schema)) (tables[column.table] ??= []).push(column.name);
    }
    names.value = namespace(found);
  }
}

export function namespace(catalogs: Record<string, Record<string, Schema>>): SQLNamespace {
  const first = Object.values(catalogs)[0] ?? {};
  return { ...escaped(catalogs), ...escaped(first), ...escaped(first.default ?? {}) } as SQLNamespace;
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

/** A name as SQL writes it. */
export function quoted(name: string): string {
  return /^[A-Za-z_][A-Za-z_0-9]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}
