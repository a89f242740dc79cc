// Counts changes of the catalog, so that the parts of the page that list its objects load them again.
import { signal } from "@preact/signals";

/** Increases when the catalog may have changed. */
export const catalogVersion = signal(0);

const CHANGES = /\b(CREATE|DROP|ALTER|RENAME|UNDROP|GRANT|REVOKE|CALL|REPAIR|MSCK|COMMENT|BEGIN|EXECUTE)\b/i;
const watched = new Set<string>();

/** Whether `text` may change the catalog. It may say so of a text that does not: then a list is loaded once more. */
export function mayChangeCatalog(text: string): boolean {
  return CHANGES.test(text.replace(/'(?:[^'\\]|\\.)*'|--.*|\/\*[\s\S]*?\*\//g, " "));
}

/** Remembers a statement that may change the catalog until its end is known. */
export function watchStatement(id: string, text: string): void {
  if (mayChangeCatalog(text)) watched.add(id);
}

export function noteEnd(id: string, state: string): void {
  if (state !== "PENDING" && state !== "RUNNING" && watched.delete(id)) catalogVersion.value++;
}
