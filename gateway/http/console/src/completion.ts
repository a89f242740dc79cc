// Completion in the editor: names of the catalog, columns of the statement's tables, functions, and keywords.
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import { keywordCompletionSource, schemaCompletionSource } from "@codemirror/lang-sql";
import type { Extension } from "@codemirror/state";
import { createElement, render } from "preact";
import { functionCompletions } from "./functions";
import { columnCompletion, columnsInScope, currentCatalog, loadColumns, names, namespace, type Catalogs } from "./names";
import { keywordDialect, sparkDialect } from "./spark_dialect";
import { snippets } from "./snippets";
import type { SqlTab } from "./state";
import { statementAt } from "./statements";
import { Icon, type IconName } from "./ui/icon";

const WORD = /[\p{L}_][\p{L}\p{N}_]*/u;
/** What comes after these words is the name of a table. */
const BEFORE_TABLE = /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|DESCRIBE|USING)\s+(?:[\p{L}\p{N}_`]*)$/iu;
const COLUMN_BOOST = 20;
const ICONS: Record<string, IconName> = {
  class: "table",
  namespace: "database",
  property: "columns",
  function: "function",
  keyword: "keyword",
  snippet: "braces",
  type: "braces",
  constant: "table",
};

export interface NameContext {
  catalog: string;
  schema: string;
}

/** The current catalog and schema of a tab. */
export function contextOf(tab: SqlTab): NameContext {
  return { catalog: tab.catalog.value ?? currentCatalog.value, schema: tab.schema.value ?? "default" };
}

/** Spark's SQL with all that completes in it. */
export function completed(catalogs: Catalogs, { catalog, schema }: NameContext): Extension {
  const { language } = sparkDialect;
  const tables = schemaCompletionSource({ dialect: sparkDialect, schema: namespace(catalogs, catalog, schema) });
  const sources = [tables, columns(schema), functions, keywords, templates];
  return [language, ...sources.map((autocomplete) => language.data.of({ autocomplete }))];
}

/** Columns of the statement's tables; the first time it waits for the server. */
function columns(schema: string): CompletionSource {
  return async (context) => {
    const text = context.state.doc.toString();
    if (BEFORE_TABLE.test(text.slice(Math.max(0, context.pos - 300), context.pos))) return null;
    const piece = statementAt(text, context.pos);
    const statement = piece ? text.slice(piece.from, piece.to) : "";
    await loadColumns(statement).catch(() => undefined); // without columns the rest still completes
    const found = columnsInScope(names.value, statement, schema);
    const options = found.map(({ table, ...column }) => ({ ...columnCompletion(column), boost: COLUMN_BOOST, info: table }));
    return atWord(context, options);
  };
}

const templates: CompletionSource = (context) => (context.matchBefore(WORD) ? atWord(context, snippets) : null);

const functions: CompletionSource = (context) => atWord(context, functionCompletions(isLowerCase(context)));

const keywordsOf = (isLower: boolean) => keywordCompletionSource(keywordDialect, !isLower, keyword);
const [upperKeywords, lowerKeywords] = [keywordsOf(false), keywordsOf(true)];
const keywords: CompletionSource = (context) => (isQualified(context) ? null : (isLowerCase(context) ? lowerKeywords : upperKeywords)(context));

function keyword(label: string, type: string): Completion {
  return { label, type: type === "type" ? "type" : "keyword", boost: -1 };
}

/** Options for a word that does not come after a dot, outside of strings and comments. */
function atWord(context: CompletionContext, options: Completion[]): CompletionResult | null {
  const word = context.matchBefore(WORD);
  if (!options.length || (!word && !context.explicit) || isQualified(context)) return null;
  if (context.tokenBefore(["String", "LineComment", "BlockComment", "QuotedIdentifier"])) return null;
  return { from: word?.from ?? context.pos, options, validFor: /^[\p{L}\p{N}_]*$/u };
}

/** Whether the word is a part of a name, or the name of a parameter. */
function isQualified(context: CompletionContext): boolean {
  return context.matchBefore(/(?:\.|(?<!:):)[\p{L}\p{N}_]*/u) !== null;
}

/** Whether the user writes in lower case; without a word, whether the text before does. */
function isLowerCase(context: CompletionContext): boolean {
  const word = context.matchBefore(WORD)?.text ?? "";
  return /[a-z]/.test(word[0] ?? "");
}

/** Draws the kind of a completion in front of its name. */
export const completionIcon = {
  position: 20,
  render(completion: Completion): Node {
    const host = document.createElement("span");
    host.className = `completion-kind ${completion.type ?? ""}`;
    render(createElement(Icon, { name: ICONS[completion.type ?? ""] ?? "keyword", size: 14 }), host);
    return host;
  },
};
