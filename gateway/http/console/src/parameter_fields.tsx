// Fields for the parameters of a tab's text: a type and a value for each. Enter runs.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Parameter } from "./api";
import { runShown } from "./editor";
import { changeParameter, parameterNames, parameterOf, PARAMETER_TYPES, type ParameterType } from "./parameters";
import type { SqlTab } from "./state";
import { strings } from "./strings";
import { Select } from "./ui/select";

const FOUND_AFTER_MS = 250;
const INPUTS: Record<string, JSX.IntrinsicElements["input"]> = {
  BIGINT: { inputMode: "numeric" },
  DECIMAL: { inputMode: "decimal" },
  DOUBLE: { inputMode: "decimal" },
  DATE: { type: "date" },
  TIMESTAMP: { type: "datetime-local", step: "1" },
};

export function ParameterFields({ tab }: { tab: SqlTab }) {
  const [names, setNames] = useState<string[]>([]);
  const text = tab.text.value;
  useEffect(() => {
    let isCurrent = true;
    const find = () => parameterNames(text).then((found) => isCurrent && setNames(found), () => undefined);
    const timer = setTimeout(find, FOUND_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  if (!names.length) return null;
  return (
    <form class="parameters" aria-label={strings.parameters.title} onSubmit={(event) => (event.preventDefault(), runShown())}>
      {names.map((name) => <Field key={name} parameter={parameterOf(tab, name)} onChange={(changed) => changeParameter(tab, changed)} />)}
      <button type="submit" class="hidden" tabIndex={-1}>{strings.editor.run}</button>
    </form>
  );
}

function Field({ parameter, onChange }: { parameter: Parameter; onChange: (changed: Parameter) => void }) {
  const { name, type } = parameter;
  const value = parameter.value ?? "";
  return (
    <div class="parameter" role="group" aria-label={strings.parameters.parameter(name)}>
      <span class="parameter-name" title={name}>{name}</span>
      <Select
        label={strings.parameters.type(name)}
        value={type as ParameterType}
        options={PARAMETER_TYPES.map((each) => ({ value: each, label: strings.parameters.types[each] }))}
        onChange={(chosen) => onChange({ ...parameter, type: chosen, value: chosen === "NULL" ? null : chosen === "BOOLEAN" ? "true" : value })}
      />
      {type === "BOOLEAN"
        ? <Select label={strings.parameters.value(name)} value={value} options={[{ value: "true" }, { value: "false" }]} onChange={(chosen) => onChange({ ...parameter, value: chosen })} />
        : <input {...(INPUTS[type] ?? {})} aria-label={strings.parameters.value(name)} disabled={type === "NULL"} value={value} onInput={(event) => onChange({ ...parameter, value: event.currentTarget.value })} />}
    </div>
  );
}
