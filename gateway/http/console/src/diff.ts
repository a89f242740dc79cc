// What changed between two versions of a table.
import type { DescribedType, FileRow, TableDescription } from "./api";

export interface Change {
  what: string;
  before?: string;
  after?: string;
}

export function describeType(type: DescribedType): string {
  if (type.element_type) return `array<${describeType(type.element_type)}>`;
  if (type.key_type && type.value_type) return `map<${describeType(type.key_type)}, ${describeType(type.value_type)}>`;
  if (type.fields) return `struct<${type.fields.map((field) => `${field.name}: ${describeType(field.type)}`).join(", ")}>`;
  if (type.precision !== undefined) return `decimal(${type.precision},${type.scale ?? 0})`;
  if (type.length !== undefined) return `${type.name}(${type.length})`;
  return type.name === "timestamp_ltz" ? "timestamp" : type.name;
}

export function tableChanges(before: TableDescription, after: TableDescription): Change[] {
  const columns = (table: TableDescription) =>
    Object.fromEntries(table.columns.map((each) => [each.name, `${describeType(each.type)}${each.nullable === false ? " NOT NULL" : ""}`]));
  const named = (prefix: string, a: Record<string, string>, b: Record<string, string>) =>
    changes(a, b).map((change) => ({ ...change, what: `${prefix} ${change.what}` }));
  const lists = (table: TableDescription) => ({
    "partitioned by": table.partition_columns?.join(", ") ?? "",
    "clustered by": table.clustering_columns?.join(", ") ?? "",
    comment: table.comment ?? "",
  });
  return [
    ...named("column", columns(before), columns(after)),
    ...named("property", before.table_properties ?? {}, after.table_properties ?? {}),
    ...changes(lists(before), lists(after)),
  ];
}

function changes(before: Record<string, string>, after: Record<string, string>): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((what) => (before[what] === after[what] ? [] : [{ what, before: before[what], after: after[what] }]));
}

export interface FileChanges {
  added: FileRow[];
  removed: FileRow[];
  changed: FileRow[];
}

/** Files by path; one whose deleted rows differ has changed. */
export function fileChanges(before: FileRow[], after: FileRow[]): FileChanges {
  const old = new Map(before.map((file) => [file.path, file]));
  const now = new Set(after.map((file) => file.path));
  return {
    added: after.filter((file) => !old.has(file.path)),
    removed: before.filter((file) => !now.has(file.path)),
    changed: after.filter((file) => old.has(file.path) && old.get(file.path)?.deleted_rows !== file.deleted_rows),
  };
}
