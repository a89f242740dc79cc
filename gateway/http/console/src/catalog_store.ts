// What the page knows of the catalog: each list is loaded when it is first read, and again after the catalog changed.
import { signal, type Signal } from "@preact/signals";
import { api, type ColumnRow, type TableRow } from "./api";
import { rowsOf } from "./admin/run_sql";
import { ticked } from "./admin/statements";
import { catalogVersion } from "./catalog_changes";
import { failureOf } from "./runner";
import type { Loaded } from "./use_load";

const RETRY_MS = 2000;

interface Entry {
  version: number;
  found: Signal<Loaded<unknown>>;
}

const entries = new Map<string, Entry>();

/** What `load` returned last. It runs again if the catalog has changed since; the value before stays until then. */
function read<T>(key: readonly string[], load: () => Promise<T>): Loaded<T> {
  const version = catalogVersion.value;
  const name = JSON.stringify(key);
  const entry = entries.get(name) ?? { version: -1, found: signal<Loaded<unknown>>({}) };
  entries.set(name, entry);
  if (entry.version !== version) {
    entry.version = version;
    const start = () =>
      load().then(
        (value) => entry.version === version && (entry.found.value = { value }),
        (error: unknown) => {
          if (entry.version !== version) return;
          const { condition, error_code, message } = failureOf(error);
          entry.found.value = { problem: message };
          if (condition === "SERVER_STARTING" || error_code === "UNREACHABLE") setTimeout(() => entry.version === version && start(), RETRY_MS);
        },
      );
    void start();
  }
  return entry.found.value as Loaded<T>;
}

export const catalogStore = {
  catalogs: () => read(["catalogs"], () => api.catalogs()),
  schemas: (catalog: string) => read(["schemas", catalog], () => api.schemas(catalog)),
  tables: (catalog: string, schema: string): Loaded<TableRow[]> =>
    read(["tables", catalog, schema], () => api.tables(catalog, schema)),
  /** Of all tables of a schema. */
  columns: (catalog: string, schema: string): Loaded<ColumnRow[]> =>
    read(["columns", catalog, schema], () => api.schemaColumns(catalog, schema)),
  columnsOf: (catalog: string, schema: string, table: string): Loaded<ColumnRow[]> =>
    read(["columns", catalog, schema, table], () => api.columns(catalog, schema, table)),
  functions: (catalog: string, schema: string): Loaded<string[]> =>
    read(["functions", catalog, schema], async () => {
      const rows = await rowsOf(
        `SELECT routine_schema, routine_name FROM ${ticked(catalog)}.information_schema.routines ORDER BY ALL`,
      );
      return rows.flatMap((row) => (row.routine_schema === schema ? (row.routine_name ?? []) : []));
    }),
  volumes: (catalog: string, schema: string): Loaded<string[]> =>
    read(["volumes", catalog, schema], async () => {
      const rows = await rowsOf(`SHOW VOLUMES IN ${ticked(catalog)}.${ticked(schema)}`);
      return rows.flatMap((row) => row.volume_name ?? []);
    }),
};
