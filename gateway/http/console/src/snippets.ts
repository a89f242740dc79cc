// Statements to fill in, as completions: Tab goes from field to field.
import { snippetCompletion, type Completion } from "@codemirror/autocomplete";

const TEMPLATES: [label: string, text: string][] = [
  ["select from where", "SELECT ${columns}\nFROM ${table}\nWHERE ${condition}"],
  ["select group by", "SELECT ${column}, count(*) AS ${name}\nFROM ${table}\nGROUP BY ALL\nORDER BY ${name} DESC"],
  ["with select", "WITH ${name} AS (\n  ${query}\n)\nSELECT *\nFROM ${name}"],
  ["case when", "CASE WHEN ${condition} THEN ${value} ELSE ${other} END"],
  ["row number", "row_number() OVER (PARTITION BY ${column} ORDER BY ${order})"],
  ["merge into", "MERGE INTO ${target} AS t\nUSING ${source} AS s\nON t.${key} = s.${key}\nWHEN MATCHED THEN UPDATE SET *\nWHEN NOT MATCHED THEN INSERT *"],
  ["create table as", "CREATE TABLE ${name}\nCOMMENT '${comment}'\nAS ${query}"],
  ["version as of", "SELECT *\nFROM ${table} VERSION AS OF ${version}"],
  ["set row filter", "ALTER TABLE ${table} SET ROW FILTER ${function} ON (${column})"],
];

export const snippets: Completion[] = TEMPLATES.map(([label, text]) =>
  snippetCompletion(text, { label, detail: "snippet", type: "snippet", boost: -2 }),
);
