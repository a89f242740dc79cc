// Functions for the editor: completion with signatures and documentation, and the signature of the call at the cursor.
import { snippetCompletion, type Completion } from "@codemirror/autocomplete";
import { StateField, type EditorState } from "@codemirror/state";
import { showTooltip, type Tooltip } from "@codemirror/view";
import { api, type FunctionRow } from "./api";
import { quoted } from "./names";
import { callAt } from "./statements";

let byName = new Map<string, FunctionRow>();
let loading: Promise<void> | undefined;
/** Completions with names in lower and in upper case. */
let completions: { lower: Completion[]; upper: Completion[] } = { lower: [], upper: [] };

/** Loads the functions once; the editor works without them. */
export function loadFunctions(): Promise<void> {
  loading ??= api.functions().then(
    (found) => {
      const called = found.filter(({ type }) => type !== "operator");
      byName = new Map(called.map((row) => [row.name.toLowerCase(), row]));
      completions = { lower: called.map((row) => completion(row, false)), upper: called.map((row) => completion(row, true)) };
    },
    () => (loading = undefined),
  );
  return loading;
}

export function functionCompletions(isLower: boolean): Completion[] {
  return isLower ? completions.lower : completions.upper;
}

function completion(row: FunctionRow, isUpper: boolean): Completion {
  const name = row.kind === "builtin" && isUpper ? row.name.toUpperCase() : row.name;
  const written = row.kind === "user" && row.schema ? `${quoted(row.schema)}.${quoted(name)}` : name;
  const [usage = `${row.name}()`] = row.usage;
  const signature = usage.startsWith(row.name) ? usage.slice(row.name.length) : usage;
  const isCall = usage.includes("(");
  const shown = { label: name, type: "function", detail: signature.length > 40 ? `${signature.slice(0, 39)}…` : signature, info: () => documentation(row) };
  return isCall ? snippetCompletion(`${written}(\${})`, shown) : { ...shown, apply: written };
}

/** A function's usage, description and examples. */
function documentation(row: FunctionRow): Node {
  const host = document.createElement("div");
  host.className = "function-help";
  const add = (name: string, text: string | undefined) => {
    if (!text) return;
    const part = document.createElement(name);
    part.textContent = text;
    host.append(part);
  };
  add("code", row.usage.join("\n"));
  add("p", row.description);
  add("pre", row.arguments);
  add("pre", row.examples.slice(0, 3).join("\n"));
  return host;
}

/** Shows the signature of the function whose arguments the cursor is in. */
export const signatureHelp = StateField.define<Tooltip | null>({
  create: () => null,
  update(known, transaction) {
    if (!transaction.docChanged && !transaction.selection) return known;
    return signatureAt(transaction.state);
  },
  provide: (field) => showTooltip.from(field),
});

function signatureAt(state: EditorState): Tooltip | null {
  const { main } = state.selection;
  const call = main.empty ? callAt(state.doc.toString(), main.head) : undefined;
  const row = call && byName.get(call.name.toLowerCase());
  if (!call || !row?.usage.length) return null;
  return {
    pos: call.from,
    above: state.doc.lineAt(call.from).number > 1, // and not over the toolbar
    create: () => {
      const dom = document.createElement("div");
      dom.className = "signature-help";
      dom.textContent = row.usage.slice(0, 3).join("\n");
      return { dom };
    },
  };
}
