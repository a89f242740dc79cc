// The tree of catalogs, schemas and tables. Levels are fetched when they are opened.
import { useState } from "preact/hooks";
import { api } from "./api";
import { insertText } from "./editor";
import { quoted } from "./names";
import { openTableTab } from "./state";
import { useLoad } from "./use_load";

export function Browser({ reload }: { reload: number }) {
  const [filter, setFilter] = useState("");
  const { value: catalogs, problem } = useLoad(() => api.catalogs(), [reload]);
  return (
    <nav class="browser" aria-label="Catalog">
      <input
        id="filter"
        type="search"
        placeholder="Filter tables (Ctrl-K)"
        aria-label="Filter tables"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {problem && <p class="problem">{problem}</p>}
      <ul role="tree">
        {(catalogs ?? []).map(({ name }, at) => <Catalog key={name} name={name} isOpen={at === 0} filter={filter} reload={reload} />)}
      </ul>
    </nav>
  );
}

interface Level {
  name: string;
  filter: string;
  reload: number;
}

function Catalog({ name, isOpen, filter, reload }: Level & { isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  return (
    <li role="treeitem" aria-expanded={open}>
      <button class="level" onClick={() => setOpen(!open)}><span class="twist">{open ? "▾" : "▸"}</span>{name}</button>
      {open && <Schemas name={name} filter={filter} reload={reload} />}
    </li>
  );
}

function Schemas({ name, filter, reload }: Level) {
  const { value: schemas, problem } = useLoad(() => api.schemas(name), [name, reload]);
  if (problem) return <p class="problem">{problem}</p>;
  return (
    <ul role="group">
      {(schemas ?? []).map((schema) => <Schema key={schema.name} catalog={name} name={schema.name} filter={filter} reload={reload} />)}
    </ul>
  );
}

function Schema({ catalog, name, filter, reload }: Level & { catalog: string }) {
  const [chosen, setOpen] = useState<boolean>();
  const open = chosen ?? (filter !== "" || name === "default");
  return (
    <li role="treeitem" aria-expanded={open}>
      <button class="level" onClick={() => setOpen(!open)}><span class="twist">{open ? "▾" : "▸"}</span>{name}</button>
      {open && <Tables catalog={catalog} name={name} filter={filter} reload={reload} />}
    </li>
  );
}

function Tables({ catalog, name: schema, filter, reload }: Level & { catalog: string }) {
  const { value: tables, problem } = useLoad(() => api.tables(catalog, schema), [catalog, schema, reload]);
  if (problem) return <p class="problem">{problem}</p>;
  const wanted = (tables ?? []).filter((table) => table.name.toLowerCase().includes(filter.toLowerCase()));
  return (
    <ul role="group">
      {wanted.map((table) => (
        <li role="treeitem" key={table.name}>
          <button
            class={table.type === "VIEW" ? "leaf view" : "leaf"}
            title={table.comment ?? "A click shows the table, the right button puts its name into the editor."}
            onClick={() => openTableTab({ catalog, schema, table: table.name })}
            onContextMenu={(event) => {
              event.preventDefault();
              insertText(`${quoted(schema)}.${quoted(table.name)}`);
            }}
          >
            {table.name}
          </button>
        </li>
      ))}
    </ul>
  );
}
