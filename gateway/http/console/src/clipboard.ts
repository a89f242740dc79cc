// Copying: text, and the rows of a result up to a limit.
import { strings } from "./strings";
import { notify } from "./ui/notice";
import { asTabbedText, type Cell, type RowWindows } from "./rows";

/** Copies end after so many characters: browsers fail with much larger texts. */
export const COPIED_CHARACTERS_MAX = 64_000_000;

export interface CopiedRows {
  text: string;
  rows: number;
}

/**
 * Rows as text that spreadsheets take, up to the limit; `onProgress` gets the number of rows so far. Throws if `signal`
 * is aborted.
 */
export async function rowsAsText(
  rows: RowWindows,
  range: { first: number; last: number; columns: number[]; header?: Cell[] },
  onProgress: (rows: number) => void,
  signal: AbortSignal,
  charactersMax = COPIED_CHARACTERS_MAX,
): Promise<CopiedRows> {
  const pieces = range.header ? [asTabbedText([range.header])] : [];
  let length = pieces[0]?.length ?? 0;
  let count = 0;
  for await (const lines of rows.pages(range.first, range.last, range.columns, signal)) {
    let fitting = 0;
    const texts: string[] = [];
    for (const line of lines) {
      const text = asTabbedText([line]);
      if (length + text.length + 1 > charactersMax) break;
      length += text.length + 1;
      texts.push(text);
      fitting++;
    }
    if (texts.length) pieces.push(texts.join("\n"));
    count += fitting;
    onProgress(count);
    signal.throwIfAborted();
    if (fitting < lines.length) break;
  }
  return { text: pieces.join("\n"), rows: count };
}

/** Copies a text; false if the browser permits it only directly after a click or a key. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(() => true, () => false);
  }
  const area = document.createElement("textarea"); // a page without TLS has no clipboard
  const focused = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

/** Copies a text, and reports to the user whether it was copied. */
export async function copyWithNotice(text: string): Promise<void> {
  notify((await copyText(text)) ? strings.common.copied : strings.common.notCopied);
}
