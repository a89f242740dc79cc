// Chooses an object of the catalog: its kind, then its catalog, its schema and its name.
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { catalogVersion } from "../catalog_changes";
import { strings } from "../strings";
import { Problem } from "../ui/notice";
import { Select } from "../ui/select";
import { useLoad } from "../use_load";
import { rowsOf } from "./run_sql";
import { PARTS, ticked, type Kind, type Securable } from "./statements";

const SYSTEM = "system";

/** `value` has fewer parts than its kind has while nothing is chosen. */
export function ObjectChoice({ kinds, value, onChange }: {
  kinds: readonly Kind[];
  value: Securable;
  onChange: (value: Securable) => void;
}) {
  const { kind, parts } = value;
  const choose = (at: number, name: string) => onChange({ kind, parts: [...parts.slice(0, at), name] });
  const kept = (next: Kind) => (next === "EXTERNAL LOCATION" || kind === "EXTERNAL LOCATION" ? [] : parts.slice(0, Math.min(PARTS[next], 2)));
  return (
    <div class="object-choice">
      {kinds.length > 1 && (
        <Select
          label={strings.admin.kind}
          value={kind}
          options={kinds.map((each) => ({ value: each, label: strings.admin.kinds[each] }))}
          onChange={(next) => onChange({ kind: next, parts: kept(next) })}
        />
      )}
      {Array.from({ length: PARTS[kind] }, (_, at) => (
        at <= parts.length && <NameChoice key={`${kind} ${at}`} kind={kind} above={parts.slice(0, at)} value={parts[at]} onChange={(name) => choose(at, name)} />
      ))}
    </div>
  );
}

function NameChoice({ kind, above, value, onChange }: {
  kind: Kind;
  above: string[];
  value: string | undefined;
  onChange: (name: string) => void;
}) {
  const { value: names, problem } = useLoad(() => namesBelow(kind, above), [kind, above.join("\0"), catalogVersion.value]);
  const only = names?.length === 1 ? names[0] : undefined;
  useEffect(() => {
    if (value === undefined && only !== undefined) onChange(only);
  }, [value, only]);
  if (problem) return <Problem>{problem}</Problem>;
  const label = strings.admin.levels[levelOf(kind, above.length)];
  const found = names ?? [];
  const shown = value === undefined || found.includes(value) ? found : [value, ...found];
  return (
    <Select
      label={label}
      value={value ?? ""}
      isDisabled={!shown.length}
      options={[
        ...(value === undefined ? [{ value: "", label: names && !names.length ? strings.admin.none(label) : strings.admin.choose(label) }] : []),
        ...shown.map((name) => ({ value: name })),
      ]}
      onChange={(name) => name && onChange(name)}
    />
  );
}

function levelOf(kind: Kind, at: number): keyof typeof strings.admin.levels {
  if (kind === "EXTERNAL LOCATION") return "location";
  return at === 0 ? "catalog" : at === 1 ? "schema" : "name";
}

async function namesBelow(kind: Kind, above: readonly string[]): Promise<string[]> {
  const [catalog, schema] = above;
  if (kind === "EXTERNAL LOCATION") return texts(await rowsOf("SHOW EXTERNAL LOCATIONS"), "name");
  if (catalog === undefined) return (await api.catalogs()).catalogs.map(({ name }) => name).filter((name) => name !== SYSTEM);
  if (schema === undefined) return (await api.schemas(catalog)).map(({ name }) => name);
  if (kind === "FUNCTION") {
    const rows = await rowsOf(`SELECT routine_schema, routine_name FROM ${ticked(catalog)}.information_schema.routines ORDER BY ALL`);
    return texts(rows.filter((row) => row.routine_schema === schema), "routine_name");
  }
  if (kind === "VOLUME") return texts(await rowsOf(`SHOW VOLUMES IN ${ticked(catalog)}.${ticked(schema)}`), "volume_name");
  const tables = await api.tables(catalog, schema);
  return tables.filter(({ type }) => (type === "VIEW") === (kind === "VIEW")).map(({ name }) => name);
}

function texts(rows: Record<string, string | null>[], column: string): string[] {
  return rows.flatMap((row) => row[column] ?? []);
}
