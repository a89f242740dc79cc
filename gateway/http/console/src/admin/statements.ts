// The statements of the administration pages. Every name is quoted, and every text is a literal.

/** A kind of object as statements write it. */
export type Kind = "CATALOG" | "SCHEMA" | "TABLE" | "VIEW" | "FUNCTION" | "VOLUME" | "EXTERNAL LOCATION" | "SERVER";

/** An object: its kind and the parts of its name. */
export interface Securable {
  kind: Kind;
  parts: string[];
}

export type PrincipalKind = "USER" | "GROUP";

/** The number of parts that the name of an object of a kind has. */
export const PARTS: Record<Kind, number> = {
  SERVER: 0, CATALOG: 1, "EXTERNAL LOCATION": 1, SCHEMA: 2, TABLE: 3, VIEW: 3, FUNCTION: 3, VOLUME: 3,
};

const TABLE = ["SELECT", "MODIFY", "APPLY TAG"];
const SCHEMA = [
  "USE SCHEMA", ...TABLE, "EXECUTE", "READ VOLUME", "WRITE VOLUME", "CREATE TABLE", "CREATE FUNCTION", "CREATE VOLUME",
];
const ALL = ["MANAGE", "ALL PRIVILEGES"];

/** The privileges that can be granted on an object of a kind. */
export const PRIVILEGES: Record<Kind, readonly string[]> = {
  SERVER: ["CREATE CATALOG", "CREATE EXTERNAL LOCATION"],
  CATALOG: ["USE CATALOG", "BROWSE", "CREATE SCHEMA", ...SCHEMA, ...ALL],
  SCHEMA: [...SCHEMA, ...ALL],
  TABLE: [...TABLE, ...ALL],
  VIEW: ["SELECT", "APPLY TAG", ...ALL],
  FUNCTION: ["EXECUTE", ...ALL],
  VOLUME: ["READ VOLUME", "WRITE VOLUME", ...ALL],
  "EXTERNAL LOCATION": ["READ FILES", "WRITE FILES", "CREATE EXTERNAL TABLE", "CREATE EXTERNAL VOLUME", "BROWSE", ...ALL],
};

/** A name in backticks, which no keyword and no character can end. */
export function ticked(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

export function dotted(parts: readonly string[]): string {
  return parts.map(ticked).join(".");
}

/** The object's kind and name as statements write them after ON. */
export function securableText({ kind, parts }: Securable): string {
  return parts.length ? `${kind} ${dotted(parts)}` : kind;
}

export function grantText(privileges: readonly string[], on: Securable, kind: PrincipalKind, principal: string): string {
  return `GRANT ${privileges.join(", ")} ON ${securableText(on)} TO ${kind} ${ticked(principal)}`;
}

/** SHOW GRANTS does not report whether a principal is a user or a group, so the statement leaves the server to find it. */
export function revokeText(privilege: string, on: Securable, principal: string): string {
  return `REVOKE ${privilege} ON ${securableText(on)} FROM ${ticked(principal)}`;
}

/** The object of a row of SHOW GRANTS: one that contains `chosen`, or one whose name has as many parts as its kind has. */
export function securableOf(type: string, key: string, chosen?: Securable): Securable | undefined {
  if (!isKind(type)) return undefined;
  const count = PARTS[type];
  if (chosen && count <= chosen.parts.length && chosen.parts.slice(0, count).join(".") === key) {
    return { kind: type, parts: chosen.parts.slice(0, count) };
  }
  if (count < 2) return { kind: type, parts: count ? [key] : [] };
  const parts = key.split(".");
  return parts.length === count ? { kind: type, parts } : undefined; // otherwise a part contains a dot
}

export function isKind(word: string): word is Kind {
  return Object.hasOwn(PARTS, word);
}

export function filterText(table: readonly string[], filter: readonly string[], columns: readonly string[]): string {
  return `ALTER TABLE ${dotted(table)} SET ROW FILTER ${dotted(filter)} ON (${columns.map(ticked).join(", ")})`;
}

export function maskText(table: readonly string[], column: string, mask: readonly string[], using: readonly string[]): string {
  const others = using.length ? ` USING COLUMNS (${using.map(ticked).join(", ")})` : "";
  return `ALTER TABLE ${dotted(table)} ALTER COLUMN ${ticked(column)} SET MASK ${dotted(mask)}${others}`;
}
