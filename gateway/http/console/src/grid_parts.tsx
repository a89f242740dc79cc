// The bar over the grid with its filters and columns, and its dialogs.
import { useState } from "preact/hooks";
import { api } from "./api";
import { formatCount } from "./format";
import { failureOf } from "./runner";
import { filterText, type Condition, type GridState, type Operator } from "./selection";
import type { Result } from "./state";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { Dialog } from "./ui/dialog";
import { Menu } from "./ui/menu";
import { Problem } from "./ui/notice";
import { Select } from "./ui/select";
import { useLoad } from "./use_load";

const OPERATORS: Operator[] = ["contains", "equals", "range", "is_null", "is_not_null"];
const ORDERED = /^(TINYINT|SMALLINT|INT|BIGINT|BYTE|SHORT|LONG|FLOAT|DOUBLE|DECIMAL|DATE|TIMESTAMP)/i;

export function GridBar({ result, state, onFilter, onEdit, onGroup, isGrouped }: {
  result: Result;
  state: GridState;
  onFilter: (conditions: Condition[]) => void;
  onEdit: (column: number) => void;
  onGroup: () => void;
  isGrouped: boolean;
}) {
  const { conditions, count } = state.selection.value;
  const hidden = state.hidden.value;
  const toggle = (column: number) => {
    const next = new Set(hidden);
    if (!next.delete(column)) next.add(column);
    if (next.size < result.columns.length) state.hidden.value = next;
  };
  return (
    <div class="grid-bar">
      <Menu
        label={strings.grid.hiddenColumns(hidden.size)}
        icon="columns"
        commands={[
          { label: strings.grid.groupDigits, isChosen: isGrouped, run: onGroup },
          { label: strings.grid.showAll, icon: "show", isDisabled: !hidden.size, run: () => (state.hidden.value = new Set()) },
          null,
          ...result.columns.map((column, at) => ({ label: column.name, isChosen: !hidden.has(at), keepsOpen: true, run: () => toggle(at) })),
        ]}
      >
        {strings.grid.hiddenColumns(hidden.size)}
      </Menu>
      <Menu
        label={strings.grid.filter}
        icon="filter"
        commands={result.columns.map((column, at) => ({ label: column.name, isChosen: conditions.some((each) => each.column === at), run: () => onEdit(at) }))}
      >
        {strings.grid.filter}
      </Menu>
      {conditions.map((condition) => {
        const text = conditionText(condition, result.columns[condition.column]?.name ?? "");
        return (
          <span class="chip" key={condition.column}>
            <button type="button" onClick={() => onEdit(condition.column)}>{text}</button>
            <IconButton icon="close" label={strings.grid.removeCondition(text)} onClick={() => onFilter(conditions.filter((each) => each !== condition))} />
          </span>
        );
      })}
      {conditions.length > 0 && <span class="note">{strings.grid.rowsOf(formatCount(count), formatCount(result.total))}</span>}
    </div>
  );
}

export function conditionText({ operator, value, from, to }: Condition, name: string): string {
  if (operator === "range") {
    if (from === undefined) return `${name} ≤ ${to ?? ""}`;
    return to === undefined ? `${name} ≥ ${from}` : `${from} ≤ ${name} ≤ ${to}`;
  }
  const word = operator === "equals" ? "=" : strings.grid.operators[operator];
  return value === undefined ? `${name} ${word}` : `${name} ${word} ${value}`;
}

export function FilterDialog({ column, name, type, condition, onApply, onClose }: {
  column: number;
  name: string;
  type: string;
  condition: Condition | undefined;
  /** Throws what the server answers to a condition that it rejects. */
  onApply: (condition: Condition | undefined) => Promise<void>;
  onClose: () => void;
}) {
  const [operator, setOperator] = useState<Operator>(condition?.operator ?? (ORDERED.test(type) ? "range" : "contains"));
  const [value, setValue] = useState(condition?.value ?? "");
  const [from, setFrom] = useState(condition?.from ?? "");
  const [to, setTo] = useState(condition?.to ?? "");
  const [problem, setProblem] = useState<string>();
  const apply = async (next: Condition | undefined) => {
    try {
      await onApply(next);
      onClose();
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  };
  const chosen = (): Condition => {
    if (operator === "range") return { column, operator, from: from || undefined, to: to || undefined };
    return operator === "contains" || operator === "equals" ? { column, operator, value } : { column, operator };
  };
  const field = (label: string, text: string, onInput: (text: string) => void) => (
    <label class="field">
      <span>{label}</span>
      <input value={text} placeholder={type.toLowerCase()} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
  return (
    <Dialog
      title={strings.grid.filterTitle(name)}
      onClose={onClose}
      actions={
        <>
          {condition && <Button onClick={() => void apply(undefined)}>{strings.grid.clearFilter}</Button>}
          <Button variant="primary" onClick={() => void apply(chosen())}>{strings.grid.apply}</Button>
        </>
      }
    >
      <form class="filter-form" onSubmit={(event) => (event.preventDefault(), void apply(chosen()))}>
        <Select label={strings.grid.condition} value={operator} options={OPERATORS.map((each) => ({ value: each, label: strings.grid.operators[each] }))} onChange={setOperator} />
        {operator === "range" && field(strings.grid.from, from, setFrom)}
        {operator === "range" && field(strings.grid.to, to, setTo)}
        {(operator === "contains" || operator === "equals") && field(strings.grid.value, value, setValue)}
        <button class="hidden" type="submit" tabIndex={-1} aria-hidden="true" />
      </form>
      <p class="note">{strings.grid.wholeResult}</p>
      {problem && <Problem>{problem}</Problem>}
    </Dialog>
  );
}

export function StatisticsDialog({ result, column, name, conditions, onClose }: {
  result: Result;
  column: number;
  name: string;
  conditions: Condition[];
  onClose: () => void;
}) {
  const { value, problem } = useLoad(() => api.resultStatistics(result.statementId, column, filterText(conditions)), [result.statementId, column]);
  const names = strings.grid.statisticNames;
  const shown = value && [
    [names.row_count, formatCount(value.row_count)],
    [names.null_count, formatCount(value.null_count)],
    [names.distinct_count, value.distinct_count === null ? strings.grid.tooManyDistinct : formatCount(value.distinct_count)],
    [names.min, value.min ?? strings.grid.none],
    [names.max, value.max ?? strings.grid.none],
  ];
  return (
    <Dialog title={strings.grid.statisticsOf(name)} onClose={onClose}>
      {problem && <Problem>{problem}</Problem>}
      {shown && <table class="list"><tbody>{shown.map(([label, text]) => <tr key={label}><th>{label}</th><td class="code">{text}</td></tr>)}</tbody></table>}
      {conditions.length > 0 && <p class="note">{strings.grid.ofFilteredRows}</p>}
    </Dialog>
  );
}
