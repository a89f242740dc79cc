// Values for the parameters of statements, `:name`. The server finds them, since it knows which colons are others.
import { api, type Parameter } from "./api";
import type { SqlTab } from "./state";

/** Types as the user chooses them. `DECIMAL` is sent with the digits of its value, and `NULL` is a value of no type. */
export const PARAMETER_TYPES = ["STRING", "BIGINT", "DECIMAL", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "NULL"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** The names of the parameters of a text in their order; a text without a colon before a name needs no request. */
export async function parameterNames(text: string): Promise<string[]> {
  if (!/:\s*[\p{L}_]/u.test(text)) return [];
  const statements = await api.parse(text);
  return [...new Set(statements.flatMap((statement) => statement.parameters.map(({ name }) => name)))];
}

/** The parameters of a statement as they are sent. */
export async function parametersOf(tab: SqlTab, statement: string): Promise<Parameter[]> {
  const names = await parameterNames(statement).catch(() => []); // the error of the statement itself says what is wrong
  return names.map((name) => sentParameter(parameterOf(tab, name)));
}

export function parameterOf(tab: SqlTab, name: string): Parameter {
  return tab.parameters.value.find((parameter) => parameter.name === name) ?? { name, type: "STRING", value: "" };
}

export function changeParameter(tab: SqlTab, changed: Parameter): void {
  const others = tab.parameters.value.filter(({ name }) => name !== changed.name);
  tab.parameters.value = [...others, changed];
}

/** A parameter with a type of Spark. */
export function sentParameter({ name, type, value }: Parameter): Parameter {
  if (type === "NULL" || value === null) return { name, type: type === "NULL" ? "VOID" : type, value: null };
  if (type === "DECIMAL") {
    const [, whole = "", fraction = ""] = /^\s*[+-]?(\d*)\.?(\d*)/.exec(value) ?? [];
    const scale = Math.min(38, fraction.length);
    return { name, type: `DECIMAL(${Math.min(38, Math.max(1, whole.length + scale))},${scale})`, value };
  }
  return { name, type, value };
}
