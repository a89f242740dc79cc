// Where the statements of a text are: pieces between semicolons outside of strings, quoted names, comments and scripts.

import type { Failure } from "./api";

export interface Piece {
  /** Offsets of the statement in the text, without blanks around it; the end is exclusive. */
  from: number;
  to: number;
}

const TOKEN =
  /--[^\n]*|\/\*|'(?:[^'\\]|\\[\s\S]|'')*'?|"(?:[^"\\]|\\[\s\S]|"")*"?|`(?:[^`]|``)*`?|[A-Za-z_][A-Za-z_0-9]*|;|\(|\S/g;
const OPENS = new Set(["BEGIN", "CASE", "IF", "LOOP", "WHILE", "FOR", "REPEAT"]);
const CLOSED_BY_NAME = new Set(["CASE", "IF", "LOOP", "WHILE", "FOR", "REPEAT"]);

export function splitStatements(text: string): Piece[] {
  const found: Piece[] = [];
  let from = -1;
  let to = -1;
  let depth = 0;
  let isScript = false;
  const end = () => {
    if (from >= 0) found.push({ from, to });
    from = -1;
    depth = 0;
    isScript = false;
  };
  const tokens = new RegExp(TOKEN);
  let after = "";
  for (let token = tokens.exec(text); token; token = tokens.exec(text)) {
    const word = token[0];
    if (word.startsWith("--")) continue;
    if (word === "/*") {
      tokens.lastIndex = endOfComment(text, token.index);
      continue;
    }
    if (word === ";" && depth === 0) {
      end();
      after = "";
      continue;
    }
    const upper = word.toUpperCase();
    if (from < 0) {
      from = token.index;
      isScript = upper === "BEGIN";
    }
    to = token.index + word.length;
    if (isScript) depth += depthChange(upper, after, text.slice(to));
    after = upper;
  }
  end();
  return found;
}

/** How `word` changes the depth of a script, given the word before it and the text that follows. */
function depthChange(word: string, before: string, rest: string): number {
  if (word === "END") return -1;
  if (!OPENS.has(word) || (before === "END" && CLOSED_BY_NAME.has(word))) return 0;
  if (word !== "CASE" && word !== "BEGIN" && /^\s*\(/.test(rest) && !/^\s*\([^;]*\)\s*(?:THEN|DO)\b/i.test(rest)) return 0;
  // DECLARE c CURSOR FOR query, DECLARE EXIT HANDLER FOR condition
  if (word === "FOR" && (before === "CURSOR" || before === "HANDLER")) return 0;
  if (word === "IF" && /^\s+(?:NOT\s+)?EXISTS\b(?!\s*\()/i.test(rest)) return 0;
  return 1;
}

function endOfComment(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith("/*", at)) {
      depth++;
      at++;
    } else if (text.startsWith("*/", at)) {
      depth--;
      at++;
      if (!depth) return at + 1;
    }
  }
  return text.length;
}

/** The statement at an offset: the one around it, or that ends before it, else the next one. */
export function statementAt(text: string, offset: number): Piece | undefined {
  const pieces = splitStatements(text);
  const around = pieces.find((piece) => piece.from <= offset && offset <= piece.to);
  if (around) return around;
  const before = pieces.filter((piece) => piece.to < offset).at(-1);
  if (before && /^[\s;]*$/.test(text.slice(before.to, offset))) return before;
  return pieces.find((piece) => piece.from > offset) ?? before;
}

/**
 * The part of a statement that an error is about. An error in a view marks the view's name, since its line and column
 * count in the view's text. Without a position, and in the text of EXECUTE IMMEDIATE, it is the first name in backquotes
 * of the message that the text has.
 */
export function errorRange(
  text: string,
  failure: Pick<Failure, "message" | "line" | "column" | "view" | "inside">,
): Piece | undefined {
  if (failure.line && !failure.view && !failure.inside) {
    const lines = text.split("\n");
    const start = lines.slice(0, failure.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    // The server counts characters, and a string here has two units for some.
    const before = [...(lines[failure.line - 1] ?? "")].slice(0, Math.max(0, (failure.column ?? 1) - 1)).join("");
    const from = Math.min(text.length, start + before.length);
    const word = /^[A-Za-z_0-9]+/.exec(text.slice(from));
    return { from, to: Math.min(text.length, from + Math.max(1, word?.[0].length ?? 1)) };
  }
  const named = failure.view ? [...failure.view.matchAll(/`([^`]+)`/g)].slice(-1) : failure.message.matchAll(/`([^`]+)`/g);
  for (const [, name] of named) {
    const at = text.toLowerCase().indexOf((name as string).toLowerCase());
    if (at >= 0) return { from: at, to: at + (name as string).length };
  }
  return undefined;
}
