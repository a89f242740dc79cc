// The SQL editor: CodeMirror with Spark's keywords, names of the catalog, and marks where an error is.
import { acceptCompletion, autocompletion, closeBrackets, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, toggleComment } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
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
import { api, type Failure } from "./api";
import { completed, completionIcon, contextOf } from "./completion";
import { errorRange, failureParts, failureRange } from "./failure_parts";
import { loadFunctions, signatureHelp } from "./functions";
import { loadColumns, names } from "./names";
import { failureOf, runStatements } from "./runner";
import { piecesOf, splitStatements, statementAt, type Piece } from "./statements";
import type { SqlTab } from "./state";
import { strings } from "./strings";
import { notify } from "./ui/notice";

const COLUMNS_AFTER_MS = 300;
const NONCE = document.querySelector<HTMLMetaElement>('meta[name="nonce"]')?.content ?? "";

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--type)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

/** What the editor of the shown tab would run: the selection, or the statement at the cursor. */
let shown: { tab: SqlTab; view: EditorView } | undefined;

/** Runs the statements of the selection, or the one at the cursor. */
export function runShown(): void {
  if (!shown) return;
  const { view } = shown;
  const text = view.state.doc.toString();
  const range = view.state.selection.main;
  const selected = piecesOf(text, range.from, range.to);
  const piece = statementAt(text, range.head);
  runPieces(selected.length ? selected : piece ? [piece] : []);
}

/** Runs all statements of the text. */
export function runAll(): void {
  if (shown) runPieces(splitStatements(shown.view.state.doc.toString()));
}

function runPieces(pieces: Piece[]): void {
  if (!shown) return;
  const { tab, view } = shown;
  closeCompletion(view);
  void runStatements(tab, pieces.map(({ from, to }) => ({ text: view.state.doc.sliceString(from, to), from })));
}

/** Selects a part of the text and shows it. */
export function revealRange({ from, to }: Piece): void {
  shown?.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
  shown?.view.focus();
}

export function focusEditor(): void {
  shown?.view.focus();
}

/** Replaces the text of a tab; in the editor, the change can be undone. */
export function replaceText(tab: SqlTab, text: string): void {
  if (shown?.tab.id === tab.id) {
    const { view } = shown;
    const anchor = Math.min(view.state.selection.main.head, text.length);
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor } });
  } else tab.text.value = text;
}

/** Formats the selection, or the whole text; an error is marked at its position. */
export async function formatShown(): Promise<void> {
  if (!shown) return;
  const { view } = shown;
  const { main } = view.state.selection;
  const { from, to } = main.empty ? { from: 0, to: view.state.doc.length } : main;
  const text = view.state.doc.sliceString(from, to);
  try {
    const formatted = (await api.format(text)).statement;
    const statement = formatted.trimEnd() + text.slice(text.trimEnd().length); // a selection may end within a line
    if (view.state.doc.sliceString(from, to) !== text) return; // the user wrote meanwhile
    if (statement === text) notify(strings.editor.formatted);
    else view.dispatch({ changes: { from, to, insert: statement }, selection: { anchor: Math.min(main.head, from + statement.length) }, userEvent: "input.format" });
  } catch (error) {
    const failure = failureOf(error);
    const message = failureParts(failure).text;
    const found = failure.line ? errorRange(text, failure) : undefined;
    if (found) view.dispatch(setDiagnostics(view.state, [{ from: from + found.from, to: from + found.to, severity: "error", message }]));
    notify(message);
  }
}

/** Puts text where the cursor is. */
export function insertText(text: string): void {
  if (!shown) return;
  shown.view.dispatch(shown.view.state.replaceSelection(text));
  shown.view.focus();
}

export function Editor({ tab }: { tab: SqlTab }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const language = new Compartment();
    void loadFunctions();
    const view = new EditorView({
      parent: host.current as HTMLElement,
      state: EditorState.create({ doc: tab.text.peek(), extensions: extensions(tab, language) }),
    });
    shown = { tab, view };
    view.focus();
    const stopNames = effect(() => {
      view.dispatch({ effects: language.reconfigure(completed(names.value, contextOf(tab))) });
    });
    let timer = 0;
    const stopColumns = effect(() => {
      const text = tab.text.value;
      void names.value; // tables that have come since
      clearTimeout(timer);
      timer = window.setTimeout(() => loadColumns(text).catch(() => undefined), COLUMNS_AFTER_MS);
    });
    let marked = "";
    const stopMarks = effect(() => {
      const text = tab.text.peek();
      const marks = tab.runs.value.flatMap((run): Diagnostic[] => {
        const found = run.failure && failureRange(text, run);
        return found ? [{ ...found, severity: "error", message: failureParts(run.failure as Failure).text }] : [];
      });
      const now = JSON.stringify(marks);
      if (now === marked) return; // the editor moves marks with the text
      marked = now;
      view.dispatch(setDiagnostics(view.state, marks));
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
        { key: "Mod-Shift-Enter", run: () => (runAll(), true) },
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
    autocompletion({ icons: false, addToOptions: [completionIcon] }),
    signatureHelp,
    highlightSelectionMatches(),
    syntaxHighlighting(highlighting),
    placeholder(strings.editor.placeholder),
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
