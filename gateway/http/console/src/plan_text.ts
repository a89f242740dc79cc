// The text of a result in one column, as EXPLAIN answers it.
import { tableFromIPC } from "apache-arrow";

export function decodeText(stream: Uint8Array): string {
  const column = tableFromIPC(stream).getChildAt(0);
  return column ? Array.from(column as Iterable<string | null>).join("\n") : "";
}
