// The SQL editor: CodeMirror with Spark's keywords, names of the catalog, and marks where an error is.
import { acceptCompletion, autocompletion, closeBrackets, closeCompletion, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, toggleComment } from "@codemirror/commands";
import { keywordCompletionSource, schemaCompletionSource, type SQLNamespace } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec, type Extension } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { loadColumns, names } from "./names";
import { runStatement } from "./runner";
import { sparkDialect } from "./spark_dialect";
import { errorRange, statementAt } from "./statements";
import type { SqlTab } from "./state";

const COLUMNS_AFTER_MS = 300;
const NONCE = document.querySelector<HTMLMetaElement>('meta[name="nonce"]')?.content ?? "";

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--type)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const allKeywords = keywordCompletionSource(sparkDialect, true);
/** Behind a dot is a name. */
const keywords: CompletionSource = (context) => (context.matchBefore(/\.[\p{L}\p{N}_]*/u) ? null : allKeywords(context));

/** Spark's SQL, with keywords and the names of a catalog. */
function completed(schema: SQLNamespace): Extension {
  const { language } = sparkDialect;
  const sources = [schemaCompletionSource({ dialect: sparkDialect, schema }), keywords];
  return [language, ...sources.map((autocomplete) => language.data.of({ autocomplete }))];
}

/** What the editor of the shown tab would run: the selection, or the statement at the cursor. */
let shown: { tab: SqlTab; view: EditorView } | undefined;

export function runShown(): void {
  if (!shown) return;
  const { tab, view } = shown;
  closeCompletion(view);
  const text = view.state.doc.toString();
  const range = view.state.selection.main;
  const selected = text.slice(range.from, range.to);
  const piece = selected.trim() ? trimmed(text, range.from, range.to) : statementAt(text, range.head);
  if (piece) void runStatement(tab, text.slice(piece.from, piece.to), piece.from);
}

export function focusEditor(): void {
  shown?.view.focus();
}

/** Puts text where the cursor is. */
export function insertText(text: string): void {
  if (!shown) return;
  shown.view.dispatch(shown.view.state.replaceSelection(text));
  shown.view.focus();
}

function trimmed(text: string, from: number, to: number) {
  const inner = text.slice(from, to);
  const start = from + inner.length - inner.trimStart().length;
  return { from: start, to: start + inner.trim().replace(/;$/, "").length };
}

export function Editor({ tab }: { tab: SqlTab }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const language = new Compartment();
    const view = new EditorView({
      parent: host.current as HTMLElement,
      state: EditorState.create({ doc: tab.text.peek(), extensions: extensions(tab, language) }),
    });
    shown = { tab, view };
    view.focus();
    const stopNames = effect(() => {
      const schema = names.value;
      view.dispatch({ effects: language.reconfigure(completed(schema)) });
    });
    let timer = 0;
    const stopColumns = effect(() => {
      const text = tab.text.value;
      void names.value; // tables that have come since
      clearTimeout(timer);
      timer = window.setTimeout(() => loadColumns(text).catch(() => undefined), COLUMNS_AFTER_MS);
    });
    const stopMarks = effect(() => {
      const run = tab.run.value;
      const found = run?.failure && errorRange(run.text, run.failure);
      const end = view.state.doc.length;
      const marks = found && run ? [{ from: Math.min(end, run.from + found.from), to: Math.min(end, run.from + found.to) }] : [];
      const message = run?.failure?.message ?? "";
      view.dispatch(setDiagnostics(view.state, marks.map((mark) => ({ ...mark, severity: "error" as const, message }))));
    });
    return () => {
      stopNames();
      stopColumns();
      clearTimeout(timer);
      stopMarks();
      if (shown?.view === view) shown = undefined;
      view.destroy();
    };
  }, [tab.id]);
  return <div class="editor" ref={host} />;
}

function extensions(tab: SqlTab, language: Compartment): Extension {
  return [
    EditorView.cspNonce.of(NONCE),
    Prec.highest(
      keymap.of([
        { key: "Mod-Enter", run: () => (runShown(), true) },
        { key: "Mod-/", run: toggleComment },
      ]),
    ),
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    drawSelection(),
    history(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false }),
    highlightSelectionMatches(),
    syntaxHighlighting(highlighting),
    placeholder("SELECT …"),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "SQL" }),
    language.of([]),
    keymap.of([
      { key: "Tab", run: acceptCompletion },
      { key: "Tab", run: indentMore, shift: indentLess },
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...lintKeymap,
      ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"),
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) tab.text.value = update.state.doc.toString();
    }),
  ];
}
