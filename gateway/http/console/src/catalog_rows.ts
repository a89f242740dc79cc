// The rows of the catalog's tree, from what is open and what the filter leaves.
import type { ColumnRow, TableRow } from "./api";
import type { Loaded } from "./use_load";

export type RowKind = "catalog" | "schema" | "table" | "view" | "column" | "functions" | "function" | "volumes" | "volume" | "note" | "problem";

export interface TreeRow {
  key: string;
  kind: RowKind;
  level: number;
  /** What is shown; `parts` is the name. */
  text: string;
  parts: string[];
  /** Undefined for rows that nothing is below. */
  isOpen?: boolean;
  detail?: string;
  title?: string;
}

/** Where the rows come from; each list loads when it is read. */
export interface Source {
  catalogs(): Loaded<{ catalogs: { name: string }[]; current: string }>;
  schemas(catalog: string): Loaded<{ name: string }[]>;
  tables(catalog: string, schema: string): Loaded<TableRow[]>;
  columns(catalog: string, schema: string): Loaded<ColumnRow[]>;
  columnsOf(catalog: string, schema: string, table: string): Loaded<ColumnRow[]>;
  functions(catalog: string, schema: string): Loaded<string[]>;
  volumes(catalog: string, schema: string): Loaded<string[]>;
}

export interface Texts {
  functions: string;
  volumes: string;
  loading: string;
  nothing: string;
  more: (count: number) => string;
}

export interface Tree {
  rows: TreeRow[];
  /** Tables and columns that the filter leaves; undefined while a list is loading. */
  matches: number | undefined;
  /** Whether columns of some schemas were left out of the search. */
  isCut: boolean;
}

const SYSTEM = "system";
const TABLES_SHOWN_MAX = 500;
const COLUMNS_SHOWN_MAX = 5;
/** Columns are read from the tables' logs: only those of small schemas, and of few, are searched. */
const TABLES_SEARCHED_MAX = 100;
const SCHEMAS_SEARCHED_MAX = 30;
const COLUMN_FILTER_MIN = 2;

export function keyOf(kind: RowKind, parts: readonly string[]): string {
  return JSON.stringify([kind, ...parts]);
}

/** Builds the rows. `opened` has what the user opened or closed, by key; `columnFilter` follows `filter` more slowly. */
export class TreeBuilder {
  private readonly rows: TreeRow[] = [];
  private matches = 0;
  private isLoading = false;
  private searched = 0;
  private isCut = false;
  private readonly isFiltered: boolean;
  /** What the filter has before its last dot names a schema, and the rest a table or column. */
  private readonly wantedSchema: string;
  private readonly wanted: string;

  constructor(
    private readonly source: Source,
    private readonly texts: Texts,
    private readonly opened: ReadonlyMap<string, boolean>,
    private readonly filter: string,
    private readonly columnFilter: string,
  ) {
    const text = filter.trim().toLowerCase();
    const dot = text.lastIndexOf(".");
    this.isFiltered = text !== "";
    this.wantedSchema = text.slice(0, Math.max(0, dot));
    this.wanted = text.slice(dot + 1);
  }

  build(): Tree {
    const { value, problem } = this.source.catalogs();
    this.state(1, "catalogs", value, problem);
    for (const { name } of value?.catalogs ?? []) {
      const isOpen = this.add("catalog", 1, [name], name === value?.current);
      if (isOpen) this.addSchemas(name);
    }
    return { rows: this.rows, matches: this.isLoading ? undefined : this.matches, isCut: this.isCut };
  }

  private addSchemas(catalog: string): void {
    const { value, problem } = this.source.schemas(catalog);
    this.state(2, catalog, value, problem);
    for (const { name } of value ?? []) {
      if (!name.toLowerCase().includes(this.wantedSchema)) continue;
      const at = this.rows.length;
      const isNamed = this.wanted !== "" && !this.wantedSchema && name.toLowerCase().includes(this.wanted);
      const isOpen = this.add("schema", 2, [catalog, name], this.isFiltered || name === "default");
      if (isNamed) this.matches++;
      const before = this.matches;
      if (isOpen) this.addTables(catalog, name, isNamed);
      // A schema without a match goes, once its tables are known.
      if (this.isFiltered && isOpen && !isNamed && this.matches === before) this.rows.length = at;
    }
  }

