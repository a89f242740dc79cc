// Copies texts. Browsers allow it only on https and on this machine.
import { notify } from "./ui/notice";
import { strings } from "./strings";

/** Copies `text`, and reports the result to the user. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(strings.common.copied);
  } catch {
    notify(strings.common.notCopied);
  }
}
