// The parts of an error's message, and the part of the text that it is about; pure.
import type { Failure } from "./api";
import { placeOf, type Piece } from "./statements";

export interface FailureParts {
  /** The message without its condition, position, SQLSTATE and excerpt. */
  text: string;
  condition?: string;
  sqlState?: string;
  hint?: string;
  /** Lines that are not about the statement's text, such as the frames of a script. */
  rest?: string;
}

export function failureParts(failure: Failure): FailureParts {
  const { condition, sql_state: sqlState, hint, excerpt, message } = failure;
  const [, head = message, tail = ""] = /^([\s\S]*?)\s*SQLSTATE: [0-9A-Z]{5}\n?([\s\S]*)$/.exec(message) ?? [];
  const text = head.replace(/^\[[A-Z0-9_.]+\]\s*/, "").replace(/ \(line \d+, column \d+\)(?=\.?$)/, "");
  const known = [excerpt, hint && `Hint: ${hint}`].filter((part) => part !== undefined);
  const rest = known.reduce((left: string, part) => left.replace(part, ""), tail).trim();
  return { text, condition, sqlState, hint, rest: rest || undefined };
}

/** The part of a tab's text that an error is about; undefined if the text does not have the statement any more. */
export function failureRange(text: string, run: { text: string; from: number; failure?: Failure }): Piece | undefined {
  const found = run.failure && errorRange(run.text, run.failure);
  const start = found && placeOf(text, run.text, run.from);
  return start === undefined || !found ? undefined : { from: start + found.from, to: start + found.to };
}

/** Line and column, from 1, of an offset. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
}

type Placed = Pick<Failure, "line" | "column" | "view" | "inside">;

/**
 * The part of a statement that an error is about. An error in a view marks the view's name, since its line and column
 * count in the view's text. Undefined without a position, and for the text of EXECUTE IMMEDIATE.
 */
export function errorRange(statement: string, failure: Placed): Piece | undefined {
  if (failure.line && !failure.view && !failure.inside) {
    const lines = statement.split("\n");
    const start = lines.slice(0, failure.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    // The server counts characters, and a string here has two units for some.
    const before = [...(lines[failure.line - 1] ?? "")].slice(0, Math.max(0, (failure.column ?? 1) - 1)).join("");
    const from = Math.min(statement.length, start + before.length);
    const word = /^(?:[\p{L}\p{N}_]+|`(?:[^`]|``)+`)(?:\.(?:[\p{L}_][\p{L}\p{N}_]*|`(?:[^`]|``)+`))*/u.exec(statement.slice(from));
    return { from, to: Math.min(statement.length, from + Math.max(1, word?.[0].length ?? 1)) };
  }
  const names = (failure.view ?? "").matchAll(/`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*/g);
  for (const [written] of names) {
    const name = (/`((?:[^`]|``)+)`$/.exec(written)?.[1] ?? "").replaceAll("``", "`");
    const found = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(name)}(?![\\p{L}\\p{N}_])`, "iu").exec(statement);
    if (found) return { from: found.index, to: found.index + name.length };
  }
  return undefined;
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
