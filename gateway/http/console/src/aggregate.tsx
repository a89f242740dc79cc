// The dialog that aggregates or pivots the rows of a result: it writes the statement into a new tab, and runs it.
import { useState } from "preact/hooks";
import { AGGREGATES, aggregateSql, literal, type Aggregate } from "./aggregate_sql";
import { NUMERIC } from "./columns";
import { runStatements } from "./runner";
import { openSqlTab, type Result, type Run, type SqlTab } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { Dialog } from "./ui/dialog";
import { Problem } from "./ui/notice";
import { Select } from "./ui/select";

const PIVOT_COLUMNS_MAX = 50;
/** So many rows are searched for the values of the pivot column. */
const PIVOT_ROWS_MAX = 10_000;

export function AggregateDialog({ tab, run, result, onClose }: { tab: SqlTab; run: Run; result: Result; onClose: () => void }) {
  const texts = strings.aggregate;
  const names = result.columns.map((column) => column.name);
  const numbers = result.columns.filter((column) => NUMERIC.test(column.type_name)).map((column) => column.name);
  const [rows, setRows] = useState<string[]>([]);
  const [aggregate, setAggregate] = useState<Aggregate>("count");
  const [chosen, setValue] = useState("");
  const [pivot, setPivot] = useState("");
  const [problem, setProblem] = useState("");
  const values = aggregate === "sum" || aggregate === "avg" ? numbers : names;
  const value = values.includes(chosen) ? chosen : (values[0] ?? "");
  const start = async () => {
    const literals = pivot ? await pivotLiterals(result, names.indexOf(pivot)) : [];
    if (typeof literals === "string") return setProblem(literals);
    const made = { rows: rows.filter((name) => name !== pivot), aggregate, value, ...(pivot && { pivot: { column: pivot, literals } }) };
    const text = aggregateSql(run.text, made);
    const opened = openSqlTab(text, texts.tab(tab.title));
    opened.parameters.value = tab.parameters.value;
    opened.catalog.value = tab.catalog.value;
    opened.schema.value = tab.schema.value;
    onClose();
    await runStatements(opened, [{ text, from: 0 }]);
  };
  const toggle = (name: string) => setRows(rows.includes(name) ? rows.filter((each) => each !== name) : names.filter((each) => each === name || rows.includes(each)));
  return (
    <Dialog
      title={texts.title}
      onClose={onClose}
      class="aggregate"
      actions={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button variant="primary" icon="play" disabled={aggregate !== "count" && !value} onClick={() => void start()}>{texts.run}</Button>
        </>
      }
    >
      <fieldset>
        <legend>{texts.rows}</legend>
        {names.map((name, at) => (
          <label key={at}><input type="checkbox" checked={rows.includes(name)} onChange={() => toggle(name)} /> {name}</label>
        ))}
      </fieldset>
      <div class="aggregate-choices">
        <Select label={texts.columns} value={pivot} options={[{ value: "", label: texts.noColumns }, ...names.map((name) => ({ value: name, label: texts.columnsOf(name) }))]} onChange={setPivot} />
        <Select label={texts.aggregate} value={aggregate} options={AGGREGATES.map((each) => ({ value: each, label: texts.aggregates[each] }))} onChange={setAggregate} />
        {aggregate !== "count" && <Select label={texts.value} value={value} options={values.map((name) => ({ value: name }))} onChange={setValue} />}
      </div>
      {problem && <Problem>{problem}</Problem>}
    </Dialog>
  );
}

/** The values of a column as literals, in their order; a text if they cannot be columns. */
async function pivotLiterals(result: Result, at: number): Promise<string[] | string> {
  const column = result.columns[at];
  if (!column) return strings.aggregate.noPivot;
  const lines = await result.rows.lines(0, Math.min(result.total, PIVOT_ROWS_MAX) - 1, [at]);
  const found = new Set(lines.flatMap(([cell]) => (cell === null || cell === undefined ? [] : [cell])));
  if (found.size > PIVOT_COLUMNS_MAX) return strings.aggregate.tooMany(column.name, PIVOT_COLUMNS_MAX);
  const literals = [...found].sort().flatMap((each) => literal(each, column) ?? []);
  return literals.length && literals.length === found.size ? literals : strings.aggregate.noPivot;
}
