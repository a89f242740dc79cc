// The form for a row filter or a column mask: a table, a function, and a column for each of its parameters.
import { useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { strings } from "../strings";
import { Problem } from "../ui/notice";
import { Select } from "../ui/select";
import { useLoad } from "../use_load";
import { ObjectChoice } from "./object_choice";
import { rowsOf } from "./run_sql";
import { StatementDialog } from "./statement_dialog";
import { filterText, maskText, ticked, type Securable } from "./statements";

const texts = strings.policies;
const NOT_MANAGED = "INSUFFICIENT_PERMISSIONS";

export function PolicyDialog({ kind, onClose }: { kind: "filter" | "mask"; onClose: () => void }) {
  const [table, setTable] = useState<Securable>({ kind: "TABLE", parts: [] });
  const [called, setCalled] = useState<Securable>({ kind: "FUNCTION", parts: [] });
  const [chosen, setChosen] = useState<string[]>([]);
  const { value: columns, problem } = useLoad(() => columnsOf(table.parts), [table]);
  const { value: parameters } = useLoad(() => parametersOf(called.parts), [called]);
  const arity = parameters?.length ?? 0;
  const isComplete = columns !== undefined && parameters !== undefined && arity > 0 && chosen.slice(0, arity).filter(Boolean).length === arity;
  const [first = "", ...others] = chosen.slice(0, arity);
  const statement = isComplete
    ? kind === "filter" ? filterText(table.parts, called.parts, [first, ...others]) : maskText(table.parts, first, called.parts, others)
    : undefined;
  return (
    <StatementDialog
      title={kind === "filter" ? texts.setFilter : texts.setMask}
      statement={statement}
      action={texts.set}
      done={texts.isSet}
      onClose={onClose}
      onDone={() => undefined}
    >
      <div class="field"><span>{texts.table}</span><ObjectChoice kinds={["TABLE"]} value={table} onChange={setTable} /></div>
      {problem && <Problem>{problem}</Problem>}
      <div class="field"><span>{texts.function}</span><ObjectChoice kinds={["FUNCTION"]} value={called} onChange={setCalled} /></div>
      {parameters?.length === 0 && called.parts.length === 3 && <Problem>{texts.noParameters}</Problem>}
      {(columns && parameters ? parameters : []).map((parameter, at) => (
        <div class="field" key={parameter}>
          <span>{kind === "mask" && at === 0 ? texts.maskedColumn : texts.columnFor(parameter)}</span>
          <Select
            label={texts.columnFor(parameter)}
            value={chosen[at] ?? ""}
            options={[...(chosen[at] ? [] : [{ value: "", label: strings.admin.choose(texts.column) }]), ...(columns ?? []).map((name) => ({ value: name }))]}
            onChange={(name) => setChosen(Array.from({ length: Math.max(arity, at + 1) }, (_, each) => (each === at ? name : (chosen[each] ?? ""))))}
          />
        </div>
      ))}
    </StatementDialog>
  );
}

/** The columns of a table; raises if the user does not own or manage it. */
async function columnsOf([catalog, schema, table]: readonly string[]): Promise<string[] | undefined> {
  if (catalog === undefined || schema === undefined || table === undefined) return undefined;
  try {
    await rowsOf(`SHOW POLICIES ON TABLE ${[catalog, schema, table].map(ticked).join(".")}`);
  } catch (error) {
    const isDenied = error instanceof ApiError && error.failure.condition === NOT_MANAGED;
    throw isDenied ? new ApiError(error.status, { ...error.failure, message: texts.notOwner }) : error;
  }
  return (await api.columns(catalog, schema, table)).map(({ name }) => name);
}

async function parametersOf([catalog, schema, name]: readonly string[]): Promise<string[] | undefined> {
  if (catalog === undefined || schema === undefined || name === undefined) return undefined;
  const rows = await rowsOf(
    "SELECT specific_schema, specific_name, parameter_name FROM "
      + `${ticked(catalog)}.information_schema.parameters ORDER BY ordinal_position`,
  );
  return rows.filter((row) => row.specific_schema === schema && row.specific_name === name).map((row) => row.parameter_name ?? "");
}
