// Where the statements of a text are: pieces between semicolons outside of strings, quoted names, comments and scripts.

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

/** The statements in a part of a text, such as the selection; offsets are those of the whole text. */
export function piecesOf(text: string, from: number, to: number): Piece[] {
  return splitStatements(text.slice(from, to)).map((piece) => ({ from: from + piece.from, to: from + piece.to }));
}

/** Where a statement is in a text that may have changed since it ran: at `from`, else where the text has it once. */
export function placeOf(text: string, statement: string, from: number): number | undefined {
  if (text.startsWith(statement, from)) return from;
  const at = text.indexOf(statement);
  return at >= 0 && text.indexOf(statement, at + 1) < 0 ? at : undefined;
}

/** The first words of a statement on one line, without comments in front of them. */
export function firstWords(statement: string, length: number): string {
  const text = statement.replace(/^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*/, "").replace(/\s+/g, " ");
  return text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;
}

/** The call whose parentheses are around an offset: its function's name, and where that begins. */
export function callAt(text: string, offset: number): { name: string; from: number } | undefined {
  const start = statementAt(text, offset)?.from ?? 0;
  const open: { name: string; from: number }[] = [];
  const tokens = new RegExp(TOKEN);
  tokens.lastIndex = start;
  let before = { name: "", from: 0, to: -1 };
  for (let token = tokens.exec(text); token && token.index < offset; token = tokens.exec(text)) {
    const word = token[0];
    if (word === "/*") tokens.lastIndex = endOfComment(text, token.index);
    else if (word === "(") open.push(before.to === token.index ? before : { name: "", from: 0 });
    else if (word === ")") open.pop();
    before = { name: /^[A-Za-z_]/.test(word) ? word : "", from: token.index, to: token.index + word.length };
  }
  const last = open.at(-1);
  return last?.name ? { name: last.name, from: last.from } : undefined;
}