  private addTables(catalog: string, schema: string, isNamed: boolean): void {
    const { value, problem } = this.source.tables(catalog, schema);
    this.state(3, `${catalog}.${schema}`, value, problem);
    const columns = this.matchingColumns(catalog, schema, value?.length ?? 0);
    let shown = 0;
    const left = (value ?? []).filter(({ name }) => isNamed || name.toLowerCase().includes(this.wanted) || columns.has(name));
    for (const table of left) {
      this.matches++;
      if (++shown <= TABLES_SHOWN_MAX) this.addTable(table, [catalog, schema, table.name], columns.get(table.name) ?? []);
    }
    if (shown > TABLES_SHOWN_MAX) this.note(3, `${catalog}.${schema}.more`, this.texts.more(shown - TABLES_SHOWN_MAX));
    if (!this.isFiltered && catalog !== SYSTEM && value) {
      this.addGroup("functions", "function", [catalog, schema], () => this.source.functions(catalog, schema));
      this.addGroup("volumes", "volume", [catalog, schema], () => this.source.volumes(catalog, schema));
    }
  }

  private addTable(table: TableRow, parts: string[], found: ColumnRow[]): void {
    const isOpen = this.add(table.type === "VIEW" ? "view" : "table", 3, parts, false, table.comment ?? undefined);
    if (!isOpen) return found.slice(0, COLUMNS_SHOWN_MAX).forEach((column) => this.addColumn(column, parts));
    const [catalog, schema, name] = parts as [string, string, string];
    const { value, problem } = this.source.columnsOf(catalog, schema, name);
    this.state(4, parts.join("."), value, problem);
    for (const column of value ?? []) this.addColumn(column, parts);
  }

  private addColumn({ name, sql_type }: ColumnRow, table: string[]): void {
    const parts = [...table, name];
    this.rows.push({ key: keyOf("column", parts), kind: "column", level: 4, text: name, parts, detail: sql_type });
  }

  /** The columns of each table that match; empty if the schema is too large to search. */
  private matchingColumns(catalog: string, schema: string, tables: number): Map<string, ColumnRow[]> {
    const found = new Map<string, ColumnRow[]>();
    const wanted = this.wanted;
    const isSearched = wanted.length >= COLUMN_FILTER_MIN && this.columnFilter === this.filter && catalog !== SYSTEM && tables > 0;
    if (!isSearched) return found;
    if (tables > TABLES_SEARCHED_MAX || ++this.searched > SCHEMAS_SEARCHED_MAX) {
      this.isCut = true;
      return found;
    }
    const { value, problem } = this.source.columns(catalog, schema);
    if (!value && !problem) this.isLoading = true;
    for (const column of value ?? []) {
      if (column.name.toLowerCase().includes(wanted)) found.set(column.table, [...(found.get(column.table) ?? []), column]);
    }
    return found;
  }

  private addGroup(group: "functions" | "volumes", kind: "function" | "volume", schema: string[], load: () => Loaded<string[]>): void {
    if (!this.add(group, 3, schema, false, undefined, this.texts[group])) return;
    const { value, problem } = load();
    this.state(4, `${group} ${schema.join(".")}`, value, problem);
    for (const name of value ?? []) this.rows.push({ key: keyOf(kind, [...schema, name]), kind, level: 4, text: name, parts: [...schema, name] });
    if (value && !value.length) this.note(4, `${group} ${schema.join(".")}`, this.texts.nothing);
  }

  /** Adds a row that can be open, and returns whether it is. */
  private add(kind: RowKind, level: number, parts: string[], isOpenFirst: boolean, title?: string, text = parts.at(-1) ?? ""): boolean {
    const key = keyOf(kind, parts);
    const isOpen = this.opened.get(key) ?? isOpenFirst;
    this.rows.push({ key, kind, level, text, parts, isOpen, title });
    return isOpen;
  }

  private state(level: number, name: string, value: unknown, problem: string | undefined): void {
    if (problem) this.rows.push({ key: keyOf("problem", [name]), kind: "problem", level, text: problem, parts: [] });
    else if (value === undefined) {
      this.isLoading = true;
      if (!this.isFiltered) this.note(level, name, this.texts.loading);
    }
  }

  private note(level: number, name: string, text: string): void {
    this.rows.push({ key: keyOf("note", [name]), kind: "note", level, text, parts: [] });
  }
}

/** Whether the catalog has no table; undefined while that is not known. Reads schemas until one has a table. */
export function isEmpty(source: Source): boolean | undefined {
  const { value: catalogs } = source.catalogs();
  if (!catalogs) return undefined;
  if (catalogs.catalogs.some(({ name }) => name !== SYSTEM && name !== catalogs.current)) return false;
  const { value: schemas, problem } = source.schemas(catalogs.current);
  if (!schemas) return problem ? false : undefined;
  if (schemas.length > SCHEMAS_SEARCHED_MAX) return false;
  for (const { name } of schemas) {
    const { value: tables, problem: broken } = source.tables(catalogs.current, name);
    if (!tables) return broken ? false : undefined;
    if (tables.length) return false;
  }
  return true;
}
